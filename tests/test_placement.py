"""Where runs are made when a GPU is asked for: long ones and all of their targets there, short ones on the CPU."""

import functools
from dataclasses import replace

import pytest

from own_plan import own_configuration
from shallows_papers import datasets
from shallows_papers.experiments.planning.placement import Placement
from shallows_papers.experiments.planning.plan import Plan


@functools.cache
def placement(device, **settings):
    own = own_configuration()
    plan = Plan(replace(own, settings={**own.settings, "device": device, **settings}), datasets.catalogue())
    return plan, Placement(plan)


def test_the_demo_stays_on_the_cpu_where_a_gpu_is_insisted_on():
    plan, placed = placement("gpu")
    assert {placed.device_of(run) for run in plan.runs("demo").values()} == {"cpu"}
    assert not any(map(placed.gpus, plan.runs("demo").values()))
    assert placed.none_is_used("demo")
    assert not placed.none_is_used("laptop")


@pytest.mark.parametrize("scale", ["demo", "laptop"])
def test_with_zero_seconds_all_runs_are_made_there(scale):
    plan, placed = placement("gpu", gpu_seconds=0)
    runs = plan.runs(scale).values()
    assert {(placed.device_of(run), placed.gpus(run)) for run in runs} == {("gpu", 1)}


def test_all_runs_of_a_target_are_made_on_one_device():
    plan, placed = placement("gpu")
    devices = [{placed.device_of(run) for run in plan.runs_of(target, "laptop")} for target in plan.targets]
    assert all(len(found) <= 1 for found in devices)
    assert {"cpu"} in devices
    assert {"gpu"} in devices


def test_a_long_run_and_one_that_times_the_device_are_made_there():
    plan, placed = placement("gpu")
    runs = plan.runs("laptop").values()
    assert all(placed.gpus(run) for run in runs if run.cost.seconds >= 30)
    assert {placed.device_of(run) for run in plan.runs_of("eigenpro_fig_overhead", "laptop")} == {"gpu"}
    assert {placed.device_of(run) for run in plan.runs_of("rff_error_rate", "laptop")} == {"cpu"}


def test_a_preconditioner_is_made_where_a_run_that_needs_it_is():
    plan, placed = placement("gpu", scale="laptop")
    (run, *_) = (run for run in plan.runs_of("eigenpro_table6", "laptop") if run.preconditioner is not None)
    assert (placed.device_of(run.preconditioner), placed.gpus(run.preconditioner)) == ("gpu", 1)
    plan, placed = placement("gpu", scale="demo")
    (run, *_) = (run for run in plan.runs_of("eigenpro_table6", "demo") if run.preconditioner is not None)
    assert placed.device_of(run.preconditioner) == "cpu"


@pytest.mark.parametrize(("device", "long"), [("auto", "auto"), ("cpu", "cpu")])
def test_where_none_is_insisted_on_none_is_asked_for(device, long):
    plan, placed = placement(device)
    runs = plan.runs("laptop").values()
    assert {placed.device_of(run) for run in runs} == {"cpu", long}
    assert not any(map(placed.gpus, runs))
