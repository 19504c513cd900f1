"""Oja's rule and the generalized Hebbian rule on streamed features: steps by the formula, ends by exact solutions."""

import array_api_strict
import numpy as np
import pytest

from component_example import features, points, sine_squared
from shallows import arrays, streams
from shallows.errors import DivergenceError, ShallowsError
from shallows.solvers.components.component_steps import (
    TooFewDirectionsError,
    next_block,
    random_feature_components,
    share_of_batch,
)
from shallows.solvers.components.oja import ComponentProblem, OjaStepper
from shallows.solvers.examples import Examples
from shallows.training import Batches, Stopping, train


def problem_on(x, f, k=2, centered=False, with_points=True):
    start = random_feature_components(f, x, k, centered=centered)
    kept = x if with_points else None
    return ComponentProblem(f, k, start.coefficients, np.diag(start.values[:k]), kept, centered)


def exact(f, x, k, centered=False):
    """Eigenvalues and the k top eigenvectors of the kernel matrix over n, centered in both directions if asked for."""
    K = f.kernel(x, x)
    if centered:
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, vectors = np.linalg.eigh(K / len(x))
    return values[::-1], vectors[:, ::-1][:, :k]


# ------------------------------------------------------------------------------------------------- the start


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("n", [20, 120])
def test_the_start_is_the_exact_solution_in_the_features_of_its_blocks(n, centered):
    # With 20 points the matrix of the points is decomposed, with 120 the matrix of the 64 columns.
    x, f = points(n), features(16)
    start = random_feature_components(f, x, 3, n_blocks=2, centered=centered)
    Z = f.map(x, 2)
    Z = Z - Z.mean(axis=0) * centered
    values, vectors = np.linalg.eigh(Z.T @ Z / n)
    found = start.coefficients.reshape(-1, 3) * np.sqrt(32)
    assert np.abs(start.values - values[::-1][:4]).max() < 1e-12
    assert np.abs(np.abs(vectors[:, ::-1][:, :3].T @ found) - np.eye(3)).max() < 1e-6
    assert start.variance == pytest.approx(values.sum(), rel=1e-12)


def test_more_components_than_the_data_have_are_refused_with_their_number():
    x = np.repeat(points(3), 40, axis=0)
    with pytest.raises(TooFewDirectionsError, match=r"n_components=4.*120 points.*span 3 directions"):
        random_feature_components(features(16), x, 4)


def test_a_zero_start_is_refused_with_the_reason():
    x, f = points(), features(8)
    problem = ComponentProblem(f, 2, np.zeros((1, f.width, 2)), np.eye(2), x)
    with pytest.raises(ShallowsError, match="every change is a multiple of their values"):
        OjaStepper(0.5).init(problem)


# -------------------------------------------------------------------------------------------------- the steps


