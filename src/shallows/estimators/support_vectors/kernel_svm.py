"""Support vector machine by SMO, decomposition, an interior-point method, or Newton's method in the primal."""

from __future__ import annotations

from ...errors import ShallowsError
from ...solvers import settings
from ...solvers.support_vectors import SOLVERS
from ...solvers.support_vectors.dual_problem import DualSettings
from ...utils.checks import check_choice
from ..constructors import with_parameters
from .classifier import SupportVectorClassifier


class KernelSVMClassifier(SupportVectorClassifier):
    """Support vector machine with any kernel, solved until convergence by one of four solvers.

    For two classes it minimizes ½ ‖f‖² + C Σ wᵢ ℓ(yᵢ(f(xᵢ) + b)), for the hinge as LIBSVM and scikit-learn's `SVC` do.

    Parameters
    ----------
    solver : {"smo", "decomposition", "interior_point", "newton"}, default="smo"
        "smo" (usually fastest) and "decomposition" keep some rows of the kernel matrix. "interior_point" (few rows,
        large C) and "newton" (squared hinge only) keep all of it twice, in float64.
    solver_params : dict, optional
        "smo", "decomposition": ``cache`` ("500MB"), the size of the kept rows, and ``shrinking`` (True).
        "decomposition": ``working_set`` (10), the number of dual variables of a step, which must be even.
    loss : {"auto", "hinge", "squared_hinge"}, default="auto"
        max(0, 1 − z) or ½ max(0, 1 − z)² of the margin z. "auto": the hinge if the solver allows it.
    tol : float, default=1e-3
        "smo", "decomposition": largest violation of the optimality conditions, in units of the targets ±1. Others:
        relative gap between the primal and the dual objective.
    max_iterations : int, optional
        Most steps or iterations for two classes. None: 300 iterations, or max(10⁷, 100 n) steps.

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
        Steps, working sets or iterations; computed kernel values.
    bandwidth_ : float
    effective_params_, timings_ : dict
        Values that the library chose, with kernel, seed, precision and device; seconds of each phase.

    References
    ----------
    R.-E. Fan, P.-H. Chen and C.-J. Lin (2005), "Working set selection using second order information for training
    support vector machines", JMLR 6. T. Joachims (1999), "Making large-scale SVM learning practical". M. C. Ferris and
    T. S. Munson (2002), "Interior-point methods for massive support vector machines", SIAM Journal on Optimization 13.
    O. Chapelle (2007), "Training a support vector machine in the primal", Neural Computation 19.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import KernelSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelSVMClassifier(bandwidth=20.0, C=10.0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    __init__ = with_parameters(
        SupportVectorClassifier.__init__, solver="smo", solver_params=None, loss="auto", tol=1e-3, max_iterations=None
    )

    def _settings(self) -> DualSettings:
        shared = {"tol": self.tol, "max_iterations": self.max_iterations}
        return settings.make(SOLVERS, self.solver, self.solver_params, **shared)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        solver = self._settings()
        check_choice(self, loss=("auto", "hinge", "squared_hinge"))
        if self.loss not in ("auto", *solver.losses):
            raise ShallowsError(
                f"solver={self.solver!r} takes the loss 'squared_hinge', which has a derivative everywhere, not "
                f"{self.loss!r}."
            )
