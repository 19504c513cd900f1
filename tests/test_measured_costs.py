"""Estimates are scaled to measured runs, and jobs ask for more memory than any of those took."""

import importlib.util
import json

import pytest

from own_plan import own_plan
from shallows_papers.experiments.planning import costs
from shallows_papers.experiments.planning.costs import MODELS, OVERHEAD_SECONDS, Cost
from workflow_runs import PROJECT


@pytest.fixture
def measured(monkeypatch):
    methods = {"slow": {"seconds": 3.0, "memory": 0.5, "most": 10.0, "start": 0.7}}
    models = {"kernel_epochs": {"seconds": 2.0, "most": 10.0}}
    monkeypatch.setattr(costs, "_measured", lambda: {"methods": methods, "models": models})


def test_a_factor_counts_for_as_much_work_as_was_measured_beside_the_start_of_the_method(measured):
    def seconds(work, method="slow", model="one_pass"):
        return costs.scaled(Cost(OVERHEAD_SECONDS + work, 10**9), method, model).seconds - OVERHEAD_SECONDS

    assert [seconds(work) for work in (0.0, 2.0, 10.0, 100.0)] == pytest.approx([0.2, 6.2, 30.2, 120.2])
    assert seconds(2.0, "unknown", "kernel_epochs") == pytest.approx(4.0)
    assert seconds(2.0, "unknown", "one_pass") == pytest.approx(2.0)
    assert costs.scaled(Cost(1.0, 10**9), "slow", "one_pass").memory_bytes == 5 * 10**8


def test_the_factors_are_of_methods_and_models_that_exist():
    methods = own_plan().configuration.methods
    found = json.loads(costs.PATH.read_text())
    assert found["methods"].keys() <= methods.keys() and found["models"].keys() <= MODELS.keys()
    for one in (*found["methods"].values(), *found["models"].values()):
        assert {*one} == {"start", "seconds", "memory", "most"}
    assert 1.0 < found["within"]["memory"] < 2.0 and 1.0 < found["within"]["seconds"] < 10.0


def test_the_factors_that_are_fitted_bring_estimates_to_what_was_measured():
    place = PROJECT / "benchmarks" / "cost_model.py"
    spec = importlib.util.spec_from_file_location("cost_model", place)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    made = [
        {"scale": "demo", "method": method, "model": "one_pass", "seconds": 2.0 + factor * work,
         "memory": 10**8, "estimate": Cost(OVERHEAD_SECONDS + work, 2 * 10**8)}
        for method, factor in (("a", 4.0), ("b", 0.5))
        for work in (0.0, 0.0, 10.0, 20.0, 40.0)
    ]  # fmt: skip
    found = program.factors(made)
    # A method's constants are held a little near those of its model.
    a, b, of_model = found["methods"]["a"], found["methods"]["b"], found["models"]["one_pass"]
    assert (a["seconds"], b["seconds"]) == pytest.approx((4.0, 0.5), rel=0.15)
    assert (a["start"], b["start"]) == pytest.approx((2.0, 2.0), rel=0.15)
    assert of_model["memory"] == pytest.approx(0.5, rel=0.02)
    assert [one["most"] for one in (a, b, of_model)] == [40.0] * 3
