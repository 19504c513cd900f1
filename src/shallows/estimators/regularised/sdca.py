"""Stochastic dual coordinate ascent, on a kernel or on explicit features, for classes and for values."""

from __future__ import annotations

from ...losses import Hinge
from ...solvers.regularised.risk import RiskProblem
from ...solvers.regularised.sdca import SDCA
from .risk_targets import RiskClassifier, RiskRegressor


class _SDCA:
    """Parameters and solver of dual coordinate ascent, for classes and for values."""

    def _make_solver(self, problem: RiskProblem, batch_size: int) -> SDCA:
        return SDCA()


class SDCAClassifier(_SDCA, RiskClassifier):
    """Classification by stochastic dual coordinate ascent, on a kernel or on explicit features.

    Minimises λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ), yᵢ), without an intercept. There is no step size:
    each dual variable is set to its best value in turn.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        See `shallows.kernels`; a kernel object brings its own parameters.
    bandwidth : float, optional
        σ, in the units of the features. None takes the median distance of a subsample.
    kernel_params : dict, optional
        Further parameters of a kernel that is named, such as ``{"nu": 1.5}``.
    features : str or object, optional
        None works with the kernel itself. Else with explicit features of it: "fourier" (cosines and sines of random
        frequencies), "fourier_cosine", "orthogonal", "nystrom", "nystrom_kmeans", "rbf", "rbf_kmeans", "linear" (the
        inputs and a constant), or an object with ``map(x)`` and ``n_features``.
    n_features : int, default=512
        Columns of the named maps.
    loss : {"hinge", "squared_hinge", "logistic", "square"} or Loss, default="auto"
        "auto" is the hinge.
    regularisation : float, optional
        λ. None takes 1/n, which is C = 1 of a support vector machine; C in general is 1/(λn).
    batch_size : int, optional
        Rows of a step. None takes 256 with a kernel and 64 with features, fewer below 5,000 rows.
    max_epochs : int, default=10
        Passes over the data at most.
    max_seconds : float, optional
        Of training at most, kernel values and features included, without preparation, landmarks and evaluation.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the order of the rows, random features and landmarks. The same int gives the
        same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes (or a text such as "4GB") that the process may hold. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" is float32, and float64 up to 1,000 points.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    dual_coef_ : ndarray, shape (n_support, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``; without explicit features.
    support_ : ndarray of int
    coef_ : ndarray, shape (n_outputs, n_features)
        With explicit features.
    bandwidth_ : float
    n_epochs_ : int
    losses_ : list of float
        Of each epoch, as shares of the loss of the zero function, each batch measured before its own step.
    effective_params_ : dict
        Everything that the program chose.
    timings_ : dict
        Seconds by phase; ``eigensystem`` is the making of landmarks and their map.

    References
    ----------
    S. Shalev-Shwartz and T. Zhang (2013), "Stochastic dual coordinate ascent methods for regularized loss
    minimization", Journal of Machine Learning Research 14.
    """

    _default_loss = Hinge()


class SDCARegressor(_SDCA, RiskRegressor):
    """Regression by stochastic dual coordinate ascent, on a kernel or on explicit features.

    Minimises λ/2 ‖f‖² + (1/n) Σ ℓ(f(xᵢ), yᵢ), without an intercept. There is no step size:
    each dual variable is set to its best value in turn.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        See `shallows.kernels`; a kernel object brings its own parameters.
    bandwidth : float, optional
        σ, in the units of the features. None takes the median distance of a subsample.
    kernel_params : dict, optional
        Further parameters of a kernel that is named, such as ``{"nu": 1.5}``.
    features : str or object, optional
        None works with the kernel itself. Else with explicit features of it: "fourier" (cosines and sines of random
        frequencies), "fourier_cosine", "orthogonal", "nystrom", "nystrom_kmeans", "rbf", "rbf_kmeans", "linear" (the
        inputs and a constant), or an object with ``map(x)`` and ``n_features``.
    n_features : int, default=512
        Columns of the named maps.
    loss : {"square", "epsilon_insensitive", "huber", "quantile"} or Loss, default="auto"
        "auto" is the square.
    regularisation : float, optional
        λ. None takes 1/n, which is C = 1 of a support vector machine; C in general is 1/(λn).
    batch_size : int, optional
        Rows of a step. None takes 256 with a kernel and 64 with features, fewer below 5,000 rows.
    max_epochs : int, default=10
        Passes over the data at most.
    max_seconds : float, optional
        Of training at most, kernel values and features included, without preparation, landmarks and evaluation.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the order of the rows, random features and landmarks. The same int gives the
        same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes (or a text such as "4GB") that the process may hold. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" is float32, and float64 up to 1,000 points.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    dual_coef_ : ndarray, shape (n_support, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``; without explicit features.
    support_ : ndarray of int
    coef_ : ndarray, shape (n_outputs, n_features)
        With explicit features.
    bandwidth_ : float
    n_epochs_ : int
    losses_ : list of float
        Of each epoch, as shares of the loss of the zero function, each batch measured before its own step.
    effective_params_ : dict
        Everything that the program chose.
    timings_ : dict
        Seconds by phase; ``eigensystem`` is the making of landmarks and their map.

    References
    ----------
    S. Shalev-Shwartz and T. Zhang (2013), "Stochastic dual coordinate ascent methods for regularized loss
    minimization", Journal of Machine Learning Research 14.
    """
