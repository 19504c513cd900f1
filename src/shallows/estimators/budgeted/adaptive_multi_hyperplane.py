"""The adaptive multi-hyperplane machine as an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from ... import arrays
from ...errors import UnknownNameError
from ...fitting.parameter_checks import check_not_negative, check_whole
from ...solvers.budgeted.multi_hyperplane import HyperplaneState, MultiHyperplane
from ...solvers.budgeted.sparse_rows import SparseRows
from ..constructors import stores_parameters
from .row_by_row import RowByRowClassifier

METHODS = ("batch", "online")


class AMMClassifier(RowByRowClassifier):
    """Adaptive multi-hyperplane machine: a linear machine with several hyperplanes for each class.

    The score of a class is the largest of its hyperplanes', so that boundaries are made of linear pieces, and training
    and prediction cost as much as for a linear machine with so many outputs. The number of hyperplanes grows with what
    the data need, and the small ones are pruned. Minimised is, by subgradient steps of one example each,
    λ/2 ‖W‖² + (1/n) Σ max(0, 1 + max_{c≠y} g(c, xᵢ) − w_{y,z}ᵀxᵢ) for the hyperplane z that an example is assigned to.

    Parameters
    ----------
    method : {"batch", "online"}, default="batch"
        An example is assigned to the hyperplane of its class that was best in the epoch before, or to the one that is
        best when it is visited. The first epoch of "batch", and what `partial_fit` does, is as "online".
    n_hyperplanes : int, default=20
        Hyperplanes of each class, at most.
    regularisation : float, optional
        λ. None takes 1/n, which is C = 1 of a support vector machine, and 1e-4 for a model that begins with
        `partial_fit`; C in general is 1/(λn).
    max_epochs : int, default=10
        Passes over the training data. The publication takes one for "online".
    prune_every : int, default=10000
        Examples between two prunings.
    pruning : float, default=10.0
        c: the smallest hyperplanes whose squared norms sum up to at most (c/(λt))² are taken out after t examples, but
        for the largest of each class. 0 prunes none but those of zeros.
    constant : float, default=1.0
        A further feature of that value gives the hyperplanes their offsets, which are regularised alike; 0 gives none.
        With it columns whose mean is more than 100 times as large as the deviation of the points are centred.
    reserve : bool, default=False
        Whether every class has a hyperplane of zeros in reserve, as published, so that no class scores below 0 in the
        training; else, as in the authors' toolbox, only the class of the example has one.
    max_seconds : float, optional
        The most seconds of training.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides the order of the rows. The same int gives the same model.
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
    coef_ : ndarray, shape (n_hyperplanes in all, n_features)
    intercept_ : ndarray, shape (n_hyperplanes in all,)
    hyperplane_classes_ : ndarray of int, shape (n_hyperplanes in all,)
        The number in ``classes_`` that each belongs to.
    regularisation_ : float
        λ.
    n_steps_ : int
        Examples that were visited.
    n_epochs_ : int
    effective_params_ : dict
        What the program chose where a parameter left it open, with the number of violations, and the squared norms of
        what was pruned, summed.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    Z. Wang, N. Djuric, K. Crammer and S. Vucetic (2011), "Trading representability for scalability: adaptive
    multi-hyperplane machine for nonlinear classification", KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import AMMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AMMClassifier(random_state=0).fit(X[:1200] / 16, y[:1200])
    >>> bool(model.score(X[1200:] / 16, y[1200:]) > 0.85)
    True
    """

    @stores_parameters
    def __init__(
        self,
        method: str = "batch",
        *,
        n_hyperplanes: int = 20,
        regularisation: float | None = None,
        max_epochs: int = 10,
        prune_every: int = 10000,
        pruning: float = 10.0,
        constant: float = 1.0,
        reserve: bool = False,
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
        check_whole(self, "n_hyperplanes", "prune_every")
        check_not_negative(self, "pruning", "constant")
        UnknownNameError.check("method", self.method, METHODS)

    def _make_solver(self, d: int) -> MultiHyperplane:
        n = self.n_hyperplanes * len(self.classes_)
        room, remedy = self._working_budget(arrays.Device("cpu")), "Take a smaller n_hyperplanes, or give more memory."
        arrays.check_room(f"{n:,} hyperplanes take", 8 * n * (d + 2), room, remedy)
        return MultiHyperplane(
            self.regularisation_,
            self.n_hyperplanes,
            self.method == "batch",
            self.prune_every,
            float(self.pruning),
            float(self.constant),
            bool(self.reserve),
        )

    def _start(self, solver: MultiHyperplane, problem: SparseRows) -> HyperplaneState:
        state, n = solver.init(problem), len(self.coef_)
        state.weights[:n, :-1] = self.coef_
        state.weights[:n, -1] = self._intercepts() / self.constant if self.constant else 0.0
        state.classes[:n] = self.hyperplane_classes_
        state.n_weights, state.n_steps = n, self.n_steps_
        state.n_names = len(state.names)
        return state

    def _keep(self, solver: MultiHyperplane, state: HyperplaneState) -> None:
        found = state.coefficients
        self.coef_ = np.ascontiguousarray(found[:, :-1])
        self.intercept_ = found[:, -1] * solver.constant - (self.coef_ * self._offsets).sum(axis=1)
        self.hyperplane_classes_ = state.classes[: state.n_weights].copy()
        self.effective_params_ = {
            "n_hyperplanes": state.n_weights,
            "n_violations": state.n_violations,
            "pruned": state.pruned,
        }

    def _has_intercept(self) -> bool:
        return bool(self.constant)

    def _intercepts(self) -> np.ndarray:
        """Of points less their offsets."""
        return self.intercept_ + (self.coef_ * self._offsets).sum(axis=1)

    def _scores(self, X: scipy.sparse.csr_array) -> np.ndarray:
        # By class, so that one pass takes the best of each; every class has a hyperplane.
        order = np.argsort(self.hyperplane_classes_, kind="stable")
        starts = np.searchsorted(self.hyperplane_classes_[order], np.arange(len(self.classes_)))
        of_class = np.maximum.reduceat(X @ self.coef_[order].T + self._intercepts()[order], starts, axis=1)
        return of_class[:, 1:] - of_class[:, :1] if len(self.classes_) == 2 else of_class
