"""EigenPro for models with fewer centres than data, for classes and for values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from ... import training
from ...errors import ShallowsError
from ...fitting.center_choices import CONJUGATE_GRADIENTS, EIGENPRO
from ...fitting.center_points import are_training_points
from ...fitting.checks import MOST, check_choice, is_whole
from ...fitting.kernel_centers import fit_kernel_centers
from ...fitting.least_squares import FittedFunction
from ...fitting.rows import TrainingSet
from ...kernels import Kernel, precomputed
from ...ranks import Alone
from ...solvers.least_squares.projected import ProjectedEigenPro
from ...solvers.settings import settings_of
from ...spectrum.kernel_ridge_choice import AUTO
from ..constructors import stores_parameters, with_parameters
from ..input_checks import read_points
from ..predictions import ValuePredictions
from ..square_loss import KernelLeastSquares, SquareLossLabels


class EigenProCentresMethod(KernelLeastSquares):
    """Parameters and fit of EigenPro on centres, for classes and for values."""

    _prediction_share = 4

    @stores_parameters
    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        *,
        centres: int | str | Any = "auto",
        bandwidth: float | str | None = "auto",
        kernel_params: Mapping[str, Any] | None = None,
        n_components: int | str | None = "auto",
        regularisation: float | str = "auto",
        calibration: str | None = "auto",
        solver: str = "auto",
        rank: int | None = None,
        n_subsample: int | None = None,
        batch_size: int | None = None,
        step_size: float | None = None,
        damping: float = 1.0,
        max_epochs: int = 20,
        max_seconds: float | None = None,
        tol: float = 5e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...

    def _train(
        self,
        rows: TrainingSet,
        observers: Sequence[training.Observer],
        checkpoint: training.Checkpoint | None,
        ranks: Alone,
    ) -> FittedFunction:
        sampled = are_training_points(self.centres)
        return fit_kernel_centers(
            rows,
            of_classes=not self._y_is_numeric,
            kernel=self.kernel,
            centers=self.centres if sampled else points_of(self.centres, self.n_features_in_),
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            n_components=self.n_components,
            regularisation=self.regularisation,
            calibrates=self.calibration is not None,
            solver=self.solver,
            steps=self._steps(),
            max_epochs=self.max_epochs,
            tol=self.tol,
            class_weight=getattr(self, "class_weight", None),
            validation_fraction=self.validation_fraction if self.early_stopping else None,
            patience=self.n_iter_no_change,
            warm=(self._warm_start_parameters(), vars(self).get("_ended")),
            seed=ranks.from_first(self._seed()),
            options=self._options(),
            observers=observers,
            checkpoint=checkpoint,
            name=type(self).__name__,
            ranks=ranks,
        )

    def _steps(self) -> ProjectedEigenPro:
        """What is set of EigenPro's steps."""
        return settings_of(ProjectedEigenPro, self)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._steps().check()
        check_choice(self, solver=(AUTO, CONJUGATE_GRADIENTS, EIGENPRO))
        given = self._steps().given
        if self.solver == CONJUGATE_GRADIENTS and given:
            raise ShallowsError(
                f'{" and ".join(given)}: of solver="eigenpro" alone, and solver is "conjugate_gradients".'
            )
        is_auto = isinstance(self.centres, str) and self.centres == AUTO
        if np.ndim(self.centres) == 0 and not is_whole(self.centres) and not is_auto:
            raise ShallowsError(
                f"centres must be 'auto', a whole number from 1 to {MOST:,}, how many training points to take, or an "
                f"array of points; got {self.centres!r}."
            )
        if not are_training_points(self.centres):
            precomputed.refuse(self, "Centres that are given are points; with a matrix, centres is a number.")


def points_of(centres: Any, d: int) -> Any:
    """Centres as points of d features, float32 or float64, shape (p, d); sparse ones as CSR.

    Raises
    ------
    ShallowsError
        If they are no such points, or not finite.
    """
    made = centres if scipy.sparse.issparse(centres) else np.asarray(centres)
    if made.dtype.kind not in "fiub" or made.ndim != 2 or 0 in made.shape:
        raise ShallowsError(f"centres must be a number or an array of shape (p, {d}), got {made!r:.80}.")
    made = read_points(made)
    if made.shape[1] != d:
        raise ShallowsError(f"centres have {made.shape[1]} features and X has {d}.")
    made = made.astype(np.float32 if made.dtype == np.float32 else np.float64)
    if not np.isfinite(made.data if scipy.sparse.issparse(made) else made).all():
        raise ShallowsError("centres hold NaN or infinity.")
    return made


