"""Dual coordinate descent, Newton's method, cutting planes and SARAH on a linear support vector machine."""

import numpy as np
import pytest

from linear_svm_example import optimum, points, problem_of, run
from shallows.errors import ShallowsError
from shallows.solvers.linear_svm.cutting_planes import (
    CuttingPlanesStepper,
    maximize_by_active_sets,
    maximize_on_simplex,
    minimum_on_line,
)
from shallows.solvers.linear_svm.dual_coordinate_descent import DualCoordinateDescentStepper
from shallows.solvers.linear_svm.lbfgs import LBFGSStepper, LogisticProblem
from shallows.solvers.linear_svm.newton import PrimalNewtonStepper
from shallows.solvers.linear_svm.problem import (
    HINGE,
    SQUARED_HINGE,
    LinearState,
    LinearSVMProblem,
    SideBySide,
    dual_objective,
)
from shallows.solvers.linear_svm.rows import as_rows, draws, key_of
from shallows.solvers.linear_svm.sarah import SARAHStepper

BOTH = pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE])


@BOTH
@pytest.mark.parametrize(("sparse", "shrinking", "weighted"), [(False, True, True), (True, False, False)])
def test_dual_coordinate_descent_ends_at_the_solution_of_liblinear(loss, sparse, shrinking, weighted):
    X, y = points(sparse=sparse)
    X[:10], X[10:20], y[10:20] = 0.0, X[20:30], y[20:30]  # rows of zeros and repeated rows do no harm
    weights = np.linspace(0.5, 1.5, len(y)) if weighted else None
    problem = problem_of(X, y, loss=loss, weights=weights)
    state = run(DualCoordinateDescentStepper(1e-9, shrinking), problem, 1, 5000)
    best = problem.objective(optimum(problem, X))
    assert state.exhausted
    assert problem.objective(state.coefficients) == pytest.approx(best, rel=1e-9)
    assert dual_objective(problem, state.dual) == pytest.approx(best, rel=1e-8)
    expected = (state.dual * y) @ X / (problem.regularization * problem.n)
    np.testing.assert_allclose(state.coefficients, expected, atol=1e-10)


@BOTH
def test_the_dual_objective_never_falls_and_bounds_the_primal_one(loss):
    X, y = points()
    problem, solver = problem_of(X, y, 1e-3, loss), DualCoordinateDescentStepper(0.0)
    state, before = solver.init(problem), 0.0
    for _ in range(30):
        state = solver.step(problem, state, 1)
        value = dual_objective(problem, state.dual)
        assert before - 1e-14 <= value <= problem.objective(state.coefficients)
        before = value


def test_two_opposite_points_have_the_solution_of_paper_and_pencil():
    # P(w) = λ/2 w² + max(0, 1 − w): w = 1/λ as long as that stays below 1, and 1 from there on.
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    for lam, w in [(4.0, 0.25), (0.5, 1.0)]:
        for solver in (
            DualCoordinateDescentStepper(1e-12),
            CuttingPlanesStepper(1e-12),
            CuttingPlanesStepper(1e-12, line_search=True),
        ):
            assert run(solver, problem_of(X, y, lam), 1, 100).coefficients == pytest.approx([w], rel=1e-6)
    # With ½ max(0, 1 − w)² it is 1/(1 + λ).
    for solver in (DualCoordinateDescentStepper(1e-12), PrimalNewtonStepper(1e-12), CuttingPlanesStepper(1e-12)):
        found = run(solver, problem_of(X, y, 0.5, SQUARED_HINGE), 1, 100).coefficients
        assert found == pytest.approx([1 / 1.5], rel=1e-5)


def test_shrinking_sets_variables_aside_on_the_way():
    X, y = points()
    problem, solver = problem_of(X, y, 1e-3), DualCoordinateDescentStepper(1e-6)
    state, fewest = solver.init(problem), problem.n
    while not state.exhausted:
        state = solver.step(problem, state, 1)
        fewest = min(fewest, state.n_active)
    assert fewest < 0.5 * problem.n
    assert state.n_active == problem.n


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("solver", "most"), [(PrimalNewtonStepper(1e-10), 15), (LBFGSStepper(1e-8), 60)])
def test_smooth_methods_end_at_the_solution_within_few_iterations(solver, most, weighted, sparse):
    X, y = points(sparse=sparse)
    X = X * np.logspace(0, -1, 12)
    problem = problem_of(X, y, 1e-3, SQUARED_HINGE, np.linspace(0.5, 1.5, len(y)) if weighted else None)
    state = run(solver, problem, 1, 200)
    assert state.exhausted
    assert state.n_steps <= most
    assert run(solver, problem, 1, 2).n_steps == 2
    best = problem.objective(optimum(problem, X))
    assert problem.objective(state.coefficients) == pytest.approx(best, rel=1e-9)
    np.testing.assert_allclose(state.margins, problem.margins(state.coefficients), atol=1e-10)


