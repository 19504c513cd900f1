"""Reference results of runs that Snakemake made: collected, drawn and compared in a copy of the project."""

import contextlib
import csv
import json
import re
import subprocess
import sys

import pytest

from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.reference.__main__ import main
from workflow_runs import copy_project, environment, snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

#: Of one paper each, a table of one run and a figure of six, in seconds.
TARGETS = ("eigenpro_table_datasets", "eigenpro_heat_kernel_reach")


def process(root, *arguments):
    command = [sys.executable, "-m", "shallows_papers.reference", *arguments]
    return subprocess.run(command, cwd=root, env=environment(root), capture_output=True, text=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with two finished targets, which are collected."""
    root = copy_project(tmp_path_factory.mktemp("reference"))
    done = snakemake(root, "--cores", "2", *TARGETS)
    assert done.returncode == 0, done.stdout
    done = process(root, "collect", "--scale", "demo")
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="module")
def plan(project):
    with contextlib.chdir(project):
        return Plan.load(".")


@pytest.fixture
def reference(project, plan, monkeypatch, capsys):
    """Gives the status of a command in the project, and what it printed; the code is the same as that of the copy."""
    monkeypatch.chdir(project)
    monkeypatch.setattr(Plan, "load", lambda root, **options: plan)

    def run(*arguments):
        status = main(arguments)
        return status, "".join(capsys.readouterr())

    return run


@pytest.fixture
def index(project):
    return json.loads((project / "results/reference/demo/index.json").read_text())


def test_finished_targets_are_collected_and_the_others_are_told(project, index):
    assert set(TARGETS) <= set(index["targets"])
    assert "eigenpro_table6" not in index["targets"]
    assert index["not_run"]["dsg_fig1_imagenet"] == "nothing of it is run at this scale"
    assert re.fullmatch(r"\d+ of its \d+ runs are not finished", index["not_run"]["eigenpro_table6"])
    for target in TARGETS:
        found = index["targets"][target]
        assert found["of_the_collecting_code"]
        assert found["seconds"] >= 0
        assert found["machines"][0]["cores"] >= 1
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["collected"])


def test_the_collected_table_is_that_of_the_workflow(project):
    for target in TARGETS:
        tables = []
        for path in (f"results/demo/tables/{target}.csv", f"results/reference/demo/{target}.csv"):
            with open(project / path, newline="") as stream:
                tables.append([{**row, "records": None} for row in csv.DictReader(stream)])
        assert tables[0] == tables[1]


def test_own_results_agree_and_an_altered_number_is_told(project, reference):
    status, said = reference("verify")
    assert status == 0, said
    assert " 0 drifted, 0 are missing" in said
    n_runs = len(json.loads((project / "results/reference/demo/eigenpro_heat_kernel_reach.json").read_text())["runs"])
    assert f"{n_runs + 1} of {n_runs + 1} runs have the code, data and parameters of the reference" in said
    table = project / "results/demo/tables/eigenpro_heat_kernel_reach.csv"
    text = table.read_text()
    with open(table, newline="") as stream:
        rows = list(csv.DictReader(stream))
    altered = next(row for row in rows if row["measured_mean"] and float(row["measured_mean"]) > 1)
    altered["measured_mean"] = str(1.5 * float(altered["measured_mean"]))
    with open(table, "w", newline="") as stream:
        writer = csv.DictWriter(stream, list(altered))
        writer.writeheader()
        writer.writerows(rows)
    try:
        status, said = reference("verify")
    finally:
        table.write_text(text)
    assert status == 1
    assert " 1 drifted, 0 are missing" in said
    assert f"drifted: {altered['dataset']} · {altered['method']}" in said


def test_the_page_is_drawn_without_runs_of_ones_own(project, reference, index):
    (project / "results/demo").rename(project / "results/away")
    try:
        status, said = reference("report")
        assert status == 0, said
        drawn = project / "results/demo/reference"
        page = (drawn / "report/index.html").read_text()
        assert (drawn / "figures/eigenpro_heat_kernel_reach.svg").exists()
        assert "Reference results, drawn without training: 6 runs by commit" in page
        assert f"without training: {len(TARGETS)} of " in page and 'id="papers"' in page
        absent = (drawn / "tables/eigenpro_table6.csv").read_text()
        assert f"not among the reference results: {index['not_run']['eigenpro_table6']}" in absent
        linked = [link for link in re.findall(r'href="(\.\./[^"#]+)"', page) if link.endswith("record.json")]
        assert len(set(linked)) == 7
        assert all((drawn / "report" / link).exists() for link in linked)
        status, said = reference("verify")  # nothing of one's own is there
        assert status == 1
        assert "Not run here: " in said
    finally:
        subprocess.run(["rm", "-rf", str(project / "results/demo")], check=True)
        (project / "results/away").rename(project / "results/demo")


def test_runs_of_other_code_are_collected_only_when_that_is_asked_for(project, reference):
    path = next((project / "results/demo/runs").glob("heaviside_circle-plain/*/*/record.json"))
    text = path.read_text()
    record = json.loads(text)
    path.write_text(json.dumps({**record, "run": {**record["run"], "key": "0123456789abcdef"}}))
    elsewhere = ("--reference", "results/reference/elsewhere", "eigenpro_heat_kernel_reach")
    try:
        status, said = reference("collect", *elsewhere)
        assert "some of its runs are of other code or parameters" in said
        status, said = reference("collect", "--older", *elsewhere)
        assert status == 0, said
    finally:
        path.write_text(text)
    found = json.loads((project / "results/reference/elsewhere/demo/index.json").read_text())
    assert not found["targets"]["eigenpro_heat_kernel_reach"]["of_the_collecting_code"]


def test_a_run_that_is_not_there_is_taken_from_the_reference_where_older_ones_may_be(project, reference):
    target, place = "eigenpro_heat_kernel_reach", "results/reference/elsewhere"
    run = next((project / "results/demo/runs").glob("heaviside_circle-plain/*/*"))
    reference("collect", "--reference", place, target)
    before = (project / place / "demo" / f"{target}.csv").read_text()
    run.rename(project / "results/away")
    try:
        _, said = reference("collect", "--reference", place, target)
        assert "1 of its 6 runs are not finished" in said
        status, said = reference("collect", "--older", "--reference", place, target)
    finally:
        (project / "results/away").rename(run)
    assert status == 0 and f"{target}: " in said and "6 runs" in said
    assert (project / place / "demo" / f"{target}.csv").read_text() == before


def test_one_target_is_collected_beside_what_is_there(project, reference, index):
    status, said = reference("collect", TARGETS[0])
    assert status == 0, said
    again = json.loads((project / "results/reference/demo/index.json").read_text())
    assert set(again["targets"]) == set(index["targets"])
    done = process(project, "collect", "eigenpro_tabel6")
    assert done.returncode == 1
    assert "Did you mean 'eigenpro_table6'?" in done.stderr and "Traceback" not in done.stderr


def test_a_torn_file_ends_with_one_sentence(project, reference):
    path = project / "results/reference/demo/eigenpro_heat_kernel_reach.csv"
    text = path.read_text()
    path.write_text(text[:-100])
    try:
        for command in ("verify", "report"):
            status, said = reference(command)
            assert status == 1
            assert "eigenpro_heat_kernel_reach.csv is not whole" in said
    finally:
        path.write_text(text)
