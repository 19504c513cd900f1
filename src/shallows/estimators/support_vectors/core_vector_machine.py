"""Core vector machines for classes and for values."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from ...arrays.user_arrays import follows_input
from ...fitting.fit_call import FitCall
from ...fitting.rows import TrainingSet
from ...fitting.support_vectors import FittedMachines, FittedTube, fit_core_vector_regression, fit_kernel_svm
from ...solvers.support_vectors.core_vectors import EnclosingBall
from ...utils.checks import check_positive
from ..constructors import with_parameters
from .classifier import SupportVectorClassifier, SupportVectorMachine


class CoreVectorMachineClassifier(SupportVectorClassifier):
    """Support vector machine with the squared hinge by core vectors, which searches samples of large data.

    For two classes it minimizes ½ (‖f‖² + b²) + C Σ wᵢ ½ max(0, 1 − yᵢ(f(xᵢ) + b))². The dual problem is the smallest
    ball around the training points in a feature space. The ball gains one outside point at a time, until all points
    are within (1 + ε) times its radius. The function uses these points only; their number does not grow with the rows.

    Parameters
    ----------
    C : float, default=1.0
        Factor of the sum of the losses. λ next to a mean of losses is 1/(C n).
    multiclass : {"one_vs_one", "one_vs_rest"}, default="one_vs_one"
        A machine for each pair of classes, which vote, or for each class against the others.
    epsilon : float, default=1e-6
        ε. A smaller value adds core points and comes closer to the exact solution.
    sample_size : int or None, default=59
        Points that are searched for one outside the ball. None: all points.
    max_core_points : int, optional
        Most core points m, which need m² numbers. None: what fits into the memory.
    class_weight : dict or "balanced", optional

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    support_ : ndarray of int, shape (n_support,)
    support_vectors_ : ndarray or CSR matrix, shape (n_support, n_features)
    n_support_ : ndarray of int, of each class, or of all for values
    dual_coef_ : ndarray, shape (n_coefficients, n_support)
        As in scikit-learn's `SVC` and `SVR`; with "one_vs_rest" there is a row for each class.
    coef_ : ndarray, shape (n_problems, n_features), with a linear kernel
    intercept_ : ndarray, shape (n_problems,)
    objectives_ : ndarray, shape (n_problems,)
    n_iter_, n_kernel_evaluations_ : int
    bandwidth_ : float
    report_ : dict
    options_ : Options

    See Also
    --------
    shallows.KernelSVMClassifier : Exact solutions, also for the hinge.

    References
    ----------
    I. W. Tsang, J. T. Kwok and P.-M. Cheung (2005), "Core vector machines: fast SVM training on very large data sets",
    JMLR 6.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.svm import CoreVectorMachineClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CoreVectorMachineClassifier(bandwidth=20.0, C=10.0, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    __init__ = with_parameters(
        SupportVectorMachine.__init__,
        C=1.0,
        multiclass="one_vs_one",
        epsilon=1e-6,
        sample_size=59,
        max_core_points=None,
        class_weight=None,
    )

    def _train(self, rows: TrainingSet, call: FitCall) -> FittedMachines:
        of_classes = {"C": self.C, "squared": True, "multiclass": self.multiclass}
        return fit_kernel_svm(rows, **self._kernel(rows.X), **of_classes, solver=ball_of(self), call=call)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        ball_of(self).check()


class CoreVectorMachineRegressor(RegressorMixin, SupportVectorMachine):
    """Regression by core vectors, with a tube around the function whose width is learned.

    Minimizes λ/2 (‖f‖² + b²) + ε̄ + (1/(2μn)) Σ wᵢ max(0, |yᵢ − f(xᵢ) − b| − ε̄)² over f, b and half the width ε̄ of
    the tube, with targets in units of their standard deviation.

    Parameters
    ----------
    regularization : float or "auto", default="auto"
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

    Attributes
    ----------
    tube_ : float, half the width of the tube, in the units of y
        The others are those of `CoreVectorMachineClassifier`, without ``classes_`` and ``objectives_``.

    See Also
    --------
    shallows.KernelRidgeRegressor : The square loss.
    shallows.RegularizedRiskRegressor : Other losses, also with a tube of a given width.

    References
    ----------
    I. W. Tsang, J. T. Kwok and J. M. Zurada (2006), "Generalized core vector machines", IEEE Transactions on Neural
    Networks 17.

    Examples
    --------
    >>> import numpy as np
    >>> from shallows.svm import CoreVectorMachineRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = CoreVectorMachineRegressor(bandwidth=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    _y_is_numeric = True

    __init__ = with_parameters(
        SupportVectorMachine.__init__,
        regularization="auto",
        mu=0.02,
        epsilon=1e-6,
        sample_size=59,
        max_core_points=None,
    )

    def _train(self, rows: TrainingSet, call: FitCall) -> FittedTube:
        return fit_core_vector_regression(
            rows,
            **self._kernel(rows.X),
            regularization=self.regularization,
            mu=self.mu,
            solver=ball_of(self),
            call=call,
        )

    def _store(self, found: FittedTube) -> None:
        self._store_sum(found, np.arange(len(found.support)))
        self.dual_coef_, self.intercept_, self.tube_ = found.coefficients.T, found.model.intercepts, found.tube
        self.n_support_ = np.array([len(found.support)], dtype=np.int32)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_kernel()
        check_positive(self, "mu")
        check_positive(self, "regularization", rules=("auto",))
        ball_of(self).check()

    @follows_input
    def predict(self, X: Any) -> np.ndarray:
        """Values of the fitted function, shape (n_samples,)."""
        return self._raw_predict(self._validated(X))[:, 0]


def ball_of(estimator: Any) -> EnclosingBall:
    """The settings of the solver, which are parameters of the estimator."""
    return EnclosingBall(
        epsilon=estimator.epsilon, sample_size=estimator.sample_size, max_core_points=estimator.max_core_points
    )
