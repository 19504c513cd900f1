"""Oja's rule, the noisy power method, VR-PCA and MSG on explicit features: steps by the formula, ends by exact ones."""

import array_api_strict
import numpy as np
import pytest

from component_example import features, points, sine_squared
from shallows import arrays, streams
from shallows.errors import ShallowsError
from shallows.features.design import Blocks, Design
from shallows.solvers.examples import Examples
from shallows.solvers.feature_components import SOLVERS
from shallows.solvers.feature_components.feature_pca import (
    FeatureOjaStepper,
    MatrixStochasticGradientStepper,
    NoisyPowerMethodStepper,
    VRPCAStepper,
)
from shallows.solvers.feature_components.problem import (
    FeaturePCAPlan,
    FeaturePCAProblem,
    sample_components,
)
from shallows.training import Batches, Stopping, train

N, K = 480, 2
SOLVED = {
    "oja": FeatureOjaStepper(4.0, 0.05),
    "power": NoisyPowerMethodStepper(N),
    "vr": VRPCAStepper(4.0),
    "msg": MatrixStochasticGradientStepper(3.0, 4),
}
each = pytest.mark.parametrize("name", SOLVED)
each_centring = pytest.mark.parametrize("centered", [False, True])


class Cosines:
    """A map of 40 features with different means, whose matrix is known."""

    n_features = 40

    def map(self, x):
        found = features(20).map(arrays.to_numpy(x), 1) + np.linspace(0.0, 0.2, 40)
        return arrays.like(found, x, x.dtype)


def problem_on(x, centered=True, seed=3, library=np, kept=True):
    """A problem from a random start, not near the solution."""
    blocks, start = Blocks(Cosines()), np.linalg.qr(streams.normal(seed, "start", 0, (40, K)))[0]
    x = library.asarray(x)
    design = Design(blocks, x, budget=2**30 if kept else 0)
    return FeaturePCAProblem(blocks, K, library.asarray(start), design, centered)


def exact(x, centered):
    """Features less their mean, their covariance, its top eigenvalues and eigenvectors."""
    Z = Cosines().map(x)
    Z = Z - Z.mean(axis=0) * centered
    A = Z.T @ Z / len(Z)
    values, vectors = np.linalg.eigh(A)
    return Z, A, values[::-1], vectors[:, ::-1][:, :K]


def gram_schmidt(W):
    Q, R = np.linalg.qr(W)
    return Q * np.sign(np.diag(R))


# ------------------------------------------------------------------------------------------------- the steps


@each_centring
def test_a_step_of_ojas_rule_is_that_of_the_formula(centered):
    x = points(N)
    problem, (Z, *_) = problem_on(x, centered), exact(x, centered)
    solver = FeatureOjaStepper(2.0, 0.5)
    state, W = solver.init(problem), problem.start
    for t in range(4):
        rows = slice(30 * t, 30 * t + 30)
        S = Z[rows].T @ Z[rows] / 30
        W = gram_schmidt(W + 2.0 / (1 + 0.5 * t) * S @ W)
        state = solver.step(problem, state, rows)
        assert np.abs(state.coefficients - W).max() < 1e-12


@each_centring
def test_an_iteration_of_the_power_method_is_that_of_the_formula(centered):
    x = points(N)
    problem, (Z, *_) = problem_on(x, centered), exact(x, centered)
    solver = NoisyPowerMethodStepper(50)
    state, W = solver.init(problem), problem.start
    for block in range(3):
        first = 60 * block
        for start in (first, first + 30):
            assert np.array_equal(state.coefficients, W) or np.abs(state.coefficients - W).max() < 1e-12
            state = solver.step(problem, state, slice(start, start + 30))
        W = gram_schmidt(Z[first : first + 60].T @ Z[first : first + 60] / 60 @ W)
        assert np.abs(state.coefficients - W).max() < 1e-12


@each_centring
def test_a_step_of_vr_pca_is_that_of_the_formula(centered):
    x = points(N)
    problem, (Z, A, *_) = problem_on(x, centered), exact(x, centered)
    solver = VRPCAStepper(3.0, period=90 / N)
    state, W = solver.init(problem), problem.start
    for t in range(6):
        if t % 3 == 0:
            snapshot = W
        rows = slice(30 * t, 30 * t + 30)
        S = Z[rows].T @ Z[rows] / 30
        U, _, Vt = np.linalg.svd(W.T @ snapshot)
        B = Vt.T @ U.T
        # B is the rotation nearest to W: no other brings the snapshot nearer.
        turned = [np.linalg.qr(np.random.default_rng(i).normal(size=(K, K)))[0] for i in range(20)]
        assert np.linalg.norm(W - snapshot @ B) <= min(np.linalg.norm(W - snapshot @ one) for one in turned) + 1e-12
        W = W + 3.0 * (S @ (W - snapshot @ B) + A @ snapshot @ B)
        values, vectors = np.linalg.eigh(W.T @ W)
        W = W @ (vectors / np.sqrt(values)) @ vectors.T
        state = solver.step(problem, state, rows)
        assert np.abs(state.coefficients - W).max() < 1e-11


def capped_by_bisection(values):
    low, high = -2.0, 2.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(values + middle, 0, 1).sum() < K else (low, middle)
    return np.clip(values + low, 0, 1)


