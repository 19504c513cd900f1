"""The demo from end to end, twice; the tests look at what the first run left."""

import copy
import csv
import json
import os
import re
import textwrap
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from own_plan import own_plan
from shallows.experiments.running import record
from workflow_runs import PROJECT, copy_project, snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(1500)]
LIMIT = 1200
PLAN = own_plan()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A project whose demo has ended, and what Snakemake said.

    The environment variable ``SHALLOWS_FINISHED_DEMO`` names a copy to be used up by these tests, in which ``make`` has
    ended and whose words stand in its ``make.log``. Without it the demo is run here, for minutes.
    """
    if finished := os.environ.get("SHALLOWS_FINISHED_DEMO"):
        root = Path(finished)
        return root, (root / "make.log").read_text()
    root = copy_project(tmp_path_factory.mktemp("demo"))
    done = snakemake(root, "--cores", "2", timeout=LIMIT)
    assert done.returncode == 0, done.stdout
    return root, done.stdout


def modified(root):
    return {path: path.stat().st_mtime_ns for path in (root / "results").rglob("*") if path.is_file()}


def test_a_second_run_does_nothing(demo):
    root, _ = demo
    before = modified(root)
    again = snakemake(root, "--cores", "2")
    assert again.returncode == 0 and "Nothing to be done" in again.stdout
    assert modified(root) == before


def test_going_to_another_scale_rebuilds_nothing_that_stands(demo):
    root, _ = demo
    done = snakemake(root, "-n", "results/demo/report/index.html", "--cores", "1", "--config", "scale=paper")
    assert "Nothing to be done" in done.stdout


def test_everything_promised_is_there(demo):
    root, _ = demo
    results = root / "results" / "demo"
    for target in PLAN.targets:
        for ending in ("csv", "json", "md", "html"):
            assert (results / "tables" / f"{target}.{ending}").stat().st_size > 0
    for target in PLAN.figures:
        for ending in ("svg", "png"):
            assert (results / "figures" / f"{target}.{ending}").stat().st_size > 1000
    assert (results / "report" / "index.html").stat().st_size > 10_000


def test_every_run_of_the_plan_left_a_record_that_agrees_with_the_schema(demo):
    root, _ = demo
    runs = PLAN.runs("demo")
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
        # By epochs, iterations or an index of its own; by the clock, after the first batch that ended later.
        columns = {name: [row.get(name) for row in marks] for name in (marks[0] if marks else ())}
        by_the_clock = all(at <= done for at, done in zip(run.marks, columns.get("seconds", ()), strict=False))
        assert len(marks) == len(run.marks)
        assert not marks or list(run.marks) in columns.values() or by_the_clock


def test_each_run_tells_its_result_in_its_own_log(demo):
    root, said = demo
    lines = [line for line in said.splitlines() if " on " in line and "seed=" in line and " s)" in line]
    assert len(lines) == len(PLAN.runs("demo"))
    for run in PLAN.runs("demo").values():
        folder = run.folder.removeprefix("runs/")
        log = (root / "results" / "demo" / "logs" / "runs" / f"{folder}.log").read_text()
        assert f"{run.method} on {run.dataset}" in log and f"seed={run.seed}]: " in log


def test_tables_hold_every_published_row_with_a_verdict(demo):
    root, _ = demo
    for target in PLAN.targets:
        with open(root / "results" / "demo" / "tables" / f"{target}.csv", newline="") as stream:
            rows = list(csv.DictReader(stream))
        published = [row for row in PLAN.configuration.published[target] if row["published"]]
        shown = [row["published"] for row in rows if row["published"]]
        # What is said of several methods or data at once stands beside each of them.
        assert set(shown) == {row["published"] for row in published} and len(shown) >= len(published)
        assert all(row["reason"] for row in rows if row["verdict"] in ("not comparable", "not run"))
        # Nothing at this scale is on a paper's own data, so nothing may be judged but what is said of any data.
        if not any(one.get("any") for one in PLAN.target(target)["published_data"].values()):
            allowed = {"not comparable", "not run", "derivation", "quotation", "measured"}
            assert {row["verdict"] for row in rows} <= allowed


def test_the_method_of_the_paper_is_ahead_of_plain_sgd_on_real_data(demo):
    """The claim of the paper's table, at the size of the demo: far fewer epochs to the same error."""
    root, _ = demo
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
    root, _ = demo
    results = root / "results" / "demo"
    paths = [path for target in PLAN.figures[::16] for path in results.glob(f"*s/{target}.*")]
    assert {path.parent.name for path in paths} == {"tables", "figures"}
    before = {path: path.read_bytes() for path in paths}
    for path in paths:
        path.unlink()
    done = snakemake(root, "--cores", "2", timeout=LIMIT)
    assert done.returncode == 0, done.stdout
    assert "rule train" not in done.stdout and "prepare" not in done.stdout
    assert {path: path.read_bytes() for path in paths} == before


