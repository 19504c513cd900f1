"""What `make` shows of a run: finished targets, failures, warnings, and what came out."""

import logging
import re
import time
from pathlib import Path

import pytest
import yaml
from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent

from own_plan import own_plan
from shallows_papers import cli, project
from shallows_papers.experiments import watching
from shallows_papers.experiments.comparing.table_rows import write_rows
from shallows_papers.experiments.planning import configuration
from shallows_papers.experiments.user_data import file_fit
from shallows_papers.reference import drawing
from shallows_papers.reference.held import Reference
from snakemake_logger_plugin_shallows import LogHandler
from workflow_runs import PROJECT


@pytest.fixture
def screen(monkeypatch):
    """Returns what the logger plugin prints for events, 60 seconds after it began."""
    handler = LogHandler(None, None)
    handler.setFormatter(DefaultFormatter())
    monkeypatch.setattr(time, "monotonic", lambda: handler.begun + 60)

    def show(*events, level=logging.INFO):
        records = [logging.makeLogRecord({"levelno": level, "msg": None, **event}) for event in events]
        return [line for record in records for line in handler.lines(record)]

    return show


def job(number, rule, **wildcards):
    return [
        {"event": LogEvent.JOB_INFO, "jobid": number, "rule_name": rule, "wildcards": wildcards},
        {"event": LogEvent.JOB_FINISHED, "job_id": number, "msg": "Finished"},
        {"event": LogEvent.PROGRESS, "done": number, "total": 800},
    ]


def test_a_whole_run_is_shown_in_few_lines_with_targets_and_remaining_time(screen):
    runs = [event for n in range(1, 696) for event in job(n, "train", run=f"r{n}")]
    tables = [event for n in range(696, 801) for event in job(n, "tabulate", target=f"target_{n}")]
    lines = screen({"event": LogEvent.RUN_INFO, "stats": {"train": 695, "tabulate": 105}}, *runs, *tables)
    assert len(lines) == 9 + 105
    assert " 50 % of 800 jobs in 60 s (about 60 s left)" in lines
    assert lines[-1].startswith(" 105 of 105 targets: target_800")


def test_no_remaining_time_is_shown_after_the_first_few_jobs(screen):
    early, later = (
        [{"event": LogEvent.PROGRESS, "done": done, "total": 800}, *job(done + 1, "tabulate", target="one")[:2]]
        for done in (2, 79)
    )
    assert screen({"event": LogEvent.RUN_INFO, "stats": {"tabulate": 2}}, *early, *later) == [
        "   1 of 2 targets: one",
        "   2 of 2 targets: one (about 9 min left)",
    ]


def test_errors_and_warnings_of_snakemake_are_shown_and_long_lists_cut(screen):
    assert screen({"msg": "Select jobs to execute..."}) == []
    error = "An error\n    input: " + "a" * 400 + "\n" + "b" * 400
    assert screen({"msg": error}, level=logging.ERROR) == ["An error", "    input: " + "a" * 289 + " ...", "b" * 400]


def test_a_failed_job_is_one_line_with_its_log(screen):
    log = ["logs/a.log (check log file(s) for error details)"]
    failed = {"event": LogEvent.JOB_ERROR, "rule_name": "train", "log": log, "aux": {"external_jobid": 7}}
    again = {"event": LogEvent.ERROR, "msg": "RuleException:\nCommand 'set -euo pipefail; ...'"}
    assert screen(failed, again, level=logging.ERROR) == ["Failed: train; its log: logs/a.log", "    external_jobid: 7"]


