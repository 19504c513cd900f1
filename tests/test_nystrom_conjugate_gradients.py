"""Conjugate gradients over the span of centers: against normal equations, dense and in float64."""

import numpy as np
import pytest

from engine_example import naive_kernel, sample
from forms import centers_regressor
from shallows import KernelRidgeRegressor, Options, arrays, kernels, training
from shallows.fitting import center_points
from shallows.gram.rectangular import KeptStrips
from shallows.solvers import NystromConjugateGradients
from shallows.solvers.least_squares import nystrom_conjugate_gradients as nystrom
from shallows.solvers.least_squares.nystrom_conjugate_gradients import NystromConjugateGradientsStepper, NystromProblem

N, P, RIDGE = 600, 60, 0.3


def problem(*, p=P, n=N, weights=False, kept=None, xp=np, dtype=np.float64, outputs=2, first=(0, 0)):
    x, y = sample(n).astype(dtype), sample(n, outputs, seed=1000).astype(dtype)
    w = np.random.default_rng(0).uniform(0.2, 1.0, size=(n, 1)).astype(dtype) if weights else None
    kernel, points = kernels.make("gaussian", 1.5), kernels.augmented(xp.asarray(x))
    centres, own = points[:p, :], None if w is None else xp.asarray(w)
    of_centers = None if own is None else own[:p, 0]
    made = nystrom.make_preconditioner(kernel, centres, n, RIDGE, of_centers, of_all_points=p == n)
    strips = None if kept is None else KeptStrips(n, centres, kept)
    given = kernel, centres, lambda b: points[b, :], xp.asarray(y), made, own, RIDGE
    return NystromProblem(*given, kept=strips, n_first=first[0], batch_size=first[1])


def minimiser(held):
    """The coefficients that solve the normal equations, and the matrix of the points and the centers."""
    x = np.asarray(held.points(slice(0, held.targets.shape[0])))[:, :-2].astype(float)
    z = np.asarray(held.centers)[:, :-2].astype(float)
    K, K_ZZ = naive_kernel("gaussian", 1.5, x, z), naive_kernel("gaussian", 1.5, z, z)
    w = 1.0 if held.weights is None else np.asarray(held.weights)
    y = np.asarray(held.targets).astype(float)
    return np.linalg.solve(K.T @ (w * K) + RIDGE * K_ZZ + 1e-12 * np.eye(len(z)), K.T @ (w * y)), K


def trained(held, batch=N, epochs=60, settled=0.0):
    n = held.targets.shape[0]
    solver = NystromConjugateGradientsStepper(settled)
    return training.train(solver, held, training.Batches(n, batch, 0), training.Stopping(epochs))


@pytest.mark.parametrize(
    ("weights", "batch", "kept", "first"),
    [(False, N, None, 0), (True, 77, 10**8, 0), (True, N, 10**5, 0), (False, 90, None, 180), (True, 70, 10**5, 140)],
)
def test_it_finds_the_minimiser_and_knows_its_loss(weights, batch, kept, first):
    held = problem(weights=weights, kept=kept, first=(first, batch))
    run, (best, K) = trained(held, batch), minimiser(held)
    assert np.abs(K @ (run.state.coefficients - best)).max() < 1e-6
    w = 1.0 if held.weights is None else held.weights
    loss = (w * (K @ run.state.coefficients - held.targets) ** 2).sum() / (w * held.targets**2).sum()
    assert run.losses[-1] == pytest.approx(loss, rel=1e-9)
    assert (run.losses[0] > loss) if first else (run.losses[0] == 1.0)


def test_where_values_are_not_kept_it_begins_at_the_solution_of_some_rows():
    room, (X, y) = f"{arrays.resident_memory() // 10**6 + 60}MB", table(20_000)
    options = {"centres": 400, "bandwidth": 1.5, "regularisation": 1.0, "tol": 0.0, "random_state": 0}
    fits = [centers_regressor(**options, memory=memory).fit(X, y) for memory in (room, None)]
    made_anew, kept = (fit.report_ for fit in fits)
    assert made_anew["kept_fraction"] < 0.5 < kept["kept_fraction"]
    assert made_anew["n_epochs"] < 0.6 * kept["n_epochs"]  # 6 and 13
    losses = [((fit.predict(X) - y) ** 2).sum() for fit in fits]
    assert losses[0] == pytest.approx(losses[1], rel=0.03)