# What a neighbour changes: nothing of what stands


def wanted(root):
    """What a dry run would make: stage -> first outputs."""
    done = snakemake(root, "-n", "--cores", "2")
    assert done.returncode == 0, done.stdout
    found = re.findall(r"rule (\w+):\n(?:.*\n)*?\s+output: ([^,\s]+)", done.stdout)
    stages = {}
    for stage, output in found:
        stages.setdefault(stage, set()).add(output)
    return stages


@contextmanager
def changed(root, **changes):
    """Files with other contents for a while: name -> what the old text (None where there was no file) becomes."""
    before = {}
    for name, change in changes.items():
        path = root / name
        before[path] = path.read_text() if path.exists() else None
        path.write_text(change(before[path]))
    try:
        yield
    finally:
        for path, text in before.items():
            path.unlink() if text is None else path.write_text(text)


def with_entry(table, entry):
    """Adds a line to a table of names."""

    def change(text):
        head, found, tail = text.partition(f"{table} = LazyTable(\n")
        before, brace, after = tail.partition("    {\n")
        assert found and brace
        return head + found + before + brace + f"        {entry},\n" + after

    return change


NEW_KERNEL = """
from .radial import RadialKernel


class Sech(RadialKernel):
    name = "sech"
"""


def test_a_new_kernel_makes_nothing_out_of_date(demo):
    root, _ = demo
    door = with_entry("KERNELS", '"sech": ".sech:Sech"')
    folder = "src/shallows/kernels"
    with changed(root, **{f"{folder}/sech.py": lambda _: NEW_KERNEL, f"{folder}/__init__.py": door}):
        assert wanted(root) == {}


def test_a_new_measure_makes_nothing_out_of_date(demo):
    root, _ = demo
    folder = "src/shallows/experiments/running/measures"
    door = with_entry("MEASURES", '"depth": ".depth:Depth"')
    new = "from .base import Measure\n\n\nclass Depth(Measure):\n    pass\n"
    with changed(root, **{f"{folder}/depth.py": lambda _: new, f"{folder}/__init__.py": door}):
        assert wanted(root) == {}


def test_a_new_entry_of_the_catalogue_makes_nothing_out_of_date(demo):
    root, _ = demo

    def with_another(text):
        content = yaml.safe_load(text)
        name, entry = next(iter(content["datasets"].items()))
        content["datasets"][f"{name}_again"] = {**entry, "title": "Another", "notes": "A copy."}
        return yaml.safe_dump(content, sort_keys=False)

    with changed(root, **{"src/shallows/datasets/catalogue/generated.yaml": with_another}):
        assert wanted(root) == {}


def new_paper(**methods):
    """A target with the runs of one that stands, and those of further methods."""
    spec = copy.deepcopy(PLAN.target("eigenpro_table6"))
    del spec["paper"]
    spec["published_data"] = {}
    for entry in spec["methods"].values():
        for key in ("sources", "ours"):
            entry.pop(key, None)
    spec["methods"] |= {
        word: {"method": name, "parameters": parameters} for word, (name, parameters) in methods.items()
    }
    for at in spec["scales"].values():
        at.pop("left_out", None)
        if methods and at["runs"]:
            at["runs"].append({"methods": [*methods], "marks": at["runs"][0]["marks"]})
    paper = {"paper": "another", "title": "Another", "citation": "Nobody", "targets": {"another_table": spec}}
    return yaml.safe_dump(paper)