@pytest.mark.parametrize("status", [0, 1])
def test_what_jobs_write_to_the_standard_error_is_shown_and_the_status_returned(tmp_path, monkeypatch, capfd, status):
    told = f"my.csv was read as a table: {', '.join(f'column_{n}' for n in range(90))}; the target is the column y"
    program = f"import sys\nassert sys.argv[-2:] == ['--logger', 'shallows']\nprint({told!r}, file=sys.stderr)\n"
    (tmp_path / "snakemake.py").write_text(f"{program}raise SystemExit({status})\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert watching.watch([]) == status
    first, last = capfd.readouterr().out.splitlines()
    assert first == told and last.startswith("Stopped after" if status else "Done after")


def test_the_end_tells_each_papers_verdicts(tmp_path):
    held = Reference(own_plan(), "demo", PROJECT / "results" / "reference" / "demo")
    (tmp_path / "tables").mkdir()
    write_rows(tmp_path / "tables" / "elm_closed_form.csv", held.table("elm_closed_form").rows)
    (tmp_path / "tables" / "elm_closed_form.json").write_text('{"paper": "A paper"}')
    (tmp_path / "tables" / "older.csv").write_text("target,metric\n")
    (tmp_path / "tables" / "older.json").write_text("{}")
    (line,) = watching.outcome(tmp_path)
    assert re.fullmatch(r"A paper: \d+ [a-z, ]+(, \d+ [a-z, ]+)*", line)


@pytest.mark.parametrize(
    "words",
    [
        ["--missing", "median", "--target", "-1", "--task", "regression"],
        ["--missing=median", "target=-1", "--cores", "2", "task=regression"],
        ["--task", "regression", "missing=median", "target=-1"],
    ],
)
def test_settings_of_a_file_have_the_same_two_forms_in_compare_and_fit(tmp_path, monkeypatch, words):
    called = []
    monkeypatch.setattr(watching, "watch", lambda given: called.append(given) or 0)
    monkeypatch.setattr(file_fit, "fit_file", lambda *given: called.append(given[4]))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.csv").write_text("a,y\n1,2\n")
    assert cli.main(["compare", "my.csv", *words]) == 0
    given = called.pop()
    assert set(given[given.index("--config") + 1 :]) == {
        "dataset=my.csv",
        "missing=median",
        "target=-1",
        "task=regression",
    }
    if "--cores" not in words:
        assert cli.main(["fit", "my.csv", *words]) == 0
        assert called.pop() == {"missing": "median", "target": -1, "task": "regression"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--missing", "median", "missing=mean"], "The setting missing is given twice."),
        (["--missing", "median", "price"], "A setting is given as NAME=VALUE, such as missing=median, not 'price'."),
    ],
)
def test_a_wrong_setting_of_a_file_is_refused_in_a_sentence(tmp_path, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.csv").write_text("a,y\n1,2\n")
    for command in ("fit", "compare"):
        assert cli.main([command, "my.csv", *words]) == 2
        assert sentence in capsys.readouterr().err
    assert cli.main(["fit", "my.csv", "bandwidth=8"]) == 2
    assert "given by --set bandwidth=8" in capsys.readouterr().err
    assert cli.main(["compare", "no.csv"]) == 2
    assert "There is no file" in capsys.readouterr().err


def test_an_installed_package_has_the_project_within_it_and_leaves_a_clone_its_own(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "shallows_papers"
    monkeypatch.setattr(project, "__file__", str(package / "project.py"))
    (package / "_workflow").mkdir(parents=True)
    (tmp_path / "clone" / "workflow").mkdir(parents=True)
    (tmp_path / "clone" / "workflow" / "Snakefile").touch()
    (tmp_path / "clone" / "config" / "papers").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert watching.project() == package / "_workflow"
    assert project.embedded("mnist_demo", tmp_path) == package / "_workflow" / "data" / "embedded" / "mnist_demo"
    monkeypatch.chdir(tmp_path / "clone" / "config")
    assert watching.project() == tmp_path / "clone"


def test_a_page_is_drawn_in_the_present_folder_from_what_the_package_has(tmp_path, monkeypatch, capsys):
    drawn = []
    monkeypatch.setattr(drawing, "draw", lambda plan, *rest: drawn.append(rest) or Path("index.html"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report", "--scale", "laptop"]) == 0
    assert drawn == [("laptop", PROJECT / "results" / "reference" / "laptop", Path("results/laptop/reference"), [])]
    assert capsys.readouterr().out.startswith("The report: ")


def test_the_commands_are_snakemakes_with_the_projects_rules(monkeypatch, tmp_path):
    called = []
    monkeypatch.setattr(watching, "watch", lambda words: called.append(words) or 0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.csv").write_text("a,y\n1,2\n")
    assert cli.main(["compare", "my.csv", "task=regression", "--cores", "2"]) == 0
    assert cli.main(["reproduce", "eigenpro_table6", "--scale", "laptop"]) == 0
    first = ["--snakefile", str(PROJECT / "Snakefile"), "--cores"]
    assert called == [
        [*first, "2", "compare", "--config", "dataset=my.csv", "task=regression"],
        [*first, "all", "eigenpro_table6", "--config", "scale=laptop"],
    ]


def test_reproduce_writes_changed_parameters_into_a_file_of_settings(tmp_path, monkeypatch, capsys):
    """Results, and the log, go to their own folder, whose table is printed."""
    asked = []

    def watch(words):
        asked.extend(words)
        tables = Path(words[words.index("--configfile") + 1]).parent / "laptop" / "tables"
        tables.mkdir(parents=True)
        (tables / "eigenpro_table6.md").write_text("# A table", encoding="utf-8")
        return 0

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(watching, "watch", watch)
    changes = ["bandwidth=8", "damping=1e-2", "Pegasos.step=certified"]
    assert cli.main(["reproduce", "eigenpro_table6", "--scale", "laptop", "--set", *changes]) == 0
    overlay = asked[asked.index("--configfile") + 1]
    assert yaml.safe_load((tmp_path / overlay).read_text()) == {
        "changes": {"eigenpro_table6": {"bandwidth": 8, "damping": 0.01, "Pegasos": {"step": "certified"}}}
    }
    loaded = configuration.load(PROJECT, {**yaml.safe_load((tmp_path / overlay).read_text()), "scale": "laptop"})
    assert overlay == f"{loaded.settings['results']}/changes.yaml"
    assert "# A table" in capsys.readouterr().out
