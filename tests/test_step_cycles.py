"""The cycle of the certified step rule: its factors, its average of iterates, and training with it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from engine_example import preconditioning_matrix, problem
from shallows.solvers.least_squares import step_rules
from shallows.solvers.least_squares.eigenpro import EigenProStepper
from step_rules_example import FACTS, N

pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")


def factors(cycle):
    return [cycle.at(t)[0] for t in range(cycle.length)]


def in_units_of_the_top(m, n=N, p=FACTS):
    """The steps of a cycle times m λ."""
    return np.array(factors(step_rules.Certified().cycle(p, m, n))) * p.step_size(m) * m * p.top_eigenvalue


def test_a_cycle_has_a_head_and_a_body_and_begins_again():
    cycle = step_rules.Cycle(7, (1.0, 2.0), (3.0, 4.0))
    assert [cycle.at(t) for t in range(9)] == [(factor, 0) for factor in (1, 2, 3, 4, 3, 4, 3, 1, 2)]


@pytest.mark.parametrize("memory", [2.0, 10.0, 300.0])
def test_an_average_forgets_the_first_iterates_and_then_lies_as_many_steps_behind_as_it_is_told_to(memory):
    shares = np.array([step_rules.Cycle(5, (), (1.0,), memory).at(t)[1] for t in range(9000)])
    left = np.append(np.cumprod((1 - shares)[:0:-1])[::-1], 1.0)  # what later steps leave of each iterate
    weights = shares * left
    assert shares[0] == 1
    assert weights.sum() == pytest.approx(1, rel=1e-12)
    assert weights @ (8999 - np.arange(9000)) == pytest.approx(memory, rel=1e-6)
    early = shares > 1 / (1 + memory)
    c = step_rules.FORGETTING
    assert shares[early] == pytest.approx((c + 1) / (np.flatnonzero(early) + c + 1), rel=1e-12)


def test_full_batches_are_closed_by_the_best_step_on_the_flattened_range():
    # Between ρ = ½ and 1 a = 2/(1 + ρ) has the smallest largest |1 − a x|.
    assert in_units_of_the_top(N) == pytest.approx([2 / 1.5, 1.5, 4.0])


@pytest.mark.parametrize("n_steps", range(1, 12))
def test_without_noise_a_cycle_shrinks_every_direction_and_is_longer_than_any_constant_step(n_steps):
    p = SimpleNamespace(**{**vars(FACTS), "usual_diagonal": 0.02, "mean_diagonal": 0.02, "flattened_top": 0.02})
    s = in_units_of_the_top(-(-N // n_steps), p=p)
    x = np.linspace(0, 1.2, 1201)[1:]
    assert np.abs(np.prod(1 - np.outer(x, s), axis=1)).max() < 1
    assert s.mean() > 1.7
    assert len(s) == {1: 3, 2: 4}.get(n_steps, n_steps)
    assert step_rules.Certified().cycle(p, -(-N // n_steps), N).memory == 0


@pytest.mark.parametrize("m", [1, 3, 16, 64, 200])
def test_with_noise_the_step_is_constant_and_stable_in_the_mean_square(m):
    s = in_units_of_the_top(m)
    assert np.ptp(s) == 0
    v = (0.8 - 0.02) * (N - m) / (N - 1) / (m * 0.02)
    # E (1 − a h)², with h of mean 1 and variance v, along the top direction.
    assert (1 - s[0]) ** 2 + s[0] ** 2 * v <= 1 + 1e-12
    # Noise makes up a w/(2 − a) of the loss.
    w = (0.6 - 0.02) * (N - m) / (N - 1) / (m * 0.02)
    assert s[0] * w / (2 - s[0]) <= 0.6 + 1e-12


@pytest.mark.parametrize("m", [1, 3, 16, 64, 200])
def test_with_noise_the_average_lies_half_an_epoch_behind(m):
    cycle = step_rules.Certified().cycle(FACTS, m, N)
    assert cycle.length == -(-N // m)
    assert cycle.memory == cycle.length / 2


@pytest.mark.parametrize("noise", [0.3, 0.1])
@pytest.mark.parametrize("m", [3, 16])
def test_noise_makes_up_the_share_of_the_loss_that_the_rule_is_told(m, noise):
    cycle = step_rules.Certified(noise=noise, memory=2.0).cycle(FACTS, m, N)
    a = cycle.body[0] * FACTS.step_size(m) * m * FACTS.top_eigenvalue
    w = (0.6 - 0.02) * (N - m) / (N - 1) / (m * 0.02)
    assert a * w / (2 - a) == pytest.approx(noise)
    assert cycle.memory == 2.0 * cycle.length
    # Where the functions are fewer than the points it falls from there.
    few = step_rules.Certified(noise=noise).cycle(SimpleNamespace(**{**vars(FACTS), "n_functions": 50}), m, N)
    second = few.at(few.length)[0] * FACTS.step_size(m) * m * FACTS.top_eigenvalue
    assert second * w / (2 - second) == pytest.approx(noise / 2)


def test_small_batches_are_noisy_whatever_the_points_are():
    p = SimpleNamespace(**{**vars(FACTS), "usual_diagonal": 0.02, "mean_diagonal": 0.02, "flattened_top": 0.02})
    cycles = {m: step_rules.Certified().cycle(p, m, N) for m in (2, 16, 64)}
    assert [cycle.memory > 0 for cycle in cycles.values()] == [True, True, False]
    s = in_units_of_the_top(16, p=p)
    # The mean of a batch has the variance v of one target, and a constant step leaves a v/(2 − a) of it.
    assert s[0] * (N - 16) / (N - 1) / 16 / (2 - s[0]) == pytest.approx(0.6)


@pytest.mark.parametrize("m", [3, 64, 900])
def test_where_no_targets_are_fitted_exactly_the_share_of_noise_falls_from_epoch_to_epoch(m):
    p = SimpleNamespace(**{**vars(FACTS), "n_functions": N - 1})
    cycle = step_rules.Certified().cycle(p, m, N)
    w = (0.6 - 0.02) * (N - m) / (N - 1) / (m * 0.02)
    for epoch in (0, 1, 9):
        s = np.array([cycle.at(epoch * cycle.length + t)[0] for t in range(cycle.length)])
        s *= p.step_size(m) * m * 0.02
        share = s * w / (2 - s)
        assert share.max() <= 0.6 / (1 + epoch) + 1e-12
        assert epoch == 0 or share.max() == pytest.approx(0.6 / (1 + epoch))


@pytest.mark.parametrize("memory", [2.0, 0.02], ids=["long", "of next to nothing"])
def test_the_model_is_the_average_of_the_iterates_and_steps_go_on_from_the_last(memory):
    p = problem(n=60, rank=5, n_subsample=30, kernel="gaussian", d=3)
    held = replace(p.problem, targets=np.sin(p.x[:, :1]))
    size = p.preconditioner.step_size(10)
    cycle = step_rules.Cycle(6, (), (1.0,), memory)
    averaging, plain = EigenProStepper(size, cycle), EigenProStepper(size)
    state, other, iterates = averaging.init(held), plain.init(held), []
    for t in range(9):
        batch = slice(10 * (t % 6), 10 * (t % 6) + 10)
        state, other = averaging.step(held, state, batch), plain.step(held, other, batch)
        iterates.append(other.iterate.copy())
        assert np.array_equal(state.iterate, other.iterate)
        shares = [cycle.at(s)[1] for s in range(t + 1)]
        weights = [share * np.prod([1 - later for later in shares[s + 1 :]]) for s, share in enumerate(shares)]
        expected = sum(w * iterate for w, iterate in zip(weights, iterates, strict=True))
        assert state.coefficients == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("budget", [0, 2**30])
def test_the_bound_of_a_batch_is_its_step_nearest_to_the_functions_that_fit_it(budget):
    p = problem(n=90, rank=5, n_subsample=30, kernel="laplace", d=3, tile=32, budget=budget)
    targets = np.sin(p.x[:, :2])
    held = replace(p.problem, targets=targets)
    # Far too long a step, so that the bound is what is taken; the batch lies in three tiles.
    solver, S = EigenProStepper(1e6, step_rules.Cycle(1, (), (1.0,), 1.0)), slice(20, 80)
    after = solver.step(held, solver.init(held), S).iterate
    # The function that fits all points, and P⁻¹ of the difference, on the points: K⁻¹ (K_P K⁻¹)⁻¹ K⁻¹ = K_P⁻¹.
    K_P = p.K - p.K @ preconditioning_matrix(p.preconditioner, 90) @ p.K

    def distance(coefficients):
        difference = p.K @ coefficients - targets
        return float(np.sum(difference * np.linalg.solve(K_P, difference)))

    assert distance(after) < distance(0 * after)
    assert all(distance(after) < distance(factor * after) for factor in (0.8, 1.2))