def test_a_new_target_with_runs_that_stand_makes_its_table_and_the_page(demo):
    root, _ = demo
    with changed(root, **{"config/papers/another.yaml": lambda _: new_paper()}):
        found = wanted(root)
    assert found.pop("tabulate") == {"results/demo/evaluation/another_table.json"}
    assert set(found) <= {"draw", "write_page"}
    assert found.get("draw", set()) <= {"results/demo/figures/another_table.svg"}


def test_a_new_solver_and_its_target_make_its_own_runs_and_no_others(demo):
    root, _ = demo
    method = {
        "label": "averaged SGD",
        "runs": "estimator",
        "call": {"classification": "shallows:RegularisedRiskClassifier"},
        "parameters": {"solver": "averaged_sgd", "features": "fourier"},
        "cost": "feature_pass",
    }

    def with_method(text):
        return text + textwrap.indent("\n" + yaml.safe_dump({"averaged_sgd": method}), "  ")

    solver = (PROJECT / "tests" / "example_new_solver.py").read_text()
    paper = new_paper(new=("averaged_sgd", {"batch_size": 64}))
    changes = {
        "src/shallows/solvers/regularised/averaged_sgd.py": lambda _: solver,
        "src/shallows/solvers/regularised/__init__.py": lambda text: text.replace(
            '"norma": ', '"averaged_sgd": ".averaged_sgd:AVERAGED_SGD_SOLVER",\n        "norma": '
        ),
        "config/methods.yaml": with_method,
    }
    with changed(root, **changes):
        assert wanted(root) == {}
        with changed(root, **{"config/papers/another.yaml": lambda _: paper}):
            found = wanted(root)
    assert found.pop("train") and set(found) <= {"tabulate", "draw", "write_page"}
    assert found["tabulate"] == {"results/demo/evaluation/another_table.json"}


def test_a_change_of_one_solver_makes_its_runs_out_of_date_and_no_others(demo):
    root, _ = demo
    with changed(root, **{"src/shallows/solvers/least_squares/eigenpro.py": lambda text: text + "\n\nANYTHING = 1\n"}):
        found = wanted(root)
    methods = {output.split("/")[4] for output in found["train"]}
    # EigenPro, and the analyses that make its steps.
    steps = {"directions", "step_rules", "step_grid", "iteration_time", "overhead", "training_cost", "rank_scaling"}
    assert methods == {"eigenpro", "eigenpro_2017"} | steps
    assert set(found) == {"train", "tabulate", "draw", "write_page"}
    expected = {run.folder for run in PLAN.runs("demo").values() if run.method in methods}
    assert {output.removeprefix("results/demo/").removesuffix("/record.json") for output in found["train"]} == expected


# The last one, since it prepares data again that other runs were made with.
def test_a_forced_run_and_one_whose_outputs_were_deleted_are_computed_again(demo):
    root, _ = demo
    record = min((root / "results" / "demo" / "runs").rglob("kernel_sgd/*/record.json"))
    told, name = json.loads(record.read_text()), str(record.relative_to(root))
    for force in (("--forcerun", "train", "--"), ("--delete-all-output",)):
        done = snakemake(root, "--cores", "2", *force, name, timeout=LIMIT)
        assert done.returncode == 0, done.stdout
        done = snakemake(root, "--cores", "2", name, timeout=LIMIT)
        assert done.returncode == 0, done.stdout
        again = json.loads(record.read_text())
        assert again["finished"] > told["finished"] and again["resumes"] == 0
        assert again["model"] == told["model"] and again["metrics"]["final"] == told["metrics"]["final"]
        told = again
