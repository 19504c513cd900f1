"""EigenPro for models with fewer centres than data, for classes and for values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from ...arrays.user_arrays import read_points
from ...errors import ShallowsError
from ...fitting.center_points import are_training_points
from ...fitting.kernel_centers import CONJUGATE_GRADIENTS, EIGENPRO, fit_kernel_centers
from ...fitting.least_squares import FittedFunction
from ...fitting.rows import TrainingSet
from ...kernels import Kernel, precomputed
from ...ranks import Alone
from ...solvers.least_squares.projected import ProjectedEigenPro
from ...solvers.settings import settings_of
from ...spectrum.kernel_ridge_choice import AUTO
from ...training import Observer
from ...utils.checks import MOST, check_choice, is_whole
from ..constructors import stores_parameters, with_parameters
from ..predictions import ValuePredictions
from ..square_loss import LeastSquaresEstimator, SquareLossLabels


class EigenProCentresMethod(LeastSquaresEstimator):
    """Base of the classifier and the regressor: parameters and fit on centers."""

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
    ):
        """Set the parameters.

        Parameters
        ----------
        kernel : str, Kernel or callable, default="gaussian"
            A name or object of `shallows.kernels`, a function of two arrays, or "precomputed" (X is the kernel matrix).
        centres : int, "auto" or array of shape (p, n_features), default="auto"
            Number of random training points, or the centers. "auto": 40 √n, from 1,000 to 12,500, but at most ten times
            the effective dimension at λ, and half of the memory.
        bandwidth : float, "auto", "median" or None, default="auto"
            σ, in the units of X. "auto": by leave-one-out errors of kernel ridge. "median", None: median distance.
        kernel_params : dict, optional
            Parameters of a named kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
        n_components : int, "auto" or None, default="auto"
            Principal components that replace the inputs. "auto": 200, 100 or 50 if as good. None: no components.
        regularisation : float or "auto", default="auto"
            λ: minimized is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto": by leave-one-out errors. 0: only stopping regularizes.
        calibration : {"auto", None}, default="auto"
            "auto" learns probabilities from outputs at left-out rows. None: outputs as they are. Regressors ignore it.
        solver : {"auto", "conjugate_gradients", "eigenpro"}, default="auto"
            "auto": "eigenpro" if one of its parameters is set, λ is 0, or time allows fewer than three passes of
            conjugate gradients and there are 50 rows for each center; otherwise "conjugate_gradients".
        rank : int, optional
            q, the most eigendirections that the preconditioner flattens. None: a quarter of the subsample, or all large
            ones for up to 1,000 points.
        n_subsample : int, optional
            M, the centers from which the eigensystem is computed. None: 6,000, or twice the rank if that is more.
        batch_size : int, optional
            m, the rows of a step. None: half of the critical size, but at least min(2p, n/5); all rows of up to 1,000.
        step_size : float, optional
            η, for a sum over the batch. None: measured on training points; if training diverges, the epoch is repeated
            with half of it.
        damping : float, default=1.0
            τ: the flattened eigenvalues become τ λ_{q+1}.
        max_epochs : int, default=20
            Most passes over the training data. The first pass of conjugate gradients computes their right-hand side.
        max_seconds : float, optional
            Time limit of the fit. If the preparation takes longer, training stops as soon as there is a model.
        tol : float, default=5e-3
            Stop after an epoch whose training loss is at most this share of the loss of the zero function.
        early_stopping : bool, default=False
            Hold out validation rows; stop when their score stops improving, and keep the model of the best epoch.
        validation_fraction : float, default=0.1
            Share of the training rows that early stopping holds out.
        n_iter_no_change : int, default=3
            Epochs without a better validation score after which early stopping stops.
        warm_start : bool, default=False
            Continue the previous fit if nothing but ``max_epochs`` or ``tol`` has changed. Otherwise start again.
        random_state : int, RandomState or None, default=None
            Seed of all random draws. An int gives the same model every time.
        device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
            "auto" uses a GPU if CuPy finds one.
        memory : int or str, optional
            Memory limit of the process, in bytes or as "4GB". None: a share of the free memory.
        dtype : {"auto", "float32", "float64"}, default="auto"
            Precision. "auto": float32, or float64 for up to 1,000 points.
        verbose : int, default=0
            1 shows a progress bar.
        """

    def _train(self, rows: TrainingSet, observers: Sequence[Observer], checkpoint: Any, ranks: Alone) -> FittedFunction:
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
            class_weight=getattr(self, "class_weight", None),
            validation_fraction=self.validation_fraction if self.early_stopping else None,
            patience=self.n_iter_no_change,
            warm=(self.get_params() if self.warm_start else None, vars(self).get("_ended")),
            seed=ranks.from_first(self._seed()),
            options=self._options(),
            observers=observers,
            checkpoint=checkpoint,
            name=type(self).__name__,
            ranks=ranks,
        )

    def _steps(self) -> ProjectedEigenPro:
        """The settings of EigenPro's steps."""
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
    """Given centers as float32 or float64 points, shape (p, d), or CSR rows; raises ShallowsError if they are not."""
    points = centres if scipy.sparse.issparse(centres) else np.asarray(centres)
    if points.dtype.kind not in "fiub" or points.ndim != 2 or 0 in points.shape:
        raise ShallowsError(f"centres must be a number or an array of shape (p, {d}), got {points!r:.80}.")
    points = read_points(points)
    if points.shape[1] != d:
        raise ShallowsError(f"centres have {points.shape[1]} features and X has {d}.")
    points = points.astype(np.float32 if points.dtype == np.float32 else np.float64)
    if not np.isfinite(points.data if scipy.sparse.issparse(points) else points).all():
        raise ShallowsError("centres hold NaN or infinity.")
    return points


class EigenProCentresClassifier(SquareLossLabels, EigenProCentresMethod):
    """Kernel classification with fewer centers than data: least squares on ±1 targets, for millions of rows.

    The function is Σⱼ αⱼ k(zⱼ, ·) over p centers, so the memory and the time of a prediction do not grow with the data.
    Training reads all data in every pass, and keeps what fits of the kernel matrix of points and centers.

    "conjugate_gradients" solves the equations of the centers as in Falkon. An epoch is one iteration with all rows.
    Training stops after an iteration that lowers the objective by less than a thousandth. If less than 0.7 of the
    kernel matrix fits into the memory, it starts from the solution on a part of the rows. It needs memory for 2 p²
    numbers. "eigenpro" takes preconditioned gradients of batches, each projected onto the span of the centers, and
    averages the iterates. It needs memory for p² numbers. Its parameters are ``rank``, ``n_subsample``, ``batch_size``,
    ``step_size`` and ``damping``.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class (1 for missing classes). "balanced": n/(k nⱼ) for class j.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    dual_coef_ : ndarray, shape (n_centres, n_outputs)
        Coefficients of the kernel functions at the centers.
    support_ : ndarray of int, shape (n_centres,), or None
        Numbers of the training rows that are the centers; None if the centers were given.
    bandwidth_ : float
    step_size_ : float or None
        η of EigenPro.
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; EigenPro's average has a lower loss.
    effective_params_ : dict
        Values that the library chose, with kernel, seed, precision and device; see the documentation on defaults.
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
    """Kernel regression with fewer centers than data: least squares around the mean of the targets.

    See `EigenProCentresClassifier` for the solvers.

    The attributes are those of `EigenProCentresClassifier`, with ``intercept_`` instead of ``classes_``.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    """
