"""Plans that are kept, the device of each run, and estimates of costs."""

import functools
import shutil
from dataclasses import replace

import pytest

from own_plan import own_configuration, own_plan
from shallows_papers import datasets
from shallows_papers.experiments.planning import costs, kept_plans, plan
from shallows_papers.experiments.planning.costs import ProblemSize, Requests, estimate
from shallows_papers.experiments.planning.placement import Placement
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.reference.held import Reference
from workflow_runs import PROJECT


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of what planning reads in a project, with one paper."""
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(PROJECT / "workflow" / "schemas", root / "workflow" / "schemas")
    leave_out = shutil.ignore_patterns("cdsg", "dsg", "eigenpro", "kpca")
    shutil.copytree(PROJECT / "config", root / "config", ignore=leave_out)
    return root


@pytest.fixture
def kept(project, tmp_path, monkeypatch):
    """The plan of the project, kept; planning again is an error."""
    monkeypatch.setattr(kept_plans, "FOLDER", tmp_path / "kept")
    made = Plan.load(project)
    run = next(iter(made.runs("demo").values()))
    files = made.files_of(run)
    made.keep()

    def fail(*_):
        raise AssertionError("planned again")

    monkeypatch.setattr(plan, "load", fail)
    again = Plan.load(project)
    monkeypatch.setattr(plan.code, "files_of_run", fail)
    assert again == made
    assert again.files_of(run) == files
    return again


def test_another_setting_or_file_is_planned_anew(kept, project):
    with pytest.raises(AssertionError, match="planned again"):
        Plan.load(project, {"scale": "laptop"})
    paper = next((project / "config" / "papers").glob("*/targets*.yaml"))
    before = paper.read_text()
    paper.write_text(before + "\n# A comment.\n")
    try:
        with pytest.raises(AssertionError, match="planned again"):
            Plan.load(project)
    finally:
        paper.write_text(before)


@pytest.mark.parametrize("folder", ["shallows", "shallows_papers"])
def test_a_changed_source_file_has_another_plan(kept, project, tmp_path, monkeypatch, folder):
    monkeypatch.setattr(kept_plans.SHALLOWS, "folder", tmp_path / "src")
    source = tmp_path / "src" / folder / "below" / "a.py"
    source.parent.mkdir(parents=True)
    names = []
    for content in ("x = 1", "x = 2", "x = 1"):
        source.write_text(content)
        names.append(kept_plans.name_of(project, {}, False))
    assert names[0] == names[2] != names[1]


def test_data_that_a_user_supplies_are_seen(kept, project, monkeypatch):
    name = next(name for name, entry in kept.catalogue.items() if entry.state == "supplied")
    assert kept.surroundings[name]
    monkeypatch.setattr(plan.Plan, "_to_be_supplied", lambda *_: None)
    with pytest.raises(AssertionError, match="planned again"):
        Plan.load(project)


def test_a_damaged_file_is_planned_anew_and_few_files_are_kept(kept, project):
    path = kept_plans.FOLDER / kept.file_name
    for number in range(12):
        kept_plans.write(f"plan-{number}.pickle", kept)
    assert len([*kept_plans.FOLDER.iterdir()]) == kept_plans.MOST_FILES
    path.write_bytes(b"no plan")
    with pytest.raises(AssertionError, match="planned again"):
        Plan.load(project)


# Where runs are made when a GPU is asked for: long ones and all of their targets there, short ones on the CPU.


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
