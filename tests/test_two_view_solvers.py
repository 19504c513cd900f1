"""Kernel SVD and kernel CCA on streamed features: steps by the formula, ends by exact solutions, steps kept safe."""

import array_api_strict
import numpy as np
import pytest

from component_example import exact_correlations, features, sine_squared, two_views
from shallows import arrays, streams
from shallows.errors import DivergenceError, ShallowsError
from shallows.solvers.components.kernel_cca import TwoViewCCAStepper
from shallows.solvers.components.kernel_svd import TwoViewSVDStepper
from shallows.solvers.components.two_view_state import TwoViewProblem, ViewExpansion, random_feature_pairs
from shallows.solvers.examples import Examples
from shallows.training import Batches, Stopping, Stream, train

K = 2


def problem_on(x, y, f, g, *, start="solution", centered=False, ridge=None):
    if start == "solution":
        found = random_feature_pairs((f, g), x, y, K, centered=centered, ridge=ridge)
        starts = found.first, found.second
    else:
        starts = [
            streams.normal(i, "start", 0, (1, one.width, K)) / np.sqrt(one.block_size * one.width)
            for i, one in enumerate((f, g))
        ]
    return TwoViewProblem(f, g, K, *starts, x, y, centered)


def test_the_coefficients_of_a_block_are_its_own_of_all():
    made = ViewExpansion(streams.normal(0, "start", 0, (3, 4, K)), n_blocks=3)
    made.decay(0.25)
    for _ in range(2):
        assert np.array_equal(made.block_coefficients(1), made.coefficients[1])
        made.mix(np.array([[1.0, 0.5], [0.0, 2.0]]))


def maps(F=4):
    return features(F, seed=1), features(F, seed=2, d=4)


def full_batches(solver, problem, n_iter):
    n = len(problem.points)
    return train(solver, problem, Batches(n, n, 0), Stopping(n_iter, tolerance=-np.inf)).state


# ------------------------------------------------------------------------------------------------- the start


@pytest.mark.parametrize("centered", [False, True])
def test_the_start_is_the_exact_solution_in_the_features_of_its_blocks(centered):
    (x, y), (f, g) = two_views(), maps()
    P, Q = (one - one.mean(axis=0) * centered for one in (f.map(x), g.map(y)))
    U, values, Vt = np.linalg.svd(P.T @ Q / 200)
    found = random_feature_pairs((f, g), x, y, K, centered=centered)
    assert np.abs(found.values - values[: K + 1]).max() < 1e-12
    for one, vectors in ((found.first, U), (found.second, Vt.T)):
        W = one[0] * np.sqrt(4)
        assert np.abs(np.abs(vectors[:, :K].T @ W) - np.eye(K) / np.sqrt(2)).max() < 1e-8
    related = random_feature_pairs((f, g), x, y, K, centered=centered, ridge=1e-12)
    assert np.abs(related.values[:K] - exact_correlations(P, Q, K)).max() < 1e-6


def test_views_that_share_less_than_is_asked_for_are_refused():
    x, _ = two_views()
    with pytest.raises(ShallowsError, match=r"n_components=2 is more than the data have.*share 1 direction "):
        random_feature_pairs(maps(), x, np.ones((200, 4)), K)


@pytest.mark.parametrize("solver", [TwoViewSVDStepper(0.5), TwoViewCCAStepper(0.5)])
def test_a_zero_start_is_refused(solver):
    (x, y), (f, g) = two_views(), maps()
    zero = np.zeros((1, f.width, K))
    with pytest.raises(ShallowsError, match="would stay zero"):
        solver.init(TwoViewProblem(f, g, K, zero, zero, x, y))


# -------------------------------------------------------------------------------------------------- the steps


