"""What solvers of regularized risks use, and what all of them do: kernel rows and features, states, the loop."""

from dataclasses import replace

import array_api_strict
import numpy as np
import pytest

from engine_example import sample
from risk_example import BY_SETTINGS, N, batches_of, exact_smooth, feature_risk, kernel_risk, run
from shallows import arrays, features, kernels, training
from shallows.features.design import Blocks, Design
from shallows.gram import LazyGram
from shallows.solvers import NORMA, SAG, SVRG
from shallows.solvers.regularized.norma import NORMAStepper
from shallows.solvers.regularized.pegasos import PegasosStepper
from shallows.solvers.regularized.risk import FeatureSpan, RiskProblem
from shallows.solvers.regularized.sdca import SDCAStepper
from shallows.solvers.regularized.variance_reduced import SAGStepper, SVRGStepper, batch_smoothness


@pytest.mark.parametrize(
    ("name", "solver"), [("norma", NORMA()), ("sag", SAG()), ("saga", SAG(unbiased=True)), ("svrg", SVRG())]
)
def test_a_solver_takes_the_step_that_is_given_and_finds_one_where_none_is(name, solver):
    p = kernel_risk("logistic") if solver.takes == "kernels" else feature_risk("logistic")
    assert replace(solver, step_size=0.123).build(p.problem, 8).step_size == 0.123
    found, rules = solver.build(p.problem, 8).step_size, {"sag": 1, "saga": 3, "svrg": 6}
    # In the units of the smoothness; that of NORMA has its own test.
    assert found == pytest.approx(1 / (rules[name] * batch_smoothness(p.problem, 8)) if name in rules else found)


@pytest.mark.parametrize("weights", [False, True])
def test_the_loss_of_a_batch_is_the_weighted_sum_over_its_rows(weights):
    p = feature_risk("logistic", weights=weights)
    scores, batch, w = sample(8, 1), slice(3, 11), np.ones(N) if not weights else p.w[:, 0]
    each = [np.log1p(np.exp(-p.y[3 + i, 0] * scores[i, 0])) for i in range(8)]
    assert p.problem.losses(scores, batch) == pytest.approx(w[batch] @ each)
    of_f, of_zero = p.problem.losses_and_zero_losses(scores, batch)
    assert (of_f, of_zero) == pytest.approx((w[batch] @ each, w[batch].sum() * np.log(2.0)))


# ----------------------------------------------------------------------------------------- the kernel matrix


@pytest.mark.parametrize("xp", [np, array_api_strict], ids=["numpy", "strict"])
@pytest.mark.parametrize("kernel", [kernels.Laplace(2.0), kernels.Polynomial(degree=2)], ids=["laplace", "polynomial"])
@pytest.mark.parametrize("n_kept", [0, 3, 100])
@pytest.mark.parametrize("n_workers", [1, 3])
def test_rows_of_the_lazy_matrix_times_coefficients_are_the_formula(kernel, n_kept, xp, n_workers, monkeypatch):
    monkeypatch.setattr(arrays, "workers_for", lambda x: n_workers)
    x, a = sample(61), sample(61, 2, seed=1)
    K = kernel(x, x)
    np.fill_diagonal(K, kernel.diagonal(x))
    matrix = LazyGram(kernel, kernels.augmented(xp.asarray(x)), budget=n_kept * 16 * 16 * 8 + 7, tile=16)
    for rows, reached in ((slice(0, 5), 3), (slice(10, 37), 20), (slice(40, 61), 50), (slice(30, 34), None)) * 2:
        b = a.copy()
        b[len(a) if reached is None else reached :] = 0
        made = matrix.rows_dot(rows, xp.asarray(b), reached)
        assert np.abs(np.asarray(made) - K[rows] @ b).max() < 1e-12
    assert np.abs(np.asarray(matrix.dot(xp.asarray(a))) - K @ a).max() < 1e-12
    assert matrix.kept_fraction == min(n_kept, 10) / 10


def test_tiles_that_fit_are_made_once(monkeypatch):
    x, a = sample(61), sample(61, 2, seed=1)
    matrix = LazyGram(kernels.Gaussian(1.0), kernels.augmented(x), budget=2**30, tile=16)
    made = []
    fill = kernels.Gaussian.fill
    monkeypatch.setattr(
        kernels.Gaussian, "fill", lambda k, left, z, out: made.append(out.shape) or fill(k, left, z, out)
    )
    for _ in range(3):
        for rows in (slice(0, 20), slice(20, 61)):
            matrix.rows_dot(rows, a)
    assert len(made) == 10


