"""Estimates are scaled to measured runs, and jobs ask for more memory than any of those took."""

import importlib.util
import json

import pytest

from own_plan import own_plan
from shallows.experiments.planning import costs
from shallows.experiments.planning.costs import MODELS, OVERHEAD_SECONDS, Cost
from workflow_runs import PROJECT


@pytest.fixture
def measured(monkeypatch):
    methods = {"seconds": {"slow": 3.0}, "memory": {"slow": 0.5}, "most": {"slow": 10.0}, "start": {"slow": 0.7}}
    models = {"seconds": {"kernel_epochs": 2.0}, "memory": {}, "most": {"kernel_epochs": 10.0}, "start": {}}
    found = {what: {"methods": methods[what], "models": models[what]} for what in methods}
    monkeypatch.setattr(costs, "_measured", lambda: found)


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
    for what in ("start", "seconds", "memory", "most"):
        assert found[what]["methods"].keys() <= methods.keys()
        assert found[what]["models"].keys() <= MODELS.keys()
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
    assert found["seconds"]["methods"] == pytest.approx({"a": 4.0, "b": 0.5}, rel=0.15)
    assert found["start"]["methods"] == pytest.approx({"a": 2.0, "b": 2.0}, rel=0.15)
    assert found["memory"]["models"]["one_pass"] == pytest.approx(0.5, rel=0.02)
    assert found["most"] == {"methods": {"a": 40.0, "b": 40.0}, "models": {"one_pass": 40.0}}