def test_a_direction_of_newton_solves_the_weighted_equations_as_well_as_its_gradient_asks_for():
    X, y = points(n=80)
    weights = np.where(np.arange(80) % 4 == 0, 3.7, 0.1)
    problem, solver = problem_of(X, y, 1e-2, SQUARED_HINGE, weights), PrimalNewtonStepper(1e-12)
    state = solver.init(problem)
    for _ in range(3):
        gradient = problem.regularization * state.coefficients + problem.risk_gradient(state.margins)
        inside, size = weights * (state.margins < 1) / 80, np.linalg.norm(gradient)
        H = problem.regularization * np.eye(12) + X.T @ (inside[:, None] * X)
        left = H @ solver._direction(problem, state, gradient, size) + gradient
        assert np.linalg.norm(left) <= size * min(0.1, np.sqrt(size / state.first_norm)) * (1 + 1e-9)
        state = solver.step(problem, state, 1)


def test_the_inverse_hessian_of_lbfgs_is_that_of_all_pairs_it_remembers():
    X, y = points(n=80)
    problem, solver, pairs = problem_of(X, y, 1e-2, SQUARED_HINGE), LBFGSStepper(1e-12, memory=3), []
    state = solver.init(problem)
    for _ in range(6):
        before = state.coefficients, state.gradient
        state = solver.step(problem, state, 1)
        pairs = [*pairs, (state.coefficients - before[0], state.gradient - before[1])][-3:]
        s, v = pairs[-1]
        H = np.eye(12) * (s @ v) / (v @ v)
        for s, v in pairs:
            left = np.eye(12) - np.outer(s, v) / (s @ v)
            H = left @ H @ left.T + np.outer(s, s) / (s @ v)
        np.testing.assert_allclose(solver._times_inverse_hessian(state), H @ state.gradient, rtol=1e-8)


def test_more_than_ten_machines_take_up_each_its_own():
    made, other = (SideBySide([LinearState(np.full(2, sign * k)) for k in range(12)]) for sign in (1.0, -1.0))
    other.recall(*made.remember())
    np.testing.assert_array_equal(other.coefficients, [np.arange(12.0)] * 2)


@pytest.mark.parametrize("make", [LinearSVMProblem, LogisticProblem])
def test_slopes_and_curvatures_are_the_derivatives_of_the_losses(make):
    X, y = points(n=50)
    problem = make(as_rows(X), 12, y, 0.1, SQUARED_HINGE, np.linspace(0.5, 1.5, 50))
    margins, h = np.linspace(-3, 3.03, 50), 1e-5
    first = [(problem.risk(margins + h * e) - problem.risk(margins - h * e)) / (2 * h) for e in np.eye(50)]
    np.testing.assert_allclose(-problem.slopes(margins) / 50, first, atol=1e-8)
    second = (problem.slopes(margins - h) - problem.slopes(margins + h)) / (2 * h)
    np.testing.assert_allclose(problem.curvatures(margins), second, atol=1e-8)


@BOTH
def test_the_place_on_a_line_has_the_smallest_objective(loss):
    X, y = points(n=60)
    problem = problem_of(X, y, 0.1, loss, np.linspace(0.5, 1.5, 60))
    w, d = np.linspace(-0.2, 0.3, 12), y @ X / 60
    place = minimum_on_line(problem, w, d, problem.margins(w), problem.margins(d))
    around = [problem.objective(w + (place + step) * d) for step in (-1e-3, 0.0, 1e-3)]
    assert place > 0.1 and around[1] < min(around[0], around[2])


@BOTH
@pytest.mark.parametrize("line_search", [False, True])
def test_cutting_planes_end_with_a_gap_that_holds_the_optimum(loss, line_search):
    X, y = points()
    problem = problem_of(X, y, 1e-3, loss)
    best = problem.objective(optimum(problem, X))
    solver, state = CuttingPlanesStepper(1e-4, line_search), None
    state = solver.init(problem)
    while not state.exhausted:
        before = state.objective
        state = solver.step(problem, state, 1)
        assert state.objective <= before
        assert state.bound <= best * (1 + 1e-9)
        assert state.objective >= best * (1 - 1e-9)
    assert problem.objective(state.coefficients) == pytest.approx(state.objective, rel=1e-12)
    assert state.objective <= best * (1 + 1.1e-4)
    assert state.n_steps < 200


