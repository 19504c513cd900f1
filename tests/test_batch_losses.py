"""The loss of a batch in one launch of a GPU, against the plain losses, kinks and what is no number included."""

from types import SimpleNamespace

import numpy as np
import pytest

import cuda_on_cpu
from counted_arrays import counted
from pretended_gpu import pretended_gpu
from shallows import arrays, losses
from shallows.gpu import cuda
from shallows.gpu.fused_expressions import FusedExpression
from shallows.losses.in_c import has_text
from shallows.solvers.examples import Examples
from shallows.solvers.expansions import batch_losses
from shallows.solvers.expansions.expansion import ExpansionState

PARAMETERS = {"epsilon_insensitive": {"epsilon": 0.25}, "huber": {"delta": 0.75}, "quantile": {"quantile": 0.2}}
SUMS_OVER_OUTPUTS = (
    *("square", "epsilon_insensitive", "huber", "quantile"),
    *("hinge", "squared_hinge", "logistic"),
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cuda")


def quarters(loss, dtype, seed=0):
    """Scores and targets on a grid of quarters, so that kinks are hit, scores of any size, and weights with zeros."""
    draws = np.random.default_rng(seed)
    scores = draws.integers(-8, 9, size=(400, 3)) / 4
    scores[::7] *= 30.0
    targets = draws.choice([-1.0, 1.0], size=(400, 3)) if loss.for_classes else draws.integers(-8, 9, (400, 3)) / 4
    weights = draws.integers(0, 4, size=(400, 1)) / 2
    return [part.astype(dtype) for part in (scores, targets, weights)]


def observed(loss, like, scores, targets, weights, kappa):
    """What a step asks of the loss, as NumPy arrays and numbers, and the slope along a direction.

    Where rows are weighted, there is an intercept as well: quarters again, but for the logistic loss.
    """
    counts = None if weights is None else np.array([8.0, -4.0, 0.0, 16.0, 16.0])
    problem, state = SimpleNamespace(loss=loss), ExpansionState(like(scores), like(scores), 1.0, counts=counts)
    examples = Examples(None, like(targets), None if weights is None else like(weights))
    found = batch_losses.observe(problem, state, examples, like(scores), kappa)
    slope = batch_losses.slope_along(problem, state, examples, like(scores), like(targets), 0.25)
    held = {name: arrays.to_numpy(part) if hasattr(part, "shape") else part for name, part in vars(found).items()}
    return held | {"slope": slope}


@pytest.mark.parametrize("weighted", [False, True])
def test_the_slope_along_a_direction_is_that_of_the_loss_with_its_intercept(weighted):
    loss = losses.make("logistic")
    before, targets, weights = quarters(loss, "float64")
    direction = np.random.default_rng(1).normal(size=before.shape)
    counts = np.array([8.0, -4.0, 0.0, 16.0, 16.0])
    problem, state = SimpleNamespace(loss=loss), ExpansionState(before, before, 1.0, counts=counts)
    examples = Examples(None, targets, weights if weighted else None)
    found = batch_losses.slope_along(problem, state, examples, before, direction, 0.25)
    margins = targets * (before + 0.25 * direction + state.intercept(problem))
    each = -targets / (1.0 + np.exp(np.minimum(margins, 700.0))) * direction
    assert np.abs(state.intercept(problem)).max() > 0.1
    assert found == pytest.approx((weights * each if weighted else each).sum(), rel=1e-9)


@pytest.mark.skipif(cuda_on_cpu.COMPILER is None, reason="there is no g++")
@pytest.mark.parametrize(("dtype", "weighted"), [("float32", True), ("float64", False)])
@pytest.mark.parametrize("name", SUMS_OVER_OUTPUTS)
def test_one_launch_gives_what_the_plain_loss_gives(name, dtype, weighted, monkeypatch, folder):
    loss = losses.make(name, **PARAMETERS.get(name, {}))
    scores, targets, weights = quarters(loss, dtype)
    weights = weights if weighted else None
    exact = [None if part is None else part.astype(np.float64) for part in (scores, targets, weights)]
    expected = observed(loss, np.asarray, *exact, 0.3)
    with pretended_gpu(monkeypatch, folder) as ledger:
        found = observed(loss, counted, scores, targets, weights, 0.3)
        names = {f"shallows_losses_{name}", f"shallows_slopes_{name}"}
        assert names <= set(ledger.launches), ledger.launches
    tolerance = 1e-4 if dtype == "float32" else 1e-12  # sums of 1,200 numbers, up to 60² in size, in that precision
    for part, value in expected.items():
        size = np.abs(value).max()
        assert found[part] == pytest.approx(value, rel=tolerance, abs=tolerance * size), part


@pytest.mark.skipif(cuda_on_cpu.COMPILER is None, reason="there is no g++")
@pytest.mark.parametrize("name", SUMS_OVER_OUTPUTS[1::2])
def test_a_score_that_is_no_number_is_noticed_in_the_loss(name, monkeypatch, folder):
    loss = losses.make(name, **PARAMETERS.get(name, {}))
    scores, targets, _ = quarters(loss, "float32")
    scores[5, 1] = np.nan
    assert np.isnan(observed(loss, np.asarray, scores, targets, None, 0.0)["loss"])
    with pretended_gpu(monkeypatch, folder):
        assert np.isnan(observed(loss, counted, scores, targets, None, 0.0)["loss"])


@pytest.mark.parametrize("name", sorted(set(losses.LOSSES) - set(SUMS_OVER_OUTPUTS) - {"novelty"}))
def test_a_loss_of_all_scores_together_keeps_its_plain_form(name, monkeypatch):
    loss = losses.make(name)
    assert not has_text(loss) and has_text(losses.make("square"))
    assert not has_text(type("Own", (losses.LOSSES["square"],), {})())  # even under a known name
    draws = np.random.default_rng(0)
    scores = draws.normal(size=(50, 3)).astype(np.float32)
    targets = np.eye(3, dtype=np.float32)[draws.integers(3, size=50)]
    expected = observed(loss, np.asarray, scores, targets, None, 0.0)
    with pretended_gpu(monkeypatch), cuda.off():
        found = observed(loss, counted, scores, targets, None, 0.0)
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-5)


def test_a_kernel_that_gives_no_number_for_one_output_is_not_used(monkeypatch, folder):
    spoilt = FusedExpression(
        "spoilt", ("x",), ("first", "second"), "first = x; second = x / T(0) - x / T(0)", _plain_pair, ((5, 3),)
    )
    x = np.ones((5, 3), dtype=np.float32)
    with pretended_gpu(monkeypatch, folder), pytest.warns(RuntimeWarning, match="cannot be used here"):
        first, second = counted(0 * x), counted(0 * x)
        spoilt(counted(x), into=(first, second))
        assert np.array_equal(arrays.to_numpy(second), x)


def _plain_pair(x, first, second):
    first[...] = x
    second[...] = x
