"""Step rules by name: their formulas, what is certified of them, and the estimators that take them."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from engine_example import preconditioning_matrix, problem, sample
from shallows import (
    EigenProClassifier,
    EigenProRegressor,
    FeatureEigenProClassifier,
    FeatureEigenProRegressor,
    KernelSGDClassifier,
    KernelSGDRegressor,
    gram,
    kernels,
    spectrum,
    training,
)
from shallows.errors import ShallowsError, TrainingInterrupted, UnknownNameError
from shallows.estimators.least_squares import early_stopping
from shallows.solvers import EigenPro
from shallows.solvers.least_squares import cycles, step_rules
from shallows.solvers.least_squares.kernel_problem import KernelProblem

FACTS = SimpleNamespace(
    eigenvalues=np.array([0.5, 0.2, 0.01]),
    rank=2,
    damping=1.0,
    power=1.0,
    flattened_top=0.01,
    top_eigenvalue=0.02,
    largest_diagonal=0.9,
    usual_diagonal=0.8,
    mean_diagonal=0.6,
    bound=1.0,
    dimension=40.0,
    tail_constant=8.0,
    subsample_diagonal=0.9,
    n_subsample=100,
    n_functions=math.inf,
    step_size=lambda m: 2 / (0.9 + (m - 1) * 0.02),
)
N = 1000


def step(name, m, p=FACTS, n=N):
    return step_rules.make(name)(p, m, n)


# ------------------------------------------------------------------------------------------- the formulas


@pytest.mark.parametrize("m", [1, 7, 300, N])
def test_the_certified_step_is_two_over_what_a_batch_amounts_to(m):
    assert step("certified", m) == pytest.approx(2 / (0.9 + (m - 1) * 0.02))


@pytest.mark.parametrize("m", [1, 30, N])
@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_the_theorems_step_is_the_reciprocal_of_its_bound(m, delta):
    log = math.log(8 * 40 / delta)
    bound = 0.01 + 2 * (0.01 + 1) / (3 * m) * log + math.sqrt(2 * 0.01 / m * log)
    assert step_rules.Theorem(delta)(FACTS, m, N) == pytest.approx(1 / (m * bound))


def test_the_papers_step_is_its_rule_of_thumb_where_the_root_is_largest_and_exact_for_large_batches():
    # E32: √(m/(κ λ_{q+1})) for the mean gradient; both other terms are a tenth of the root and less.
    p = SimpleNamespace(**{**vars(FACTS), "flattened_top": 1e-6})
    for c2 in (1.0, 3.0):
        m = 1e6
        assert m * step_rules.Paper(c1=0.0, c2=c2)(p, m, N) == pytest.approx(math.sqrt(m / 1e-6) / (c2 + 1), rel=1e-9)
    assert 1e12 * step("paper", 1e12, p) == pytest.approx(1e6, rel=1e-2)
    assert step("paper", 1, p) == pytest.approx(1.0, rel=2e-3)


def test_the_first_release_takes_the_same_mean_step_whatever_the_batch():
    assert 7 * step("release2017", 7) == pytest.approx(300 * step("release2017", 300))
    assert 7 * step("release2017", 7) == pytest.approx(1.5 / 0.5 * math.sqrt(0.5 / 0.01))


def test_the_second_release_has_three_ranges_of_batches():
    top = 0.5 * (0.01 / 0.5) ** 0.95
    critical = 0.9 / top + 1
    assert step("release2019", int(critical)) == pytest.approx(1 / 0.9)
    assert step("release2019", 500) == pytest.approx(2 / (0.9 + 499 * top))
    assert step("release2019", N) == pytest.approx(0.95 * 2 / (N * top))


def test_the_exact_step_wants_everything_in_the_batch_and_in_the_subsample():
    whole = SimpleNamespace(**{**vars(FACTS), "n_subsample": N})
    assert step("exact", N, whole) == pytest.approx(1 / (N * 0.01))
    for m, p in ((N - 1, whole), (N, FACTS)):
        with pytest.raises(ShallowsError, match=r"n_subsample=\d+ and batch_size=\d+. Take step_rule='certified'"):
            step("exact", m, p)


def test_an_unknown_rule_is_told_the_known_ones_and_a_function_is_one():
    with pytest.raises(UnknownNameError, match=r"step_rule 'certifed'. Did you mean 'certified'"):
        step_rules.make("certifed")
    assert step_rules.make(lambda p, m, n: 0.5)(None, 1, 1) == 0.5


def test_a_rule_with_parameters_is_a_name_with_them():
    assert step_rules.make({"certified": {"noise": 0.3}}) == step_rules.Certified(noise=0.3)
    assert step_rules.make({"theorem": {}}) == step_rules.make("theorem")
    with pytest.raises(UnknownNameError, match=r"parameter of the step_rule certified 'nois'. Did you mean 'noise'"):
        step_rules.make({"certified": {"nois": 0.3}})
    with pytest.raises(UnknownNameError, match=r"step_rule 'certifed'. Did you mean 'certified'"):
        step_rules.make({"certifed": {"noise": 0.3}})
    for malformed in ({}, {"certified": 0.3}, {"certified": {}, "paper": {}}):
        with pytest.raises(ShallowsError, match="one name with them"):
            step_rules.make(malformed)
    for impossible in (
        {"noise": 0.0},
        {"noise": float("nan")},
        {"memory": -1.0},
        {"noise": float("inf")},
        {"noise": "0.3"},
    ):
        with pytest.raises(ShallowsError, match="noise above 0 and memory of at least 0"):
            step_rules.make({"certified": impossible})


@pytest.mark.parametrize("power", [1.0, 0.5])
@pytest.mark.parametrize("name", ["theorem", "paper"])
def test_rules_made_of_bounds_stay_below_the_edge_of_every_batch(name, power):
    p = problem(n=300, rank=10, n_subsample=100, kernel="gaussian", d=5, power=power)
    K_P = p.K - p.K @ preconditioning_matrix(p.preconditioner, 300) @ p.K
    rng = np.random.default_rng(0)
    for m in (4, 30, 300):
        tops = [
            np.linalg.eigvalsh(K_P[np.ix_(rows, rows)])[-1]
            for rows in (rng.choice(300, size=m, replace=False) for _ in range(20))
        ]
        assert step(name, m, p.preconditioner, 300) * max(tops) < 2


@pytest.mark.parametrize("damping", [1.0, 0.25])
@pytest.mark.parametrize("power", [0.5, 0.8])
@pytest.mark.parametrize("rank", [1, 7, 30])
def test_the_kernel_form_has_powers_of_the_ratio_too(rank, power, damping):
    # SPEC 10.4 and 15: (I − DK)K has τ λ_{q+1}^a λᵢ^(1−a) for i ≤ q, and the others as they were.
    p = problem(rank=rank, damping=damping, power=power)
    truth = np.linalg.eigvalsh(p.K)[::-1]
    flattened = (np.eye(60) - preconditioning_matrix(p.preconditioner, 60) @ p.K) @ p.K
    expected = np.sort([*damping * truth[rank] ** power * truth[:rank] ** (1 - power), *truth[rank:]])
    assert np.sort(np.linalg.eigvals(flattened).real) == pytest.approx(expected, abs=1e-12 * truth[0])
    assert 60 * p.preconditioner.flattened_top == pytest.approx(expected.max(), rel=1e-9)


def test_the_intrinsic_dimension_is_not_below_that_of_the_variance():
    # V = E k_P(x, x) k_x ⊗ k_x − H² on the points of the certificate, in an orthonormal basis of their span.
    p = problem(n=400, rank=10, n_subsample=100, kernel="gaussian", d=5)
    K_P = (p.K - p.K @ preconditioning_matrix(p.preconditioner, 400) @ p.K)[100:, 100:]
    values, vectors = np.linalg.eigh(K_P)
    Z = vectors * np.sqrt(np.clip(values, 0, None))
    H = Z.T @ Z / 300
    V = Z.T @ (np.diagonal(K_P)[:, None] * Z) / 300 - H @ H
    exact = np.trace(V) / np.linalg.eigvalsh(V)[-1]
    assert exact * (1 - 1e-6) < p.preconditioner.dimension < 2 * exact


def test_the_certificate_has_the_mean_of_the_diagonal():
    p = problem(n=400, rank=10, n_subsample=100, kernel="gaussian", d=5)
    K_P = (p.K - p.K @ preconditioning_matrix(p.preconditioner, 400) @ p.K)[100:, 100:]
    diagonal = np.sort(np.diagonal(K_P))
    assert p.preconditioner.mean_diagonal == pytest.approx(diagonal.mean(), rel=1e-10)
    assert p.preconditioner.upper_diagonal == pytest.approx(diagonal[-6:].mean(), rel=1e-10)  # a fiftieth of 300
    assert p.preconditioner.usual_diagonal == p.preconditioner.upper_diagonal < p.preconditioner.largest_diagonal
    assert p.preconditioner.bound == 1.0


@pytest.mark.parametrize(("kernel", "d", "low"), [("polynomial", 4, True), ("laplace", 4, False)])
def test_a_matrix_of_low_rank_is_known_by_what_its_first_directions_leave(kernel, d, low):
    x = kernels.augmented(np.random.default_rng(0).normal(size=(300, d)))
    of = kernels.make(kernel, **({"degree": 1} if low else {"bandwidth": 2.0}))
    p = spectrum.make_preconditioner(of, x, rank=2, n_subsample=100)
    K_P = kernels.matrix(of, x[100:])
    functions = kernels.values(of, x[100:], x[:100]) @ p.vectors / np.sqrt(100 * p.eigenvalues[:2])
    K_P -= functions * p.shrink @ functions.T
    values = np.linalg.eigvalsh(K_P)[::-1]
    assert p.remainder == pytest.approx(1 - values[:8].sum() / values.sum(), rel=1e-3, abs=1e-12)
    assert p.n_functions == (2 + 8 if low else math.inf)


@pytest.mark.parametrize(("copies", "n_functions"), [(1, math.inf), (2, 150), (3, 100)])
def test_where_most_points_are_copies_there_are_as_many_functions_as_places(copies, n_functions):
    x = np.random.default_rng(1).normal(size=(300 // copies, 4)).astype(np.float32)
    x = np.random.default_rng(2).permutation(np.repeat(x, copies, axis=0))
    p = spectrum.make_preconditioner(kernels.make("laplace", 2.0), kernels.augmented(x), rank=5, n_subsample=100)
    assert p.n_functions == n_functions


# ---------------------------------------------------------------------------------------------- the cycle


def factors(cycle):
    return [cycle.at(t)[0] for t in range(cycle.length)]


def in_units_of_the_top(m, n=N, p=FACTS):
    """The steps of a cycle times m λ."""
    return np.array(factors(step_rules.Certified().cycle(p, m, n))) * p.step_size(m) * m * p.top_eigenvalue


def test_a_cycle_has_a_head_and_a_body_and_begins_again():
    cycle = cycles.Cycle(7, (1.0, 2.0), (3.0, 4.0))
    assert [cycle.at(t) for t in range(9)] == [(factor, 0) for factor in (1, 2, 3, 4, 3, 4, 3, 1, 2)]


@pytest.mark.parametrize("memory", [2.0, 10.0, 300.0])
def test_an_average_forgets_the_first_iterates_and_then_lies_as_many_steps_behind_as_it_is_told_to(memory):
    shares = np.array([cycles.Cycle(5, (), (1.0,), memory).at(t)[1] for t in range(9000)])
    left = np.append(np.cumprod((1 - shares)[:0:-1])[::-1], 1.0)  # what later steps leave of each iterate
    weights = shares * left
    assert shares[0] == 1
    assert weights.sum() == pytest.approx(1, rel=1e-12)
    assert weights @ (8999 - np.arange(9000)) == pytest.approx(memory, rel=1e-6)
    early = shares > 1 / (1 + memory)
    c = cycles.FORGETTING
    assert shares[early] == pytest.approx((c + 1) / (np.flatnonzero(early) + c + 1), rel=1e-12)


def test_full_batches_are_closed_by_the_best_step_on_the_flattened_range():
    # Between ρ = ½ and 1 the smallest largest |1 − a x| is that of a = 2/(1 + ρ).
    assert in_units_of_the_top(N) == pytest.approx([2 / 1.5, 1.5, 4.0])


@pytest.mark.parametrize("n_steps", range(1, 12))
def test_without_noise_a_cycle_shrinks_every_direction_and_is_longer_than_any_constant_step(n_steps):
    p = SimpleNamespace(**{**vars(FACTS), "usual_diagonal": 0.02, "mean_diagonal": 0.02, "flattened_top": 0.02})
    s = in_units_of_the_top(-(-N // n_steps), p=p)
    x = np.linspace(0, 1.2, 1201)[1:]
    assert np.abs(np.prod(1 - np.outer(x, s), axis=1)).max() < 1
    assert s.mean() > 1.7
    assert len(s) == {1: 3, 2: 4}.get(n_steps, n_steps)


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


def test_without_noise_there_is_no_average():
    assert step_rules.Certified().cycle(FACTS, N, N).memory == 0


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
    cycle = cycles.Cycle(6, (), (1.0,), memory)
    averaging, plain = EigenPro(size, cycle), EigenPro(size)
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
    solver, S = EigenPro(1e6, cycles.Cycle(1, (), (1.0,), 1.0)), slice(20, 80)
    after = solver.step(held, solver.init(held), S).iterate
    # The function that fits all points, and P⁻¹ of the difference, on the points: K⁻¹ (K_P K⁻¹)⁻¹ K⁻¹ = K_P⁻¹.
    K_P = p.K - p.K @ preconditioning_matrix(p.preconditioner, 90) @ p.K

    def distance(coefficients):
        difference = p.K @ coefficients - targets
        return float(np.sum(difference * np.linalg.solve(K_P, difference)))

    assert distance(after) < distance(0 * after)
    assert all(distance(after) < distance(factor * after) for factor in (0.8, 1.2))


@pytest.mark.parametrize("batch_size", [4, 16, 64])
@pytest.mark.parametrize("seed", [0, 1])
def test_points_in_one_place_with_different_labels_do_not_make_training_diverge(batch_size, seed):
    rng = np.random.default_rng(seed)
    x = 3 * rng.normal(size=(400, 6))
    x[200:206] = 20.0  # One place with six points, which come in one batch: nothing that batches have in the mean.
    points, kernel = kernels.augmented(x), kernels.make("gaussian", 3.0)
    matrix = gram.Gram(kernel, points, budget=2**30)
    p = spectrum.make_preconditioner(kernel, points, rank=40, n_subsample=100, seed=seed)
    held = KernelProblem(matrix, rng.choice([-1.0, 1.0], size=(400, 1)), None, p)
    size, cycle = step_rules.planned("certified", p, batch_size, 400)
    batches, stopping = training.Batches(400, batch_size, seed), training.Stopping(max_epochs=15)
    run = training.train(EigenPro(size, cycle), held, batches, stopping, may_shrink=False)
    assert max(run.losses) < 1.5


@pytest.mark.parametrize("batch_size", [16, 100])
def test_the_average_is_below_the_noise_of_the_last_iterate_where_labels_are_noisy(batch_size):
    p = problem(n=400, rank=20, n_subsample=100, kernel="gaussian", d=5)
    noise = np.random.default_rng(0).normal(size=(400, 1))
    held = replace(p.problem, targets=np.sin(2 * p.x[:, :1]) + noise)
    size, cycle = step_rules.planned("certified", p.preconditioner, batch_size, 400)

    def loss(solver):
        state = training.train(
            solver, held, training.Batches(400, batch_size, 0), training.Stopping(max_epochs=3)
        ).state
        return float(np.mean((p.K @ state.coefficients - held.targets) ** 2))

    assert loss(EigenPro(size, cycle)) < loss(EigenPro(size, replace(cycle, memory=0.0)))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("rank", "n_subsample"), [(5, 60), (40, 60), (100, 300)])
def test_training_with_the_cycle_never_diverges(rank, n_subsample, seed):
    p = problem(n=300, rank=rank, n_subsample=n_subsample, kernel="gaussian", d=8, seed=seed)
    held = replace(p.problem, targets=np.sin(p.x[:, :2]))
    for m in (1, 7, 50, 100, 150, 300):
        size, cycle = step_rules.planned("certified", p.preconditioner, m, 300)
        batches, stopping = training.Batches(300, m, seed), training.Stopping(max_epochs=6)
        run = training.train(EigenPro(size, cycle), held, batches, stopping)
        assert run.n_rollbacks == 0
        assert run.losses[-1] < run.losses[0]


# -------------------------------------------------------------------------------------- the estimators

ALL = [EigenProClassifier, EigenProRegressor, FeatureEigenProClassifier, FeatureEigenProRegressor]
each = pytest.mark.parametrize("Estimator", ALL)
pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")


def table(Estimator, n=400, seed=0, noise=0.0):
    x = sample(n + 100, 4, seed)
    signal = np.sin(2 * x[:, 0]) + x[:, 1] + noise * np.random.default_rng(seed).normal(size=n + 100)
    y = np.digitize(signal, [-0.7, 0.7]) if is_classifier(Estimator()) else signal
    return x[:n], y[:n], x[n:], y[n:]


@pytest.mark.slow
@each
@pytest.mark.parametrize("rule", list(step_rules.RULES))
@pytest.mark.parametrize("batch_size", [1, 50, 400])
def test_every_rule_can_be_asked_for_with_any_batch(Estimator, rule, batch_size):
    X, y, *_ = table(Estimator)
    asked = {"rank": 20, "n_subsample": 400, "max_epochs": 2, "tol": 0, "random_state": 0, "batch_size": batch_size}
    model = Estimator(**small(Estimator), step_rule=rule, **asked)
    if rule == "exact" and batch_size < 400:
        with pytest.raises(ShallowsError, match="certified"):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert model.effective_params_["batch_size"] == batch_size
    if rule in ("certified", "theorem", "paper"):
        assert model.n_rollbacks_ == 0
        assert model.losses_[-1] < 1


@each
def test_a_step_of_the_users_is_taken_at_every_step(Estimator):
    X, y, *_ = table(Estimator)
    asked = {"rank": 20, "n_subsample": 100, "batch_size": 50, "max_epochs": 2, "tol": 0, "random_state": 0}
    by_number = Estimator(**small(Estimator), step_size=0.05, **asked).fit(X, y)
    by_rule = Estimator(**small(Estimator), step_rule=lambda p, m, n: 0.05, **asked).fit(X, y)
    assert by_number.step_size_ == by_rule.step_size_ == 0.05
    assert by_number.losses_ == by_rule.losses_


def small(Estimator):
    """What keeps a feature map small."""
    return {"n_features": 200} if Estimator.__name__.startswith("Feature") else {}


class Stop(training.Observer):
    def __init__(self, checkpoint, at):
        self.checkpoint, self.at = checkpoint, at

    def on_batch(self, run):
        if run.iteration == self.at:
            self.checkpoint.request_stop()


@each
def test_a_run_that_was_stopped_in_a_cycle_goes_on_in_it(Estimator, tmp_path):
    X, y, *_ = table(Estimator)
    model = Estimator(**small(Estimator), rank=20, n_subsample=100, batch_size=30, max_epochs=4, tol=0, random_state=0)
    losses = clone(model).fit(X, y).losses_
    for at in (5, 24):
        checkpoint = training.Checkpoint(tmp_path, "a run")
        with pytest.raises(TrainingInterrupted):
            clone(model).fit(X, y, observers=[Stop(checkpoint, at)], checkpoint=checkpoint)
    assert clone(model).fit(X, y, checkpoint=training.Checkpoint(tmp_path, "a run")).losses_ == losses


# --------------------------------------------------------------------------------------- early stopping


@each
def test_the_model_of_the_best_epoch_on_held_out_rows_is_kept(Estimator):
    X, y, *_ = table(Estimator, noise=0.8)
    asked = {"max_epochs": 30, "tol": 0, "random_state": 0, "batch_size": 40, "early_stopping": True}
    asked |= {"rank": 20, "n_subsample": 100, "bandwidth": 0.5, "n_iter_no_change": 3}
    model = Estimator(**small(Estimator), **asked).fit(X, y)
    scores = model.validation_scores_
    assert model.effective_params_["stopped_by"] == "patience"
    assert len(scores) - 1 - int(np.argmax(scores)) == 3
    assert model.best_validation_score_ == max(scores)
    rows = held_out_rows(model, X)
    assert len(rows) == 40
    assert model.score(X[rows], y[rows]) == pytest.approx(max(scores), abs=1e-9)


def held_out_rows(model, X):
    """The rows that were held out, by the rule of the estimators."""
    if hasattr(model, "support_"):
        return np.setdiff1d(np.arange(len(X)), model.support_)
    y = table(type(model), noise=0.8)[1]
    return early_stopping.hold_out(X, y, None, 0.1, 0, is_classifier(model)).rows


@each
def test_held_out_rows_are_not_trained_on(Estimator):
    # What the held-out rows are changes which epoch is the best, and nothing else.
    X, y, *_ = table(Estimator, noise=0.8)
    asked = {"max_epochs": 4, "tol": 0, "random_state": 0, "early_stopping": True, "n_iter_no_change": 50}
    asked |= {"rank": 20, "n_subsample": 100, "batch_size": 40}
    losses = Estimator(**small(Estimator), **asked).fit(X, y).losses_
    rows = held_out_rows(Estimator(**small(Estimator), **asked).fit(X, y), X)
    assert len(rows) == 40
    X, other = X.copy(), y.copy()
    X[rows] += 1  # With all rows trained on, losses change by 5 % and more.
    # The labels of classes stay, since they decide which rows are held out.
    other[rows] = y[rows] if is_classifier(Estimator()) else y[rows] + 100
    assert Estimator(**small(Estimator), **asked).fit(X, other).losses_ == pytest.approx(losses, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fraction", [0.1, 0.25, 0.5])
def test_classes_have_their_share_among_the_rows_that_are_held_out(fraction, seed):
    y = np.repeat(["a", "b", "c", "d"], [50, 30, 19, 1])
    held = early_stopping.hold_out(np.arange(100)[:, None], y, None, fraction, seed, True)
    counts = {label: int((held.y == label).sum()) for label in "abcd"}
    assert counts["d"] == 0, "a class keeps a row to be trained on"
    for label, n in zip("abc", (50, 30, 19), strict=True):
        assert abs(counts[label] - fraction * n) < 1
    assert len(held.rows) == pytest.approx(100 * fraction, abs=1)
    assert np.array_equal(np.sort([*held.rows, *held.training_rows]), np.arange(100))
    other = early_stopping.hold_out(np.arange(100)[:, None], y, None, fraction, seed + 1, True)
    assert not np.array_equal(held.rows, other.rows)


@each
def test_scores_are_weighted_as_the_rows_are(Estimator):
    X, y, *_ = table(Estimator, noise=0.8)
    w = np.random.default_rng(0).uniform(0.1, 3, len(X))
    asked = {"max_epochs": 2, "tol": 0, "random_state": 0, "early_stopping": True, "n_iter_no_change": 50}
    model = Estimator(**small(Estimator), rank=10, n_subsample=100, **asked).fit(X, y, sample_weight=w)
    rows = held_out_rows(model, X)
    assert model.score(X[rows], y[rows], sample_weight=w[rows]) == pytest.approx(model.best_validation_score_, abs=1e-9)


@each
def test_observers_see_all_training_rows_although_some_are_held_out(Estimator):
    X, y, *_ = table(Estimator)
    seen = []
    curve = training.Curve([1, 2], lambda s: seen.append(s.predict_training()) or {"n": float(len(seen[-1]))})
    asked = {"max_epochs": 2, "tol": 0, "random_state": 0, "early_stopping": True, "n_iter_no_change": 50}
    model = Estimator(**small(Estimator), rank=10, n_subsample=100, **asked).fit(X, y, observers=[curve])
    assert [row["n"] for row in curve.rows] == [len(X)] * 2
    best = seen[int(np.argmax(model.validation_scores_))]  # The model is that of the best epoch.
    assert np.abs(np.asarray(best, float) - np.asarray(model.predict(X), float)).max() < 1e-9


@pytest.mark.parametrize(("batch_size", "few"), [(8, None), (40, 0), (200, 0)])
def test_kernel_sgd_takes_the_steps_of_eigenpro_with_nothing_flattened(batch_size, few, monkeypatch):
    if few is not None:  # of few batches it stays a method of gradients, and EigenPro does not
        monkeypatch.setattr(step_rules, "FEW", few)
    X, y, new, _ = table(KernelSGDRegressor)
    asked = {"batch_size": batch_size, "max_epochs": 4, "tol": 0, "random_state": 0, "bandwidth": 1.0}
    plain = KernelSGDRegressor(**asked).fit(X, y)
    bare = EigenProRegressor(rank=0, n_subsample=1, **asked).fit(X, y)
    assert np.abs(plain.predict(new) - bare.predict(new)).max() < 1e-10
    constant = KernelSGDRegressor(step_rule="constant", **asked).fit(X, y)
    assert constant.step_size_ == pytest.approx(0.75 * plain.step_size_)
    given = KernelSGDRegressor(step_size=constant.step_size_, **asked).fit(X, y)
    assert np.array_equal(constant.predict(new), given.predict(new))
    told = [model.effective_params_["step_rule"] for model in (plain, constant, given)]
    assert told == ["certified", "constant", "given"]
    assert plain.losses_[-1] < constant.losses_[-1]


def test_a_step_rule_that_kernel_sgd_has_not_is_named():
    X, y, *_ = table(KernelSGDRegressor)
    with pytest.raises(UnknownNameError, match="release2019"):
        KernelSGDRegressor(step_rule="release2019").fit(X, y)


@pytest.mark.parametrize("Estimator", [KernelSGDClassifier, KernelSGDRegressor])
def test_kernel_gradient_descent_stops_early_too(Estimator):
    X, y, *_ = table(Estimator, noise=0.8)
    model = Estimator(early_stopping=True, bandwidth=0.5, max_epochs=60, tol=0, random_state=0).fit(X, y)
    rows = held_out_rows(model, X)
    assert model.n_epochs_ < 60
    assert model.score(X[rows], y[rows]) == pytest.approx(model.best_validation_score_, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "value"),
    [("validation_fraction", 0.0), ("validation_fraction", 1.0), ("n_iter_no_change", 0), ("n_iter_no_change", 1.5)],
)
def test_a_parameter_of_early_stopping_out_of_its_range_is_named(name, value):
    X, y, *_ = table(EigenProRegressor)
    with pytest.raises(ShallowsError, match=name) as raised:
        EigenProRegressor(early_stopping=True, **{name: value}).fit(X, y)
    assert repr(value) in str(raised.value)


def test_a_share_that_leaves_no_row_is_told_so():
    with pytest.raises(ShallowsError, match=r"validation_fraction=0.1 of the rows, which of 3 is none"):
        EigenProClassifier(early_stopping=True).fit(sample(3), [0, 1, 1])


def test_a_preconditioner_of_all_rows_and_early_stopping_exclude_each_other():
    X, y, *_ = table(EigenProRegressor)
    p = spectrum.fit_preconditioner(X, "gaussian", 1.0, rank=5, n_subsample=50, device="cpu")
    with pytest.raises(ShallowsError, match="leave one of the two out"):
        EigenProRegressor(bandwidth=1.0, preconditioner=p, early_stopping=True).fit(X, y)


def test_a_preconditioner_keeps_its_power_in_a_file(tmp_path):
    X = sample(100)
    p = spectrum.fit_preconditioner(X, kernels.Laplace(2.0), rank=5, n_subsample=50, power=0.5, device="cpu")
    p.save(tmp_path / "p.npz")
    read = spectrum.load_preconditioner(tmp_path / "p.npz")
    for name in ("power", "upper_diagonal", "mean_diagonal", "bound", "dimension", "subsample_diagonal"):
        assert getattr(read, name) == getattr(p, name)
    assert np.array_equal(read.scale, p.scale)


def test_the_rule_and_the_solver_that_were_taken_are_told():
    X, y, *_ = table(EigenProRegressor)
    whole, few, many, given = (
        EigenProRegressor(max_epochs=1, random_state=0, **options).fit(X, y).effective_params_
        for options in ({}, {"batch_size": 40, "rank": 5}, {"batch_size": 2}, {"step_size": 1e-3, "batch_size": 40})
    )
    assert (whole["step_rule"], whole["solver"]) == ("exact", "EigenPro")
    assert (few["step_rule"], few["solver"]) == ("certified", "ConjugateResiduals")
    assert (many["step_rule"], many["solver"]) == ("certified", "EigenPro")
    assert (given["step_rule"], given["solver"]) == ("given", "EigenPro")
