"""The loop drives component analysis: no loss and no targets, k components that are mixed, two views, transforms."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

from component_example import (
    ComponentProblem,
    KernelCCA,
    Oja,
    OjaSnapshot,
    TwoViewProblem,
    exact_correlations,
    features,
    points,
    sine_squared,
    two_views,
)
from resumed_example import stopped_at_every_batch
from shallows import arrays
from shallows.errors import DivergenceError
from shallows.solvers.examples import Examples, ExampleSet
from shallows.solvers.expansions.expansion import ExpansionState
from shallows.solvers.expansions.growing_expansion import WORST_CONDITION, GrowingExpansion
from shallows.training import Batches, Curve, Stopping, Stream, train
from shallows.training.steps import MonitoredState

# ------------------------------------------------------------------------- blocks that are mixed by a matrix


class Eager:
    """The same function with all blocks written out at every change."""

    def __init__(self):
        self.blocks = []

    def decay(self, factor):
        self.blocks = [A * factor for A in self.blocks]

    def mix(self, matrix):
        self.blocks = [A @ matrix for A in self.blocks]

    def grow(self, change):
        self.blocks.append(change.copy())

    def add(self, block, change):
        self.blocks[block] = self.blocks[block] + change


def drawn_matrix(rng, how: str, k: int = 3) -> np.ndarray:
    if how == "singular":
        return np.diag([1.0, 0.0, 1.0])
    h = rng.normal(size=(20, k)) * {"gentle": 0.1, "steep": 1.0, "shrinking": 1.0}[how]
    matrix = np.eye(k) - h.T @ h / 20 * 0.5
    return 0.01 * matrix if how == "shrinking" else matrix


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("how", ["gentle", "steep", "shrinking", "singular"])
def test_mixing_lazily_gives_what_mixing_every_block_gives(how, dtype):
    rng, eager, tolerance = np.random.default_rng(0), Eager(), 1e-13 if dtype == "float64" else 1e-4
    lazy, folds = GrowingExpansion(np.zeros((0, 4, 3), dtype)), 0
    for i in range(60):
        change = rng.normal(size=(4, 3)).astype(dtype)
        lazy.grow(change)
        eager.grow(change.astype(np.float64))
        matrix = drawn_matrix(rng, how)
        lazy.mix(matrix)
        eager.mix(matrix)
        folds += lazy.mixing is None
        if i % 7 == 3:
            lazy.decay(0.7)
            eager.decay(0.7)
            lazy.add(i // 2, change)
            eager.add(i // 2, change.astype(np.float64))
        expected = np.array(eager.blocks)
        assert np.abs(lazy.coefficients - expected).max() <= tolerance * max(1.0, np.abs(expected).max())
    # It is lazy, and what would cost digits is folded in.
    fewest, most = {"gentle": (0, 0), "steep": (1, 20), "shrinking": (1, 40), "singular": (60, 60)}[how]
    assert fewest <= folds <= most


def test_mixing_works_on_any_array_library():
    rng = np.random.default_rng(0)
    plain, strict = (GrowingExpansion(xp.zeros((0, 4, 3), dtype=xp.float64)) for xp in (np, array_api_strict))
    for i in range(30):
        change, matrix = rng.normal(size=(4, 3)), drawn_matrix(rng, ("steep", "gentle", "singular")[i % 3])
        for state, xp in ((plain, np), (strict, array_api_strict)):
            state.grow(xp.asarray(change))
            state.mix(xp.asarray(matrix))
            state.decay(0.9)
            state.add(i // 2, xp.asarray(change))
    assert np.abs(arrays.to_numpy(strict.coefficients) - plain.coefficients).max() < 1e-14
    kept = GrowingExpansion(array_api_strict.zeros((0, 4, 3), dtype=array_api_strict.float64))
    kept.recall(*strict.remember())
    assert np.array_equal(arrays.to_numpy(kept.coefficients), arrays.to_numpy(strict.coefficients))
    assert kept.is_finite()


def test_the_common_matrix_never_costs_more_digits_than_it_may():
    rng, state = np.random.default_rng(1), GrowingExpansion(np.zeros((0, 4, 3)))
    for _ in range(50):
        state.grow(rng.normal(size=(4, 3)))
        state.mix(drawn_matrix(rng, "steep"))
        assert state.mixing is None or np.linalg.cond(state.mixing) <= 3 * WORST_CONDITION


def mixed_state(dtype="float64") -> GrowingExpansion:
    rng, state = np.random.default_rng(2), GrowingExpansion(np.zeros((0, 4, 3), dtype))
    for _ in range(5):
        state.grow(rng.normal(size=(4, 3)).astype(dtype))
        state.mix(drawn_matrix(rng, "gentle"))
        state.decay(0.9)
    assert state.mixing is not None
    return state


@pytest.mark.parametrize("how", ["remembered", "moved"])
def test_a_mixed_state_goes_on_to_the_bit_from_what_is_kept_of_it(how):
    state = mixed_state("float32")
    if how == "moved":
        other = state.to(arrays.Device("cpu"))
    else:
        other = GrowingExpansion(np.zeros((0, 4, 3), "float32"))
        other.recall(*state.remember())
    change = np.ones((4, 3), "float32")
    for one in (state, other):
        one.grow(change)
        one.mix(0.9 * np.eye(3))
        one.add(0, change)
    assert np.array_equal(state.coefficients, other.coefficients)
    assert other.buffer is not state.buffer
    assert other.buffer.dtype == np.float32


def test_a_state_that_was_not_mixed_forgets_a_mixing_when_it_goes_back():
    state = mixed_state()
    fresh = GrowingExpansion(np.zeros((0, 4, 3)))
    kept = fresh.remember()
    fresh.recall(*state.remember())
    fresh.recall(*kept)
    assert fresh.mixing is None
    assert fresh.n_blocks == 0


@pytest.mark.parametrize("mixed", [False, True])
def test_a_block_takes_the_place_of_what_a_step_that_was_taken_back_has_left(mixed):
    state, change = GrowingExpansion(np.ones((2, 4, 3))), np.arange(12.0).reshape(4, 3)
    if mixed:
        state.mix(np.diag([1.0, 2.0, 4.0]))
    state.grow(change)
    assert np.array_equal(state.coefficients[0], change)


def test_a_mixing_that_is_no_number_is_noticed():
    state = mixed_state()
    assert state.is_finite()
    state.mix(np.full((3, 3), np.nan))
    assert not state.is_finite()


def test_traces_are_mixed_with_the_blocks_that_they_belong_to():
    state = ExpansionState(np.zeros((0, 4, 2)), np.zeros((0, 2)), 1.0)
    matrix = np.array([[0.9, 0.1], [0.0, 0.8]])
    state.grow(np.ones((4, 2)), np.array([1.0, 2.0]))
    state.mix(matrix)
    state.grow(np.ones((4, 2)), np.array([3.0, 4.0]))
    assert np.abs(state.traces - np.array([np.array([-1.0, -2.0]) @ matrix, [-3.0, -4.0]])).max() < 1e-15


# ------------------------------------------------------------- kernel PCA: nothing to watch but finite numbers


def test_doubly_stochastic_kernel_pca_finds_the_components_of_the_exact_one():
    x, f = points(), features(64)
    values, vectors = np.linalg.eigh(f.kernel(x, x) / len(x))
    problem, k = ComponentProblem(f, 2, x), 2
    curve = Curve(
        [1, 10, 30], lambda s: {"sine": sine_squared(vectors[:, -k:], s.transform(x)), "again": s.transform(x)[0, 0]}
    )
    snapshots = []

    def snapshot(state, epoch):
        snapshots.append(OjaSnapshot(problem, state, epoch))
        return snapshots[-1]

    run = train(
        Oja(2.0, decrease=0.04), problem, Batches(len(x), 40, 0), Stopping(30), observers=[curve], snapshot=snapshot
    )
    sines = [row["sine"] for row in curve.rows]
    assert sines[0] > sines[1] > sines[2]
    assert sines[2] < 1e-3
    # Gᵀ A G has the eigenvalues of A on the components, where GᵀG is the identity.
    h = snapshots[-1].transform(x)
    found = np.sort(np.linalg.eigvalsh(h.T @ h / len(x)))
    assert np.abs(found / values[-k:] - 1).max() < 0.1
    # What was measured twice was evaluated once; and there was no loss to tell of.
    assert [one.n_evaluations for one in snapshots] == [1, 1, 1]
    assert not isinstance(run.state, MonitoredState)
    assert np.isnan(run.losses).all()
    assert (run.stopped_by, run.n_rollbacks) == ("max_epochs", 0)


def test_with_the_features_of_one_block_it_is_oja_on_them_step_by_step():
    x, f = points(), features(16)
    problem, batches = ComponentProblem(f, 2, x), Batches(len(x), 30, 0)
    solver = Oja(0.5, revisits=True)
    state = solver.init(problem)
    A = state.coefficients[0].copy()
    for epoch in range(10):
        for batch in batches.of_epoch(epoch):
            state = solver.step(problem, state, batch)
            Z = f.block(0, x[batch])
            h, B = Z @ A, batch.stop - batch.start
            A = A + 0.5 / B * (Z.T @ h / f.block_size - A @ h.T @ h)
            assert np.abs(state.coefficients[0] - A).max() < 1e-12


def test_full_batches_on_fixed_features_end_in_the_eigenvectors_of_their_covariance():
    x, f = points(), features(16)
    run = train(Oja(1.0, revisits=True), ComponentProblem(f, 2, x), Batches(len(x), len(x), 0), Stopping(500))
    Z = f.map(x)
    vectors = np.linalg.eigh(Z.T @ Z / len(x))[1][:, -2:]
    W = run.state.coefficients[0] * np.sqrt(f.block_size)
    assert sine_squared(vectors, W) < 1e-10
    assert np.abs(W.T @ W - np.eye(2)).max() < 1e-5


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_components_that_leave_the_numbers_are_caught_at_the_step_and_the_step_is_halved():
    x = points()
    with pytest.raises(DivergenceError, match="epoch 1 with step_size=1e"):
        train(Oja(1e5), ComponentProblem(features(16), 2, x), Batches(len(x), 20, 0), Stopping(5), may_shrink=False)
    run = train(Oja(1e5), ComponentProblem(features(16), 2, x), Batches(len(x), 20, 0), Stopping(5))
    assert run.n_rollbacks > 5
    assert run.state.is_finite()


def test_kernel_pca_that_is_stopped_at_every_batch_ends_the_same_to_the_bit(tmp_path):
    def once(**options):
        x = points()
        return train(
            Oja(2.0, 0.02), ComponentProblem(features(16), 2, x), Batches(len(x), 40, 0), Stopping(4), **options
        )

    whole, (resumed, _) = once(), stopped_at_every_batch(once, tmp_path)
    assert resumed.n_resumes == whole.iteration - 1
    assert np.array_equal(whole.state.coefficients, resumed.state.coefficients)
    assert len(resumed.losses) == 4


# -------------------------------------------------------------------------------------------------- two views


def test_batches_slice_both_views():
    x, y = two_views()
    problem = ExampleSet()
    problem.points, problem.second_view = x, y
    taken = problem.take(slice(3, 10))
    assert [taken.points.shape, taken.second_view.shape] == [(7, 3), (7, 4)]
    assert taken.targets is None
    assert taken.weights is None
    assert np.array_equal(taken.second_view, y[3:10])
    handed_in = Examples(x[:5], second_view=y[:5])
    assert ExampleSet().take(handed_in) is handed_in


def test_kernel_cca_finds_the_correlations_of_the_exact_one_in_the_same_features():
    x, y = two_views()
    f, g = features(3, seed=1), features(3, seed=2, d=4)
    run = train(KernelCCA(1.0), TwoViewProblem(f, g, 2, x, y), Batches(len(x), len(x), 0), Stopping(1000))
    u, v = run.state.first.evaluate(f, x), run.state.second.evaluate(g, y)
    assert set(run.state.sizes) == {(200, 200)}
    expected = exact_correlations(f.map(x), g.map(y), 2)
    assert np.abs(exact_correlations(u, v, 2) - expected).max() < 1e-3
    # The fixed point FᵀC_xxF = ½ I (SPEC 11.5).
    assert np.abs(u.T @ u / len(x) - 0.5 * np.eye(2)).max() < 0.01
    # Handed in as a stream the views are the same.
    stream = Stream(lambda: iter([Examples(x, second_view=y)]))
    one, other = (
        train(KernelCCA(1.0), TwoViewProblem(f, g, 2, *views), batches, Stopping(20)).state.first.coefficients
        for views, batches in (((x, y), Batches(len(x), len(x), 0)), ((), stream))
    )
    assert np.array_equal(one, other)
    # The loop watched the covariance of the two views, which rises from nothing.
    assert run.losses[0] < 0.1 < run.losses[-1] < 0.5


def test_a_number_that_a_state_offers_is_watched():
    x, y = two_views()
    problem = TwoViewProblem(features(3, seed=1), features(3, seed=2, d=4), 2, x, y)
    with pytest.raises(DivergenceError, match="with step_size=1e"):
        train(KernelCCA(1e3), problem, Batches(len(x), 50, 0), Stopping(50), may_shrink=False)


def test_two_views_that_are_stopped_at_every_batch_end_the_same_to_the_bit(tmp_path):
    x, y = two_views()

    def once(**options):
        problem = TwoViewProblem(features(3, seed=1), features(3, seed=2, d=4), 2, x, y)
        return train(KernelCCA(1.0), problem, Batches(len(x), 50, 0), Stopping(3), **options)

    whole, (resumed, _) = once(), stopped_at_every_batch(once, tmp_path)
    for name in ("first", "second"):
        assert np.array_equal(getattr(whole.state, name).coefficients, getattr(resumed.state, name).coefficients)
    assert whole.losses == resumed.losses
