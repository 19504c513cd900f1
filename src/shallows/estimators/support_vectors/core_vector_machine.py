"""Core vector machines for classes and for values."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from ...arrays.user_arrays import follows_input
from ...fitting import leave_one_out_choice
from ...fitting.support_vectors import fit_core_vector_regression
from ...solvers.settings import settings_of
from ...solvers.support_vectors.core_vectors import CoreVectorMachine
from ...utils.checks import check_positive, check_whole
from ..base import Estimator, keeps_model_on_failure
from ..constructors import stores_parameters, with_parameters
from .classifier import SupportVectorClassifier, check_kernel_and_limits, outputs


class CoreVectorMachineClassifier(SupportVectorClassifier):
    """Support vector machine with the squared hinge by core vectors, which searches samples of large data.

    For two classes it minimizes ½ (‖f‖² + b²) + C Σ wᵢ ½ max(0, 1 − yᵢ(f(xᵢ) + b))². The dual problem is the smallest
    ball around the training points in a feature space. The ball starts from two points and gains one outside point at a
    time, until all points are within (1 + ε) times its radius. The function uses the added points only; their number
    has a bound that does not depend on the number of rows.

    Parameters
    ----------
    epsilon : float, default=1e-6
        ε. A smaller value adds core points and comes closer to the exact solution.
    sample_size : int or None, default=59
        Points that are searched for one outside the ball. None: all points.
    max_core_points : int, optional
        Most core points m, which need m² numbers. None: what fits into the memory.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    support_ : ndarray of int, shape (n_support,)
        Numbers of the training rows with nonzero coefficients.
    dual_coef_ : ndarray, shape (n_support, n_problems)
        Coefficients of each machine; pairs of classes are in the order (0, 1), (0, 2), ..., (1, 2), ...
    intercept_ : ndarray, shape (n_problems,)
    objectives_ : ndarray, shape (n_problems,)
        The dual objective at the end.
    n_iter_, n_kernel_evaluations_ : int
        Steps on two variables of the core; computed kernel values.
    bandwidth_ : float
    effective_params_, timings_ : dict
        Values that the library chose, with kernel, seed, precision and device; seconds of each phase.

    References
    ----------
    I. W. Tsang, J. T. Kwok and P.-M. Cheung (2005), "Core vector machines: fast SVM training on very large data sets",
    JMLR 6.
    """

    __init__ = with_parameters(SupportVectorClassifier.__init__, epsilon=1e-6, sample_size=59, max_core_points=None)

    def _settings(self) -> CoreVectorMachine:
        return settings_of(CoreVectorMachine, self)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ball(self)


class CoreVectorMachineRegressor(RegressorMixin, Estimator):
    """Regression by core vectors, with a tube around the function whose width is learned.

    Minimizes λ/2 (‖f‖² + b²) + ε̄ + (1/(2μn)) Σ wᵢ max(0, |yᵢ − f(xᵢ) − b| − ε̄)² over f, b and half the width ε̄ of
    the tube, with targets in units of their standard deviation.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name or object of `shallows.kernels`, a function of two arrays, or "precomputed": X is the kernel matrix, and
        for predictions the values of new points with all training points.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of X. "auto": by leave-one-out errors. "median" and None: the median distance of points.
    kernel_params : dict, optional
        Parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
    regularisation : float or "auto", default="auto"
        λ. "auto": by leave-one-out errors of kernel ridge regression, and at least 10⁻³; see the method guide.
    mu : float, default=0.02
        μ, the mean distance of the targets from the tube, in units of their standard deviation. If all targets are
        nearer to the function, there is no tube and the loss is the square.
    epsilon : float, default=1e-6
        ε. A smaller value adds core points and comes closer to the exact solution.
    sample_size : int or None, default=59
        Points that are searched for one outside the ball. None: all points.
    max_core_points : int, optional
        Most core points m, which need m² numbers. None: what fits into the memory.
    random_state : int, RandomState or None, default=None
        Seed of all random draws. An int gives the same model every time.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Device of kernel values. "auto" uses a GPU if CuPy finds one. The steps are taken on the CPU.
    memory : int or str, optional
        Memory limit of the process, in bytes or as "4GB". None: a share of the free memory.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision of the kernel values. "auto": float32, or float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    support_ : ndarray of int, shape (n_support,)
        Numbers of the training rows with nonzero coefficients.
    dual_coef_ : ndarray, shape (n_support, n_problems)
        Coefficients of each machine; pairs of classes are in the order (0, 1), (0, 2), ..., (1, 2), ...
    intercept_ : ndarray, shape (n_problems,)
    tube_ : float
        Half the width of the tube, in the units of y.
    n_iter_, n_kernel_evaluations_ : int
        Steps on two variables of the core; computed kernel values.
    bandwidth_ : float
    effective_params_, timings_ : dict
        Values that the library chose, with kernel, seed, precision and device; seconds of each phase.

    References
    ----------
    I. W. Tsang, J. T. Kwok and J. M. Zurada (2006), "Generalized core vector machines", IEEE Transactions on Neural
    Networks 17.
    """

    _y_is_numeric = True

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: dict[str, Any] | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
        regularisation: float | str = "auto",
        mu: float = 0.02,
        epsilon: float = 1e-6,
        sample_size: int | None = 59,
        max_core_points: int | None = None,
    ):
        """Store the parameters, which the docstring of the class describes."""

    @keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all of X, y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weights of the losses; only their ratios matter. Rows of weight zero are left out.

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree.
        ShallowsError
            A parameter out of its range, or a kernel that is not positive semi-definite.
        """
        self._check_parameters()
        found = fit_core_vector_regression(
            self._validated_training_set(X, y, sample_weight),
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            regularisation=self.regularisation,
            mu=self.mu,
            solver=settings_of(CoreVectorMachine, self),
            seed=self._seed(),
            options=self._options(),
            name=type(self).__name__,
        )
        self._model, self.tube_ = found.model, found.tube
        self.support_, self.dual_coef_, self.intercept_ = found.support, found.coefficients, found.model.intercepts
        self.bandwidth_ = found.model.function.kernel.bandwidth
        self.n_iter_, self.n_kernel_evaluations_ = found.n_steps, found.n_evaluations
        self.effective_params_, self.timings_ = found.report, found.seconds
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_kernel_and_limits(self)
        check_ball(self)

    @follows_input
    def predict(self, X: Any) -> np.ndarray:
        """Values of the fitted function.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
        """
        return outputs(self, self._validated(X))[:, 0]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")


def check_ball(estimator: Any) -> None:
    """Check the parameters of the ball and the tube."""
    check_positive(estimator, "epsilon", "mu")
    if hasattr(estimator, "regularisation"):
        leave_one_out_choice.check_or_auto(estimator, "regularisation")
    check_whole(estimator, "sample_size", "max_core_points", least=2, optional=True)