class EigenProCentresClassifier(SquareLossLabels, EigenProCentresMethod):
    """Kernel classification by EigenPro with fewer centres than data: least squares on ±1 targets.

    The function is Σⱼ αⱼ k(zⱼ, ·) over p centres: p numbers for each output whatever the data's size, so that
    prediction and memory do not grow with it. Training goes through all data in every pass, and keeps as much of the
    kernel matrix of points and centres as the memory holds.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name, object or function, see `shallows.kernels`; or "precomputed": X is then the kernel matrix in a fit, and
        the values of new points with all training points in a prediction.
    centres : int, "auto" or array of shape (p, n_features), default="auto"
        How many training points, drawn at random, or the centres themselves. "auto": 40 √n, from 1,000 to 12,500, and
        fewer where ten times the effective dimension at λ, or half of the memory, are less.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features. "auto" takes the one with the smallest leave-one-out error on 400 to 1,000
        rows, and a narrower one where more rows show that it is better; "median" and None the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_components : int, "auto" or None, default="auto"
        Leading principal components that take the place of the inputs, as a part of the model. "auto" takes 200, 100 or
        50 where leave-one-out errors show that they are better or as good. None takes the inputs.
    regularisation : float or "auto", default="auto"
        λ: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the one with the smallest leave-one-out error on the
        rows that the bandwidth is chosen with. With 0 only an early end of the training regularises.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities: "auto" learns it from outputs of functions that were fitted without the rows;
        None leaves them as they are. Without effect on regressors, who have it so that one configuration serves both.
    solver : {"auto", "conjugate_gradients", "eigenpro"}, default="auto"
        How the objective is minimised.

        - "auto": "eigenpro" where one of its parameters is set, λ is 0, or ``max_seconds`` end before three passes of
          conjugate gradients over the rows and there are fifty rows for each centre; else "conjugate_gradients".
        - "conjugate_gradients": on the equations of the centres, preconditioned with what the centres alone would give,
          as in Falkon. An epoch is one iteration with all rows; training ends with an iteration that lowers the
          objective by less than a thousandth. Where memory keeps less than 0.7 of the kernel matrix, it begins at the
          solution for the rows that are kept, or a tenth of all, in the first epoch. Memory holds 2 p² numbers.
        - "eigenpro": preconditioned gradients of batches, each projected onto the span of the centres, and the average
          of the iterates. Memory holds p² numbers. ``rank``, ``n_subsample``, ``batch_size``, ``step_size`` and
          ``damping`` are its parameters.
    rank : int, optional
        q, the most eigendirections that the preconditioner flattens; those with eigenvalues below λ/n are left as they
        are. None takes a quarter of the subsample; up to 1,000 points, all that are large enough.
    n_subsample : int, optional
        M, the number of centres from which the eigensystem is computed. None takes 6,000, or twice the rank if that is
        more, and all if there are fewer.
    batch_size : int, optional
        m, the rows of a step. None takes half of the size up to which a batch costs no progress, and at least 2p or a
        fifth of the rows, whichever is less; all rows of up to 1,000.
    step_size : float, optional
        η, for a sum over the batch. None takes one that was measured on training points that are no centres; an epoch
        in which training diverges is then repeated with half of it.
    damping : float, default=1.0
        τ: the flattened eigenvalues become τ λ_{q+1}.
    max_epochs : int, default=20
        The most passes over the training data. The first pass of conjugate gradients makes their right-hand side.
    max_seconds : float, optional
        The most seconds of the fit, the choice of parameters and the preconditioner included. Where these take longer,
        the training ends as soon as there is a model.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the training rows (of each class alike), and stop when their score has not
        become better for ``n_iter_no_change`` epochs. The model of the best epoch is the one that is kept.
    validation_fraction : float, default=0.1
        The share of the training rows that early stopping holds out.
    n_iter_no_change : int, default=3
        Epochs without a better validation score after which early stopping ends the training.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides the order of the rows, and with it centres and held-out rows. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "2GB", that the process (on a GPU: the fit) may use; data that do not fit are read anew
        in every epoch. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    dual_coef_ : ndarray, shape (n_centres, n_outputs)
        Coefficients of the kernel functions at the centres.
    support_ : ndarray of int, shape (n_centres,), or None
        Numbers of the training rows that are the centres; None if the centres were given (in an order of the fit's
        own).
    bandwidth_ : float
    step_size_ : float or None
        η of EigenPro.
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss. EigenPro measures each batch before its own
        step and on the iterate; the average that is the model has a lower one.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on. ``predicted_seconds`` are those of three
        passes over the rows, by products with some rows that were timed, where ``max_seconds`` could change the solver.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    A. Rudi, L. Carratino and L. Rosasco (2017), "FALKON: an optimal large scale kernel method", NeurIPS.
    A. Abedsoltan, M. Belkin and P. Pandit (2023), "Toward large kernel models", ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import EigenProCentresClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = EigenProCentresClassifier(centres=300, bandwidth=20.0, random_state=0).fit(X[:1200], y[:1200])
    >>> model.dual_coef_.shape, bool(model.score(X[1200:], y[1200:]) > 0.93)
    ((300, 10), True)
    """

    __init__ = with_parameters(EigenProCentresMethod.__init__, class_weight=None)


