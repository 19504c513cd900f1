"""Support vector machine by a solver of choice: decomposition, interior point, Newton's method in the primal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import arrays, training
from ...errors import ShallowsError, UnknownNameError
from ...gram.row_slab import KernelRowSlab
from ...solvers.support_vectors.decomposition import Decomposition
from ...solvers.support_vectors.dense_problem import DenseProblem, bytes_needed, dense_matrix
from ...solvers.support_vectors.dual_problem import DualProblem, activate_all, intercept, objective
from ...solvers.support_vectors.interior_point import InteriorPoint
from ...solvers.support_vectors.primal_newton import KernelNewton
from .dual_classifier import DualClassifier, Solution, TwoClasses

SOLVERS = {
    "decomposition": ("hinge", "squared_hinge"),
    "interior_point": ("hinge", "squared_hinge"),
    "newton": ("squared_hinge",),
}
"""The losses that each solver takes; the first is meant by "auto"."""

SETS_OF_A_CALL = 1000
"""Working sets between two looks of the loop."""

MOST_ITERATIONS = 300
"""Iterations of the solvers that factor matrices, where the user names none; ten to thirty are common."""


class KernelSVMClassifier(DualClassifier):
    """Support vector machine with any kernel, solved to the end by a solver of choice.

    For two classes it minimises ½ ‖f‖² + C Σ wᵢ ℓ(yᵢ(f(xᵢ) + b)), as `SMOClassifier` does, which is the one to take
    where nothing speaks for another solver. ``"decomposition"`` holds rows of the kernel matrix; the others hold all of
    it, in double precision and twice, and refuse more rows than the memory has room for.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    solver : {"decomposition", "interior_point", "newton"}, default="decomposition"
        "decomposition" is SVM-light's: several dual variables at a time. "interior_point" takes about ten iterations
        whatever C is, each with a Cholesky factor of the whole matrix: for few rows, large C and many digits. "newton"
        works on the primal problem of the squared hinge, with systems of the size of the support vectors.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points times powers of two, the one with the smallest leave-one-out error of kernel ridge regression on 400
        to 1,000 training rows; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
    C : float, default=1.0
        The factor of the losses' sum. λ of a mean of losses with λ/2 ‖f‖² is 1/(C n).
    loss : {"auto", "hinge", "squared_hinge"}, default="auto"
        max(0, 1 − z) or ½ max(0, 1 − z)² of the margin z. "auto" takes the hinge where the solver can.
    multiclass : {"one_vs_one", "one_vs_rest"}, default="one_vs_one"
        A machine for each pair of classes, which vote, or for each class against all others.
    working_set : int, default=10
        Dual variables of a step of the decomposition, an even number.
    shrinking : bool, default=True
        Leave variables that stay at a bound out of the decomposition's search for a while. The solution is the same
        within ``tol``.
    cache : int or str, default="500MB"
        Bytes of the rows of the kernel matrix that the decomposition keeps at a time; those of a working set are always
        kept.
    tol : float, default=1e-3
        By how much the conditions of optimality may be violated, in units of the targets ±1 ("decomposition"); how far
        the primal objective may lie above the dual one, as a share of it ("interior_point" and "newton", for which no
        coefficient may be off from the derivative of its loss by more than this share of C either).
    max_iterations : int, optional
        The most working sets, or iterations, for two classes. None takes 300 iterations of the solvers that factor
        matrices, and 10,000,000 working sets, or 100 n where that is more, divided by their size.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes.
    random_state : int, RandomState or None, default=None
        Decides the rows that the bandwidth is chosen with, and the parts that Newton's method begins with.
        The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where kernel values are made; "auto" takes a GPU where CuPy finds one. The solvers run on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the rows that the decomposition keeps, and of the model. "auto" means float32, and float64 for up to 1,000
        points.
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
        The dual objective at the end.
    n_iter_ : int
        Working sets or iterations.
    n_kernel_evaluations_ : int
        Kernel values that were computed for rows, or for matrices.
    bandwidth_ : float
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit.

    See Also
    --------
    SMOClassifier : two dual variables at a time, the fastest of all on most data.

    References
    ----------
    T. Joachims (1999), "Making large-scale SVM learning practical". M. C. Ferris and T. S. Munson (2002),
    "Interior-point methods for massive support vector machines", SIAM Journal on Optimization 13. O. Chapelle (2007),
    "Training a support vector machine in the primal", Neural Computation 19.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import KernelSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelSVMClassifier(solver="newton", bandwidth=20.0, C=10.0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        solver: str = "decomposition",
        bandwidth: float | str | None = "auto",
        kernel_params: dict[str, Any] | None = None,
        C: float = 1.0,
        loss: str = "auto",
        multiclass: str = "one_vs_one",
        working_set: int = 10,
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
        self.solver = solver
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.C = C
        self.loss = loss
        self.multiclass = multiclass
        self.working_set = working_set
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
        if self.solver not in SOLVERS:
            raise UnknownNameError("solver", self.solver, SOLVERS)
        if self.loss not in ("auto", "hinge", "squared_hinge"):
            raise ShallowsError(f"loss must be 'auto', 'hinge' or 'squared_hinge', got {self.loss!r}.")
        if self._loss() not in SOLVERS[self.solver]:
            raise ShallowsError(
                f"solver={self.solver!r} takes the loss 'squared_hinge', which has a derivative everywhere, not "
                f"{self.loss!r}."
            )
        q = self.working_set
        if isinstance(q, bool) or not isinstance(q, int | np.integer) or q < 2 or q % 2:
            raise ShallowsError(f"working_set must be an even whole number of at least 2, got {q!r}.")

    def _loss(self) -> str:
        return SOLVERS[self.solver][0] if self.loss == "auto" else self.loss

    def _solve(self, kernel: Any, points: Any, two: TwoClasses, budget: int) -> Solution:
        C = self.C * two.weights
        if self.solver == "decomposition":
            return self._decompose(kernel, points, two.signs, C, budget)
        n, needed = len(C), bytes_needed(len(C))
        if needed > budget:
            raise ShallowsError(
                f"solver={self.solver!r} holds the whole kernel matrix twice, which takes {needed / 1e9:.3g} GB for "
                f"{n:,} rows, and the budget leaves {budget / 1e9:.3g} GB. Give more memory, or take "
                "solver='decomposition' or SMOClassifier, which hold some of its rows."
            )
        problem = DenseProblem(dense_matrix(kernel, points), two.signs, C, self._loss() == "squared_hinge")
        solver = InteriorPoint(float(self.tol)) if self.solver == "interior_point" else self._newton()
        most = self.max_iterations or MOST_ITERATIONS
        state = training.train(
            solver, problem, training.OwnRows(1), training.Stopping(most), observers=self._progress_observers()
        ).state
        if not state.exhausted:
            self._warn_of_limit(most, "iterations", state.gap)
        return Solution(
            state.coefficients,
            state.intercept,
            problem.dual_objective(state.coefficients),
            state.n_steps,
            n * n,
            state.exhausted,
        )

    def _newton(self) -> KernelNewton:
        return KernelNewton(float(self.tol), self._drawn_seed)

    def _decompose(self, kernel: Any, points: Any, signs: np.ndarray, C: np.ndarray, budget: int) -> Solution:
        n, squared = len(C), self._loss() == "squared_hinge"
        least = (self.working_set + 1) * n * np.dtype(str(points.dtype)).itemsize
        rows = KernelRowSlab(
            kernel,
            points,
            budget=max(least, min(budget // 2, arrays.memory_budget(self.cache))),
            ridge=1.0 / C if squared else None,
        )
        problem = DualProblem.of_classes(rows, signs, np.full(n, np.inf) if squared else C)
        most = self.max_iterations or self._most_steps(n) // self.working_set
        n_sets = min(SETS_OF_A_CALL, most)
        state = training.train(
            Decomposition(float(self.tol), int(self.working_set), bool(self.shrinking)),
            problem,
            training.OwnRows(n_sets),
            training.Stopping(math.ceil(most / n_sets)),
            observers=self._progress_observers(),
        ).state
        activate_all(problem, state)
        if not state.exhausted:
            self._warn_of_limit(most, "working sets", state.gap)
        return Solution(
            state.coefficients,
            intercept(problem, state),
            objective(problem, state),
            state.n_steps,
            rows.n_made * n,
            state.exhausted,
        )
