"""EigenPro and Richardson against the operators they are the coordinates of (SPEC 9 and 10.6)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

from engine_example import largest_eigenvalue, naive_kernel, preconditioning_matrix, problem, sample
from shallows import gram, kernels, spectrum, streams, training
from shallows.solvers.least_squares.eigenpro import EigenProStepper
from shallows.solvers.least_squares.kernel_problem import KernelProblem
from shallows.solvers.least_squares.kernel_sgd import KernelSGDStepper
from shallows.solvers.least_squares.step_rules import Cycle

N = 60
WHOLE = slice(0, N)


def steps(solver, p, n_steps, batch=WHOLE):
    """The coefficients after 0, 1, ..., n_steps steps on one batch, or on the batches of a list in turn."""
    state = solver.init(p.problem)
    yield state.coefficients.copy()
    for t in range(n_steps):
        state = solver.step(p.problem, state, batch[t % len(batch)] if isinstance(batch, list) else batch)
        yield state.coefficients.copy()


def last(solver, p, n_steps, batch=WHOLE):
    *_, coefficients = steps(solver, p, n_steps, batch)
    return coefficients


def eigenpairs(K):
    values, vectors = np.linalg.eigh(K)
    return values[::-1], vectors[:, ::-1]


BATCHES = [slice(0, 7), slice(42, 49), slice(7, 14), slice(56, 60)]


# -------------------------------------------------------------------------------------------- Richardson


@pytest.mark.parametrize("weights", [False, True])
def test_a_step_of_richardson_is_the_gradient_of_the_batch(weights):
    p = problem(weights=weights)
    alpha = np.zeros((N, 2))
    w = np.ones(N) if p.w is None else p.w
    for t, coefficients in enumerate(steps(KernelSGDStepper(0.3), p, 12, BATCHES)):
        assert np.abs(coefficients - alpha).max() < 1e-13
        batch = BATCHES[t % 4]
        alpha[batch] -= 0.3 * w[batch, None] * (p.K[batch] @ alpha - p.y[batch])


def test_richardson_is_the_filter_of_the_spectrum_that_theory_says():
    # SPEC 9: from zero, the iterate is Σ (1 − (1 − ηλᵢ)^t)/λᵢ eᵢ eᵢᵀ y, on its way to the least-norm solution.
    p = problem()
    values, vectors = eigenpairs(p.K)
    step = 1 / values[0]
    for t, coefficients in enumerate(steps(KernelSGDStepper(step), p, 40)):
        filtered = (1 - (1 - step * values) ** t) / values
        assert np.abs(coefficients - vectors @ (filtered[:, None] * (vectors.T @ p.y))).max() < 1e-12


@pytest.mark.parametrize(("share", "converges"), [(0.98, True), (1.02, False)])
def test_richardson_converges_below_two_over_the_top_eigenvalue_and_diverges_above(share, converges):
    p = problem()
    step = share * 2 / np.linalg.eigvalsh(p.K)[-1]
    residuals = [np.linalg.norm(p.K @ a - p.y) for a in steps(KernelSGDStepper(step), p, 400)]
    if converges:
        assert all(b <= a for a, b in itertools.pairwise(residuals))
    else:
        assert residuals[-1] > 10 * residuals[0]


def test_the_loss_of_a_step_is_that_of_its_batch_before_the_step():
    p = problem(weights=True)
    solver = KernelSGDStepper(0.3)
    state = solver.init(p.problem)
    alpha = np.zeros((N, 2))
    for batch in BATCHES:
        loss = (p.w[batch, None] * (p.K[batch] @ alpha - p.y[batch]) ** 2).sum()
        state = solver.step(p.problem, state, batch)
        assert state.loss == pytest.approx(loss, rel=1e-12)
        alpha = state.coefficients.copy()


def test_a_weight_of_two_is_a_point_that_is_there_twice():
    x, y, w = sample(20), sample(20, 1, seed=1), np.array([2.0] * 5 + [1.0] * 15)
    kernel = kernels.Gaussian(2.0)
    rows = np.concatenate([np.arange(20), np.arange(5)])
    once, twice = (
        KernelProblem(gram.Gram(kernel, kernels.augmented(x[r]), budget=2**20), y[r], weights)
        for r, weights in ((np.arange(20), w[:, None]), (rows, None))
    )
    a, b = KernelSGDStepper(0.05).init(once), KernelSGDStepper(0.05).init(twice)
    for _ in range(10):
        a, b = KernelSGDStepper(0.05).step(once, a, slice(0, 20)), KernelSGDStepper(0.05).step(twice, b, slice(0, 25))
    folded = b.coefficients[:20].copy()
    folded[:5] += b.coefficients[20:]
    assert np.abs(a.coefficients - folded).max() < 1e-13


def test_the_norm_of_the_coefficients_grows_while_that_of_the_function_stays_bounded():
    # SPEC 9, Figure 2 of the paper: noise is fitted in directions where the function hardly moves.
    p = problem(kernel="gaussian")
    norms = [(np.linalg.norm(a), np.linalg.norm(p.K @ a)) for a in steps(KernelSGDStepper(1 / 60), p, 200)]
    assert all(b[0] >= a[0] for a, b in itertools.pairwise(norms))
    assert max(of_function for _, of_function in norms) <= np.linalg.norm(p.y)


# ---------------------------------------------------------------------------------------------- EigenPro


def test_without_a_preconditioner_there_is_no_eigenpro():
    with pytest.raises(ValueError, match="preconditioner"):
        EigenProStepper(1.0).init(problem().problem)


@pytest.mark.parametrize("batch", [WHOLE, BATCHES], ids=["whole", "batches"])
def test_rank_zero_is_richardson_iterate_by_iterate(batch):
    # SPEC 10.6 (1), to the bit: what is added is a sum of nothing.
    p = problem(rank=0, n_subsample=30)
    both = zip(steps(EigenProStepper(0.03), p, 12, batch), steps(KernelSGDStepper(0.03), p, 12, batch), strict=True)
    assert all(np.array_equal(ours, plain) for ours, plain in both)


@pytest.mark.parametrize("n_subsample", [N, 25])
@pytest.mark.parametrize(("rank", "damping"), [(0, 1.0), (5, 1.0), (20, 0.25)])
@pytest.mark.parametrize("weights", [False, True])
def test_the_limit_is_the_solution_of_the_linear_system_for_every_preconditioner(rank, damping, n_subsample, weights):
    # SPEC 10.6 (2). Interpolation has no use for weights; n steps of conjugate kind are not ours, so many plain ones.
    p = problem(n=N, rank=rank, n_subsample=n_subsample, damping=damping, weights=weights, bandwidth=0.5)
    operator = (p.w if weights else np.ones(N))[:, None] * p.K
    top = largest_eigenvalue((np.eye(N) - preconditioning_matrix(p.preconditioner, N) @ p.K) @ operator)
    solution = np.linalg.solve(p.K, p.y)
    reached = last(EigenProStepper(1 / top), p, 3000)
    assert np.abs(reached - solution).max() < 1e-8 * np.abs(solution).max()


@pytest.mark.parametrize("rank", [0, 5, 20])
def test_one_full_step_solves_the_top_directions_exactly(rank):
    # SPEC 10.6 (4): η = 1/λ_{q+1} and τ = 1 settle q + 1 directions at once.
    p = problem(rank=rank)
    values, vectors = eigenpairs(p.K)
    residual = vectors.T @ (p.K @ last(EigenProStepper(1 / values[rank]), p, 1) - p.y)
    assert np.abs(residual[: rank + 1]).max() < 1e-12
    assert np.abs(residual[rank + 1 :]).max() > 0.1


@pytest.mark.parametrize("damping", [1.0, 0.25])
def test_the_residual_falls_along_each_direction_at_the_rate_of_its_eigenvalue(damping):
    # SPEC 10.6 (7): (1 − ηλᵢ)^t beyond the rank, (1 − ητλ_{q+1})^t within it.
    rank, t = 8, 30
    p = problem(rank=rank, damping=damping)
    values, vectors = eigenpairs(p.K)
    step = 1 / values[rank]
    rates = np.where(np.arange(N) < rank, damping * values[rank], values)
    residual = vectors.T @ (p.y - p.K @ last(EigenProStepper(step), p, t))
    assert np.abs(residual - ((1 - step * rates) ** t)[:, None] * (vectors.T @ p.y)).max() < 1e-12


def test_the_gain_over_gradient_descent_is_the_ratio_of_the_eigenvalues():
    # One step of EigenPro moves along eᵢ, i > q, as far as λ₁/λ_{q+1} steps of plain descent at its best step, to
    # first order; on the log of the residual the ratio is that of log(1 − λᵢ/λ_{q+1}) and log(1 − λᵢ/λ₁).
    rank, t, i = 8, 10, 30
    p = problem(rank=rank)
    values, vectors = eigenpairs(p.K)
    start = vectors[:, i] @ p.y[:, 0]
    fast, slow = (
        math.log(abs(vectors[:, i] @ (p.y - p.K @ last(solver, p, t))[:, 0] / start))
        for solver in (EigenProStepper(1 / values[rank]), KernelSGDStepper(1 / values[0]))
    )
    predicted = math.log1p(-values[i] / values[rank]) / math.log1p(-values[i] / values[0])
    assert fast / slow == pytest.approx(predicted, rel=1e-6)
    assert predicted > values[0] / values[rank] > 5


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("damping", [1.0, 0.25])
@pytest.mark.parametrize("batch", [slice(0, 7), slice(20, 27), slice(50, 60)], ids=["first", "astride", "outside"])
def test_a_step_on_a_batch_is_the_operator_of_the_kernels_space_applied_to_its_gradient(batch, damping, weights):
    # SPEC 10.6 (5). P h = h − Σ (1 − τ λ_{q+1}/λᵢ) ⟨h, ψᵢ⟩ ψᵢ is evaluated at new points, with ψᵢ as functions and
    # ⟨k(x, ·), ψᵢ⟩ = ψᵢ(x), and held against the function that the new coefficients make.
    rank, m, step = 6, 24, 0.4
    p = problem(rank=rank, n_subsample=m, damping=damping, weights=weights)
    w = np.ones(N) if p.w is None else p.w
    root = np.sqrt(w[:m])
    values, vectors = eigenpairs(p.K[:m, :m] * np.outer(root, root))
    new = sample(40, seed=9)

    def psi(x):
        return naive_kernel("laplace", 2.0, x, p.x[:m]) @ (root[:, None] * vectors[:, :rank]) / np.sqrt(values[:rank])

    solver = EigenProStepper(step)
    state = solver.init(p.problem)
    state.coefficients[...] = sample(N, 2, seed=8)
    before = state.coefficients.copy()
    after = solver.step(p.problem, state, batch).coefficients

    g = w[batch, None] * (p.K[batch] @ before - p.y[batch])
    shrink = 1 - damping * values[rank] / values[:rank]
    gradient = naive_kernel("laplace", 2.0, new, p.x[batch]) @ g
    moved = gradient - psi(new) @ (shrink[:, None] * (psi(p.x[batch]).T @ g))
    assert np.abs(naive_kernel("laplace", 2.0, new, p.x) @ (after - before) + step * moved).max() < 1e-10


def test_a_step_changes_only_the_batch_and_the_subsample():
    p = problem(rank=5, n_subsample=20)
    touched = np.flatnonzero(np.any(last(EigenProStepper(0.1), p, 1, slice(40, 50)) != 0, axis=1))
    assert touched.tolist() == [*range(20), *range(40, 50)]


def test_eigenpro_is_richardson_with_the_preconditioned_kernel():
    # SPEC 10.6 (12): on the training points it makes the values that K − KDK makes under plain descent.
    p = problem(rank=8, damping=0.5)
    K_P = p.K - p.K @ preconditioning_matrix(p.preconditioner, N) @ p.K
    beta = np.zeros((N, 2))
    for coefficients in steps(EigenProStepper(0.2), p, 20):
        assert np.abs(p.K @ coefficients - K_P @ beta).max() < 1e-12
        beta -= 0.2 * (K_P @ beta - p.y)


@pytest.mark.parametrize(("share", "converges"), [(0.98, True), (1.02, False)])
@pytest.mark.parametrize("n_subsample", [N, 30])
def test_eigenpro_converges_below_two_over_the_top_eigenvalue_and_diverges_above(share, converges, n_subsample):
    # SPEC 10.6 (11)
    p = problem(rank=8, n_subsample=n_subsample)
    D = preconditioning_matrix(p.preconditioner, N)
    step = share * 2 / largest_eigenvalue((np.eye(N) - D @ p.K) @ p.K)
    norms = [np.linalg.norm(p.K @ a - p.y) for a in steps(EigenProStepper(step), p, 400)]
    assert norms[-1] < norms[0] if converges else norms[-1] > 10 * norms[0]


# --------------------------------------------------------------------------------------- the step's size


@pytest.mark.parametrize("m", [30, 100, 300])
def test_the_spread_of_batches_keeps_within_the_bound_of_the_paper(m):
    # SPEC 10.6 (10). ‖P^½ H_m P^½‖ is the largest eigenvalue of the batch's preconditioned kernel matrix over m; the
    # dimension of the span of n points is at most n, and κ = 1.
    n, rank, delta, n_draws = 500, 20, 0.1, 60
    p = problem(n=n, rank=rank, kernel="gaussian", d=5)
    K_P = p.K - p.K @ preconditioning_matrix(p.preconditioner, n) @ p.K
    following = float(p.preconditioner.eigenvalues[rank])
    log = math.log(2 * n / delta)
    bound = following + 2 * (following + 1) / (3 * m) * log + math.sqrt(2 * following / m * log)
    rng = np.random.default_rng(0)
    norms = [
        np.linalg.eigvalsh(K_P[np.ix_(rows, rows)])[-1] / m
        for rows in (rng.integers(0, n, size=m) for _ in range(n_draws))
    ]
    assert np.mean(np.array(norms) <= bound) >= 1 - delta
    assert bound < 1, "a bound above κ says nothing"


@pytest.mark.parametrize("m", [4, 30, 100, 300])
def test_the_certified_step_is_two_over_what_batches_amount_to_in_the_mean(m):
    p = problem(n=500, rank=20, n_subsample=150, kernel="gaussian", d=5)
    K_P = p.K - p.K @ preconditioning_matrix(p.preconditioner, 500) @ p.K
    rng = np.random.default_rng(0)
    draws = (rng.choice(500, size=m, replace=False) for _ in range(40))
    mean = np.mean([np.linalg.eigvalsh(K_P[np.ix_(rows, rows)])[-1] for rows in draws])
    # β + (m − 1) λ is no bound on a single batch but lies above their mean, and not far: 1.3 to 1.8 times, measured.
    assert 1 < 2 / p.preconditioner.step_size(m) / mean < 2


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("rank", "n_subsample"), [(10, 60), (50, 60), (50, 200)])
@pytest.mark.parametrize("data", ["digits", "clusters"])
def test_training_with_the_certified_step_does_not_diverge(data, rank, n_subsample, seed):
    # SPEC 10.6 (11) and FACTS: batches of 1 to all points, below and far above the critical size.
    n = 300
    x, labels = load_digits(return_X_y=True) if data == "digits" else make_blobs(n, centers=3, random_state=0)
    order = streams.permutation(seed, "test", 0, n)
    x, targets = x[order] - x[:n].mean(axis=0), 2.0 * (labels[order, None] == np.unique(labels)) - 1
    points = kernels.augmented(x)
    kernel = kernels.Gaussian(kernels.median_bandwidth(x))
    p = spectrum.make_preconditioner(kernel, points, rank=rank, n_subsample=n_subsample, seed=seed)
    assert np.array_equal(p.indices, np.arange(n_subsample))
    held = KernelProblem(gram.Gram(kernel, points, budget=2**30), targets, None, p)
    for batch_size in (1, 8, 64, 300):
        batches, stopping = training.Batches(n, batch_size, seed), training.Stopping(max_epochs=3)
        run = training.train(EigenProStepper(p.step_size(batch_size)), held, batches, stopping)
        assert run.n_rollbacks == 0
        assert run.losses[-1] < run.losses[0]


# ---------------------------------------------------------------------------------- nothing flattened


@pytest.mark.parametrize("weights", [False, True])
def test_eigenpro_with_nothing_flattened_takes_the_steps_of_averaged_richardson_to_the_bit(weights):
    flat = problem(rank=0, n_subsample=1, weights=weights, budget=0)
    cycle = Cycle(4, (0.7,), (1.3, 0.9), memory=6.0)
    ours = steps(KernelSGDStepper(0.2, cycle), flat, 12, BATCHES)
    for mine, other in zip(ours, steps(EigenProStepper(0.2, cycle), flat, 12, BATCHES), strict=True):
        assert np.array_equal(mine, other)