@pytest.mark.parametrize("individual", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("centered", [False, True])
def test_a_step_is_that_of_the_formula(individual, scaled, centered):
    x, f = points(), features(8)
    problem = problem_on(x, f, 2, centered)
    solver = OjaStepper(0.3, 0.1, scaled, individual, max_blocks=3, seed=4)
    state = solver.init(problem)
    A, running = [state.coefficients[0].copy()], state.moment.copy()
    visited = []
    for t in range(9):
        rows = slice(10 * t, 10 * t + 30)
        B = 30
        Phi = [f.block(j, x[rows]) for j in range(len(A) + 1)]
        H = sum(Phi[j] @ A[j] for j in range(len(A)))
        H = H - H.mean(axis=0) * centered
        C, eta = H.T @ H / B, 0.3 / (1 + 0.1 * t)
        running = running + 0.1 * (C - running)
        upper = np.triu(C) if individual else C
        S = np.eye(2)
        if scaled:
            S = np.diag(1 / np.diag(running)) if individual else np.linalg.inv(running)
        state = solver.step(problem, state, rows)
        block = len(A) if len(A) < 3 else int(streams.permutation(4, "revisited blocks", (t - 2) // 3, 3)[(t - 2) % 3])
        visited.append(block)
        change = eta / (B * 8) * (Phi[block] if block < len(Phi) else f.block(block, x[rows])).T @ H @ S
        A = [one @ (np.eye(2) - eta * upper @ S) for one in A]
        if block == len(A):
            A.append(change)
        else:
            A[block] = A[block] + change
        assert state.last_step == pytest.approx(eta)
        assert np.abs(state.coefficients - np.array(A)).max() < 1e-12
    assert visited[:2] == [1, 2]
    assert sorted(visited[2:5]) == [0, 1, 2]  # Each old block once before any comes again.


def test_new_blocks_are_taken_until_the_budget_is_used_up_and_without_one_for_ever():
    assert [next_block(n, 0, 3, 0) for n in (0, 1, 2)] == [0, 1, 2]
    assert next_block(7, 0, None, 0) == 7
    for turn in range(3):
        assert sorted(next_block(4, 4 * turn + i, 4, 9) for i in range(4)) == [0, 1, 2, 3]


def test_a_batch_counts_by_its_examples_for_each_component_and_the_first_one_alone_makes_the_mean():
    assert [share_of_batch(n, k, 0.1) for n, k in ((10, 1), (10, 5), (1, 5))] == [0.1, 0.1, 0.01]
    x, f = points(), features(8)
    problem, solver = problem_on(x, f, centered=True), OjaStepper(0.1)
    state, means = solver.init(problem), []
    for batch in (Examples(x[:30]), Examples(x[30:32])):
        means.append(state.values(problem, batch.points).mean(axis=0))
        state = solver.step(problem, state, batch)
    share = 2 / (20 * 2)
    assert state.mean == pytest.approx((1 - share) * means[0] + share * means[1], rel=1e-12)


def test_a_step_that_a_batch_would_make_too_long_is_shortened():
    x, f = points(), features(8)
    problem = problem_on(x, f)
    solver = OjaStepper(1.0)
    state = solver.init(problem)
    far = Examples(np.repeat(x[:1], 50, axis=0))  # One direction alone, with all of the variance.
    for _ in range(5):
        state = solver.step(problem, state, far)
        assert state.last_step < 1.0
        assert np.abs(state.coefficients).max() < 1e3


# ---------------------------------------------------------------------------------------------------- the ends


@pytest.mark.parametrize(("scaled", "centered"), [(True, False), (False, True)])
def test_full_batches_on_fixed_features_end_in_the_eigenvectors_of_their_covariance(scaled, centered):
    # From random coefficients, so that it is not the start that solves the problem.
    x, f = points(), features(16)
    start = streams.normal(0, "start", 0, (1, f.width, 2)) / np.sqrt(16 * f.width)
    problem = ComponentProblem(f, 2, start, 0.3 * np.eye(2), x, centered)
    solver = OjaStepper(0.5 if scaled else 1.0, scaled=scaled, max_blocks=1)
    run = train(solver, problem, Batches(len(x), len(x), 0), Stopping(600, tolerance=-np.inf))
    Z = f.map(x)
    Z = Z - Z.mean(axis=0) * centered
    vectors = np.linalg.eigh(Z.T @ Z / len(x))[1][:, -2:]
    W = run.state.coefficients[0] * np.sqrt(f.block_size)
    assert sine_squared(vectors, W) < 1e-8
    assert np.abs(W.T @ W - np.eye(2)).max() < 1e-4  # GᵀG → I


@pytest.mark.parametrize("scaled", [False, True])
def test_the_generalised_hebbian_rule_finds_single_eigenfunctions_and_the_plain_rule_their_span(scaled):
    x, f = points(), features(16)
    Z = f.map(x)
    vectors = np.linalg.eigh(Z.T @ Z / len(x))[1][:, ::-1][:, :3]
    start = streams.normal(1, "start", 0, (1, f.width, 3)) / np.sqrt(16 * f.width)
    problem, found = ComponentProblem(f, 3, start, 0.3 * np.eye(3), x), {}
    for individual in (False, True):
        solver = OjaStepper(0.3 if scaled else 1.0, 0.0, scaled, individual, 1)
        run = train(solver, problem, Batches(len(x), len(x), 0), Stopping(500, tolerance=-np.inf))
        W = run.state.coefficients[0] * np.sqrt(f.block_size)
        assert sine_squared(vectors, W) < 1e-4
        found[individual] = np.abs(vectors.T @ W)
    assert np.abs(found[True] - np.eye(3)).max() < 1e-2
    assert np.abs(found[False] - np.eye(3)).max() > 0.1


# ----------------------------------------------------------------------------------- divergence, resuming, places


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value", "ignore:divide by zero")
def test_a_step_that_diverges_is_caught_told_and_halved():
    x = points()
    problem, batches = problem_on(x, features(16)), Batches(len(x), 20, 0)
    solver = OjaStepper(1e5, scaled=False)
    with pytest.raises(DivergenceError, match="with step_size=1e"):
        train(solver, problem, batches, Stopping(5, tolerance=-np.inf), may_shrink=False)
    run = train(solver, problem, batches, Stopping(5, tolerance=-np.inf))
    assert run.n_rollbacks > 5
    assert run.state.is_finite()


def test_the_rule_works_on_any_array_library():
    x, f = points(), features(8)
    plain = problem_on(x, f, 2, centered=True)
    strict = ComponentProblem(
        f, 2, array_api_strict.asarray(plain.start), plain.start_moment, array_api_strict.asarray(x), True
    )
    solver = OjaStepper(0.5, 0.1, max_blocks=3)
    states = [solver.init(problem) for problem in (plain, strict)]
    for t in range(8):
        batch = slice(10 * t, 10 * t + 30)
        states = [solver.step(p, s, batch) for p, s in zip((plain, strict), states, strict=True)]
    assert np.abs(arrays.to_numpy(states[1].coefficients) - states[0].coefficients).max() < 1e-13
