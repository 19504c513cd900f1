"""A support vector machine with the Gaussian kernel and a budget of support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from ... import arrays, kernels, streams
from ...errors import ShallowsError, UnknownNameError
from ...fitting import leave_one_out_choice
from ...fitting.parameter_checks import check_whole
from ...fitting.user_warnings import warn_user
from ...models.centring import stay_sparse
from ...solvers.budgeted.budgeted_sgd import LINE_SEARCHES, MAINTENANCE, BudgetedSGD, BudgetedState
from ...solvers.budgeted.sparse_rows import SparseRows
from ..constructors import stores_parameters
from .row_by_row import RowByRowClassifier

DEFAULT_BUDGET = 100


class BudgetedSVMClassifier(RowByRowClassifier):
    """Support vector machine with the Gaussian kernel and a budget of support vectors, by stochastic gradient descent.

    Pegasos on a kernel, one example a step: f ← (1 − 1/t) f, and a kernel function at the example where its hinge loss
    is positive. When there are more than the budget allows, the one of the smallest coefficients makes room. Two
    classes have one function; more have one each, and the loss is that of Crammer and Singer. Columns whose mean is
    more than 100 times as large as the deviation of the points are centred for the training.

    Parameters
    ----------
    budget : int, optional
        Support vectors at most. None takes 100, or as many as there are training rows if these are fewer. A budget
        above the number of rows is brought down to it, with a warning.
    maintenance : {"merging", "projection", "removal"}, default="merging"
        What happens to the support vector that must go: it is merged with another into one between the two; its
        projection onto the others takes its place, which costs time with the square of the budget; or it is dropped.
    line_search : {"auto", "golden_section", "lookup"}, default="auto"
        How losses of merging are found: by a search for each pair, or from a table, which two classes alone have.
        "auto" takes the table where it can.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ of exp(−‖x − z‖²/(2σ²)), in the units of the features. "auto" takes, of the median distance between points
        times powers of two, the one with the smallest leave-one-out error of kernel ridge regression, with nλ of
        the n rows, on 400 to 1,000 of them; "median" and None take the median distance.
    regularisation : float, optional
        λ. None takes 1/n, which is C = 1 of a support vector machine, and 1e-4 for a model that begins with
        `partial_fit`; C in general is 1/(λn).
    max_epochs : int, default=5
        Passes over the training data. Five are few for few rows: of 900 with ten inputs, 20 passes brought 83 % of new
        rows right where five brought 68 %.
    max_seconds : float, optional
        The most seconds of training.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides the order of the rows and the subsample. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Without effect, since one example at a time is no work for a GPU; here so that all estimators take it.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use; a model that needs more is refused. None takes a share
        of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Without effect: the steps are taken in float64.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    support_vectors_ : ndarray, shape (n_support, n_features)
        Merged ones are no training points.
    dual_coef_ : ndarray, shape (n_support, n_outputs)
    bandwidth_ : float
    regularisation_ : float
        λ.
    n_steps_ : int
        Examples that were visited.
    n_epochs_ : int
    effective_params_ : dict
        What the program chose where a parameter left it open, with the number of violations, and the squared norm of
        what the function lost to the budget, summed over the steps.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    Z. Wang, K. Crammer and S. Vucetic (2012), "Breaking the curse of kernelization: budgeted stochastic gradient
    descent for large-scale SVM training", Journal of Machine Learning Research 13.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import BudgetedSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = BudgetedSVMClassifier(budget=200, bandwidth=25.0, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.9), len(model.support_vectors_)
    (True, 200)
    """

    @stores_parameters
    def __init__(
        self,
        budget: int | None = None,
        *,
        maintenance: str = "merging",
        line_search: str = "auto",
        bandwidth: float | str | None = "auto",
        regularisation: float | None = None,
        max_epochs: int = 5,
        max_seconds: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...

    def _check_parameters(self) -> None:
        super()._check_parameters()
        leave_one_out_choice.check_bandwidth(self.bandwidth)
        check_whole(self, "budget", optional=True)
        UnknownNameError.check("way to keep the budget (maintenance)", self.maintenance, MAINTENANCE)
        UnknownNameError.check("line search (line_search)", self.line_search, LINE_SEARCHES)

    def _choose(self, X: Any, y: np.ndarray, weights: np.ndarray | None, seed: int, *, streamed: bool) -> None:
        self.bandwidth_ = self._chosen_bandwidth(X, y, weights, seed)
        n, budget = X.shape[0], self.budget or DEFAULT_BUDGET
        if not streamed and self.budget is not None and self.budget > n:
            warn_user(
                f"The budget of {self.budget} is above the number of training rows, and brought down to {n}.",
                UserWarning,
            )
        # Of a stream there are more rows to come.
        self._budget = budget if streamed else min(n, budget)
        row = X.shape[1] + 2 + (self._budget if self.maintenance == "projection" else 0)
        needed, room = 8 * self._budget * row, self._working_budget(arrays.Device("cpu"))
        remedy = "Take a smaller budget, or give more memory."
        arrays.check_room(f"{self._budget:,} support vectors take", needed, room, remedy)

    def _make_solver(self, d: int) -> BudgetedSGD:
        return BudgetedSGD(
            kernels.Gaussian(float(self.bandwidth_)),
            self._budget,
            self.regularisation_,
            self.maintenance,
            self.line_search,
        )

    def _chosen_bandwidth(self, X: Any, y: np.ndarray, weights: np.ndarray | None, seed: int) -> float:
        def points_of(rows: np.ndarray) -> arrays.Array:
            if stay_sparse(X):
                return kernels.augmented(arrays.SparsePoints(X[rows].astype(np.float64)))
            some = X[rows].toarray() if scipy.sparse.issparse(X) else X[rows]
            some = some.astype(np.float64)
            # Distances do not depend on the origin, and are more exact about the mean.
            return kernels.augmented(some - some.mean(axis=0))

        codes = leave_one_out_choice.class_codes(np.searchsorted(self.classes_, y), len(self.classes_))
        of_data = points_of, codes, weights, seed
        choice = leave_one_out_choice.choose_kernel_ridge(
            "gaussian", self.bandwidth, None, *of_data, regularisation=len(y) * self.regularisation_
        )
        self._selection = leave_one_out_choice.report(choice)
        given = leave_one_out_choice.given_bandwidth(self.bandwidth, choice)
        return float(given or _median_distance(X, seed))

    def _start(self, solver: BudgetedSGD, problem: SparseRows) -> BudgetedState:
        state = solver.init(problem)
        state.add(self.support_vectors_ - self._offsets, self.dual_coef_)
        state.n_steps = self.n_steps_
        return state

    def _keep(self, solver: BudgetedSGD, state: BudgetedState) -> None:
        self.support_vectors_ = np.ascontiguousarray(state.centres + self._offsets)
        self.dual_coef_ = state.coefficients.copy()
        self.effective_params_ = {
            "kernel": "gaussian",
            "bandwidth": self.bandwidth_,
            "budget": solver.budget,
            "n_support": state.n_points,
            "n_violations": state.n_violations,
            "lost": state.lost,
            **vars(self).get("_selection", {}),
        }

    def _scores(self, X: scipy.sparse.csr_array) -> np.ndarray:
        z = self.support_vectors_ - self._offsets
        norms = X.multiply(X).sum(axis=1)[:, None] + (z * z).sum(axis=1)
        K = np.exp(-np.maximum(norms - 2.0 * (X @ z.T), 0.0) / (2.0 * self.bandwidth_**2))
        return K @ self.dual_coef_


def _median_distance(X: Any, seed: int) -> float:
    rows = streams.permutation(seed, "first look", 0, X.shape[0])[:1000]
    if stay_sparse(X):
        some = arrays.SparsePoints(X[rows])
    else:
        some = X[rows].toarray() if scipy.sparse.issparse(X) else X[rows]
    try:
        return kernels.median_bandwidth(some.astype(np.float64), seed)
    except ShallowsError:
        return 1.0  # All points are the same, and so are the functions of all bandwidths.
