"""Conjugate residuals instead of EigenPro's steps where an epoch has few batches."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from engine_example import preconditioning_matrix, problem, sample
from forms import eigenpro_regressor
from resumed_example import StopAt
from shallows import KernelRidgeRegressor, arrays, kernels, training
from shallows.errors import TrainingInterrupted
from shallows.solvers import ConjugateResiduals, EigenPro
from shallows.solvers.least_squares import conjugate_residuals as module
from shallows.solvers.least_squares import step_rules
from shallows.solvers.least_squares.eigenpro import EigenProStepper, solver_for

N = 60
WHOLE = slice(0, N)


def trained(p, n_steps, solver=None):
    """The coefficients after 1, 2, ... steps, and the losses that the solver reported before each."""
    solver = solver or ConjugateResiduals(1.0)
    state, coefficients, losses = solver.init(p.problem), [], []
    for _ in range(n_steps):
        state = solver.step(p.problem, state, WHOLE)
        coefficients.append(np.array(state.coefficients))
        losses.append(state.loss)
    return coefficients, losses


def loss(p, alpha):
    """Weighted sum of squared residuals of each output."""
    w = np.ones(N) if p.w is None else p.w
    return np.sum(w[:, None] * (p.y - p.K @ alpha) ** 2, axis=0)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize(
    ("n_batches", "options"), [(1, {"rank": 0}), (2, {"damping": 0.5, "power": 0.5, "n_subsample": 60}), (7, {})]
)
def test_a_step_is_the_best_along_its_own_direction_and_those_of_an_epoch_before(n_batches, options, weights):
    p = problem(weights=weights, **{"rank": 6, "n_subsample": 25, **options})
    root = np.ones((N, 1)) if p.w is None else np.sqrt(p.w)[:, None]
    apply = np.eye(N) - preconditioning_matrix(p.preconditioner, N) @ p.K
    batches = training.Batches(N, -(-N // n_batches), 0)
    solver = ConjugateResiduals(1.0, n_batches)
    state, alpha, taken = solver.init(p.problem), np.zeros_like(p.y), [[], []]
    for batch in itertools.chain.from_iterable(batches.of_epoch(epoch) for epoch in range(4)):
        before, residual = np.sum((root * (p.y - p.K @ alpha))[batch] ** 2), p.y - p.K @ alpha
        state = solver.step(p.problem, state, batch)
        for output in range(2):
            gradient = np.zeros(N)
            gradient[batch] = (root[:, 0] ** 2 * residual[:, output])[batch]
            own = apply @ gradient
            basis = np.linalg.qr(np.stack([own, *taken[output][-max(1, n_batches - 1) :]], axis=1))[0]
            gain = basis @ np.linalg.lstsq(root * (p.K @ basis), root[:, 0] * residual[:, output], rcond=None)[0]
            taken[output].append(gain)
            alpha[:, output] += gain
        assert state.loss == pytest.approx(before)
        assert np.abs(state.coefficients - alpha).max() < 1e-6 * np.abs(alpha).max()


def test_the_limit_solves_the_system():
    p = problem(rank=10, n_subsample=30)
    solution = np.linalg.solve(p.K, p.y)
    assert np.abs(trained(p, N)[0][-1] - solution).max() < 1e-6 * np.abs(solution).max()


@pytest.mark.parametrize("budget", [0, 12_000, 2**30])
def test_what_is_kept_of_the_matrix_makes_no_difference(budget):
    whole, part = (problem(rank=6, n_subsample=25, tile=16, budget=b) for b in (2**30, budget))
    assert np.abs(trained(whole, 10)[0][-1] - trained(part, 10)[0][-1]).max() < 1e-10


def in_precision(p, x, y, dtype):
    """The problem of other points and targets in a precision."""
    points = kernels.augmented(x.astype(dtype))
    matrix = type(p.problem.gram)(p.kernel, points, budget=2**30)
    preconditioner = p.preconditioner.to(arrays.device_of(points), dtype)
    return replace(p.problem, gram=matrix, targets=y.astype(dtype), preconditioner=preconditioner)


@pytest.mark.parametrize("n_batches", [1, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_contradictory_targets_of_one_place_are_left_as_they_are(dtype, n_batches):
    p = problem(rank=6, n_subsample=25, kernel="gaussian")
    x = np.array(p.x)
    x[40:] = x[39]
    held = in_precision(p, x, p.y, dtype)
    solver, batches = ConjugateResiduals(1.0, n_batches), training.Batches(N, N // n_batches, 0)
    state, losses = solver.init(held), []
    for epoch in range(200):
        for batch in batches.of_epoch(epoch):
            state = solver.step(held, state, batch)
        losses.append(np.sum((p.y - p.kernel(x, x) @ state.coefficients) ** 2))
    assert n_batches > 1 or state.loss == pytest.approx(losses[-1], rel=1e-3)
    # In float32, near the end, rounding moves the loss by 0.2 % on some processors.
    rise = 5e-3 if dtype == np.float32 else 1e-4
    assert all(later <= before * (1 + rise) for before, later in itertools.pairwise(losses[::25]))
    least = np.sum((p.y[39:] - p.y[39:].mean(axis=0)) ** 2)
    if n_batches == 1:
        assert losses[-1] == pytest.approx(least, rel=1e-6 if dtype == np.float64 else 0.15)
    else:  # a part of the contradictions is in every batch, so directions are much worse than the best
        assert least * (1 - 1e-4) < losses[-1] < losses[0] - 0.6 * (losses[0] - least)
    assert np.all(np.isfinite(state.coefficients))


def test_the_residual_of_the_recursion_stays_the_true_one_in_float32(monkeypatch):
    monkeypatch.setattr(module, "CHECK_EVERY", 20)
    p = problem(rank=6, n_subsample=25)
    held, solver = in_precision(p, p.x, p.y, np.float32), ConjugateResiduals(1.0)
    state = solver.init(held)
    for _ in range(119):
        state = solver.step(held, state, WHOLE)
    assert np.abs(state.residual - (p.y - p.K @ state.coefficients)).max() < 1e-4 * np.abs(p.y).max()


def test_it_is_the_solver_of_the_certified_rule_where_an_epoch_has_few_batches():
    p = problem(rank=6, n_subsample=25).preconditioner

    def choose(m, n_outputs):
        return solver_for(p.step_size(m), step_rules.Certified().cycle(p, m, N), m, n_outputs)

    assert choose(N, 50) == ConjugateResiduals(p.step_size(N), 1)
    assert choose(30, 2) == ConjugateResiduals(p.step_size(30), 2)
    assert choose(10, 1) == ConjugateResiduals(p.step_size(10), 6)
    assert type(choose(10, 2)) is EigenProStepper  # 10 directions of 2 outputs, and their images, are more than 10 rows
    assert type(choose(3, 0)) is EigenProStepper  # twenty batches
    assert type(solver_for(0.1, None, N, 1)) is EigenProStepper


@pytest.mark.parametrize(("m", "most"), [(2000, 1), (500, 3)])
def test_what_a_run_holds_is_counted(m, most):
    x = sample(2000, 4)
    y = np.stack([np.sin(2 * x[:, 0] + k) for k in range(20)], axis=1)
    held = {}

    class Watch(training.Observer):
        def on_epoch(self, run):
            state = run.state
            held["numbers"] = sum(array.size for array in state.remember()[0].values()) - state.going.size
            held["rank"] = state.projection.shape[1]
            held["directions"] = state.norms.shape[1]

    model = KernelRidgeRegressor(solver=EigenPro(rank=20, n_subsample=200, batch_size=m, max_epochs=2), random_state=0)
    model.fit(x, y, observers=[Watch()])
    assert held["directions"] == most
    solver = ConjugateResiduals(1.0, 2000 // m)
    state = held["numbers"] - 20 * most  # of the norms
    assert solver.held_numbers(2000, 20, held["rank"]) >= 4 * (state - 2000 * 20) + 2000 * held["rank"]


@pytest.mark.parametrize("m", [600, 150])
def test_a_run_that_was_stopped_goes_on_to_the_bit(tmp_path, m):
    x = sample(600, 4)
    y = np.sin(2 * x[:, 0]) + x[:, 1]
    asked = {"rank": 20, "n_subsample": 100, "batch_size": m, "max_epochs": 32, "tol": 0, "random_state": 0}
    model = eigenpro_regressor(**asked)
    whole = clone(model).fit(x, y)
    with pytest.raises(TrainingInterrupted):
        checkpoint = training.Checkpoint(tmp_path, "a run")
        clone(model).fit(x, y, observers=[StopAt(checkpoint, epoch=28)], checkpoint=checkpoint)
    resumed = clone(model).fit(x, y, checkpoint=training.Checkpoint(tmp_path, "a run"))
    assert resumed.losses_ == whole.losses_
    assert m < 600 or all(later <= before for before, later in itertools.pairwise(whole.losses_))
    assert np.array_equal(resumed.predict(x), whole.predict(x))