@pytest.mark.parametrize("centered", [False, True])
def test_plain_steps_are_those_of_the_printed_algorithms(centered):
    (x, y), (f, g) = two_views(), maps()
    problem = problem_on(x, y, f, g, centered=centered)
    for kind in ("svd", "cca"):
        if kind == "svd":
            solver = TwoViewSVDStepper(0.2, 0.1, scaled=False, guarded=False, max_blocks=3)
        else:
            solver = TwoViewCCAStepper(0.2, 0.1, ridge=0.3, newton=False, guarded=False, max_blocks=3)
        state = solver.init(problem)
        A, B = ([one.coefficients[0].copy()] for one in (state.first, state.second))
        for t in range(7):
            rows = slice(20 * t, 20 * t + 50)
            state = solver.step(problem, state, rows)
            eta, block = 0.2 / (1 + 0.1 * t), len(A) if len(A) < 3 else None
            if block is None:
                turn, place = divmod(t - 2, 3)
                block = int(streams.permutation(0, "revisited blocks", turn, 3)[place])
            Phi, Psi = ([one.block(j, z[rows]) for j in range(3)] for one, z in ((f, x), (g, y)))
            u, v = (sum(P[j] @ C[j] for j in range(len(C))) for P, C in ((Phi, A), (Psi, B)))
            u, v = (one - one.mean(axis=0) * centered for one in (u, v))
            W = (u.T @ v + v.T @ u) / 50
            to_u, to_v = (v, u) if kind == "svd" else (v - u @ W, u - v @ W)
            shrink = np.eye(K) - eta * W * (1.0 if kind == "svd" else 0.3)
            for C, P, change in ((A, Phi, to_u), (B, Psi, to_v)):
                C[:] = [one @ shrink for one in C]
                new = eta / (50 * 4) * P[block].T @ change
                C[:] = [*C, new] if block == len(C) else [c + new if j == block else c for j, c in enumerate(C)]
            assert np.abs(state.first.coefficients - np.array(A)).max() < 1e-12
            assert np.abs(state.second.coefficients - np.array(B)).max() < 1e-12


def test_a_newton_step_is_that_of_the_ridge_regression_in_the_features_of_a_block():
    (x, y), (f, g) = two_views(), maps()
    problem = problem_on(x, y, f, g, ridge=0.01)
    solver = TwoViewCCAStepper(0.5, ridge=0.01, max_blocks=1)
    state = solver.init(problem)
    A, B = state.first.coefficients[0].copy(), state.second.coefficients[0].copy()
    Phi, n = f.block(0, x), 200
    u, v = Phi @ A, g.block(0, y) @ B
    W = (u.T @ v + v.T @ u) / n
    S = np.linalg.inv(W)  # The correlations are above what is taken for zero.
    assert np.linalg.eigvalsh(W)[0] > 0.25
    rho = 0.01 * 4
    expected = A + 0.5 * np.linalg.solve(Phi.T @ Phi / n + rho * np.eye(f.width), Phi.T @ (v - u @ W) @ S / n - rho * A)
    state = solver.step(problem, state, slice(0, n))
    assert np.abs(state.first.coefficients[0] - expected).max() < 1e-10


# ---------------------------------------------------------------------------------------------------- the ends


def test_kernel_svd_ends_in_the_singular_functions_of_half_their_size():
    (x, y), (f, g) = two_views(), maps()
    state = full_batches(TwoViewSVDStepper(0.4, max_blocks=1), problem_on(x, y, f, g, start="random"), 600)
    U, values, Vt = np.linalg.svd(f.map(x).T @ g.map(y) / 200)
    for part, vectors in ((state.first, U), (state.second, Vt.T)):
        W = part.coefficients[0] * np.sqrt(4)
        assert sine_squared(vectors[:, :K], W) < 1e-3
        assert np.abs(W.T @ W - 0.5 * np.eye(K)).max() < 1e-2
    found = np.linalg.svd(state.cross_moment, compute_uv=False)
    assert np.abs(2 * found / values[:K] - 1).max() < 1e-2


