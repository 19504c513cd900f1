"""SVRG: stochastic gradients on explicit features, corrected by a full gradient at regular intervals."""

from __future__ import annotations

from typing import Any

from ...errors import ShallowsError
from ...losses.margins import Logistic
from ...solvers.regularised import smoothness
from ...solvers.regularised.risk import RiskProblem
from ...solvers.regularised.svrg import SVRG
from ..constructors import with_parameters
from ..parameter_checks import is_number
from .risk_targets import RiskClassifier, RiskRegressor
from .variance_reduced import VarianceReduced


class _SVRG(VarianceReduced):
    """Parameters and solver of SVRG, for classes and for values."""

    def __init__(
        self,
        features: Any = "fourier",
        *,
        n_features: int = 512,
        kernel: Any = "gaussian",
        bandwidth: float | str | None = "auto",
        kernel_params: dict[str, Any] | None = None,
        loss: Any = "auto",
        regularisation: float | str | None = "auto",
        step_size: float | None = None,
        period: float = 2.0,
        batch_size: int | None = None,
        max_epochs: int = 20,
        max_seconds: float | None = None,
        tol: float = 0.0,
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
        self.features = features
        self.n_features = n_features
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.loss = loss
        self.regularisation = regularisation
        self.step_size = step_size
        self.period = period
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (is_number(self.period) and self.period > 0):
            raise ShallowsError(f"period must be a positive number of passes, got {self.period!r}.")

    def _make_solver(self, problem: RiskProblem, batch_size: int) -> SVRG:
        return SVRG(self._step(problem, batch_size, smoothness.svrg_step), float(self.period))


class SVRGClassifier(_SVRG, RiskClassifier):
    """Classification on explicit features by SVRG, gradients of reduced variance.

    Minimises λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ) + b, yᵢ) with a given intercept b, see ``fit_intercept``.

    Parameters
    ----------
    features : str or object, default="fourier"
        "fourier" (cosines and sines of random frequencies), "fourier_cosine", "orthogonal", "nystrom",
        "nystrom_kmeans", "rbf", "rbf_kmeans", "linear" (the inputs and a constant), or an object with ``map(x)`` and
        ``n_features``.
    n_features : int, default=512
        Columns of a named map; of cosines and sines in pairs an odd number becomes the next even one.
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or, where there are no
        explicit features, "precomputed": X is then the kernel matrix in a fit, and the values of new points with all
        training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points and the halves, quarters, ... of it, the one with the smallest leave-one-out error of kernel ridge
        regression on 400 to 1,000 training rows; a wider kernel would need more epochs. "median" and None take the
        median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
    loss : {"logistic", "softmax", "squared_hinge", "square"} or Loss, default="auto"
        A smooth one; "auto" is the logistic loss.
    regularisation : float, "auto" or None, default="auto"
        λ. "auto" takes that of kernel ridge regression with the smallest leave-one-out error on the rows that the
        bandwidth is chosen with, and without a kernel does as None. None takes 1/n, which is C = 1 of a support vector
        machine; C in general is 1/(λn).
    fit_intercept : bool, default=True
        Learn f about an intercept b, which is not regularised: the constant score of the least loss, from the weighted
        class frequencies alone. That is their log-odds for "logistic", their logarithms for "softmax", and the mean of
        the coded targets for the other losses. Where the inputs tell nothing, probabilities are then the frequencies.
        False learns f about 0, as the method was published.
    step_size : float, optional
        η, for the mean over a batch. None takes the step of the theory for the smoothness that is measured on
        batches.
    period : float, default=2.0
        Passes over the data between two full gradients; a full gradient costs a pass of its own, which is not
        counted as an epoch.
    batch_size : int, optional
        m, the rows of a step. None takes a twentieth of them: 16 to 256 with a kernel, 8 to 64
        with features.
    max_epochs : int, default=20
        The most passes over the training data.
    max_seconds : float, optional
        The most seconds of training. These include kernel values and features, but not preparation, landmarks and
        evaluation.
    tol : float, default=0.0
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
        a class with nⱼ of the n rows, of k classes.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the order of the rows, random features and landmarks. The same int gives the
        same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    intercept_ : ndarray, shape (n_outputs,)
        b, the constant with the least loss on the targets: their mean for "square".
    dual_coef_ : ndarray, shape (n_support, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``; without explicit features.
    support_ : ndarray of int
        Numbers of the training rows with coefficients other than zero; without explicit features.
    coef_ : ndarray, shape (n_outputs, n_features)
        With explicit features.
    bandwidth_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step.
    validation_scores_ : list of float
        With ``early_stopping`` only: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit; ``eigensystem`` is the choice of landmarks and their map.

    References
    ----------
    R. Johnson and T. Zhang (2013), "Accelerating stochastic gradient descent using predictive variance reduction",
    NIPS 26.
    """

    __init__ = with_parameters(_SVRG.__init__, fit_intercept=True, class_weight=None)

    _default_loss = Logistic()


class SVRGRegressor(_SVRG, RiskRegressor):
    """Regression on explicit features by SVRG, gradients of reduced variance.

    Minimises λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ), yᵢ − b) about the constant b of the least loss.

    Parameters
    ----------
    features : str or object, default="fourier"
        "fourier" (cosines and sines of random frequencies), "fourier_cosine", "orthogonal", "nystrom",
        "nystrom_kmeans", "rbf", "rbf_kmeans", "linear" (the inputs and a constant), or an object with ``map(x)`` and
        ``n_features``.
    n_features : int, default=512
        Columns of a named map; of cosines and sines in pairs an odd number becomes the next even one.
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or, where there are no
        explicit features, "precomputed": X is then the kernel matrix in a fit, and the values of new points with all
        training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points and the halves, quarters, ... of it, the one with the smallest leave-one-out error of kernel ridge
        regression on 400 to 1,000 training rows; a wider kernel would need more epochs. "median" and None take the
        median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
    loss : {"square", "huber"} or Loss, default="auto"
        A smooth one; "auto" is the square.
    regularisation : float, "auto" or None, default="auto"
        λ. "auto" takes that of kernel ridge regression with the smallest leave-one-out error on the rows that the
        bandwidth is chosen with, and without a kernel does as None. None takes 1/n, which is C = 1 of a support vector
        machine; C in general is 1/(λn).
    step_size : float, optional
        η, for the mean over a batch. None takes the step of the theory for the smoothness that is measured on
        batches.
    period : float, default=2.0
        Passes over the data between two full gradients; a full gradient costs a pass of its own, which is not
        counted as an epoch.
    batch_size : int, optional
        m, the rows of a step. None takes a twentieth of them: 16 to 256 with a kernel, 8 to 64
        with features.
    max_epochs : int, default=20
        The most passes over the training data.
    max_seconds : float, optional
        The most seconds of training. These include kernel values and features, but not preparation, landmarks and
        evaluation.
    tol : float, default=0.0
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
        Decides everything that is drawn: the order of the rows, random features and landmarks. The same int gives the
        same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        b, the constant with the least loss on the targets: their mean for "square".
    dual_coef_ : ndarray, shape (n_support, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``; without explicit features.
    support_ : ndarray of int
        Numbers of the training rows with coefficients other than zero; without explicit features.
    coef_ : ndarray, shape (n_outputs, n_features)
        With explicit features.
    bandwidth_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step.
    validation_scores_ : list of float
        With ``early_stopping`` only: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit; ``eigensystem`` is the choice of landmarks and their map.

    References
    ----------
    R. Johnson and T. Zhang (2013), "Accelerating stochastic gradient descent using predictive variance reduction",
    NIPS 26.
    """