@pytest.mark.parametrize("size", [10, 60])
@each_centring
def test_a_step_of_msg_is_that_of_the_formula(centered, size):
    # With 10 rows the small matrix of the step is decomposed, with 60 the matrix of the 40 features.
    x = points(N)
    problem, (Z, *_) = problem_on(x, centered), exact(x, centered)
    solver = MatrixStochasticGradientStepper(1.5, 4)
    state, M = solver.init(problem), problem.start @ problem.start.T
    for t in range(6):
        rows = slice(size * t, size * t + size)
        M = M + 1.5 / np.sqrt(t + 1) * Z[rows].T @ Z[rows] / size
        values, vectors = np.linalg.eigh(M)
        capped = capped_by_bisection(values[-4:])
        M = (vectors[:, -4:] * capped) @ vectors[:, -4:].T
        state = solver.step(problem, state, rows)
        found = (state.coefficients * state.eigenvalues) @ state.coefficients.T
        assert np.abs(found - M).max() < 1e-10
    assert state.eigenvalues.sum() == pytest.approx(K)
    assert K < state.coefficients.shape[1] <= 4


def test_examples_of_a_stream_are_centred_by_the_mean_of_all_so_far():
    x = points(N)
    problem = problem_on(x)
    solver = FeatureOjaStepper(2.0)
    state = solver.init(problem)
    mean, W = Cosines().map(x).mean(axis=0), problem.start
    Z = Cosines().map(points(60, seed=5))
    state = solver.step(problem, state, Examples(points(60, seed=5)))
    mean = (N * mean + Z.sum(axis=0)) / (N + 60)
    assert state.mean == pytest.approx(mean, abs=1e-12)
    Z = Z - mean
    assert np.abs(state.coefficients - gram_schmidt(W + 2.0 * Z.T @ Z / 60 @ W)).max() < 1e-12


# ------------------------------------------------------------------------------------------------- the ends


def trained(name, problem, epochs, size=40):
    return train(SOLVED[name], problem, Batches(N, size, 0), Stopping(epochs, tolerance=-np.inf)).state


@each_centring
@each
def test_each_rule_ends_at_the_top_eigenvectors_of_the_covariance(name, centered):
    x = points(N)
    problem, (*_, values, vectors) = problem_on(x, centered), exact(x, centered)
    assert sine_squared(vectors, problem.start) > 0.9
    state = trained(name, problem, 40)
    # Those that keep the noise of a batch come near, the other two as near as 40 passes bring them.
    assert sine_squared(vectors, state.coefficients[:, :K]) < {"oja": 3e-3, "msg": 3e-3}.get(name, 1e-8)
    assert np.abs(state.coefficients.T @ state.coefficients - np.eye(state.coefficients.shape[1])).max() < 1e-10
    # The moment has gone along with the coefficients.
    assert np.linalg.eigvalsh(state.moment)[::-1] == pytest.approx(values[:K], rel=0.1)


@each
def test_features_that_are_made_for_each_batch_give_what_kept_ones_give(name):
    x = points(N)
    kept, made = (trained(name, problem_on(x, kept=kept), 2) for kept in (True, False))
    assert np.abs(kept.coefficients - made.coefficients).max() < 1e-12


@each
def test_each_rule_works_on_any_array_library(name):
    x = points(N)
    plain, strict = problem_on(x), problem_on(x, library=array_api_strict)
    states = [SOLVED[name].init(problem) for problem in (plain, strict)]
    for t in range(4):
        batch = slice(120 * t, 120 * t + 120)
        states = [SOLVED[name].step(p, s, batch) for p, s in zip((plain, strict), states, strict=True)]
    assert np.abs(arrays.to_numpy(states[1].coefficients) - states[0].coefficients).max() < 1e-11


# ------------------------------------------------------------------------------------- the start and the steps chosen


@each_centring
@pytest.mark.parametrize("n", [30, 120])
def test_the_start_is_the_exact_solution_of_a_sample(n, centered):
    # With 30 points the matrix of the points is decomposed, with 120 the matrix of the 40 features.
    x = points(n)
    *_, values, vectors = exact(x, centered)
    start, found = sample_components(Cosines().map(x), K, 0, centered=centered)
    assert found == pytest.approx(values[: K + 1], rel=1e-9)
    assert sine_squared(vectors, start) < 1e-12
    assert np.abs(start.T @ start - np.eye(K)).max() < 1e-9


def test_more_components_than_features_or_directions_are_refused_with_their_number():
    with pytest.raises(ShallowsError, match="n_components=41 is more than there are features, 40 of 120 points"):
        sample_components(Cosines().map(points(120)), 41, 0, centered=True)
    with pytest.raises(ShallowsError, match=r"n_samples = 120\) span 2 directions"):
        sample_components(Cosines().map(np.repeat(points(3), 40, axis=0)), 3, 0, centered=True)


def test_what_a_solver_chooses_follows_from_the_eigenvalues_of_a_sample():
    plan = FeaturePCAPlan(10_000, np.array([0.5, 0.25, 0.05]), 2)
    # The gap is 0.8, and 2/0.8 below 3.
    assert SOLVERS["feature_oja"]().build(plan) == FeatureOjaStepper(2.0, 0.5 / 3.0)
    assert SOLVERS["vr_pca"]().build(plan) == VRPCAStepper(2.0, 1.0)
    assert SOLVERS["noisy_power_method"]().build(plan) == NoisyPowerMethodStepper(10_000)
    assert SOLVERS["matrix_stochastic_gradient"]().build(plan) == MatrixStochasticGradientStepper(2.0, 3)
    with pytest.raises(ShallowsError, match="rank must be more than n_components=2, got 2"):
        SOLVERS["matrix_stochastic_gradient"](rank=2).build(plan)
