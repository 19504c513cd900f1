"""Ctrl-C is heard within a second whatever compiled loop runs, and every loop has a limit that it tells of."""

from __future__ import annotations

import importlib
import signal
import time

import numpy as np
import pytest
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
    InteriorPoint,
    KernelNewton,
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


LONG_FITS = {
    f"{type(solver).__name__}, cubic kernel on raw columns": lambda solver=solver: KernelSVMClassifier(
        **CUBE, solver=solver
    ).fit(RAW, LABELS)
    for solver in (LASVM(max_steps=1_500_000), SMO(max_steps=500_000), Decomposition(max_steps=10_000))
} | {
    "a budget of 400 points that are projected": lambda: BudgetedSVMClassifier(
        400, maintenance="projection", bandwidth=5.0, max_epochs=1, random_state=0
    ).fit(*(_rng.normal(size=(3000, 20)), _rng.integers(0, 4, size=3000))),
    "cutting planes on raw columns": lambda: LinearSVMClassifier(
        solver=CuttingPlanes(line_search=False), loss="squared_hinge"
    ).fit(RAW, LABELS),
}


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
@pytest.mark.parametrize("kind", LONG_FITS)
def test_python_hears_signals_within_a_second(kind):
    # The first call compiles what no earlier run has left in the cache.
    for solver in ("lasvm", "smo", "decomposition"):
        KernelSVMClassifier(**CUBE, solver=solver).fit(X, Y)
    BudgetedSVMClassifier(10, maintenance="projection", bandwidth=1.0).fit(X, Y)
    LinearSVMClassifier(solver=CuttingPlanes(line_search=False), loss="squared_hinge").fit(X, Y)
    assert longest_silence(LONG_FITS[kind]) < 1.0


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
    "LASVM, the steps at the end": (
        "support_vectors.lasvm:_reprocess_all",
        KernelSVMClassifier,
        {"solver": LASVM(tol=1e-6)},
    ),
    "SMO": ("support_vectors.smo:take_steps", KernelSVMClassifier, {"solver": SMO(shrinking=False)}),
    "decomposition": (
        "support_vectors.decomposition:take_working_sets",
        KernelSVMClassifier,
        {"solver": Decomposition(shrinking=False)},
    ),
    "budget": ("budgeted.budgeted_sgd:go_through", BudgetedSVMClassifier, {"budget": 20, "bandwidth": 1.0}),
    "hyperplanes": ("budgeted.multi_hyperplane:go_through", AMMClassifier, {}),
    "dual coordinates": ("linear_svm.dual_coordinate_descent:_part_of_pass", LinearSVMClassifier, {}),
    "subgradients": ("linear_svm.subgradients:_steps", LinearSVMClassifier, {"solver": LinearPegasos(batch_size=3)}),
    "averages": ("linear_svm.subgradients:_steps", LinearSVMClassifier, {"solver": "svm_sgd"}),
    "SARAH": ("linear_svm.sarah:_inner_steps", LinearSVMClassifier, {"solver": SARAH(max_epochs=3)}),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop_in_many_pieces_gives_what_it_gives_in_one_to_the_bit(kind, monkeypatch):
    (module, _, name), Estimator, options = LOOPS[kind][0].partition(":"), *LOOPS[kind][1:]
    module, counts = importlib.import_module(f"shallows.solvers.{module}"), []

    def fitted(operations):
        calls, compiled = [], vars(module)[name]
        with monkeypatch.context() as patched:
            patched.setattr(pieces, "OPERATIONS", operations)
            patched.setattr(module, name, lambda *args: calls.append(1) or compiled(*args))
            model = Estimator(random_state=0, **options).fit(X, Y)
        counts.append(len(calls))
        return model.decision_function(X)

    assert np.array_equal(fitted(1e12), fitted(1.0))
    # In pieces of one step each.
    assert counts[1] > counts[0] + 50


# ------------------------------------------------------------------------------------------------- limits

LIMITS = {
    "SMO": lambda: KernelSVMClassifier(solver=SMO(max_steps=5)),
    "decomposition": lambda: KernelSVMClassifier(solver=Decomposition(max_steps=2)),
    "interior point": lambda: KernelSVMClassifier(solver=InteriorPoint(max_iterations=2)),
    "Newton": lambda: KernelSVMClassifier(solver=KernelNewton(max_iterations=1)),
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
