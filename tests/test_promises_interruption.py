"""Ctrl-C is heard within a second in every compiled loop, and every loop has a limit that it reports."""

import importlib
import signal
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

from shallows import KernelSVMClassifier, LinearSVMClassifier
from shallows.kernels import Polynomial
from shallows.solvers import (
    LASVM,
    LBFGS,
    SARAH,
    SMO,
    CuttingPlanes,
    Decomposition,
    DualCoordinateDescent,
    LinearPegasos,
    PrimalNewton,
    pieces,
)
from shallows.solvers.support_vectors import core_vectors
from shallows.svm import AMMClassifier, BudgetedSVMClassifier, CoreVectorMachineClassifier, CoreVectorMachineRegressor

RAW, LABELS = load_breast_cancer(return_X_y=True)
_rng = np.random.default_rng(0)
X = _rng.normal(size=(200, 4))
Y = (X[:, 0] * X[:, 1] + 0.5 * _rng.normal(size=200) > 0).astype(int)
CUBE = {"kernel": Polynomial(degree=3)}

# ------------------------------------------------------------------------------------------------ signals


LONG_FITS = [
    *(KernelSVMClassifier(**CUBE, solver=one) for one in (LASVM(max_steps=1_500_000), SMO(max_steps=500_000))),
    KernelSVMClassifier(**CUBE, solver=Decomposition(max_steps=10_000)),
    LinearSVMClassifier(solver=CuttingPlanes(line_search=False), loss="squared_hinge"),
    BudgetedSVMClassifier(400, maintenance="projection", bandwidth=5.0, max_epochs=1, random_state=0),
]


def longest_silence(work):
    """The most processor seconds of a piece of work in which Python heard no signal."""
    heard = [time.process_time()]
    before = signal.signal(signal.SIGVTALRM, lambda *_: heard.append(time.process_time()))
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.02, 0.02)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
    return np.diff([*heard, time.process_time()]).max()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", LONG_FITS, ids=repr)
def test_python_hears_signals_within_a_second(model):
    rows = RAW, LABELS
    if isinstance(model, BudgetedSVMClassifier):
        rows = _rng.normal(size=(3000, 20)), _rng.integers(0, 4, size=3000)
    # The first call compiles what no earlier run has left in the cache.
    clone(model).set_params(**({"budget": 10} if isinstance(model, BudgetedSVMClassifier) else {})).fit(X, Y)
    assert longest_silence(lambda: model.fit(*rows)) < 1.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_interrupted_fit_leaves_the_estimator_as_it_was():
    model = KernelSVMClassifier(**CUBE, solver="lasvm").fit(X, Y)
    expected, asked = model.decision_function(X), []

    def interrupt(*_):
        asked.append(time.process_time())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.3)
    started = time.process_time()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(RAW, LABELS)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
    assert asked[0] - started < 1.3
    assert np.array_equal(model.decision_function(X), expected)


# ------------------------------------------------------------------------------------------------- pieces

LOOPS = {
    "support_vectors.lasvm:_reprocess_all": KernelSVMClassifier(solver=LASVM(tol=1e-6)),
    "support_vectors.smo:take_steps": KernelSVMClassifier(solver=SMO(shrinking=False)),
    "support_vectors.decomposition:take_working_sets": KernelSVMClassifier(solver=Decomposition(shrinking=False)),
    "budgeted.budgeted_sgd:go_through": BudgetedSVMClassifier(budget=20, bandwidth=1.0),
    "budgeted.multi_hyperplane:go_through": AMMClassifier(),
    "linear_svm.dual_coordinate_descent:_part_of_pass": LinearSVMClassifier(),
    "linear_svm.subgradients:_steps": LinearSVMClassifier(solver=LinearPegasos(batch_size=3)),
    "linear_svm.sarah:_inner_steps": LinearSVMClassifier(solver=SARAH(max_epochs=3)),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("place", LOOPS)
def test_a_loop_in_many_pieces_gives_what_it_gives_in_one_to_the_bit(place, monkeypatch):
    module, _, name = place.partition(":")
    module, counts = importlib.import_module(f"shallows.solvers.{module}"), []

    def fitted(operations):
        calls, compiled = [], vars(module)[name]
        with monkeypatch.context() as patched:
            patched.setattr(pieces, "OPERATIONS", operations)
            patched.setattr(module, name, lambda *args: calls.append(1) or compiled(*args))
            model = clone(LOOPS[place]).set_params(random_state=0).fit(X, Y)
        counts.append(len(calls))
        return model.decision_function(X)

    assert np.array_equal(fitted(1e12), fitted(1.0))
    # In pieces of one step each.
    assert counts[1] > counts[0] + 50


# ------------------------------------------------------------------------------------------------- limits

LIMITS = {
    "LASVM": lambda: KernelSVMClassifier(solver=LASVM(tol=1e-9, max_steps=1), random_state=0),
    "core vectors": lambda: CoreVectorMachineClassifier(max_core_points=5, random_state=0),
    "core vectors, values": lambda: CoreVectorMachineRegressor(max_core_points=5, random_state=0),
} | {
    f"linear machine, {solver}": lambda solver=solver: LinearSVMClassifier(solver)
    for solver in (
        DualCoordinateDescent(max_epochs=2, tol=1e-9),
        PrimalNewton(max_epochs=2, tol=1e-9),
        LBFGS(max_epochs=2, tol=1e-9),
        CuttingPlanes(max_epochs=2, tol=1e-9),
        CuttingPlanes(line_search=False, max_epochs=2, tol=1e-9),
    )
}


@pytest.mark.parametrize("kind", LIMITS)
def test_a_solver_that_meets_its_limit_says_so(kind):
    with pytest.warns(ConvergenceWarning, match="Scale the (features|columns)"):
        LIMITS[kind]().fit(X, Y)


@pytest.mark.parametrize("solver", [SMO, Decomposition, LASVM])
def test_steps_have_a_limit_by_default(solver, monkeypatch):
    monkeypatch.setattr("shallows.solvers.support_vectors.dual_problem.MOST_STEPS", 10)
    with pytest.warns(ConvergenceWarning, match="the conditions of optimality are still violated"):
        KernelSVMClassifier(**CUBE, solver=solver(tol=1e-9), random_state=0).fit(100 * X[:60], Y[:60])


def test_steps_within_a_core_have_a_limit(monkeypatch):
    monkeypatch.setattr(core_vectors, "MOST_CALLS", 1)
    with pytest.warns(ConvergenceWarning, match="all that the limits allow"):
        CoreVectorMachineClassifier(**CUBE, epsilon=1e-12, random_state=0).fit(X, Y)
