"""Dual coordinate ascent on a GPU: its CUDA text run on the CPU, and what a step asks of the device."""

import warnings

import numpy as np
import pytest

import cuda_on_cpu
from counted_arrays import counted
from engine_example import sample
from pretended_gpu import pretended_gpu
from risk_example import N, batches_of, feature_risk, kernel_risk, run, targets_of
from shallows import arrays, losses
from shallows.gpu import cuda
from shallows.solvers.regularized import ascent
from shallows.solvers.regularized.sdca import SDCAStepper, dual_of
from test_dual_coordinate_ascent import DUAL_LOSSES

needs_compiler = pytest.mark.skipif(cuda_on_cpu.COMPILER is None, reason="there is no g++")

BATCHES = batches_of(N, 16, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ascent")


@pytest.fixture
def ledger(monkeypatch, folder):
    """The pretended GPU, on which nothing is given up; with few threads, of which each has a stack for each loss."""
    monkeypatch.setattr(ascent, "THREADS", 32)
    with pretended_gpu(monkeypatch, folder) as ledger, warnings.catch_warnings():
        warnings.simplefilter("error")
        yield ledger


class Pretended:
    """The namespace that a risk takes for its arrays."""

    asarray = staticmethod(counted)


@needs_compiler
@pytest.mark.parametrize("name", DUAL_LOSSES)
def test_the_kernel_makes_the_variables_of_the_host_for_every_loss(name, ledger):
    # The first use holds it against the loop of the host for 300 examples in three columns; a second time in float64
    # and from variables that are not zero.
    loss = losses.make(name, **DUAL_LOSSES[name])
    dual, m, scale = dual_of(loss), 70, 0.1
    z, scores = sample(m, 4), sample(m, 2, 1)
    targets, start = targets_of(loss, z, 2), 0.1 * targets_of(loss, z, 2, seed=3)
    w = np.random.default_rng(0).uniform(0.5, 2.0, m)
    expected = ascent.ascend(*dual, scores, z @ z.T, scale, start, targets, w)
    for dtype in (np.float32, np.float64):
        given = [counted(part.astype(dtype)) for part in (scores, z @ z.T, start, targets, w)]
        change = ascent.change_of(*dual, given[0], given[1], scale, given[2], given[3], given[4])
        tolerance = 64 * np.finfo(dtype).eps * np.abs(expected).max()
        assert np.abs(given[2].held - expected).max() < tolerance
        assert np.abs(change.held - (expected - start) * scale).max() < tolerance


@needs_compiler
@pytest.mark.parametrize("make", [kernel_risk, feature_risk])
@pytest.mark.parametrize(("loss", "weights"), [("hinge", True), ("logistic", False)])
def test_whole_fits_agree_with_those_of_the_cpu(make, loss, weights, ledger):
    ours, theirs = (
        run(SDCAStepper(), make(loss, c=2, weights=weights, xp=xp).problem, BATCHES) for xp in (np, Pretended)
    )
    assert np.abs(arrays.to_numpy(theirs.coefficients) - ours.coefficients).max() < 1e-9
    assert np.abs(arrays.to_numpy(theirs.dual) - ours.dual).max() < 1e-9
    assert (theirs.loss, theirs.zero_loss) == pytest.approx((ours.loss, ours.zero_loss))


@needs_compiler
@pytest.mark.parametrize(("make", "launches"), [(kernel_risk, 33), (feature_risk, 18)])
def test_a_step_takes_few_launches_and_the_host_waits_once(make, launches, ledger):
    problem = make("hinge", c=2, xp=Pretended).problem
    state = run(SDCAStepper(), problem, BATCHES)
    ledger.clear()
    SDCAStepper().step(problem, state, BATCHES[0])
    assert (ledger.n_launches, ledger.n_synchronisations) == (launches, 1)
    assert ledger.launches["dual_ascent"] == 1


def test_without_cuda_of_our_own_the_loop_runs_on_the_host(monkeypatch):
    expected = run(SDCAStepper(), kernel_risk("hinge", c=2).problem, BATCHES)
    with pretended_gpu(monkeypatch), cuda.off():
        found = run(SDCAStepper(), kernel_risk("hinge", c=2, xp=Pretended).problem, BATCHES)
    assert np.abs(found.dual.held - expected.dual).max() < 1e-12


@needs_compiler
def test_a_kernel_that_gives_other_numbers_is_not_used(monkeypatch, tmp_path):
    wrong = ascent._text().replace("(1.0 - y * v) / q", "(1.0 - y * v) / (q + 0.01)")
    monkeypatch.setattr(ascent, "_text", lambda: wrong)
    monkeypatch.setattr(ascent, "THREADS", 32)
    expected = run(SDCAStepper(), kernel_risk("hinge").problem, BATCHES)
    with pretended_gpu(monkeypatch, tmp_path), pytest.warns(RuntimeWarning, match="dual variables are off"):
        found = run(SDCAStepper(), kernel_risk("hinge", xp=Pretended).problem, BATCHES)
    assert np.abs(found.dual.held - expected.dual).max() < 1e-12
