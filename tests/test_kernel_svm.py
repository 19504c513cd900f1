"""Kernel machines by decomposition, interior point and primal Newton: their optimum, and what they refuse."""

import itertools

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from engine_example import naive_kernel, sample
from kernel_svm_example import coefficients_of, dual_objective, dual_problem, two_classes
from resumed_example import stopped_at_every_batch
from shallows import KernelSVMClassifier, Options
from shallows.errors import ShallowsError
from shallows.solvers import SDCA, SMO, Decomposition, InteriorPoint
from shallows.solvers.support_vectors import SOLVERS
from shallows.solvers.support_vectors.decomposition import DecompositionStepper, choose, count_settled
from shallows.solvers.support_vectors.dense_problem import DenseProblem
from shallows.solvers.support_vectors.interior_point import InteriorPointStepper
from shallows.solvers.support_vectors.primal_newton import KernelNewtonStepper
from shallows.solvers.support_vectors.smo import SMOStepper
from shallows.svm import CoreVectorMachineClassifier, CoreVectorMachineRegressor
from shallows.training import OwnRows, Stopping, train


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("solver", [SMO, Decomposition, InteriorPoint])
def test_the_optimum_of_the_hinge_is_libsvm_s(solver, C):
    x, y = two_classes()
    model = KernelSVMClassifier(bandwidth=1.0, C=C, solver=solver(tol=1e-8)).fit(x, y)
    exact = SVC(C=C, gamma=0.5, tol=1e-8).fit(x, y)
    mine, theirs = (dual_objective(coefficients_of(machine, 240), x, y) for machine in (model, exact))
    assert mine == pytest.approx(theirs, rel=1e-6)
    assert model.objectives_[0] == pytest.approx(mine, rel=1e-9)
    new = sample(100, 3, seed=7)
    assert np.abs(model.decision_function(new) - exact.decision_function(new)).max() < 1e-3
    # The variables of an interior point that belong to a bound are put there.
    if C >= 1.0:  # with less, nearly all points lie on the margins
        assert len(model.support_) <= 1.02 * len(exact.support_) + 1


@pytest.mark.parametrize("solver", ["smo", "decomposition", "interior_point", "kernel_newton"])
def test_the_optimum_of_the_squared_hinge_has_the_derivatives_of_the_loss_as_coefficients(solver):
    x, y = two_classes(700)  # Newton's method begins with a part of them
    C = 3.0 * np.linspace(0.5, 2.0, 700)
    model = KernelSVMClassifier(bandwidth=1.0, C=3.0, loss="squared_hinge", solver=SOLVERS[solver](tol=1e-9))
    beta = coefficients_of(model.fit(x, y, sample_weight=C / 3.0), 700)
    expected = C * np.maximum(0.0, 1.0 - y * model.decision_function(x))
    assert np.abs(y * beta - expected).max() < 1e-4
    assert abs(beta.sum()) < 1e-6
    assert model.objectives_[0] == pytest.approx(dual_objective(beta, x, y, C), rel=1e-9)


@pytest.mark.parametrize(
    ("solver", "loss"),
    [("interior_point", "hinge"), ("interior_point", "squared_hinge"), ("kernel_newton", "squared_hinge")],
)
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_a_tolerance_holds_for_the_objectives_of_the_model_whatever_c_is(solver, loss, C):
    x, y = two_classes()
    model = KernelSVMClassifier(bandwidth=1.0, C=C, loss=loss, solver=solver).fit(x, y)
    beta = coefficients_of(model, 240)
    missed = np.maximum(0.0, 1.0 - y * model.decision_function(x))
    norm = beta @ naive_kernel("gaussian", 1.0, x, x) @ beta
    primal = 0.5 * norm + C * (missed if loss == "hinge" else 0.5 * missed**2).sum()
    assert primal <= 1.0011 * dual_objective(beta, x, y, C if loss == "squared_hinge" else None)
    assert len(model.support_) < 200