@pytest.mark.parametrize("weights", [False, True])
def test_the_preconditioner_is_the_equations_that_the_centres_would_give(weights):
    held = problem(weights=weights)
    L, A = np.tril(held.preconditioner.factor), np.tril(held.preconditioner.inner)
    z = held.centers[:, :-2]
    assert np.abs(L @ L.T - naive_kernel("gaussian", 1.5, z, z)).max() < 1e-8
    w = np.ones((P, 1)) if held.weights is None else held.weights[:P]
    shift = max(RIDGE, nystrom.LEAST_SHIFT * N / P * w.mean())
    assert np.abs(A @ A.T - (N / P * L.T @ (w * L) + shift * np.eye(P))).max() < 1e-10
    right = sample(P, 3, seed=3)
    assert np.abs(held.preconditioner.solve(right) - np.linalg.solve(A @ A.T, right)).max() < 1e-10


@pytest.mark.parametrize("weights", [False, True])
def test_with_the_points_as_centres_one_iteration_is_the_solution(weights):
    held = problem(n=200, p=200, weights=weights)
    run, (best, K) = trained(held, 200, epochs=2), minimiser(held)
    assert np.abs(K @ (run.state.coefficients - best)).max() < 1e-6


def test_a_small_ridge_costs_few_iterations():
    # Without the shift of the preconditioner the loss is 3 times its minimum after these passes.
    held = problem(n=3000, p=100)
    losses = trained(held, 3000, epochs=40).losses
    assert losses[9] < 1.01 * losses[-1]


def test_it_ends_where_the_objective_has_settled_each_output_for_itself():
    together = trained(problem(), settled=1e-3)
    assert together.stopped_by == "exhausted" and 3 < together.epoch < 30
    for j in range(2):
        held = problem()
        alone = NystromProblem(**{**vars(held), "targets": held.targets[:, j : j + 1]})
        run = trained(alone, settled=1e-3)
        assert np.abs(run.state.coefficients - together.state.coefficients[:, j : j + 1]).max() < 1e-7


def test_a_state_that_is_kept_within_a_pass_goes_on_to_the_same_bits():
    held, solver = problem(), NystromConjugateGradientsStepper(0.0)
    order = [batch for epoch in range(4) for batch in training.Batches(N, 130, 0).of_epoch(epoch)]
    state, other = solver.init(held), solver.init(held)
    for batch in order[:12]:
        state = solver.step(held, state, batch)
    kept = state.remember()
    other.recall(*kept)
    for batch in order[12:]:
        state, other = solver.step(held, state, batch), solver.step(held, other, batch)
    assert np.array_equal(state.coefficients, other.coefficients) and state.loss == other.loss


def test_it_is_the_same_on_another_array_library():
    xp = pytest.importorskip("array_api_strict")
    ours, theirs = (trained(problem(xp=lib, weights=True), epochs=8).state for lib in (np, xp))
    assert np.abs(ours.coefficients - arrays.to_numpy(theirs.coefficients)).max() < 1e-6


