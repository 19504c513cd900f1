"""Losses against finite differences, subgradient inequalities and each other."""

import math

import array_api_strict
import numpy as np
import pytest
import scipy.special
from scipy.optimize import minimize

from shallows import losses
from shallows.errors import ShallowsError, UnknownNameError

PARAMETERS = {
    "epsilon_insensitive": {"epsilon": 0.3},
    "huber": {"delta": 0.7},
    "quantile": {"quantile": 0.2},
    "novelty": {"fraction": 0.25},
}
ALL = sorted(losses.LOSSES)
MARGINS = ("hinge", "squared_hinge", "logistic")


def make(name):
    return losses.make(name, **PARAMETERS.get(name, {}))


def examples(loss, m=60, c=3, seed=0, spread=2.0):
    """Scores and targets in the coding of a loss."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(m, c)) * spread
    if loss.for_classes:
        targets = loss.encode(rng.integers(c, size=m), c)
    else:
        targets = rng.normal(size=(m, c))
    return scores, targets


# ---------------------------------------------------------------------------------- value and derivative


@pytest.mark.parametrize("name", ALL)
def test_derivatives_are_finite_differences_away_from_kinks(name):
    loss, h = make(name), 1e-5
    scores, targets = examples(loss)
    derivative = loss.derivative(scores, targets)
    assert derivative.shape == scores.shape
    checked = 0
    for j in range(scores.shape[1]):
        step = np.zeros_like(scores)
        step[:, j] = h
        forward = (loss.value(scores + step, targets) - loss.value(scores, targets)) / h
        backward = (loss.value(scores, targets) - loss.value(scores - step, targets)) / h
        smooth = np.abs(forward - backward) < 1e-4
        assert np.abs((forward + backward) / 2 - derivative[:, j])[smooth].max() < 1e-8
        checked += smooth.sum()
    assert checked > 0.95 * scores.size


@pytest.mark.parametrize("name", ALL)
def test_the_subgradient_inequality_holds_everywhere_kinks_too(name):
    # Scores on a grid of quarters meet targets on the same grid, so that every kink is hit.
    loss = losses.make(name, **({"epsilon": 0.25} if name == "epsilon_insensitive" else PARAMETERS.get(name, {})))
    rng = np.random.default_rng(0)
    m, c = 4000, 3
    u, v = (rng.integers(-6, 7, size=(m, c)) / 4 for _ in range(2))
    y = loss.encode(rng.integers(c, size=m), c) if loss.for_classes else rng.integers(-6, 7, size=(m, c)) / 4
    gap = loss.value(v, y) - loss.value(u, y) - (loss.derivative(u, y) * (v - u)).sum(axis=1)
    assert gap.min() > -1e-12


@pytest.mark.parametrize("name", ALL)
def test_slopes_and_their_change_keep_within_the_bounds_told(name):
    loss = make(name)
    scores, targets = examples(loss, m=5000, spread=3.0)
    others, _ = examples(loss, m=5000, seed=1, spread=3.0)
    slopes, elsewhere = loss.derivative(scores, targets), loss.derivative(others, targets)
    assert np.abs(slopes).max() <= loss.slope_bound
    change = np.linalg.norm(slopes - elsewhere, axis=1) / np.linalg.norm(scores - others, axis=1)
    assert change.max() <= loss.smoothness * (1 + 1e-12)
    if math.isfinite(loss.slope_bound):
        assert np.abs(slopes).max() > 0.7 * loss.slope_bound


@pytest.mark.parametrize("name", ALL)
def test_other_array_libraries_give_the_same(name):
    loss = make(name)
    scores, targets = examples(loss)
    theirs = [array_api_strict.asarray(part) for part in (scores, targets)]
    for method in ("value", "derivative"):
        ours = getattr(loss, method)(scores, targets)
        assert np.abs(np.asarray(getattr(loss, method)(*theirs)) - ours).max() < 1e-14
    if loss.has_probabilities:
        assert np.abs(np.asarray(loss.probabilities(theirs[0])) - loss.probabilities(scores)).max() < 1e-15
    assert np.array_equal(np.asarray(loss.decide(theirs[0])), loss.decide(scores))


# ---------------------------------------------------------------------------------- formulas of the table


def test_the_table_of_the_formulas_is_what_is_computed():
    u, y, s = np.array([[-1.5, 0.2, 2.0]]).T, np.array([[0.5, 0.1, -1.0]]).T, np.array([[1.0, -1.0, 1.0]]).T
    r = (u - y)[:, 0]
    m = (s * u)[:, 0]
    expected = {
        "square": r**2 / 2,
        "hinge": np.maximum(0, 1 - m),
        "squared_hinge": np.maximum(0, 1 - m) ** 2 / 2,
        "logistic": np.log(1 + np.exp(-m)),
        "epsilon_insensitive": np.maximum(0, abs(r) - 0.3),
        "huber": np.where(abs(r) <= 0.7, r**2 / 2, 0.7 * (abs(r) - 0.35)),
        "quantile": np.maximum(0.2 * -r, (0.2 - 1) * -r),
        "novelty": np.maximum(0, -r) / 0.25 - y[:, 0],
    }
    for name, value in expected.items():
        assert make(name).value(u, s if name in MARGINS else y) == pytest.approx(value, rel=1e-13)


def test_softmax_and_multiclass_hinge_are_their_formulas():
    z, e = np.random.default_rng(0).normal(size=(20, 4)), np.eye(4)[np.arange(20) % 4]
    own = (z * e).sum(axis=1)
    assert losses.make("softmax").value(z, e) == pytest.approx(scipy.special.logsumexp(z, axis=1) - own)
    worst = [max((r != i % 4) - own[i] + z[i, r] for r in range(4)) for i in range(20)]
    assert losses.make("multiclass_hinge").value(z, e) == pytest.approx(worst)
    for name in ("softmax", "multiclass_hinge"):
        assert np.abs(losses.make(name).derivative(z, e).sum(axis=1)).max() < 1e-15


def test_the_best_constant_under_the_quantile_loss_is_the_quantile():
    y = np.random.default_rng(0).exponential(size=(2001, 1))
    for tau in (0.1, 0.5, 0.9):
        loss = losses.make("quantile", quantile=tau)
        grid = np.sort(y[:, 0])
        best = grid[np.argmin([loss.value(np.full_like(y, u), y).sum() for u in grid])]
        assert best == pytest.approx(np.quantile(y, tau), abs=1e-9)


def test_lengths_among_the_parameters_of_a_loss_are_divided_by_the_unit_of_the_targets():
    assert losses.EpsilonInsensitive(0.6).in_units(3.0) == losses.EpsilonInsensitive(0.6 / 3.0)
    assert losses.Huber(0.6).in_units(3.0) == losses.Huber(0.6 / 3.0)
    assert losses.Quantile(0.6).in_units(3.0) == losses.Quantile(0.6)


# ------------------------------------------------------------------------------------------------ accuracy


def test_logistic_and_softmax_keep_their_digits_far_from_zero():
    logistic, softmax = losses.make("logistic"), losses.make("softmax")
    u, y = np.array([[-800.0], [30.0], [800.0]]), np.ones((3, 1))
    assert logistic.value(u, y) == pytest.approx([800, 9.357622968839299e-14, 0], rel=1e-12, abs=0)
    assert logistic.derivative(u, y)[:, 0] == pytest.approx([-1, -9.357622968839299e-14, 0], rel=1e-12, abs=1e-300)
    # A large shift common to all classes changes nothing.
    z, e = np.array([[1.0, 2.0, 3.0]]), np.array([[0.0, 0.0, 1.0]])
    assert softmax.value(z + 2.0**40, e) == pytest.approx(softmax.value(z, e), rel=1e-12)


@pytest.mark.parametrize(("name", "n_outputs"), [("logistic", 1), ("logistic", 4), ("softmax", 2), ("softmax", 4)])
def test_probabilities_sum_to_one_and_follow_the_decision(name, n_outputs):
    scores = np.random.default_rng(0).normal(size=(50, n_outputs)) * 5 - 100 * (n_outputs > 1)
    p = losses.make(name).probabilities(scores)
    assert p.sum(axis=1) == pytest.approx(np.ones(50))
    assert np.array_equal(p.argmax(axis=1), losses.make(name).decide(scores))


# -------------------------------------------------------------------------------------------------- coding


def test_losses_are_made_by_name_with_checked_parameters():
    assert losses.make("huber", delta=2.0) == losses.Huber(2.0)
    assert losses.make(losses.Huber(2.0)) == losses.Huber(2.0)
    with pytest.raises(UnknownNameError, match="Did you mean 'hinge'"):
        losses.make("hings")
    with pytest.raises(ShallowsError, match="it does not take epsilon"):
        losses.make("hinge", epsilon=1.0)
    with pytest.raises(ShallowsError, match="has its own parameters"):
        losses.make(losses.Huber(2.0), delta=1.0)
    for name, wrong in (
        ("quantile", {"quantile": 1.0}),
        ("quantile", {"quantile": "half"}),
        ("huber", {"delta": 0.0}),
        ("huber", {"delta": math.nan}),
        ("epsilon_insensitive", {"epsilon": -1e-9}),
        ("novelty", {"fraction": 1.1}),
    ):
        with pytest.raises(ShallowsError, match=f"{next(iter(wrong))} of the loss '{name}' must be a number in"):
            losses.make(name, **wrong)
    assert losses.make("novelty", fraction=1.0).slope_bound == 1.0


# ---------------------------------------------------------------------------------- intercepts


@pytest.mark.parametrize("name", sorted(set(ALL) - {"novelty", "hinge", "multiclass_hinge"}))
@pytest.mark.parametrize("weighted", [False, True])
def test_an_intercept_is_the_constant_with_the_least_loss(name, weighted):
    loss, (_, targets) = make(name), examples(make(name), m=2000)
    weights = np.random.default_rng(1).uniform(0.0, 2.0, size=2000) if weighted else None

    def mean_loss(b):
        return np.average(loss.value(np.broadcast_to(b, targets.shape), targets), weights=weights)

    found = loss.constant(targets, weights)
    assert found.shape == (3,)
    # Class frequencies have half an example more of each class, which costs next to nothing.
    least = minimize(mean_loss, found + 0.1, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}).fun
    assert mean_loss(found) <= least + 1e-6
    assert mean_loss(found) < mean_loss(np.zeros(3)) or name in ("square", "huber", "epsilon_insensitive")
