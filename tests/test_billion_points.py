"""The page on a billion points is what its program writes."""

import importlib.util
import sys

import pytest

from workflow_runs import PROJECT


def program(name):
    """A program of benchmarks/ as a module."""
    spec = importlib.util.spec_from_file_location(name, PROJECT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for their module
    spec.loader.exec_module(module)
    return module


def test_the_page_of_a_billion_points_is_what_its_program_writes_and_its_cards_take_an_hour():
    road = program("road")
    assert (PROJECT / "docs" / "to_a_billion_points.rst").read_text(encoding="utf-8") == road.page()
    million = road.BILLION[1]
    assert million.arithmetic(road.H100) == pytest.approx(1e15 * (2 * 784 + 40) / 4.8e13)
    work, cards = million.arithmetic(road.H100) + million.elementwise(road.H100), 16
    assert million.cards_for(road.H100, road.HOUR) == cards
    assert work / cards + million.network(cards) <= road.HOUR < work / (cards - 1) + million.network(cards - 1)
    assert million.cards_for(road.H100, 30.0) is None
