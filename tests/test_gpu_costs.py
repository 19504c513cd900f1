"""Times on a named GPU: near what was measured on one, and what `make explain` says of them."""

import importlib.util
import sys

import pytest

from own_plan import own_plan
from shallows.errors import UnknownNameError
from shallows_papers.experiments.planning import explain, gpu_costs
from shallows_papers.experiments.planning.costs import ProblemSize
from workflow_runs import PROJECT


def program(name):
    """A program of benchmarks/ as a module."""
    spec = importlib.util.spec_from_file_location(name, PROJECT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for their module
    spec.loader.exec_module(module)
    return module


def test_measured_runs_on_an_h100_are_estimated_within_the_factor_that_is_told():
    rows = program("device_model").estimates()
    off = {name: max(measured / found, found / measured) for name, measured, found, _ in rows}
    assert len(off) == 9 and max(off.values()) <= gpu_costs.WITHIN
    assert sorted(off.values())[len(off) // 2] < 1.2


def test_a_matrix_that_does_not_fit_a_card_is_made_in_every_epoch():
    size, batches = ProblemSize(100_000, 0, 784, 10), {"batch_size": 10_000}  # a matrix of 40 GB
    kept, anew = (gpu_costs.kernel_epochs(gpu_costs.find(name), size, batches, (10,)) for name in ("h100", "rtx4090"))
    assert kept.memory_bytes > 4 * 10**10 > anew.memory_bytes
    products = {name: 2 * 784 * 1e10 / gpu_costs.find(name).flops for name in ("h100", "rtx4090")}
    assert kept.seconds < 4 * products["h100"] and anew.seconds > 10 * products["rtx4090"]


def test_the_paper_scale_is_explained_for_a_card_and_an_unknown_card_is_told():
    plan = own_plan()
    text = "\n".join(explain.explain(plan, "eigenpro_table6", "paper", gpu_costs.find("H100")))
    assert "on the NVIDIA H100 80 GB about" in text and "constants of the card: products, values and steps" in text
    with pytest.raises(UnknownNameError, match="'h100'"):
        gpu_costs.find("h10")


def test_the_page_of_a_billion_points_is_what_its_program_writes_and_its_cards_take_an_hour():
    road = program("road")
    assert (PROJECT / "docs" / "to_a_billion_points.rst").read_text(encoding="utf-8") == road.page()
    million = road.BILLION[1]
    assert million.arithmetic(gpu_costs.H100) == pytest.approx(1e15 * (2 * 784 + 40) / 4.8e13)
    work, cards = million.arithmetic(gpu_costs.H100) + million.elementwise(gpu_costs.H100), 16
    assert million.cards_for(gpu_costs.H100, road.HOUR) == cards
    assert work / cards + million.network(cards) <= road.HOUR < work / (cards - 1) + million.network(cards - 1)
    assert million.cards_for(gpu_costs.H100, 30.0) is None