@BOTH
def test_the_minimum_on_a_line_is_that_of_a_search_by_hand(loss):
    X, y = points(n=80)
    rng = np.random.default_rng(1)
    weights = rng.random(80) * 2
    problem = problem_of(X, y, 1e-2, loss, weights / weights.mean())
    goal = optimum(problem, X)
    for scale in (0.1, 1.0, 10.0):
        w = scale * rng.normal(size=12)
        # At the optimum many examples have a kink, which takes a wrong derivative for the right one; elsewhere none.
        for direction in (goal - w, goal - w + rng.normal(size=12)):
            a = minimum_on_line(problem, w, direction, problem.margins(w), y * (X @ direction))
            by_hand = min(problem.objective(w + b * direction) for b in np.linspace(0, 3, 3001))
            assert problem.objective(w + a * direction) <= by_hand + 1e-9
    uphill = w - goal
    assert minimum_on_line(problem, w, uphill, problem.margins(w), y * (X @ uphill)) == 0.0


@pytest.mark.parametrize("p", [1, 2, 8])
def test_the_maximum_on_the_simplex_has_no_larger_gradient_at_any_corner(p):
    rng = np.random.default_rng(p)
    A, b = rng.normal(size=(p, 3)), rng.normal(size=p)
    Q, by_pairs, by_sets = A @ A.T, np.full(p, 1 / p), np.full(p, 1 / p)
    value, ended = maximize_on_simplex(Q, b, by_pairs, 1e-12, 100_000)
    maximize_by_active_sets(Q, b, by_sets, 1e-12)
    assert ended
    for a in (by_pairs, by_sets):
        assert a.min() >= 0 and a.sum() == pytest.approx(1.0)
        assert value == pytest.approx(b @ a - 0.5 * a @ Q @ a, abs=1e-10)
        gradient = b - Q @ a
        assert gradient.max() <= gradient @ a + 1e-8


def plain_sarah(problem, X, w, step, chosen):
    def gradient(w, rows):
        missed = np.maximum(0.0, 1.0 - problem.signs[rows] * (X[rows] @ w))
        each = problem.all_weights[rows] * problem.signs[rows] * missed
        return problem.regularization * w - each @ X[rows] / len(rows)

    v = gradient(w, np.arange(problem.n))
    before, w = w, w - step * v
    for i in chosen:
        v = gradient(w, [i]) - gradient(before, [i]) + v
        before, w = w, w - step * v
    return w


@pytest.mark.parametrize("sparse", [False, True])
def test_a_round_of_sarah_is_that_of_the_formula(sparse):
    X, y = points(sparse=sparse)
    problem = problem_of(X, y, 0.05, SQUARED_HINGE, np.linspace(0.5, 1.5, len(y)))
    solver = SARAHStepper(inner=2000, step_size=0.2)
    state, w = solver.init(problem), np.zeros(12)
    for turn in range(2):
        chosen = draws(key_of(0, "examples of SARAH", turn), 0, 1999, len(y))
        w = plain_sarah(problem, X, w, 0.2, chosen)
        state = solver.step(problem, state, 1)
        np.testing.assert_allclose(state.coefficients, w, atol=1e-10)


def test_sarah_stays_at_the_optimum():
    X, y = points()
    problem, solver = problem_of(X, y, 0.05, SQUARED_HINGE), SARAHStepper()
    best = optimum(problem, X)
    state = solver.init(problem)
    state.coefficients = best.copy()
    np.testing.assert_allclose(solver.step(problem, state, 3).coefficients, best, atol=1e-7)


@pytest.mark.parametrize("solver", [PrimalNewtonStepper(), SARAHStepper()])
def test_methods_of_gradients_refuse_the_hinge(solver):
    X, y = points(n=20)
    with pytest.raises(ShallowsError, match="squared hinge"):
        solver.init(problem_of(X, y))


@BOTH
def test_the_minimum_on_a_line_is_that_of_paper_and_pencil(loss):
    # One example x = 1 with y = 1 and λ = 1: P(a) = a²/2 + max(0, 1 − a), or a²/2 + max(0, 1 − a)²/2.
    one = np.ones(1)
    problem = problem_of(one[:, None], one, 1.0, loss)
    assert minimum_on_line(problem, 0 * one, one, 0 * one, one) == pytest.approx(1.0 if loss == HINGE else 0.5)
    assert minimum_on_line(problem, 0 * one, 0 * one, 0 * one, 0 * one) == 0.0


def test_the_tolerance_of_lbfgs_is_a_share_of_the_first_gradient():
    X, y = points()
    problem = problem_of(1e-3 * X, y, loss=SQUARED_HINGE)
    state = run(LBFGSStepper(0.1), problem, 1, 200)
    first = np.linalg.norm(problem.risk_gradient(np.zeros(problem.n)))
    assert first < 0.01 and state.n_steps > 0
    assert np.linalg.norm(state.gradient) <= 0.1 * first