def test_a_working_set_is_the_steepest_feasible_direction():
    rng = np.random.default_rng(0)
    for _ in range(20):
        n, size = 7, 4
        g = np.round(rng.normal(size=n), 2)
        beta = rng.choice([-1.0, 0.0, 0.5], size=n)
        lower, upper = np.full(n, -1.0), np.full(n, 0.5)
        room = np.empty((2, size)), np.empty((2, size), np.int64), np.empty(size, np.int64), np.zeros(n, bool)
        q, gap, _ = choose(size, beta, g, lower, upper, np.arange(n), *room)
        best = max(
            g @ np.array(d)
            for d in itertools.product([-1, 0, 1], repeat=n)
            if sum(d) == 0
            and np.abs(d).sum() <= size
            and not any((e > 0 and b == 0.5) or (e < 0 and b == -1.0) for e, b in zip(d, beta, strict=True))
        )
        values = np.sort(g[room[2][:q]])
        found = values[q // 2 :].sum() - values[: q // 2].sum() if q else 0.0
        if q % 2 == 0:
            assert found == pytest.approx(best, abs=1e-12)
        assert gap == pytest.approx(max(0.0, g[beta < upper].max() - g[beta > lower].min()))
        assert not room[3].any()


@pytest.mark.parametrize("size", [2, 20])
def test_shrinking_the_cache_and_the_size_of_working_sets_change_the_way_and_not_the_end(size):
    x, y = two_classes(600)
    ends, fewest = [], 600
    for solver, kept in (
        (DecompositionStepper(1e-7, size, patience=10), 25),
        (DecompositionStepper(1e-7, 10, shrinking=False), 600),
    ):
        problem = dual_problem(x, y, 2.0, kept)
        state = solver.init(problem)
        while not state.exhausted:
            solver.step(problem, state, 5)
            fewest = min(fewest, len(state.active))
        assert len(state.active) == 600
        assert np.abs(state.gradient - (y - naive_kernel("gaussian", 1.0, x, x) @ state.coefficients)).max() < 1e-7
        ends.append(state.coefficients)
    assert fewest < 300
    assert np.abs(ends[0] - ends[1]).max() < 1e-4


def test_variables_that_come_back_begin_to_count_anew():
    x, y = two_classes()
    problem, solver = dual_problem(x, y, 2.0), DecompositionStepper(1e-5)
    state = solver.step(problem, solver.init(problem), 10**5)
    assert state.exhausted
    state.exhausted, state.active, state.settled[:] = False, np.arange(100), 7
    # What is left is at its optimum, and so are all: they come back, and nothing is moved.
    state = solver.step(problem, state, 1)
    assert state.exhausted and len(state.active) == 240
    assert not state.settled.any()


def test_a_variable_is_settled_where_its_gradient_keeps_it_at_a_bound_by_more_than_the_tolerance():
    # At the upper bound twice, at the lower bound twice, between them, and a variable that is not active.
    beta, gradient = np.array([1.0, 1.0, 0.0, 0.0, 0.5, 1.0]), np.array([3.2, 3.05, 2.8, 2.95, 9.0, 9.0])
    settled = np.full(6, 4)
    count_settled(settled, 3.0, 0.1, beta, gradient, np.zeros(6), np.ones(6), np.arange(5))
    assert settled.tolist() == [5, 0, 5, 0, 0, 4]


@pytest.mark.parametrize(
    ("solver", "squared"),
    [
        (SMOStepper(1e-4), None),
        (DecompositionStepper(1e-5), None),
        (InteriorPointStepper(1e-6), False),
        (KernelNewtonStepper(), True),
    ],
)
def test_a_run_that_is_stopped_at_every_batch_ends_the_same_to_the_bit(solver, squared, tmp_path):
    x, y = two_classes()

    def once(**options):
        if squared is None:
            problem, rows = dual_problem(x, y, 2.0, capacity=30), OwnRows(40, n_batches=3)
        else:
            problem = DenseProblem(naive_kernel("gaussian", 1.0, x, x), y, np.full(240, 2.0), squared)
            rows = OwnRows(1, n_batches=2)
        return train(solver, problem, rows, Stopping(10**4), **options)

    whole, (resumed, _) = once(), stopped_at_every_batch(once, tmp_path)
    assert whole.state.exhausted
    assert np.array_equal(whole.state.coefficients, resumed.state.coefficients)
    assert resumed.n_resumes > 1


def test_newton_s_systems_are_not_much_larger_than_the_number_of_support_vectors():
    x, y = two_classes(1200)
    problem = DenseProblem(naive_kernel("gaussian", 1.0, x, x), y, np.full(1200, 100.0), True)
    solver = KernelNewtonStepper()
    state = solver.step(problem, solver.init(problem), 1)
    assert state.largest_system == 500  # of the first part, all of whose examples miss their margins at zero
    state = solver.init(problem)
    while not state.exhausted:
        solver.step(problem, state, 1)
    n_support = np.count_nonzero(state.coefficients)
    assert n_support < 500
    assert state.largest_system < 1.5 * n_support
    assert state.n_steps < 40


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"C": -1.0}, "C must be a positive number"),
        ({"C": None}, "C must be a positive number"),
        ({"multiclass": "ovo"}, "no multiclass 'ovo'. Known: one_vs_one"),
        ({"solver": SMO(tol=0.0)}, "tol must be a positive number"),
        ({"solver": "simplex"}, "simplex"),
        ({"loss": "square"}, "no loss 'square'. Did you mean 'squared_hinge'"),
        (
            {"solver": "kernel_newton", "loss": "hinge"},
            "takes loss='squared_hinge', got 'hinge', .*'smo'",
        ),
        ({"solver": "lasvm", "loss": "squared_hinge"}, "solver='lasvm' takes loss='hinge', .*'kernel_newton'"),
        ({"solver": "lasvm", "kernel": "precomputed"}, "solver='lasvm' keeps the points .*'smo', 'decomposition'"),
        ({"solver": Decomposition(working_set=3)}, "working_set must be an even whole number"),
        ({"solver": SMO(max_steps=0)}, "max_steps must be a whole number"),
        ({"solver": SMO(cache="much")}, "cache must be a size in bytes.*'much'"),
        ({"solver": SDCA()}, "KernelSVMClassifier cannot use the solver SDCA. Its solvers are 'smo'"),
        ({"solver": SMO}, "solver=SMO is a class. Give an object"),
        ({"bandwidth": None}, "bandwidth must be a positive number, 'auto' or 'median', got None"),
    ],
)
def test_parameters_out_of_range_are_told(parameters, said):
    x, y = two_classes(30)
    with pytest.raises(ShallowsError, match=said):
        KernelSVMClassifier(**parameters).fit(x, y)


