"""Support vector machine by sequential minimal optimisation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import arrays, training
from ...errors import ShallowsError
from ...gram.row_slab import KernelRowSlab
from ...solvers.support_vectors.dual_problem import DualProblem, activate_all, intercept, objective
from ...solvers.support_vectors.smo import SMO
from .dual_classifier import DualClassifier, Solution, TwoClasses

STEPS_OF_A_CALL = 10_000
"""Steps between two looks of the loop."""


class SMOClassifier(DualClassifier):
    """Support vector machine with any kernel, solved to the end by sequential minimal optimisation.

    For two classes it minimises ½ ‖f‖² + C Σ wᵢ max(0, 1 − yᵢ(f(xᵢ) + b)), in the dual variables, two at a time. It is
    what LIBSVM, and scikit-learn's SVC, solve; the memory is that of the rows of the kernel matrix that are kept.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points times powers of two, the one with the smallest leave-one-out error of kernel ridge regression on 400
        to 1,000 training rows; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
    C : float, default=1.0
        The factor of the losses' sum. λ of a mean of losses with λ/2 ‖f‖² is 1/(C n).
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The squared one is ½ max(0, 1 − yᵢ(f(xᵢ) + b))².
    multiclass : {"one_vs_one", "one_vs_rest"}, default="one_vs_one"
        A machine for each pair of classes, which vote, or for each class against all others.
    shrinking : bool, default=True
        Leave rows that stay at a bound out of the search for a while. The solution is the same within ``tol``.
    cache : int or str, default="500MB"
        Bytes of the rows of the kernel matrix that are kept at a time; two rows are always kept.
    tol : float, default=1e-3
        By how much the conditions of optimality may be violated, in units of the targets ±1.
    max_iterations : int, optional
        The most steps for two classes. None takes 10,000,000, or 100 n where that is more, as LIBSVM does.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes.
    random_state : int, RandomState or None, default=None
        Decides the rows that the bandwidth is chosen with. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where kernel values are made; "auto" takes a GPU where CuPy finds one. The steps are taken on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the kernel values. "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    support_ : ndarray of int, shape (n_support,)
        Numbers of the training rows with coefficients other than zero in any machine.
    dual_coef_ : ndarray, shape (n_support, n_problems)
        βᵢ = yᵢαᵢ of each machine: one for two classes, else for the pairs (0, 1), (0, 2), ..., (1, 2), ... or for the
        classes.
    intercept_ : ndarray, shape (n_problems,)
    objectives_ : ndarray, shape (n_problems,)
        The dual objective Σ αᵢ − ½ ΣΣ αᵢαⱼyᵢyⱼk(xᵢ, xⱼ) at the end.
    n_iter_ : int
        Steps on two variables.
    n_kernel_evaluations_ : int
        Kernel values that were computed for rows.
    bandwidth_ : float
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    R.-E. Fan, P.-H. Chen and C.-J. Lin (2005), "Working set selection using second order information for training
    support vector machines", JMLR 6.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import SMOClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SMOClassifier(bandwidth=20.0, C=10.0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: dict[str, Any] | None = None,
        C: float = 1.0,
        loss: str = "hinge",
        multiclass: str = "one_vs_one",
        shrinking: bool = True,
        cache: int | str = "500MB",
        tol: float = 1e-3,
        max_iterations: int | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.C = C
        self.loss = loss
        self.multiclass = multiclass
        self.shrinking = shrinking
        self.cache = cache
        self.tol = tol
        self.max_iterations = max_iterations
        self.class_weight = class_weight
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.loss not in ("hinge", "squared_hinge"):
            raise ShallowsError(f"loss must be 'hinge' or 'squared_hinge', got {self.loss!r}.")

    def _solve(self, kernel: Any, points: Any, two: TwoClasses, budget: int) -> Solution:
        C = self.C * two.weights
        squared = self.loss == "squared_hinge"
        rows = KernelRowSlab(
            kernel,
            points,
            budget=min(budget // 2, arrays.memory_budget(self.cache)),
            ridge=1.0 / C if squared else None,
        )
        problem = DualProblem.of_classes(rows, two.signs, np.full(len(C), np.inf) if squared else C)
        most = self._most_steps(len(C))
        n_steps = min(STEPS_OF_A_CALL, most)
        run = training.train(
            SMO(float(self.tol), bool(self.shrinking)),
            problem,
            training.OwnRows(n_steps),
            training.Stopping(math.ceil(most / n_steps)),
            observers=self._progress_observers(),
        )
        state = run.state
        activate_all(problem, state)
        if not state.exhausted:
            self._warn_of_limit(most, "steps", state.gap)
        return Solution(
            state.coefficients,
            intercept(problem, state),
            objective(problem, state),
            state.n_steps,
            rows.n_made * rows.n,
            state.exhausted,
        )