def test_strips_that_are_kept_change_no_bit_and_are_as_many_as_fit():
    runs = [trained(problem(kept=kept), 200, epochs=5) for kept in (None, 4 * N * P * 8 // 10, 10**8)]
    for run in runs[:2]:
        assert np.array_equal(run.state.coefficients, runs[2].state.coefficients)
    strips = KeptStrips(1000, kernels.augmented(sample(40)), 256 * 48 * 8 * 2)
    for start in range(0, 1000, 250):
        blocks, made = strips.blocks(slice(start, start + 250))
        assert (blocks is None) == (start >= 500) and not made
        if blocks is not None:
            strips.finish(slice(start, start + 250))
    assert strips.kept_fraction == 0.5 and strips.blocks(slice(0, 250))[1]
    assert strips.blocks(slice(0, 100)) == (None, False)


# -------------------------------------------------------------------------------------- the estimators


def table(n, d=3, noise=0.0):
    x = sample(n, d)
    return x, np.sin(2 * x[:, 0]) + x[:, -1] + noise * np.random.default_rng(1).normal(size=n)


@pytest.mark.parametrize(("n", "expected"), [(500, 500), (900, 900), (3000, 2190)])
def test_their_number_grows_with_the_root_of_the_rows(n, expected, monkeypatch):
    monkeypatch.setattr(center_points, "effective_dimension", lambda *given: np.inf)
    solver = NystromConjugateGradients(max_iterations=2, tol=0)
    model = KernelRidgeRegressor(solver=solver, random_state=0).fit(*table(n))
    assert model.report_["n_centers"] == len(model.dual_coef_) == expected
    assert model.report_["solver"] == "nystrom_conjugate_gradients" and model.report_["kept_fraction"] == 1


def test_no_more_centres_are_taken_than_noisy_data_have_dimensions():
    X, y = table(3000, d=2, noise=3.0)
    model = KernelRidgeRegressor(solver="nystrom_conjugate_gradients", random_state=0).fit(X, y)
    assert model.report_["n_centers"] == center_points.LEAST_CENTERS
    more = KernelRidgeRegressor(random_state=0, centers=1200).fit(X, y)
    truth = np.sin(2 * X[:, 0]) + X[:, 1]
    errors = [np.mean((fit.predict(X) - truth) ** 2) for fit in (model, more)]
    assert errors[0] < 1.05 * errors[1]


def test_the_effective_dimension_is_that_of_the_whole_matrix(monkeypatch):
    X, y = table(1500, d=1, noise=1.0)
    seen, original = [], center_points.effective_dimension
    monkeypatch.setattr(center_points, "effective_dimension", lambda *given: seen.append(original(*given)) or seen[-1])
    model = KernelRidgeRegressor(solver="nystrom_conjugate_gradients", random_state=0).fit(X, y)
    values = np.linalg.eigvalsh(naive_kernel("gaussian", model.bandwidth_, X, X))
    assert seen[0] == pytest.approx(np.sum(values / (values + model.report_["alpha"])), rel=0.2)


def test_a_little_memory_holds_fewer_centres():
    options = Options(memory=f"{arrays.resident_memory() // 10**6 + 60}MB")
    solver = NystromConjugateGradients(max_iterations=1)
    model = KernelRidgeRegressor(solver=solver, random_state=0, options=options).fit(*table(5000))
    assert 500 < model.report_["n_centers"] < 2828


def test_in_single_precision_the_loss_is_the_models_own():
    # With sums and triangular solves in float32 the reported loss was three quarters of the model's.
    X, y = table(20_000, d=6, noise=0.3)
    options = {"centres": 800, "bandwidth": 3.0, "regularisation": 0.003, "random_state": 0, "tol": 0}
    single, double = (centers_regressor(dtype=f"float{bits}", **options).fit(X, y) for bits in (32, 64))
    for model in (single, double):
        assert np.mean((model.predict(X) - y) ** 2) / np.var(y) == pytest.approx(model.losses_[-1], rel=2e-3)
    assert single.losses_[-1] == pytest.approx(double.losses_[-1], rel=0.05)


@pytest.mark.parametrize("trans", ["N", "T"])
def test_a_triangle_of_float32_is_solved_in_float64(trans, monkeypatch):
    monkeypatch.setattr(arrays.linear_systems, "WIDE_ROWS", 16)
    L = np.tril(sample(50, 50)).astype(np.float32) + 8 * np.eye(50, dtype=np.float32)
    garbage, b = L + np.triu(np.full((50, 50), 7.0, dtype=np.float32), 1), sample(50, 3, seed=1)
    before = b.copy()
    expected = np.linalg.solve(L.T if trans == "T" else L, b)
    assert np.abs(arrays.solve_triangular_in_double(garbage, b, trans) - expected).max() < 1e-13
    assert np.array_equal(b, before)