@pytest.mark.parametrize("solver", ["smo", "decomposition", "interior_point", "kernel_newton"])
def test_a_kernel_that_is_not_positive_semi_definite_is_told(solver):
    # Positive semi-definite on the first hundred rows, which is where a fit looks beforehand.
    x, y = two_classes(120)
    K = naive_kernel("gaussian", 1.0, x, x)
    K[110:, 110:] = 1.5 - 0.5 * np.eye(10)
    with pytest.raises(ShallowsError, match="not positive semi-definite"):
        KernelSVMClassifier("precomputed", solver=SOLVERS[solver](tol=1e-6), C=1e3).fit(K, y)


@pytest.mark.parametrize("solver", ["smo", "decomposition", "interior_point", "kernel_newton"])
def test_too_few_iterations_warn_and_still_give_the_function_of_the_coefficients(solver):
    x, y = two_classes()
    limit = "max_steps" if solver in ("smo", "decomposition") else "max_iterations"
    with pytest.warns(ConvergenceWarning, match="After 2 "):
        own = SOLVERS[solver](**{limit: 2, "tol": 1e-9})
        model = KernelSVMClassifier(solver=own, bandwidth=1.0, C=10.0).fit(x, y)
    assert model.n_iter_ == 2
    expected = naive_kernel("gaussian", 1.0, x, x) @ coefficients_of(model, 240) + model.intercept_[0]
    assert np.abs(model.decision_function(x) - expected).max() < 1e-6


