"""Reference results of runs that Snakemake made: collected, drawn and compared in a copy of the project."""

import contextlib
import csv
import re
import subprocess
import sys

import pytest

from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.reference import folder
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
    """Gives the status of a command in the project, and what it printed; the code equals the copy's."""
    monkeypatch.chdir(project)
    monkeypatch.setattr(Plan, "load", lambda root, **options: plan)

    def run(*arguments):
        status = main(arguments)
        return status, "".join(capsys.readouterr())

    return run


def stored(project):
    """The runs that the reference of the copy holds, by their identifiers."""
    place = project / "results/reference/demo"
    return folder.read_runs(place, folder.read_index(place))


def test_finished_targets_are_collected_and_the_others_are_told(project, plan):
    wanted = {run.id for target in TARGETS for run in plan.runs_of(target, "demo")}
    assert wanted <= {*stored(project)}
    done = process(project, "collect", "--scale", "demo", "--reference", "results/reference/elsewhere")
    assert re.search(r"eigenpro_table6: not collected, \d+ of its \d+ runs are not finished", done.stdout)
    assert "dsg_fig1_imagenet: not collected, nothing of it is run at this scale" in done.stdout


def test_own_results_agree_and_an_altered_number_is_told(project, reference):
    status, said = reference("verify")
    assert status == 0, said
    assert " 0 drifted, 0 are missing" in said
    n_same, n_all = map(int, re.search(r"(\d+) of (\d+) runs have the code", said).groups())
    assert n_same == n_all >= 7
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


def test_the_page_is_drawn_without_runs_of_ones_own(project, reference):
    (project / "results/demo").rename(project / "results/away")
    try:
        status, said = reference("report")
        assert status == 0, said
        drawn = project / "results/demo/reference"
        page, paper = ((drawn / f"report/{name}.html").read_text() for name in ("index", "eigenpro"))
        assert (drawn / "figures/eigenpro_heat_kernel_reach.svg").exists()
        assert "Reference results, drawn without training: 6 runs by commit" in paper
        assert re.search(r"without training: \d+ of ", page) and 'id="ledger"' in page
        absent = (drawn / "tables/eigenpro_table6.csv").read_text()
        assert "not among the reference results: not collected" in absent
        linked = [link for link in re.findall(r'href="(\.\./[^"#]+)"', paper) if link.endswith("record.json")]
        assert len(set(linked)) >= 7
        assert all((drawn / "report" / link).exists() for link in linked)
        status, said = reference("verify")  # there are no results of the user
        assert status == 1
        assert "Not run here: " in said
    finally:
        subprocess.run(["rm", "-rf", str(project / "results/demo")], check=True)
        (project / "results/away").rename(project / "results/demo")