class EigenProCentresRegressor(ValuePredictions, EigenProCentresMethod):
    """Kernel regression by EigenPro with fewer centres than data: least squares about the mean of the targets.

    The function is Σⱼ αⱼ k(zⱼ, ·) over p centres: p numbers for each output whatever the data's size, so that
    prediction and memory do not grow with it. Training goes through all data in every pass, and keeps as much of the
    kernel matrix of points and centres as the memory holds.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name, object or function, see `shallows.kernels`; or "precomputed": X is then the kernel matrix in a fit, and
        the values of new points with all training points in a prediction.
    centres : int, "auto" or array of shape (p, n_features), default="auto"
        How many training points, drawn at random, or the centres themselves. "auto": 40 √n, from 1,000 to 12,500, and
        fewer where ten times the effective dimension at λ, or half of the memory, are less.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features. "auto" takes the one with the smallest leave-one-out error on 400 to 1,000
        rows, and a narrower one where more rows show that it is better; "median" and None the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_components : int, "auto" or None, default="auto"
        Leading principal components that take the place of the inputs, as a part of the model. "auto" takes 200, 100 or
        50 where leave-one-out errors show that they are better or as good. None takes the inputs.
    regularisation : float or "auto", default="auto"
        λ: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the one with the smallest leave-one-out error on the
        rows that the bandwidth is chosen with. With 0 only an early end of the training regularises.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities: "auto" learns it from outputs of functions that were fitted without the rows;
        None leaves them as they are. Without effect on regressors, who have it so that one configuration serves both.
    solver : {"auto", "conjugate_gradients", "eigenpro"}, default="auto"
        How the objective is minimised.

        - "auto": "eigenpro" where one of its parameters is set, λ is 0, or ``max_seconds`` end before three passes of
          conjugate gradients over the rows and there are fifty rows for each centre; else "conjugate_gradients".
        - "conjugate_gradients": on the equations of the centres, preconditioned with what the centres alone would give,
          as in Falkon. An epoch is one iteration with all rows; training ends with an iteration that lowers the
          objective by less than a thousandth. Where memory keeps less than 0.7 of the kernel matrix, it begins at the
          solution for the rows that are kept, or a tenth of all, in the first epoch. Memory holds 2 p² numbers.
        - "eigenpro": preconditioned gradients of batches, each projected onto the span of the centres, and the average
          of the iterates. Memory holds p² numbers. ``rank``, ``n_subsample``, ``batch_size``, ``step_size`` and
          ``damping`` are its parameters.
    rank : int, optional
        q, the most eigendirections that the preconditioner flattens; those with eigenvalues below λ/n are left as they
        are. None takes a quarter of the subsample; up to 1,000 points, all that are large enough.
    n_subsample : int, optional
        M, the number of centres from which the eigensystem is computed. None takes 6,000, or twice the rank if that is
        more, and all if there are fewer.
    batch_size : int, optional
        m, the rows of a step. None takes half of the size up to which a batch costs no progress, and at least 2p or a
        fifth of the rows, whichever is less; all rows of up to 1,000.
    step_size : float, optional
        η, for a sum over the batch. None takes one that was measured on training points that are no centres; an epoch
        in which training diverges is then repeated with half of it.
    damping : float, default=1.0
        τ: the flattened eigenvalues become τ λ_{q+1}.
    max_epochs : int, default=20
        The most passes over the training data. The first pass of conjugate gradients makes their right-hand side.
    max_seconds : float, optional
        The most seconds of the fit, the choice of parameters and the preconditioner included. Where these take longer,
        the training ends as soon as there is a model.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the training rows (of each class alike), and stop when their score has not
        become better for ``n_iter_no_change`` epochs. The model of the best epoch is the one that is kept.
    validation_fraction : float, default=0.1
        The share of the training rows that early stopping holds out.
    n_iter_no_change : int, default=3
        Epochs without a better validation score after which early stopping ends the training.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
    random_state : int, RandomState or None, default=None
        Decides the order of the rows, and with it centres and held-out rows. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "2GB", that the process (on a GPU: the fit) may use; data that do not fit are read anew
        in every epoch. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    dual_coef_ : ndarray, shape (n_centres, n_outputs)
        Coefficients of the kernel functions at the centres.
    support_ : ndarray of int, shape (n_centres,), or None
        Numbers of the training rows that are the centres; None if the centres were given (in an order of the fit's
        own).
    bandwidth_ : float
    step_size_ : float or None
        η of EigenPro.
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss. EigenPro measures each batch before its own
        step and on the iterate; the average that is the model has a lower one.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on. ``predicted_seconds`` are those of three
        passes over the rows, by products with some rows that were timed, where ``max_seconds`` could change the solver.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    A. Rudi, L. Carratino and L. Rosasco (2017), "FALKON: an optimal large scale kernel method", NeurIPS.
    A. Abedsoltan, M. Belkin and P. Pandit (2023), "Toward large kernel models", ICML.
    """
