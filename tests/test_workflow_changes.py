"""What a change of the configuration makes out of date, and how it is reported: one small target, run once."""

import json
import re

import pytest

from shallows.errors import ShallowsError
from shallows_papers.experiments.comparing.table_rows import read_rows
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.reference import crate
from workflow_runs import copy_project, snakemake

pytestmark = pytest.mark.workflow
SMALL = ("--config", "configuration=.test/config")
PAPER = ".test/config/papers/small/targets.yaml"
METRICS = """test_error: {label: test error, unit: "%"}, from_outputs: {label: the same, from_outputs: error},
      area: {label: area, from_outputs: auc}"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project in which the small target and its page were made."""
    root = copy_project(tmp_path_factory.mktemp("changes"))
    done = snakemake(root, *SMALL)
    assert done.returncode == 0, done.stdout
    return root


@pytest.fixture
def edit(project):
    """Replaces words of the target's file for one test."""
    path = project / PAPER
    before = path.read_text()

    def replace(old, new):
        assert old in before
        path.write_text(before.replace(old, new))

    yield replace
    path.write_text(before)


def planned(root, *words):
    """Counts of jobs that a dry run plans, and the reasons that it prints."""
    done = snakemake(root, "-n", *words, *SMALL)
    assert done.returncode == 0, done.stdout
    table = done.stdout.partition("Job stats:")[2].partition("total")[0]
    jobs = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}
    return jobs, re.findall(r"^ *reason: (.*)$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("old", "new", "jobs", "told"),
    [
        ("title: Error", "title: An error", {"tabulate": 1}, "entry of the target in config/papers"),
        ("[1, 2, 5]", "[1, 2, 4]", {"train": 2, "evaluate": 1, "tabulate": 1}, "points of evaluation"),
        ("rank: 20", "rank: 21", {"train": 2, "evaluate": 1, "tabulate": 1}, "runs and their parameters"),
    ],
    ids=["title", "marks", "parameter"],
)
def test_a_dry_run_says_in_few_words_what_has_changed(project, edit, old, new, jobs, told):
    edit(old, new)
    counted, reasons = planned(project, "small_table")
    counted.pop("small_table", None)
    assert counted == jobs
    changed = [found[0] for reason in reasons if (found := re.search("Params have changed.*", reason))]
    assert changed and not [reason for reason in changed if len(reason) > 400 or re.search(r"[{}\[\]]", reason)]
    before, _, now = " ".join(changed).partition("now: ")
    assert f"{told} (" in before and f"{told} (" in now


def test_a_new_metric_of_the_outputs_is_evaluated_and_tabulated_without_training(project, edit):
    edit('metrics: {test_error: {label: test error, unit: "%"}}', f"metrics: {{{METRICS}}}")
    counted, _ = planned(project, "small_table")
    assert counted == {"evaluate": 1, "tabulate": 1, "small_table": 1}
    assert snakemake(project, "small_table", *SMALL).returncode == 0
    rows = read_rows(project / "results" / "demo" / "tables" / "small_table.csv")
    values = {row.metric: row.measured.values for row in rows if row.keys.get("epochs") in (None, "5")}
    assert values["from_outputs"] == values["test_error"]
    assert all(90 < area < 100 for area in values["area"]) and len(values["area"]) == 2
    edit("title", "title")  # as it was, for the other tests
    assert snakemake(project, "small_table", "report", *SMALL).returncode == 0


def test_an_overlay_changes_parameters_and_leaves_the_results_that_are_there(project):
    """With this step both runs diverge, which is a result: the table is made and shows it."""
    (project / "mine.yaml").write_text("changes: {small_table: {bandwidth: 4, step: 1e5}}\n")
    before = {path: path.stat().st_mtime_ns for path in (project / "results").rglob("*") if path.is_file()}
    done = snakemake(project, "small_table", "--configfile", "mine.yaml", *SMALL)
    assert done.returncode == 0, done.stdout
    [place] = re.findall(r"^Results with changed parameters: (\S+)$", done.stdout, re.MULTILINE)
    assert re.fullmatch(r"results/changes/small_table-\S+/demo", place)
    table = (project / place / "tables" / "small_table.md").read_text()
    assert "Error on handwritten digits" in table and "| diverged " in table
    records = [json.loads(path.read_text()) for path in (project / place).rglob("record.json")]
    assert [one["run"]["parameters"]["bandwidth"] for one in records] == [4, 4]
    assert {path: path.stat().st_mtime_ns for path in before} == before
    # The same file again asks for nothing more, and without it the usual results are up to date.
    assert "Nothing to be done" in snakemake(project, "small_table", "--configfile", "mine.yaml", *SMALL).stdout
    assert planned(project, "small_table")[0] == {}


def test_a_crate_is_refused_where_the_configuration_would_not_produce_a_table(project, edit, monkeypatch):
    """Change a bandwidth, make the table, and take the change back: the table is of the other bandwidth."""
    monkeypatch.setenv("PYTHONPATH", str(project / "src"))

    def check():
        crate.check_up_to_date(Plan.load(project, {"configuration": ".test/config"}), "demo")

    check()
    edit("bandwidth: 5.0", "bandwidth: 4.0")
    assert snakemake(project, "small_table", *SMALL).returncode == 0
    edit("bandwidth: 5.0", "bandwidth: 5.0")
    with pytest.raises(ShallowsError, match=r"would not produce small_table, the page .* make SCALE=demo"):
        check()
