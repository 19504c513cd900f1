"""Stochastic dual coordinate ascent against exact solvers (SPEC 5)."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from risk_example import (
    N,
    batches_of,
    dual_objective,
    dual_value,
    duality_gap,
    feature_risk,
    kernel_risk,
    run,
)
from shallows import losses
from shallows.errors import ShallowsError
from shallows.solvers.regularized import ascent
from shallows.solvers.regularized.risk import RiskProblem
from shallows.solvers.regularized.sdca import DUALS, SDCAStepper, dual_of

DUAL_LOSSES = {
    "square": {},
    "hinge": {},
    "squared_hinge": {},
    "logistic": {},
    "huber": {"delta": 0.5},
    "quantile": {"quantile": 0.3},
    "epsilon_insensitive": {"epsilon": 0.2},
}


@pytest.mark.parametrize("name", DUAL_LOSSES)
def test_the_best_dual_variable_is_the_slope_at_the_score_that_it_makes(name):
    loss = losses.make(name, **DUAL_LOSSES[name])
    rng = np.random.default_rng(0)
    dual = dual_of(loss)
    for v, q in zip(rng.normal(size=200) * 2, rng.uniform(0.05, 5, size=200), strict=True):
        y = float(np.sign(rng.normal())) if loss.coding == "signs" else float(rng.normal())
        a = ascent.best(*dual, float(v), float(q), y)
        # The proximal problem min ℓ(s) + (s − v)²/2q has its minimum at s = v + q a.
        made = minimize_scalar(
            lambda s, v=v, q=q, y=y: loss.value(np.array([[s]]), np.array([[y]]))[0] + (s - v) ** 2 / (2 * q),
            bounds=(v - 20 * q, v + 20 * q),
            method="bounded",
            options={"xatol": 1e-10},
        ).x
        assert v + q * a == pytest.approx(made, abs=3e-6)


@pytest.mark.parametrize("q", [1e-6, 1.0, 1e3, 1e6, 1e12])
@pytest.mark.parametrize("m", [-700.0, -30.0, 0.0, 30.0, 600.0])
def test_the_best_dual_variable_of_the_logistic_loss_solves_its_equation_however_weak_the_regularisation(m, q):
    p = ascent.best(*dual_of(losses.make("logistic")), m, q, 1.0)
    assert 0 < p < 1
    off = math.log(p) - math.log1p(-p) + m + q * p
    assert abs(off) / (1.0 / (p * (1.0 - p)) + q) < 1e-12 * p


@pytest.mark.parametrize("name", DUAL_LOSSES)
def test_the_dual_value_is_the_conjugate(name):
    # −ℓ*(−a) = min_u ℓ(u) + a u, at a within the bounds of −ℓ'.
    loss = losses.make(name, **DUAL_LOSSES[name])
    u = np.linspace(-30, 30, 600_001)[:, None]
    for y in (1.0, -1.0) if loss.coding == "signs" else (0.7, -0.2):
        slopes = -loss.derivative(np.linspace(-2, 2, 9)[:, None], np.full((9, 1), y))[:, 0]
        for a in slopes:
            lowest = (loss.value(u, np.full_like(u, y)) + a * u[:, 0]).min()
            assert dual_value(loss, np.array([[a]]), np.array([[y]])) == pytest.approx(lowest, abs=1e-6)


@pytest.mark.parametrize("name", DUAL_LOSSES)
@pytest.mark.parametrize(("make", "weights"), [(kernel_risk, False), (feature_risk, True)])
def test_the_dual_objective_never_falls_and_the_gap_closes(name, weights, make):
    # SPEC 5 (6). A gap of nothing is a proof that the minimizer is found.
    problem = make(name, weights=weights, regularisation=0.2, **DUAL_LOSSES[name]).problem
    problem = replace(problem, intercept=np.array([0.3])) if weights else problem
    state, last = SDCAStepper().init(problem), -math.inf
    for batch in batches_of(N, 9, 60):
        state = SDCAStepper().step(problem, state, batch)
        value = dual_objective(problem, state)
        assert value >= last - 1e-13
        last = value
    assert -1e-12 < duality_gap(problem, state) < 1e-5


@pytest.mark.parametrize("make", [kernel_risk, feature_risk])
@pytest.mark.parametrize("name", ["hinge", "square"])
def test_a_batch_is_its_examples_one_by_one(make, name):
    p = make(name, c=2)
    one_by_one = [slice(i, i + 1) for i in range(N)] * 2
    in_batches = [slice(i, min(i + 13, N)) for i in range(0, N, 13)] * 2
    a, b = (run(SDCAStepper(), p.problem, order) for order in (one_by_one, in_batches))
    assert np.abs(a.dual - b.dual).max() < 1e-12
    assert np.abs(a.coefficients - b.coefficients).max() < 1e-12


def test_a_step_is_the_update_rule_of_the_sources():
    # α ← y max(0, min(1, (1 − y f)/(‖x‖²/(λn)) + yα)) for the hinge; Δ = (y − f − α)/(1 + ‖x‖²/(λn)) for the square.
    for name in ("hinge", "square"):
        p = feature_risk(name)
        state = run(SDCAStepper(), p.problem, batches_of(N, 10, 1))
        for i in (3, 17, 40):
            q, a, y = p.z[i] @ p.z[i] / (p.reg * N), state.dual[i, 0], p.y[i, 0]
            f = p.z[i] @ state.coefficients[:, 0]
            expected = y * max(0, min(1, (1 - y * f) / q + y * a)) if name == "hinge" else a + (y - f - a) / (1 + q)
            state = SDCAStepper().step(p.problem, state, slice(i, i + 1))
            assert state.dual[i, 0] == pytest.approx(expected, abs=1e-13)


def test_losses_of_several_scores_have_no_dual_here():
    p = kernel_risk("hinge")
    with pytest.raises(ShallowsError, match="not 'softmax'"):
        SDCAStepper().init(RiskProblem(p.problem.span, p.y, losses.make("softmax"), 0.1))
    assert {loss.name for loss in DUALS} == set(DUAL_LOSSES)
