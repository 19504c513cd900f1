"""Where runs are made when a GPU is asked for, long ones and all of their targets there; and what jobs ask for."""

import functools
from dataclasses import replace

import pytest

from own_plan import own_configuration, own_plan
from shallows_papers import datasets
from shallows_papers.experiments.planning import costs
from shallows_papers.experiments.planning.costs import ProblemSize, Requests, estimate
from shallows_papers.experiments.planning.placement import Placement
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.reference.held import Reference
from workflow_runs import PROJECT


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


# Estimates of costs: they grow with the data, and jobs ask for more memory than measured runs took.


def measured(plan, scale):
    """The peak memory of each run of a reference, by the run's identifier."""
    held = Reference(plan, scale, PROJECT / "results" / "reference" / scale)
    records = (run.record for target in held.targets for run in held.runs_of(target))
    return {one["run"]["id"]: one["peak_memory_bytes"] for one in records if one["peak_memory_bytes"]}


@pytest.mark.parametrize("scale", ["demo", "laptop"])
def test_the_first_request_has_room_for_nearly_all_runs_of_the_reference_and_the_second_for_all(scale):
    """A run that needs more is sent again, with twice the memory."""
    runs, peaks, requests = own_plan().runs(scale), measured(own_plan(), scale), Requests()
    share = {
        attempt: [
            peaks[name] / 1e6 / requests.megabytes(runs[name].cost, attempt) for name in peaks.keys() & runs.keys()
        ]
        for attempt in (1, 2)
    }
    assert len(share[1]) > 500
    assert sum(one > 1 for one in share[1]) <= 0.01 * len(share[1])
    assert max(share[2]) < 1


@pytest.mark.parametrize("kind", costs.KINDS)
def test_every_kind_grows_with_the_rows_and_the_epochs(kind):
    small, large = (estimate(kind, ProblemSize(n, 1000, 50, 2), {}, (10,)) for n in (1_000, 20_000))
    assert 0 < small.seconds < large.seconds and 0 < small.memory_bytes < large.memory_bytes
    if kind not in ("dense", "timed"):
        assert estimate(kind, ProblemSize(1_000, 1000, 50, 2), {}, (100,)).seconds > small.seconds
