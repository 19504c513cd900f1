"""Growth of training, prediction and size of budgeted machines with examples, non-zero entries and budget.

The table of orders in the lecture's slide on BudgetedSVM (Djuric, Lan, Vucetic and Wang 2013): N examples of S
non-zero entries among D, C classes, a budget B, I iterations. Here the exponents are measured, each symbol varied with
the others fixed. Times are ratios within one process, over rounds in which all sizes take turns.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from shallows import arrays, kernels, streams
from shallows.errors import UnknownNameError
from shallows.estimators.budgeted.adaptive_multi_hyperplane import AMMClassifier
from shallows.estimators.budgeted.budgeted_svm import BudgetedSVMClassifier
from shallows.estimators.budgeted.low_rank_svm import LowRankLinearizedSVMClassifier
from shallows.fitting.budgeted import FittedBudgeted, hyperplanes_of
from shallows.fitting.targets import Machines
from shallows.models.host_functions import GaussianSum
from shallows.solvers.budgeted.budgeted_sgd import BudgetedSGDStepper
from shallows.solvers.budgeted.multi_hyperplane import MultiHyperplaneStepper
from shallows.solvers.budgeted.sparse_rows import SparseRows, sparse_rows

from ..results import AnalysisResult
from ..timing import in_turn, processor_seconds

PREDICTED = 1000  # points of the timed prediction
PASSES = 1  # passes of LIBLINEAR over the features of a low-rank machine


@dataclass(frozen=True)
class MachineSize:
    """The symbols of the table: N, S, D, C, B and I."""

    n: int = 1000
    nonzeros: int = 20
    d: int = 1000
    classes: int = 4
    budget: int = 200
    iterations: int = 50


def orders_of_budgeted_machines(
    data: Any = None,
    *,
    method: str = "bsgd",
    along: str = "n",
    sizes: Sequence[int] = (500, 1000, 2000),
    fixed: dict[str, int] | None = None,
    rounds: int = 3,
    random_state: int = 0,
) -> AnalysisResult:
    """Measure training, prediction and model size of a machine against one of the table's symbols.

    Rows have normal numbers in random columns, and random labels, so that nearly every example violates its margin.
    Fixed symbols have the values of `MachineSize` or `fixed`. "pegasos" is "amm" with one hyperplane for each class.
    Budgets are full before the timed pass and are maintained by removal. "llsvm" has dense rows, S = D, sampled
    landmarks and one pass of LIBLINEAR. "svm" is LIBSVM with a cache of a megabyte: I iterations for each pair of
    classes, and predictions with all examples as support vectors.

    Over the sizes: ``training`` and ``prediction`` of 1,000 points, in units of the first size, and ``model``, the
    numbers that a prediction needs.
    """
    UnknownNameError.check("method", method, MACHINES)
    UnknownNameError.check("symbol", along, MachineSize.__dataclass_fields__)
    given = {size: replace(MachineSize(**(fixed or {})), **{along: size}) for size in sizes}
    if method == "llsvm":
        given = {size: replace(one, d=one.nonzeros) for size, one in given.items()}
    seconds: dict[str, dict[int, list[float]]] = {
        what: {size: [] for size in sizes} for what in ("training", "prediction")
    }
    held = {}
    with arrays.one_blas_thread():
        for turn, size in in_turn(sizes, rounds):
            times, held[size] = _measured(method, given[size], random_state)
            if turn:
                for what, value in times.items():
                    seconds[what][size].append(value)
    curve = {what: [min(of_size[size]) / min(of_size[sizes[0]]) for size in sizes] for what, of_size in seconds.items()}
    return AnalysisResult(
        list(sizes), {**curve, "model": [float(held[size]) for size in sizes]}, effective={"precision": "float64"}
    )


def rows_of(size: MachineSize, n: int, random_state: int, purpose: str) -> SparseRows:
    """Rows with S normal numbers in random columns, and random labels of C classes."""
    rng = np.random.default_rng([random_state, sum(map(ord, purpose)), n, size.nonzeros, size.d])
    if size.nonzeros >= size.d:
        points = rng.normal(size=(n, size.d))
    else:
        columns = np.stack([rng.choice(size.d, size.nonzeros, replace=False) for _ in range(n)]).ravel()
        values = rng.normal(size=n * size.nonzeros)
        points = scipy.sparse.csr_array((values, columns, np.arange(n + 1) * size.nonzeros), shape=(n, size.d))
        points.sort_indices()
    labels = streams.permutation(random_state, purpose, 0, n) % size.classes
    return sparse_rows(points, labels, None, size.classes)


def _measured(method: str, size: MachineSize, random_state: int) -> tuple[dict[str, float], int]:
    """Return processor seconds for training and prediction, and the count of numbers in the model."""
    train = rows_of(size, size.n, random_state, "train")
    new = rows_of(size, PREDICTED, random_state, "new").points
    fit, make_prediction = MACHINES[method](size, train)
    started = time.process_time()
    state = fit()
    trained = time.process_time() - started
    predict, held = make_prediction(state)
    return {"training": trained, "prediction": processor_seconds(predict, new)}, held


Machine = Callable[
    [MachineSize, SparseRows], tuple[Callable[[], Any], Callable[[Any], tuple[Callable[[Any], Any], int]]]
]
"""A function from sizes and rows to a training and a function that returns a prediction and the model's size."""


