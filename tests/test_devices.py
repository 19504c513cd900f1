"""Times on a named GPU: near what was measured on one, and what `make explain` says of them."""

import importlib.util

import pytest

from shallows.errors import UnknownNameError
from shallows.experiments.planning import devices, explain
from shallows.experiments.planning.costs import Size
from shallows.experiments.planning.plan import Plan
from workflow_runs import PROJECT


def test_measured_runs_on_an_h100_are_estimated_within_the_factor_that_is_told():
    place = PROJECT / "benchmarks" / "device_model.py"
    spec = importlib.util.spec_from_file_location("device_model", place)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    off = {name: max(measured / found, found / measured) for name, measured, found, _ in program.estimates()}
    assert len(off) == 9 and max(off.values()) <= devices.WITHIN
    assert sorted(off.values())[len(off) // 2] < 1.2


def test_a_matrix_that_does_not_fit_a_card_is_made_in_every_epoch():
    size, batches = Size(100_000, 0, 784, 10), {"batch_size": 10_000}  # a matrix of 40 GB
    kept, anew = (devices.kernel_epochs(devices.find(name), size, batches, (10,)) for name in ("h100", "rtx4090"))
    assert kept.memory_bytes > 4 * 10**10 > anew.memory_bytes
    products = {name: 2 * 784 * 1e10 / devices.find(name).flops for name in ("h100", "rtx4090")}
    assert kept.seconds < 4 * products["h100"] and anew.seconds > 10 * products["rtx4090"]


def test_the_paper_scale_is_explained_for_a_card_and_an_unknown_card_is_told():
    plan = Plan.load(PROJECT)
    text = "\n".join(explain.explain(plan, "eigenpro_table6", "paper", devices.find("H100")))
    assert "on the NVIDIA H100 80 GB about" in text and "constants of the card: products, values and steps" in text
    with pytest.raises(UnknownNameError, match="'h100'"):
        devices.find("h10")