@pytest.mark.parametrize("squared", [False, True])
def test_the_interior_point_method_starts_in_the_middle_with_a_multiplier_for_each_bound(squared):
    C = np.array([1.0, 4.0, 8.0])
    state = InteriorPointStepper().init(DenseProblem(np.eye(3), np.array([1.0, -1.0, 1.0]), C, squared))
    assert state.inner.tolist() == ([0.5, 1.0, 1.0] if squared else [0.5, 2.0, 4.0])
    assert state.low.tolist() == [1.0, 1.0, 1.0]
    assert state.high.tolist() == ([0.0] * 3 if squared else [1.0] * 3)  # a squared hinge has no upper bound


@pytest.mark.parametrize(
    "model",
    [
        KernelSVMClassifier(),
        KernelSVMClassifier(solver="decomposition"),
        KernelSVMClassifier(solver="lasvm"),
        CoreVectorMachineClassifier(),
        CoreVectorMachineRegressor(),
    ],
    ids=repr,
)
def test_support_counts_rows_of_weight_zero_too(model):
    x, y = two_classes(120)
    weights = np.tile([0.0, 1.0, 1.0], 40)
    model.set_params(bandwidth=1.0, random_state=0).fit(x, y, sample_weight=weights.tolist())
    assert weights[model.support_].all() and model.support_.max() >= 80
    fitted = [model]
    if hasattr(model, "partial_fit"):  # the rows of all parts of a stream are counted
        fitted.append(clone(model))
        for rows in (slice(60), slice(60, 120)):
            fitted[1].partial_fit(x[rows], y[rows], sample_weight=weights[rows])
    for one in fitted:
        expected = naive_kernel("gaussian", 1.0, x, x) @ coefficients_of(one, 120) + one.intercept_[0]
        np.testing.assert_allclose(getattr(one, "decision_function", one.predict)(x), expected, atol=1e-8)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fitted_attributes_are_those_of_svc(n_classes, kernel, sparse):
    X, y = load_iris(return_X_y=True)
    # The classes 1 and 2 overlap.
    order = np.random.default_rng(0).permutation(len(y) if n_classes == 3 else np.flatnonzero(y > 0))
    X, y = X[order], y[order]
    rows, linear = scipy.sparse.csr_array(X) if sparse else X, kernel == "linear"
    theirs = SVC(C=1.0, kernel="linear" if linear else "rbf", gamma=0.5, tol=1e-8).fit(X, y)
    ours = KernelSVMClassifier(kernel, bandwidth="auto" if linear else 1.0, solver=SMO(tol=1e-8)).fit(rows, y)
    assert np.array_equal(ours.support_, theirs.support_)
    assert np.array_equal(ours.n_support_, theirs.n_support_)
    vectors = ours.support_vectors_
    assert scipy.sparse.issparse(vectors) == sparse
    assert np.abs((vectors.toarray() if sparse else vectors) - theirs.support_vectors_).max() < 1e-14
    for name in ("dual_coef_", "intercept_", *(["coef_"] if linear else [])):
        assert getattr(ours, name).shape == getattr(theirs, name).shape
        assert np.abs(getattr(ours, name) - getattr(theirs, name)).max() < 1e-4, name
    assert hasattr(ours, "coef_") == linear


@pytest.mark.parametrize("solver", ["smo", "decomposition", "interior_point", "kernel_newton", "lasvm"])
@pytest.mark.filterwarnings("ignore:max_seconds")
def test_a_time_limit_ends_the_training_with_a_model(solver):
    x, y = two_classes(600)
    if solver == "smo":  # takes ten thousand steps at a time
        x = 100 * np.repeat(x, 10, axis=0)
        y = np.random.default_rng(0).choice([-1.0, 1.0], len(x))
    options = Options(max_seconds=1e-9, dtype="float64")
    loss = "squared_hinge" if solver == "kernel_newton" else "hinge"
    model = KernelSVMClassifier("linear", C=1e4, loss=loss, solver=solver, random_state=0, options=options).fit(x, y)
    assert model.report_["stopped_by"] == "max_seconds"
    assert np.isfinite(model.decision_function(x)).all()
