"""Conjugate residuals in the place of EigenPro's steps where every batch holds all points."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from engine_example import preconditioning_matrix, problem, sample
from shallows import EigenProRegressor, arrays, kernels, training
from shallows.errors import TrainingInterrupted
from shallows.solvers import ConjugateResiduals, EigenPro, by_rule, steps
from shallows.solvers import conjugate_residuals as module

N = 60
WHOLE = slice(0, N)


def trained(p, n_steps, solver=None):
    """The coefficients after 1, 2, ... steps, and the losses that the solver told of before each."""
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
@pytest.mark.parametrize(("rank", "n_subsample", "damping", "power"), [(0, 25, 1, 1), (6, 25, 1, 1), (6, 60, 0.5, 0.5)])
def test_no_steps_of_eigenpro_come_nearer(rank, n_subsample, damping, power, weights):
    p = problem(rank=rank, n_subsample=n_subsample, damping=damping, power=power, weights=weights)
    w = np.ones(N) if p.w is None else p.w
    step = (
        np.eye(N) - preconditioning_matrix(p.preconditioner, N) @ p.K
    )  # of the coefficients, along a weighted residual
    found, told = trained(p, 8)
    for output in range(2):
        r, directions = p.y[:, output], []
        for t in range(8):
            directions.append(step @ (w * r))
            r = p.K @ directions[-1]
            basis = np.linalg.qr(np.stack(directions, axis=1))[0]
            root = np.sqrt(w)
            best = root * p.y[:, output]
            best = best - (A := root[:, None] * (p.K @ basis)) @ np.linalg.lstsq(A, best, rcond=None)[0]
            assert loss(p, found[t])[output] == pytest.approx(best @ best, rel=1e-6)
    assert told[0] == pytest.approx(np.sum(w[:, None] * p.y**2))
    assert told[1:] == pytest.approx([loss(p, alpha).sum() for alpha in found[:-1]])


@pytest.mark.parametrize("rule", ["certified", "theorem", "paper", "release2017", "release2019"])
def test_no_rule_is_ahead_after_any_number_of_steps(rule):
    p = problem(rank=6, n_subsample=25)
    size, cycle = steps.planned(rule, p.preconditioner, N, N)
    others, _ = trained(p, 20, EigenPro(size, cycle))
    found, _ = trained(p, 20)
    assert all(np.all(loss(p, a) <= loss(p, b) * (1 + 1e-9)) for a, b in zip(found, others, strict=True))


def test_the_limit_solves_the_system():
    p = problem(rank=10, n_subsample=30)
    solution = np.linalg.solve(p.K, p.y)
    assert np.abs(trained(p, N)[0][-1] - solution).max() < 1e-6 * np.abs(solution).max()


@pytest.mark.parametrize("budget", [0, 12_000, 2**30])
def test_what_is_kept_of_the_matrix_makes_no_difference(budget):
    whole, part = (problem(rank=6, n_subsample=25, tile=16, budget=b) for b in (2**30, budget))
    assert np.abs(trained(whole, 10)[0][-1] - trained(part, 10)[0][-1]).max() < 1e-10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_contradictory_targets_of_one_place_are_left_as_they_are(dtype):
    p = problem(rank=6, n_subsample=25, kernel="gaussian")
    x = np.array(p.x, dtype=dtype)
    x[40:] = x[39]
    points = kernels.augmented(x)
    matrix = type(p.problem.gram)(p.kernel, points, budget=2**30)
    held = replace(
        p.problem,
        gram=matrix,
        targets=p.y.astype(dtype),
        preconditioner=p.preconditioner.to(arrays.device_of(points), dtype),
    )
    solver = ConjugateResiduals(1.0)
    state, losses = solver.init(held), []
    for _ in range(400):
        state = solver.step(held, state, WHOLE)
        losses.append(state.loss)
    assert all(later <= before * (1 + 1e-4) for before, later in itertools.pairwise(losses[::25]))
    least = np.sum((p.y[39:] - p.y[39:].mean(axis=0)) ** 2)
    assert losses[-1] == pytest.approx(least, rel=1e-6 if dtype == np.float64 else 0.15)
    assert losses[-1] == pytest.approx(np.sum((p.y - p.kernel(x, x) @ state.coefficients) ** 2), rel=1e-3)
    assert np.all(np.isfinite(state.coefficients))


def test_the_residual_of_the_recursion_stays_the_true_one_in_float32(monkeypatch):
    monkeypatch.setattr(module, "CHECK_EVERY", 20)
    p = problem(rank=6, n_subsample=25)
    points = kernels.augmented(p.x.astype(np.float32))
    matrix = type(p.problem.gram)(p.kernel, points, budget=2**30)
    held = replace(p.problem, gram=matrix, targets=p.y.astype(np.float32))
    held = replace(held, preconditioner=p.preconditioner.to(arrays.device_of(points), np.float32))
    solver = ConjugateResiduals(1.0)
    state = solver.init(held)
    for _ in range(119):
        state = solver.step(held, state, WHOLE)
    true = p.y - p.K @ state.coefficients
    assert np.abs(state.residual - true).max() < 1e-4 * np.abs(p.y).max()


def test_it_is_the_solver_of_the_certified_rule_on_whole_batches_only():
    p = problem(rank=6, n_subsample=25).preconditioner
    chosen = {m: type(by_rule(*steps.planned("certified", p, m, N))) for m in (7, 30, N)}
    assert chosen == {7: EigenPro, 30: EigenPro, N: ConjugateResiduals}
    assert type(by_rule(*steps.planned("paper", p, N, N))) is EigenPro
    assert type(by_rule(0.1, None)) is EigenPro


class Stop(training.Observer):
    def __init__(self, checkpoint, at):
        self.checkpoint, self.at = checkpoint, at

    def on_epoch(self, run):
        if run.iteration == self.at:
            self.checkpoint.request_stop()


def test_a_run_that_was_stopped_goes_on_to_the_bit(tmp_path):
    x = sample(1200, 4)
    y = np.sin(2 * x[:, 0]) + x[:, 1]
    asked = {"rank": 20, "n_subsample": 100, "batch_size": 1200, "max_epochs": 32, "tol": 0, "random_state": 0}
    model = EigenProRegressor(**asked)
    whole = clone(model).fit(x, y)
    with pytest.raises(TrainingInterrupted):
        checkpoint = training.Checkpoint(tmp_path, "a run")
        clone(model).fit(x, y, observers=[Stop(checkpoint, 28)], checkpoint=checkpoint)
    resumed = clone(model).fit(x, y, checkpoint=training.Checkpoint(tmp_path, "a run"))
    assert resumed.losses_ == whole.losses_
    assert all(later <= before for before, later in itertools.pairwise(whole.losses_))
    assert np.array_equal(resumed.predict(x), whole.predict(x))
