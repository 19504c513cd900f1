"""Models that own a budget of points, and a budgeted support vector machine on the loop."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
from sklearn.svm import SVC

from budget_example import BSGD, BudgetProblem, BudgetState, merge_nearest, remove_smallest
from engine_example import naive_kernel, sample
from resumed_example import stopped_at_every_batch
from shallows import arrays, kernels
from shallows.errors import ShallowsError
from shallows.solvers.point_budget import PointBudget
from shallows.training import Batches, Stopping, train

GAUSSIAN = kernels.make("gaussian", 1.0)


def filled(n=6, capacity=8, dtype=np.float64) -> tuple[PointBudget, np.ndarray, np.ndarray]:
    z, a = sample(n, dtype=dtype), sample(n, 2, seed=1, dtype=dtype)
    made = PointBudget.empty(GAUSSIAN, capacity, 2, z)
    made.add(z[:2], a[:2])
    made.decay(0.5)
    made.add(z[2:], a[2:])
    a[:2] *= 0.5
    return made, z, a


def function(z, a, x):
    return naive_kernel("gaussian", 1.0, x, z) @ a


def test_the_function_is_the_sum_over_the_points_that_are_in_use():
    made, z, a = filled()
    x = sample(5, seed=2)
    assert np.abs(made.evaluate(x) - function(z, a, x)).max() < 1e-12
    assert np.abs(made.coefficients - a).max() < 1e-15
    assert np.array_equal(made.centres, z)
    assert PointBudget.empty(GAUSSIAN, 3, 2, z).evaluate(x).tolist() == [[0.0, 0.0]] * 5


def test_decay_to_nothing_and_far_down_is_exact():
    made, _z, a = filled()
    for _ in range(100):
        made.decay(0.5)
    assert np.abs(made.coefficients / (a * 0.5**100) - 1).max() < 1e-12
    made.decay(0.0)
    made.decay(2.0)
    assert not made.coefficients.any()
    made.add(sample(1), np.ones((1, 2)))
    assert np.array_equal(made.coefficients[-1], [1.0, 1.0])


def test_a_point_that_is_removed_is_missing_and_costs_what_was_told():
    made, z, a = filled()
    costs, x = made.removal_costs, sample(5, seed=2)
    assert np.abs(costs - (a**2).sum(axis=1)).max() < 1e-12
    made.remove(1)
    rest = np.delete(np.arange(6), 1)
    assert np.abs(made.evaluate(x) - function(z[rest], a[rest], x)).max() < 1e-12
    assert made.n_free == 3


def test_two_points_are_merged_with_the_coefficients_that_change_the_function_least():
    made, z, a = filled()
    middle = (z[1] + z[4]) / 2
    cost = made.merge(1, 4, middle)
    assert made.n_points == 5
    assert np.abs(made.centres[1] - middle).max() < 1e-15
    pair = np.array([z[1], z[4], middle])
    K = naive_kernel("gaussian", 1.0, pair, pair)

    def change(merged):
        c = np.concatenate([a[[1, 4]], -merged[None]])
        return float((c * (K @ c)).sum())

    merged = made.coefficients[1]
    assert cost == pytest.approx(change(merged), rel=1e-9)
    for direction in np.eye(2):
        assert change(merged + 1e-3 * direction) > cost
        assert change(merged - 1e-3 * direction) > cost
    # The others stay what they are.
    rest = [0, 2, 3, 5]
    x = sample(5, seed=2)
    expected = function(z[rest], a[rest], x) + function(middle[None], merged[None], x)
    assert np.abs(made.evaluate(x) - expected).max() < 1e-12


def test_a_budget_works_on_any_array_library():
    made, z, _a = filled()
    xp = array_api_strict
    strict = PointBudget.empty(GAUSSIAN, 8, 2, xp.asarray(z))
    strict.add(xp.asarray(z), xp.asarray(made.coefficients))
    for one, there in ((made, np.asarray), (strict, xp.asarray)):
        one.merge(1, 4, there((z[1] + z[4]) / 2))
        one.decay(1e-7)
        one.remove(0)
    assert np.abs(arrays.to_numpy(strict.coefficients) / made.coefficients - 1).max() < 1e-12
    x = sample(5, seed=2)
    assert np.abs(arrays.to_numpy(strict.evaluate(xp.asarray(x))) - made.evaluate(x)).max() < 1e-18
    assert np.abs(arrays.to_numpy(strict.removal_costs) / made.removal_costs - 1).max() < 1e-12
    held, numbers = strict.remember()
    strict.remove(0)
    strict.recall(held, numbers)
    assert strict.n_points == 4
    assert strict.is_finite()


def test_what_does_not_fit_is_refused():
    made, _z, _a = filled()
    with pytest.raises(ShallowsError, match="3 points do not fit: 6 of a budget of 8 are in use"):
        made.add(sample(3), sample(3, 2))
    assert made.n_points == 6


def test_what_is_kept_of_a_budget_is_taken_up_to_the_bit_also_by_one_that_has_grown_on():
    made, z, _a = filled(dtype=np.float32)
    held, numbers = made.remember()
    x = sample(5, seed=2, dtype=np.float32)
    before = made.evaluate(x)
    made.remove(0)
    made.decay(0.1)
    made.add(z[:1], np.full((1, 2), np.nan, np.float32))
    assert not made.is_finite()
    made.recall(held, numbers)
    assert made.is_finite()
    assert np.array_equal(made.evaluate(x), before)
    made.add(z[:2], np.ones((2, 2), np.float32))
    assert made.n_free == 0


# --------------------------------------------------------------------------------- a budgeted machine on the loop


def problem(capacity: int, n: int = 300) -> BudgetProblem:
    x = sample(n, 2)
    y = np.where(x[:, :1] ** 2 + x[:, 1:] > 0.5, 1.0, -1.0)
    return BudgetProblem(GAUSSIAN, capacity, 1e-2, x, y)


def accuracy(state: BudgetState, task: BudgetProblem) -> float:
    return float(np.mean(np.sign(state.evaluate(task.points)) == task.targets))


def test_with_room_for_all_it_is_kernel_pegasos_step_by_step():
    task, order = problem(10**4), Batches(300, 10, 0)
    state = BSGD().init(task)
    alpha, K = np.zeros(300), naive_kernel("gaussian", 1.0, task.points, task.points)
    y = task.targets[:, 0]
    for t, batch in enumerate(order.of_epoch(0) + order.of_epoch(1), start=1):
        BSGD().step(task, state, batch)
        violators = y[batch] * (K[batch] @ alpha) < 1
        alpha *= 1 - 1 / t
        alpha[batch] += violators * y[batch] / (1e-2 * t * 10)
        assert np.abs(state.evaluate(task.points)[:, 0] - K @ alpha).max() < 1e-9


@pytest.mark.parametrize(("make_room", "worse"), [(remove_smallest, 0.12), (merge_nearest, 0.03)])
def test_a_few_points_do_nearly_as_well_as_all_support_vectors_and_merging_does_better(make_room, worse):
    task = problem(40)
    run = train(BSGD(make_room), task, Batches(300, 10, 0), Stopping(max_epochs=20))
    exact = SVC(C=1 / (1e-2 * 300), gamma=0.5).fit(task.points, task.targets[:, 0])
    assert len(exact.support_) > 80
    assert run.state.n_points <= 40
    assert accuracy(run.state, task) > exact.score(task.points, task.targets[:, 0]) - worse
    assert run.state.lost > 0


def test_a_budget_that_is_stopped_at_every_batch_ends_the_same_to_the_bit(tmp_path):
    def once(**options):
        return train(BSGD(merge_nearest), problem(20, 60), Batches(60, 10, 0), Stopping(max_epochs=3), **options)

    whole, (resumed, _) = once(), stopped_at_every_batch(once, tmp_path)
    for name in ("coefficients", "centres", "lost"):
        assert np.array_equal(getattr(whole.state, name), getattr(resumed.state, name))
    assert resumed.n_resumes > 10
