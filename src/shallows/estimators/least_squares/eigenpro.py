"""EigenPro in the space of a kernel, for classes and for values."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import training
from ...errors import ShallowsError
from ...fitting.checks import is_whole
from ...fitting.kernel_ridge import fit_kernel_ridge
from ...fitting.least_squares import FittedFunction
from ...fitting.rows import TrainingSet
from ...kernels import Kernel, precomputed
from ...ranks import Alone
from ...solvers.least_squares.eigenpro import EigenPro
from ...solvers.least_squares.step_rules import StepRule
from ...solvers.settings import settings_of
from ...spectrum import Preconditioner
from ..constructors import stores_parameters, with_parameters
from ..predictions import ValuePredictions
from ..square_loss import KernelLeastSquares, SquareLossLabels


class EigenProMachine(KernelLeastSquares):
    """Parameters and fit of EigenPro, for classes and for values."""

    @stores_parameters
    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: Mapping[str, Any] | None = None,
        n_components: int | str | None = "auto",
        regularisation: float | str = "auto",
        calibration: str | None = "auto",
        rank: int | None = None,
        n_subsample: int | None = None,
        eigensystem: str = "subsample",
        batch_size: int | None = None,
        shuffle: bool = False,
        step_size: float | None = None,
        step_rule: str | Mapping[str, Any] | StepRule = "certified",
        damping: float = 1.0,
        power: str | float = "full",
        max_epochs: int = 20,
        max_seconds: float | None = None,
        tol: float = 5e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        warm_start: bool = False,
        preconditioner: Preconditioner | str | os.PathLike | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        precision: str = "full",
        verbose: int = 0,
    ): ...

    def _train(
        self,
        rows: TrainingSet,
        observers: Sequence[training.Observer],
        checkpoint: training.Checkpoint | None,
        ranks: Alone,
    ) -> FittedFunction:
        return fit_kernel_ridge(
            rows,
            of_classes=not self._y_is_numeric,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            n_components=self.n_components,
            regularisation=self.regularisation,
            calibrates=self.calibration is not None,
            solver=ranks.divide(self._settings()),
            class_weight=getattr(self, "class_weight", None),
            validation_fraction=self.validation_fraction if self.early_stopping else None,
            patience=self.n_iter_no_change,
            warm=(self._warm_start_parameters(), vars(self).get("_ended")),
            seed=ranks.from_first(self._seed()),
            options=self._options(),
            observers=observers,
            checkpoint=checkpoint,
            name=type(self).__name__,
        )

    def _settings(self) -> EigenPro:
        """The settings of the solver."""
        return settings_of(EigenPro, self)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._settings().check()
        if self.preconditioner is not None:
            if is_whole(self.n_components):
                raise ShallowsError(
                    "A preconditioner that is handed in was made of the inputs: take n_components=None."
                )
            precomputed.refuse(self, "A preconditioner that is handed in was made of points and a kernel.")
        if self.early_stopping and self.preconditioner is not None:
            raise ShallowsError(
                "A preconditioner that is handed in is made of all training rows, and early_stopping=True holds some "
                "of them out; leave one of the two out."
            )


class EigenProClassifier(SquareLossLabels, EigenProMachine):
    """Kernel classification by EigenPro: least squares on ±1 targets, the top of the spectrum flattened.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name, object or function, see `shallows.kernels`; or "precomputed": X is then the kernel matrix in a fit, and
        the values of new points with all training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features. "auto" takes the one with the smallest leave-one-out error on 400 to 1,000
        rows, and a narrower one where more rows show that it is better; "median" and None the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_components : int, "auto" or None, default="auto"
        Take so many leading principal components in the place of the inputs; they are a part of the model. "auto"
        compares all inputs with 200, 100 and 50 components by leave-one-out errors, where the bandwidth is chosen so,
        the points are dense and have enough inputs, and takes components that are better, or surely as good. None takes
        the inputs.
    regularisation : float or "auto", default="auto"
        λ: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the one with the smallest leave-one-out error on the
        rows that the bandwidth is chosen with. With 0 only an early end of the training regularises.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities, and decide between several classes. "auto" learns a sigmoid, or a linear map
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them.
        None leaves the outputs as they are. Regressors have it so that one configuration serves both, without effect.
    rank : int, optional
        q, the number of eigendirections that the preconditioner flattens. None takes a fifth of the subsample (up to
        1,000 points, all directions), or fewer where the spectrum falls below λ/n before; without λ below 1/n, and up
        to 1,000 points below 1/200 of the largest eigenvalue. A given rank is a limit: it is lowered to the number of
        rows, and to the directions whose eigenvalues lie above λ/n. Directions that are not flattened are fitted the
        less, the smaller their eigenvalues and the fewer the epochs; without λ this is what regularises.
    n_subsample : int, optional
        M, the number of training points from which the eigensystem is computed. None takes about 9√n, at least 500 and
        at most 12,000, as the memory allows, and twice a given ``rank``; all of up to 1,000 points where ``rank`` is
        None.
    eigensystem : {"subsample", "rsvd"}, default="subsample"
        "subsample" takes the eigenvectors of the M × M kernel matrix, so that a correction changes M coefficients and
        its step can be certified. "rsvd" is the form of the paper and of the authors' first release, for comparison:
        eigenvectors of length n, by a randomised singular value decomposition of M rows of the n × n matrix. It needs
        a ``step_size`` or ``step_rule="release2017"``, belongs with ``power="sqrt"``, and takes no sample weights.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/μ, the size up to which an epoch with larger batches makes the same
        progress (β is the largest value of the preconditioned kernel's diagonal, μ its largest eigenvalue); on a GPU at
        least an eighth of the points, where memory allows; 256 with ``eigensystem="rsvd"``; all rows of up to 1,000. If
        an epoch has b ≤ 16 batches, of at least 2(b − 1) rows for every output, and the step is that of "certified" for
        more than 1,000 points without ``shuffle``, the steps are those of conjugate residuals. These come nearer to the
        training targets in an epoch, and an epoch takes less time if the kernel matrix is kept; where targets are
        noisy, let ``early_stopping`` end the training.
    shuffle : bool, default=False
        Draw the rows of each batch anew in every epoch, as scikit-learn's `SGDClassifier` and the authors' release do.
        False shuffles the rows once, and the same batches come in a new order in every epoch: consecutive rows of the
        kernel matrix are read faster, and training comes closer to its targets.
    step_size : float, optional
        η, for a sum over the batch. None takes the step by ``step_rule``, and an epoch in which training diverges
        is then repeated with half of it.
    step_rule : str, mapping or callable, default="certified"
        How the step is chosen where ``step_size`` is None: "certified", "theorem", "paper", "release2017",
        "release2019" or "exact", see `shallows.solvers.least_squares.step_rules`. "certified" is meant for use, the
        others for comparison. It takes 2/(β + λ + (m − 1)μ), with μ and β measured on training points outside the
        subsample. Where batches are noisy, the model is an average of the iterates that lies half an epoch behind;
        where they are not, the steps vary about that size; few batches go through conjugate residuals, see
        ``batch_size``. Up to 1,000 points it takes the exact 1/(nμ + λ) if batch and subsample are the whole training
        set. With ``{"certified": {"noise": 0.3}}`` the steps are shorter and fit less of the noise of labels, see
        `shallows.solvers.least_squares.step_rules.Certified`; with ``early_stopping`` that can predict better where
        labels are noisy.
    damping : float, default=1.0
        τ: the flattened eigenvalues become τ λ_{q+1}^a λᵢ^(1−a), with a from ``power``.
    power : {"full", "sqrt"} or float in (0, 1], default="full"
        a: directions are shrunk by τ (λ_{q+1}/λᵢ)^a. "sqrt" is ½, the form of the authors' first release, which brings
        the top of the spectrum down to √(λ₁ λ_{q+1}) only and forgives a noisier eigensystem.
    max_epochs : int, default=20
        The most passes over the training data.
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
    preconditioner : Preconditioner or path, optional
        One made by `shallows.spectrum.fit_preconditioner` on the same training rows, or the file that it was saved
        to.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides the order of the rows, and with it centres and held-out rows. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process (on a GPU: the fit) may use. None takes a share of what is
        free. The kernel matrix is kept as far as it fits; the rest is computed anew in every epoch.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    precision : {"full", "split"}, default="full"
        How a GPU multiplies for kernel values in float32: "full", or "split" into three products on its tensor cores,
        which take 40 % of the time and err by up to 2e-5 of the largest squared distance (see
        `shallows.gram.split_products`). Elsewhere without effect.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    dual_coef_ : ndarray, shape (n_samples, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``.
    support_ : ndarray of int, shape (n_samples,)
        Numbers of the training rows, in the order of the coefficients, without the rows that were held out.
    bandwidth_, step_size_ : float
    n_epochs_ : int
    validation_scores_ : list of float
        With ``early_stopping`` only: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    S. Ma and M. Belkin (2017), "Diving into the shallows: a computational perspective on large-scale shallow learning",
    NIPS 30. The update in the span of the subsample follows S. Ma and M. Belkin (2019), "Kernel machines that adapt to
    GPUs for effective large batch training", MLSys.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import EigenProClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = EigenProClassifier(bandwidth=20.0, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    __init__ = with_parameters(EigenProMachine.__init__, class_weight=None)


class EigenProRegressor(ValuePredictions, EigenProMachine):
    """Kernel regression by EigenPro: least squares, the top of the spectrum flattened.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name, object or function, see `shallows.kernels`; or "precomputed": X is then the kernel matrix in a fit, and
        the values of new points with all training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features. "auto" takes the one with the smallest leave-one-out error on 400 to 1,000
        rows, and a narrower one where more rows show that it is better; "median" and None the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_components : int, "auto" or None, default="auto"
        Take so many leading principal components in the place of the inputs; they are a part of the model. "auto"
        compares all inputs with 200, 100 and 50 components by leave-one-out errors, where the bandwidth is chosen so,
        the points are dense and have enough inputs, and takes components that are better, or surely as good. None takes
        the inputs.
    regularisation : float or "auto", default="auto"
        λ: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the one with the smallest leave-one-out error on the
        rows that the bandwidth is chosen with. With 0 only an early end of the training regularises.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities, and decide between several classes. "auto" learns a sigmoid, or a linear map
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them.
        None leaves the outputs as they are. Regressors have it so that one configuration serves both, without effect.
    rank : int, optional
        q, the number of eigendirections that the preconditioner flattens. None takes a fifth of the subsample (up to
        1,000 points, all directions), or fewer where the spectrum falls below λ/n before; without λ below 1/n, and up
        to 1,000 points below 1/200 of the largest eigenvalue. A given rank is a limit: it is lowered to the number of
        rows, and to the directions whose eigenvalues lie above λ/n. Directions that are not flattened are fitted the
        less, the smaller their eigenvalues and the fewer the epochs; without λ this is what regularises.
    n_subsample : int, optional
        M, the number of training points from which the eigensystem is computed. None takes about 9√n, at least 500 and
        at most 12,000, as the memory allows, and twice a given ``rank``; all of up to 1,000 points where ``rank`` is
        None.
    eigensystem : {"subsample", "rsvd"}, default="subsample"
        "subsample" takes the eigenvectors of the M × M kernel matrix, so that a correction changes M coefficients and
        its step can be certified. "rsvd" is the form of the paper and of the authors' first release, for comparison:
        eigenvectors of length n, by a randomised singular value decomposition of M rows of the n × n matrix. It needs
        a ``step_size`` or ``step_rule="release2017"``, belongs with ``power="sqrt"``, and takes no sample weights.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/μ, the size up to which an epoch with larger batches makes the same
        progress (β is the largest value of the preconditioned kernel's diagonal, μ its largest eigenvalue); on a GPU at
        least an eighth of the points, where memory allows; 256 with ``eigensystem="rsvd"``; all rows of up to 1,000. If
        an epoch has b ≤ 16 batches, of at least 2(b − 1) rows for every output, and the step is that of "certified" for
        more than 1,000 points without ``shuffle``, the steps are those of conjugate residuals. These come nearer to the
        training targets in an epoch, and an epoch takes less time if the kernel matrix is kept; where targets are
        noisy, let ``early_stopping`` end the training.
    shuffle : bool, default=False
        Draw the rows of each batch anew in every epoch, as scikit-learn's `SGDClassifier` and the authors' release do.
        False shuffles the rows once, and the same batches come in a new order in every epoch: consecutive rows of the
        kernel matrix are read faster, and training comes closer to its targets.
    step_size : float, optional
        η, for a sum over the batch. None takes the step by ``step_rule``, and an epoch in which training diverges
        is then repeated with half of it.
    step_rule : str, mapping or callable, default="certified"
        How the step is chosen where ``step_size`` is None: "certified", "theorem", "paper", "release2017",
        "release2019" or "exact", see `shallows.solvers.least_squares.step_rules`. "certified" is meant for use, the
        others for comparison. It takes 2/(β + λ + (m − 1)μ), with μ and β measured on training points outside the
        subsample. Where batches are noisy, the model is an average of the iterates that lies half an epoch behind;
        where they are not, the steps vary about that size; few batches go through conjugate residuals, see
        ``batch_size``. Up to 1,000 points it takes the exact 1/(nμ + λ) if batch and subsample are the whole training
        set. With ``{"certified": {"noise": 0.3}}`` the steps are shorter and fit less of the noise of labels, see
        `shallows.solvers.least_squares.step_rules.Certified`; with ``early_stopping`` that can predict better where
        labels are noisy.
    damping : float, default=1.0
        τ: the flattened eigenvalues become τ λ_{q+1}^a λᵢ^(1−a), with a from ``power``.
    power : {"full", "sqrt"} or float in (0, 1], default="full"
        a: directions are shrunk by τ (λ_{q+1}/λᵢ)^a. "sqrt" is ½, the form of the authors' first release, which brings
        the top of the spectrum down to √(λ₁ λ_{q+1}) only and forgives a noisier eigensystem.
    max_epochs : int, default=20
        The most passes over the training data.
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
    preconditioner : Preconditioner or path, optional
        One made by `shallows.spectrum.fit_preconditioner` on the same training rows, or the file that it was saved
        to.
    random_state : int, RandomState or None, default=None
        Decides the order of the rows, and with it centres and held-out rows. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process (on a GPU: the fit) may use. None takes a share of what is
        free. The kernel matrix is kept as far as it fits; the rest is computed anew in every epoch.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    precision : {"full", "split"}, default="full"
        How a GPU multiplies for kernel values in float32: "full", or "split" into three products on its tensor cores,
        which take 40 % of the time and err by up to 2e-5 of the largest squared distance (see
        `shallows.gram.split_products`). Elsewhere without effect.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    dual_coef_ : ndarray, shape (n_samples, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``.
    support_ : ndarray of int, shape (n_samples,)
        Numbers of the training rows, in the order of the coefficients, without the rows that were held out.
    bandwidth_, step_size_ : float
    n_epochs_ : int
    validation_scores_ : list of float
        With ``early_stopping`` only: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    S. Ma and M. Belkin (2017), "Diving into the shallows: a computational perspective on large-scale shallow learning",
    NIPS 30. The update in the span of the subsample follows S. Ma and M. Belkin (2019), "Kernel machines that adapt to
    GPUs for effective large batch training", MLSys.
    """