@pytest.mark.parametrize("xp", [np, array_api_strict], ids=["numpy", "strict"])
@pytest.mark.parametrize("fits", [False, True])
def test_features_are_made_when_they_are_asked_for_and_once_if_they_fit(xp, fits, monkeypatch):
    f = features.FourierMap(kernels.Gaussian(1.0), 3, 5, seed=1)
    made, x = [], sample(30)
    block = Blocks.block
    monkeypatch.setattr(Blocks, "block", lambda self, z, k: made.append(z.shape[0]) or block(self, z, k))
    design = Design(Blocks(f, 20), xp.asarray(x), budget=0)
    span = FeatureSpan(design, budget=30 * 20 * 8 - (not fits))
    exact = features.FourierMap(kernels.Gaussian(1.0), 3, 5, seed=1, n_blocks=2).map(x)
    for rows in (slice(0, 10), slice(0, 10), slice(10, 30)) * 2:
        assert np.abs(np.asarray(span.rows(rows)) - exact[rows]).max() < 1e-13
    # Two blocks of columns: 30 rows twice, or 30 rows twice for each of the two rounds.
    assert sum(made) == 60 * (1 if fits else 2)
    other = FeatureSpan(design, budget=span.budget)
    for rows in (slice(0, 5), slice(3, 10)):  # of the second some rows alone were there before
        assert np.abs(np.asarray(other.rows(rows)) - exact[rows]).max() < 1e-13


# ------------------------------------------------------------------------------------------ what all of them do

SOLVERS = {
    "pegasos": (kernel_risk, "hinge", PegasosStepper(projection=True)),
    "averaged pegasos": (kernel_risk, "hinge", PegasosStepper(averaging=True)),
    "pegasos on features": (feature_risk, "hinge", PegasosStepper(projection=True)),
    "norma": (kernel_risk, "logistic", NORMAStepper(1.0)),
    "truncated norma": (kernel_risk, "logistic", NORMAStepper(1.0, truncation=30)),
    "sdca": (kernel_risk, "hinge", SDCAStepper()),
    "sdca on features": (feature_risk, "logistic", SDCAStepper()),
    "svrg": (feature_risk, "logistic", SVRGStepper(0.5)),
    "sag": (feature_risk, "square", SAGStepper(0.3)),
    "saga": (feature_risk, "squared_hinge", SAGStepper(0.3, unbiased=True)),
    **BY_SETTINGS,
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("weights", [False, True])
def test_other_array_libraries_give_the_same(name, weights):
    make, loss, solver = SOLVERS[name]
    ours, theirs = (
        run(solver, make(loss, c=2, weights=weights, xp=xp).problem, batches_of(N, 16, 2))
        for xp in (np, array_api_strict)
    )
    assert np.abs(np.asarray(theirs.coefficients) - ours.coefficients).max() < 1e-11


@pytest.mark.parametrize("name", SOLVERS)
def test_an_intercept_is_taken_from_targets_that_are_values(name):
    make, _, solver = SOLVERS[name]
    problem, b = make("huber", c=2, weights=True).problem, np.array([0.3, -0.7])
    by_intercept, by_targets = (
        run(solver, replace(problem, **given), batches_of(N, 16, 2))
        for given in ({"intercept": b}, {"targets": problem.targets - b})
    )
    assert np.abs(by_intercept.coefficients - by_targets.coefficients).max() < 1e-12
    assert by_intercept.monitored() == pytest.approx(by_targets.monitored(), rel=1e-12)


def test_the_loop_halves_a_step_of_svrg_that_diverges():
    p = feature_risk("square")
    problem = RiskProblem(p.problem.span, p.y, p.loss, p.reg, growth=10.0)
    ran = training.train(SVRGStepper(50.0), problem, training.Batches(N, 16, 0), training.Stopping(max_epochs=30))
    assert ran.n_rollbacks > 0
    assert problem.objective(ran.state.coefficients) < problem.objective(exact_smooth(p)) * 1.01
