"""The demo, or a part of it, from end to end, twice; the tests look at what the first run left."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.running import record
from workflow_runs import copy_project, environment, snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(1500)]
LIMIT = 1200
#: Files of papers that are run where there is no finished demo: the whole one takes ten minutes.
KEPT = ("eigenpro/targets", "cdsg/targets_theory")
#: Two targets of theirs that other targets are like: the same methods at further bandwidths, and a rate.
LEFT_OUT = ("eigenpro_table8", "udsg_thm4_rate")


def thinned(text):
    """A file of a paper without these, and with two seeds where it has more and its runs are short, one elsewhere."""
    content = yaml.safe_load(text)
    for name in LEFT_OUT:
        content["targets"].pop(name, None)
    for spec in content["targets"].values():
        at = spec["scales"]["demo"]
        at["seeds"] = at["seeds"][: 2 if spec["kind"] == "curves" else 1]
    return yaml.safe_dump(content, sort_keys=False)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A project whose demo has ended, what Snakemake said, and its plan.

    The environment variable ``SHALLOWS_FINISHED_DEMO`` names a copy to be used up by these tests, in which ``make`` has
    ended, with its output in ``make.log``. Without it, the demo of a copy with fewer targets is run here.
    """
    if finished := os.environ.get("SHALLOWS_FINISHED_DEMO"):
        root = Path(finished)
        return root, (root / "make.log").read_text(), Plan.load(root)
    root = copy_project(tmp_path_factory.mktemp("demo"), *KEPT)
    for path in root.glob("config/papers/*/targets*.yaml"):
        path.write_text(thinned(path.read_text()))
    words = [sys.executable, "-m", "shallows_papers.experiments.watching", "--cores", "2"]
    done = subprocess.run(words, cwd=root, env=environment(root), capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    return root, done.stdout, Plan.load(root)


def modified(root):
    return {path: path.stat().st_mtime_ns for path in (root / "results").rglob("*") if path.is_file()}


def test_a_second_run_does_nothing(demo):
    root, *_ = demo
    before = modified(root)
    again = snakemake(root, "--cores", "2")
    assert again.returncode == 0 and "Nothing to be done" in again.stdout
    assert modified(root) == before


def test_going_to_another_scale_rebuilds_nothing_that_stands(demo):
    root, *_ = demo
    done = snakemake(root, "-n", "results/demo/report/index.html", "--cores", "1", "--config", "scale=paper")
    assert "Nothing to be done" in done.stdout


def test_everything_promised_is_there(demo):
    root, _, plan = demo
    results = root / "results" / "demo"
    for target in plan.targets:
        for ending in ("csv", "json", "md", "html"):
            assert (results / "tables" / f"{target}.{ending}").stat().st_size > 0
    for target in plan.figures:
        for ending in ("svg", "png"):
            assert (results / "figures" / f"{target}.{ending}").stat().st_size > 1000
    assert (results / "report" / "index.html").stat().st_size > 10_000


def test_every_run_of_the_plan_left_a_record_that_agrees_with_the_schema(demo):
    root, _, plan = demo
    runs = plan.runs("demo")
    found = sorted((root / "results" / "demo" / "runs").rglob("record.json"))
    assert len(found) == len(runs)
    for path in found:
        kept = json.loads(path.read_text())
        record.check(kept)
        run = runs[kept["run"]["id"]]
        assert kept["run"]["parameters"] == run.parameters and kept["run"]["seed"] == run.seed
        assert kept["run"]["target_ids"] == list(run.targets)
        assert kept["resumes"] == 0 and kept["peak_memory_bytes"] > 10_000_000
        marks = kept["metrics"]["marks"]
        # By epochs, iterations or its own index; by the clock, after the first batch that ended later.
        columns = {name: [row.get(name) for row in marks] for name in (marks[0] if marks else ())}
        by_the_clock = all(at <= done for at, done in zip(run.marks, columns.get("seconds", ()), strict=False))
        assert len(marks) == len(run.marks)
        assert not marks or list(run.marks) in columns.values() or by_the_clock


def test_make_shows_every_target_and_each_run_has_its_result_in_its_own_log(demo):
    root, said, plan = demo
    n = len(plan.targets)
    assert len(re.findall(rf"^ *\d+ of {n} targets: \w+", said, re.MULTILINE)) == n
    assert " % of " in said and len(said.splitlines()) < 300
    for run in plan.runs("demo").values():
        folder = run.folder.removeprefix("runs/")
        log = (root / "results" / "demo" / "logs" / "runs" / f"{folder}.log").read_text()
        assert f"{run.method} on {run.dataset}" in log and f"seed={run.seed}]: " in log


def test_tables_hold_every_published_row_with_a_verdict(demo):
    root, _, plan = demo
    for target in plan.targets:
        with open(root / "results" / "demo" / "tables" / f"{target}.csv", newline="") as stream:
            rows = list(csv.DictReader(stream))
        published = [row for row in plan.configuration.published[target] if row["published"]]
        shown = [row["published"] for row in rows if row["published"]]
        # What is said of several methods or data at once is next to each of them.
        assert set(shown) == {row["published"] for row in published} and len(shown) >= len(published)
        assert all(row["reason"] for row in rows if row["verdict"] in ("not comparable", "not run"))
        # Nothing at this scale is on a paper's own data, so nothing may be judged but what is said of any data.
        if not any(one.get("any") for one in plan.target(target)["published_data"].values()):
            allowed = {"not comparable", "not run", "derivation", "quotation", "measured"}
            assert {row["verdict"] for row in rows} <= allowed


def test_the_method_of_the_paper_is_ahead_of_plain_sgd_on_real_data(demo):
    """The claim of the paper's table, at the size of the demo: far fewer epochs to the same error."""
    root, *_ = demo
    with open(root / "results" / "demo" / "tables" / "eigenpro_table6.csv", newline="") as stream:
        rows = {
            (row["method"], row["setting"]): float(row["measured_mean"])
            for row in csv.DictReader(stream)
            if row["metric"] == "test_error" and row["measured_mean"]
        }
    for kernel in ("Gaussian", "Laplace", "Cauchy"):
        assert rows["EigenPro", f"kernel={kernel}; epochs=1"] < rows["Pegasos", f"kernel={kernel}; epochs=5"]
        assert rows["EigenPro", f"kernel={kernel}; epochs=20"] < 6.0


def test_tables_and_figures_drawn_again_are_the_same_to_the_byte_and_train_nothing(demo):
    """Some of them, since all would take minutes."""
    root, _, plan = demo
    results = root / "results" / "demo"
    paths = [path for target in plan.figures[::16] for path in results.glob(f"*s/{target}.*")]
    assert {path.parent.name for path in paths} == {"evaluations", "tables", "figures"}
    before = {path: path.read_bytes() for path in paths}
    for path in paths:
        path.unlink()
    done = snakemake(root, "--cores", "2", timeout=LIMIT)
    assert done.returncode == 0, done.stdout
    assert "rule train" not in done.stdout and "prepare" not in done.stdout
    assert {path: path.read_bytes() for path in paths} == before


# What a neighbor changes: nothing of what is listed


def wanted_files(root):
    """What a dry run would make: stage -> first outputs."""
    done = snakemake(root, "-n", "--cores", "2")
    assert done.returncode == 0, done.stdout
    found = re.findall(r"rule (\w+):\n(?:.*\n)*?\s+output: ([^,\s]+)", done.stdout)
    stages = {}
    for stage, output in found:
        stages.setdefault(stage, set()).add(output)
    return stages


def test_a_change_of_one_solver_makes_its_runs_out_of_date_and_no_others(demo):
    """Which runs these are, `test_stale_runs` tests."""
    root, _, plan = demo
    path = root / "src/shallows/solvers/least_squares/eigenpro.py"
    before = path.read_text()
    path.write_text(before + "\n\nANYTHING = 1\n")
    try:
        found = wanted_files(root)
    finally:
        path.write_text(before)
    assert set(found) == {"train", "evaluate", "tabulate", "draw", "write_page"}
    runs = {output.removeprefix("results/demo/").removesuffix("/record.json") for output in found["train"]}
    module = "shallows.solvers.least_squares.eigenpro"
    assert runs == {run.folder for run in plan.runs("demo").values() if module in plan.files_of(run)}


# The last one, since it prepares data again that other runs were made with.
def test_a_forced_run_and_one_whose_outputs_were_deleted_are_computed_again(demo):
    root, *_ = demo
    record = min((root / "results" / "demo" / "runs").rglob("kernel_sgd/*/record.json"))
    told, name = json.loads(record.read_text()), str(record.relative_to(root))
    for asked in ([("--forcerun", "train", "--")], [("--delete-all-output",), ()]):
        for options in asked:
            done = snakemake(root, "--cores", "2", *options, name, timeout=LIMIT)
            assert done.returncode == 0, done.stdout
        again = json.loads(record.read_text())
        assert again["finished"] > told["finished"] and again["resumes"] == 0
        assert again["model"] == told["model"] and again["metrics"]["final"] == told["metrics"]["final"]
        told = again
