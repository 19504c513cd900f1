"""The worked example of a new target: from its file to its table and figure; and its own function for a claim."""

import csv
import json
import shutil

import pytest
import yaml

from shallows.errors import UnknownNameError
from shallows_papers import datasets
from shallows_papers.experiments.comparing import evaluations, target_table
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.running import run
from shallows_papers.experiments.running.job import Conditions, Job
from shallows_papers.report import figures
from workflow_runs import PROJECT

EXAMPLE = PROJECT / "tests" / "example_new_target.yaml"
TARGET = "example_features"


def share_at_most(curve):
    """The share of evaluation points at which a curve is at most 20: what a claim may want that no other does."""
    return sum(value <= 20.0 for value in curve.values()) / len(curve)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A configuration with the example in the places that its first lines name."""
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(PROJECT / "workflow" / "schemas", root / "workflow" / "schemas")
    shutil.copytree(PROJECT / "config", root / "config", ignore=shutil.ignore_patterns("papers"))
    paper = root / "config" / "papers" / "example"
    (paper / "published").mkdir(parents=True)
    shutil.copy(EXAMPLE, paper / "targets.yaml")
    printed = [line.removeprefix("#   ") for line in EXAMPLE.read_text().splitlines() if line.startswith("#   ")]
    (paper / "published" / f"{TARGET}.csv").write_text("\n".join(printed) + "\n")
    return root


@pytest.fixture(scope="module")
def evaluation(project):
    """What the runs of the example leave."""
    raw = project / "data" / "raw"
    verified = datasets.fetch("a9a_demo", raw, embedded_root=PROJECT / "data" / "embedded", progress=False)
    plan, records = Plan.load(project), []
    runs = plan.runs_of(TARGET, "demo")
    datasets.prepare("a9a_demo", verified, project / "prepared", plan.configuration.steps_of("plain"))
    for one in runs:
        job = Job(plan.job(one), project / "prepared", project / one.folder, project / "checkpoints")
        run.execute(job, Conditions("cpu", "1GB"))
        records.append(project / one.folder / "record.json")
    path = project / "evaluation.json"
    evaluations.write(path, evaluations.evaluate(records, plan.target(TARGET)["mark"]))
    return path


def table_of(project, evaluation):
    path = project / f"{TARGET}.csv"
    target_table.write(evaluation, Plan.load(project).comparison(TARGET, "demo"), path)
    with path.open(newline="") as stream:
        return path, {(row["metric"], row["setting"]): row for row in csv.DictReader(stream)}


def test_the_example_is_run_compared_and_drawn(project, evaluation):
    path, rows = table_of(project, evaluation)
    judged = rows["test_error", "features=256; iterations=400"]
    # Two seeds give an interval so wide that it may decide nothing, though the mean lies within the margin.
    assert judged["published"] == "15.9" and judged["verdict"] == "undecided" and judged["seeds"] == "0 1"
    assert abs(float(judged["measured_mean"]) - 15.9) < float(judged["margin"])
    assert rows["more_features", "features=256"]["verdict"] in ("reproduced", "undecided")
    assert float(rows["more_features", "features=256"]["measured_mean"]) < 1.0
    assert float(rows["iterations_needed", "features=256"]["measured_mean"]) <= 400
    figures.draw(path, path.with_suffix(".svg"))
    assert all(path.with_suffix(f".{form}").stat().st_size for form in ("svg", "png"))


def test_a_claim_may_need_a_function_of_its_own(project, evaluation, monkeypatch):
    path = project / "config" / "papers" / "example" / "targets.yaml"
    before = path.read_text()
    contents = yaml.safe_load(before)
    claim = {"label": "share of points with less than 20 % of errors", "evidence": "own", "metric": "test_error"}
    place = f"{__name__}:share_at_most"
    claim |= {"of": {"features": 256}, "reduce": place.replace("share", "shar"), "at_least": 0.3}
    contents["targets"][TARGET]["claims"]["early"] = claim
    path.write_text(json.dumps(contents))
    try:
        with pytest.raises(UnknownNameError, match=r"Did you mean 'share_at_most'.*target example_.*claim early"):
            Plan.load(project)
        claim["reduce"] = place
        path.write_text(json.dumps(contents))
        _, rows = table_of(project, evaluation)
        assert float(rows["early", "features=256"]["measured_mean"]) >= 1 / 3
    finally:
        path.write_text(before)
