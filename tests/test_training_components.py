"""Growing expansions whose components are mixed by matrices, and batches of two views."""

from __future__ import annotations

import numpy as np
import pytest

from component_example import two_views
from shallows import arrays
from shallows.solvers.examples import Examples, ExampleSet
from shallows.solvers.expansions.expansion import ExpansionState
from shallows.solvers.expansions.growing_expansion import WORST_CONDITION, GrowingExpansion

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


def test_traces_are_mixed_with_the_blocks_that_they_belong_to():
    state = ExpansionState(np.zeros((0, 4, 2)), np.zeros((0, 2)), 1.0)
    matrix = np.array([[0.9, 0.1], [0.0, 0.8]])
    state.grow(np.ones((4, 2)), trace=np.array([1.0, 2.0]))
    state.mix(matrix)
    state.grow(np.ones((4, 2)), trace=np.array([3.0, 4.0]))
    assert np.abs(state.traces - np.array([np.array([-1.0, -2.0]) @ matrix, [-3.0, -4.0]])).max() < 1e-15


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