def _hyperplanes(size: MachineSize, train: SparseRows, per_class: int) -> tuple[Any, Any]:
    solver = MultiHyperplaneStepper(1e-3, per_class, batch=False, prune_every=2**40)
    state = solver.init(train)
    capacity = len(state.weights)
    state.weights[...] = np.random.default_rng(0).normal(size=state.weights.shape) * 1e-2
    state.n_weights, state.n_steps = capacity, 1000
    solver.step(train, solver.init(train), np.arange(1))  # compile, or read from the cache

    def make_prediction(state: Any) -> tuple[Any, int]:
        machine = hyperplanes_of(state, solver.constant, size.classes, np.zeros(size.d))
        found, model = FittedBudgeted(machine, solver.regularization, 1, 1, {}, {}), AMMClassifier()
        model.n_features_in_, model._targets = size.d, Machines(np.arange(size.classes), "one_vs_rest")
        model._store(found)
        return model.predict, model.coef_.size + model.intercept_.size

    return lambda: solver.step(train, state, np.arange(size.n)), make_prediction


def _budgeted(size: MachineSize, train: SparseRows) -> tuple[Any, Any]:
    kernel = kernels.Gaussian(math.sqrt(2.0 * size.nonzeros))
    solver = BudgetedSGDStepper(kernel, size.budget, 1e-3, "removal")
    state = solver.init(train)
    points = rows_of(size, size.budget, 1, "budget").points.toarray()
    coefficients = np.random.default_rng(0).normal(size=(size.budget, state.buffer.shape[1])) * 1e-3
    state.fill(kernels.augmented(points), coefficients)
    state.n_steps = 1000
    solver.step(train, solver.init(train), np.arange(1))

    def make_prediction(state: Any) -> tuple[Any, int]:
        machine = GaussianSum(state.centers.copy(), state.coefficients.copy(), kernel.bandwidth, np.zeros(size.d))
        found = FittedBudgeted(machine, solver.regularization, 1, 1, {}, {})
        model = BudgetedSVMClassifier()
        model.n_features_in_, model._targets = size.d, Machines(np.arange(size.classes), "one_vs_rest")
        model._store(found)
        return model.predict, model.support_vectors_.size + model.dual_coef_.size

    return lambda: solver.step(train, state, np.arange(size.n)), make_prediction


def _low_rank(size: MachineSize, train: SparseRows) -> tuple[Any, Any]:
    x = train.points.toarray()
    model = LowRankLinearizedSVMClassifier(
        size.budget, landmarks="sample", bandwidth=math.sqrt(2.0 * size.d), C=1.0, max_iterations=PASSES, random_state=0
    )

    def fit() -> LowRankLinearizedSVMClassifier:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(x, train.labels)

    def make_prediction(fitted: LowRankLinearizedSVMClassifier) -> tuple[Any, int]:
        feature_map = fitted.transformer_.feature_map_
        held = feature_map.landmarks.size + feature_map.root.size + fitted.coef_.size
        return lambda new: fitted.predict(new.toarray()), held

    return fit, make_prediction


def _kernel_machine(size: MachineSize, train: SparseRows) -> tuple[Any, Any]:
    x, options = _short(train.points), {"gamma": 0.25 / size.nonzeros, "cache_size": 1, "shrinking": False}
    # With this large C, no pair of classes converges before its last iteration.
    timed = SVC(C=1e3, max_iter=size.iterations, **options)

    def fit() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            timed.fit(x, train.labels)

    def make_prediction(_: None) -> tuple[Any, int]:
        # With this small C, every example is a support vector.
        fitted = SVC(C=1e-3, **options).fit(x, train.labels)
        held = fitted.support_vectors_.nnz + fitted.dual_coef_.shape[0] * fitted.dual_coef_.shape[1]
        return lambda new: fitted.predict(_short(new)), held

    return fit, make_prediction


def _short(points: scipy.sparse.csr_array) -> scipy.sparse.csr_matrix:
    """Convert rows to four-byte indices, which LIBSVM needs."""
    parts = (points.data, points.indices.astype(np.int32), points.indptr.astype(np.int32))
    return scipy.sparse.csr_matrix(parts, shape=points.shape)


MACHINES: dict[str, Machine] = {
    "pegasos": lambda size, train: _hyperplanes(size, train, 1),
    "amm": lambda size, train: _hyperplanes(size, train, max(1, size.budget // size.classes)),
    "llsvm": _low_rank,
    "bsgd": _budgeted,
    "svm": _kernel_machine,
}
"""The machines of the table."""