def test_kernel_cca_ends_in_the_canonical_functions_of_half_their_variance():
    (x, y), (f, g) = two_views(), maps(3)
    state = full_batches(TwoViewCCAStepper(0.5, max_blocks=1), problem_on(x, y, f, g, start="random"), 150)
    u, v = (part.evaluate(one, z) for part, one, z in ((state.first, f, x), (state.second, g, y)))
    assert np.abs(exact_correlations(u, v, K) - exact_correlations(f.map(x), g.map(y), K)).max() < 2e-3
    for one in (u, v):
        assert np.abs(one.T @ one / 200 - 0.5 * np.eye(K)).max() < 0.01


# ----------------------------------------------------------------------------------------------- the guard


def test_where_the_coupling_is_negative_the_printed_rules_grow_and_the_guarded_ones_do_not():
    (x, y), (f, g) = two_views(), maps()
    good = problem_on(x, y, f, g, ridge=1e-3)
    # The second view's functions with the wrong sign: W = −(correlations).
    turned = TwoViewProblem(f, g, K, 2 * good.start, -2 * good.second_start, x, y)
    for printed, guarded in (
        (TwoViewSVDStepper(1.0, scaled=False, guarded=False), TwoViewSVDStepper(1.0, scaled=False)),
        (TwoViewCCAStepper(1.0, newton=False, guarded=False), TwoViewCCAStepper(1.0, newton=False)),
        (None, TwoViewSVDStepper(0.5)),
        (None, TwoViewCCAStepper(0.5, ridge=1e-3)),
    ):
        sizes = {}
        for name, solver in (("printed", printed), ("guarded", guarded)):
            if solver is None:
                continue
            state, before = solver.init(turned), None
            for _ in range(6):
                state = solver.step(turned, state, slice(0, 200))
                before = state.size if before is None else before
            sizes[name] = state.size / before
        if printed is not None:
            assert sizes["printed"] > 1.5
        assert sizes["guarded"] < 1.2


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value", "ignore:divide by zero")
def test_a_step_that_diverges_is_caught_told_and_halved():
    (x, y), (f, g) = two_views(), maps()
    problem = problem_on(x, y, f, g, ridge=1e-3)
    solver, batches = TwoViewCCAStepper(1e3, newton=False, max_blocks=4), Batches(200, 50, 0)
    with pytest.raises(DivergenceError, match="with step_size=1e"):
        train(solver, problem, batches, Stopping(50, tolerance=-np.inf), may_shrink=False)
    run = train(solver, problem, batches, Stopping(5, tolerance=-np.inf))
    assert run.n_rollbacks > 3
    assert run.state.is_finite()


def test_views_that_are_handed_in_as_a_stream_are_the_same():
    (x, y), (f, g) = two_views(), maps()
    held = problem_on(x, y, f, g)
    streamed = TwoViewProblem(f, g, K, held.start, held.second_start)
    stream, solver = Stream(lambda: iter([Examples(x, second_view=y)])), TwoViewCCAStepper(0.5, max_blocks=3)
    one, other = (
        train(solver, problem, batches, Stopping(5, tolerance=-np.inf)).state.first.coefficients
        for problem, batches in ((held, Batches(200, 200, 0)), (streamed, stream))
    )
    assert np.array_equal(one, other)


# ------------------------------------------------------------------------------------------ resuming, places


@pytest.mark.parametrize(
    "solver", [TwoViewSVDStepper(0.5, max_blocks=3), TwoViewCCAStepper(0.5, ridge=1e-3, max_blocks=3)]
)
def test_the_rules_work_on_any_array_library(solver):
    (x, y), (f, g) = two_views(), maps()
    plain = problem_on(x, y, f, g, centered=True)
    moved = [array_api_strict.asarray(one) for one in (plain.start, plain.second_start, x, y)]
    strict = TwoViewProblem(f, g, K, *moved, centered=True)
    states = [solver.init(problem) for problem in (plain, strict)]
    for t in range(6):
        rows = slice(20 * t, 20 * t + 60)
        states = [solver.step(p, s, rows) for p, s in zip((plain, strict), states, strict=True)]
    assert np.abs(arrays.to_numpy(states[1].second.coefficients) - states[0].second.coefficients).max() < 1e-11
