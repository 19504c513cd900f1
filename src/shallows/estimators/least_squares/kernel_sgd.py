"""Kernel stochastic gradient descent with the square loss, for classes and for values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...fitting.kernel_ridge import fit_kernel_ridge
from ...fitting.least_squares import FittedFunction
from ...fitting.rows import TrainingSet
from ...kernels import Kernel
from ...ranks import Alone
from ...solvers.least_squares.kernel_sgd import KernelSGD
from ...solvers.settings import settings_of
from ...training import Observer
from ..constructors import stores_parameters, with_parameters
from ..predictions import ValuePredictions
from ..square_loss import LeastSquaresEstimator, SquareLossLabels


class KernelSGDMachine(LeastSquaresEstimator):
    """Base of the classifier and the regressor: parameters and fit of kernel SGD."""

    @stores_parameters
    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        *,
        bandwidth: float | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        calibration: str | None = "auto",
        batch_size: int | None = None,
        shuffle: bool = False,
        step_size: float | None = None,
        step_rule: str = "certified",
        max_epochs: int = 100,
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
        bandwidth : float, "median" or None, default=None
            σ, in the units of X. "median" and None: the median distance between points of a subsample.
        kernel_params : dict, optional
            Parameters of a named kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
        calibration : {"auto", None}, default="auto"
            "auto" learns probabilities from outputs at left-out rows. None: outputs as they are. Regressors ignore it.
        batch_size : int, optional
            m, the rows of a step. None: at least 16, and β/μ, beyond which larger batches make no faster progress (β:
            largest diagonal value of the kernel, μ: largest eigenvalue of its matrix over n).
        shuffle : bool, default=False
            True draws new batches in every epoch, as the authors' release does. False keeps the batches: faster.
        step_size : float, optional
            η, for a sum over the batch. None: by the step rule, and half of it in epochs in which training diverges.
        step_rule : {"certified", "constant"}, default="certified"
            "certified": rule of `EigenProClassifier`. "constant": 1.5/(β + (m − 1)μ), as in the release of Ma and
            Belkin (2017); the model is the last iterate.
        max_epochs : int, default=100
            Most passes over the training data.
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
        return fit_kernel_ridge(
            rows,
            of_classes=not self._y_is_numeric,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            n_components=None,
            regularisation=None,
            calibrates=self.calibration is not None,
            solver=settings_of(KernelSGD, self),
            class_weight=getattr(self, "class_weight", None),
            validation_fraction=self.validation_fraction if self.early_stopping else None,
            patience=self.n_iter_no_change,
            warm=(self.get_params() if self.warm_start else None, vars(self).get("_ended")),
            seed=self._seed(),
            options=self._options(),
            observers=observers,
            checkpoint=checkpoint,
            name=type(self).__name__,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        settings_of(KernelSGD, self).check()


class KernelSGDClassifier(SquareLossLabels, KernelSGDMachine):
    """Classification by kernel stochastic gradient descent with the square loss and without regularization.

    This baseline, which Ma and Belkin (2017) call Pegasos, is `EigenProClassifier` without a preconditioner (``rank=0,
    n_subsample=1, regularisation=0``), with other defaults: batches of the critical size, the median bandwidth, 100
    epochs, and gradients even with few batches, for which EigenPro uses conjugate residuals.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class (1 for missing classes). "balanced": n/(k nⱼ) for class j.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    dual_coef_ : ndarray, shape (n_samples, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``.
    support_ : ndarray of int, shape (n_samples,)
        Numbers of the training rows, without the rows that were held out.
    bandwidth_, step_size_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; a batch is measured before its own step.
    validation_scores_ : list of float
        With ``early_stopping``: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    effective_params_ : dict
        Values that the library chose, with kernel, seed, precision and device; see the documentation on defaults.
    timings_ : dict
        Seconds of each phase of the fit.
    """

    __init__ = with_parameters(KernelSGDMachine.__init__, class_weight=None)


class KernelSGDRegressor(ValuePredictions, KernelSGDMachine):
    """Regression by kernel stochastic gradient descent with the square loss; see `KernelSGDClassifier`.

    The attributes are those of `KernelSGDClassifier`, with ``intercept_`` instead of ``classes_``.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    """
