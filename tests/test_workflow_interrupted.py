"""Killed in the middle of a training and started again: the same numbers as without the kill, bit for bit."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
import yaml

from workflow_runs import command, copy_project, environment, snakemake

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project whose small target takes some seconds: one seed, small batches, and more epochs."""
    root = copy_project(tmp_path_factory.mktemp("interrupted"))
    path = root / ".test" / "config" / "papers" / "small" / "targets.yaml"
    text = path.read_text()
    for old, new in (
        ("rank: 20, solver__n_subsample: 200", "rank: 40, solver__n_subsample: 400, solver__batch_size: 16"),
        ("seeds: [0, 1]", "seeds: [0]"),
        ("marks: [1, 2, 5]", "marks: [1, 4, 256]"),
    ):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return root


def options(results):
    return "--cores", "1", "--config", f"results={results}", "checkpoint_seconds=0.2", "configuration=.test/config"


def the_record(results):
    (path,) = results.rglob("runs/**/record.json")
    return json.loads(path.read_text())


def begun(words, project, results):
    """Start, and wait for the second checkpoint."""
    log = project / f"{results}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            words,
            cwd=project,
            env=environment(project),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    written = set()
    deadline = time.monotonic() + 120
    while len(written) < 2:
        assert process.poll() is None, f"it ended before it could be interrupted\n{log.read_text()[-4000:]}"
        assert time.monotonic() < deadline, "no checkpoint was written"
        written |= {path.stat().st_mtime_ns for path in (project / results).rglob("checkpoint.npz")}
        time.sleep(0.01)
    return process


def interrupted(project, results):
    """Start, wait for the second checkpoint, and kill everything."""
    process = begun(command("small_table", *options(results)), project, results)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    assert not list((project / results).rglob("runs/**/record.json")), "it ended before it could be interrupted"


def assert_same_numbers(one, other):
    assert one["model"]["sha256"] == other["model"]["sha256"] is not None
    assert [{**row, "seconds": 0} for row in one["metrics"]["marks"]] == [
        {**row, "seconds": 0} for row in other["metrics"]["marks"]
    ]


def test_killed_with_everything_it_goes_on_where_it_was_to_the_same_numbers(project):
    """Once, since a training that is stopped at every batch is tested without the workflow."""
    interrupted(project, "killed")
    names = {path.name for path in (project / "killed" / "demo").rglob("*") if path.is_file()}
    assert not names & {"record.json", "curve.csv", "small_table.csv"}
    locked = snakemake(project, "small_table", *options("killed"))
    assert locked.returncode != 0 and "lock" in locked.stdout.lower()
    # What make, compare and reproduce do before they start Snakemake.
    unlock = [sys.executable, "-m", "shallows_papers.experiments.running.snakemake_process"]
    assert subprocess.run(unlock, cwd=project, env=environment(project)).returncode == 0
    assert not list(project.glob(".snakemake/locks/*"))
    records = []
    for results in ("killed", "calm"):
        done = snakemake(project, "small_table", *options(results))
        assert done.returncode == 0, done.stdout
        records.append(the_record(project / results))
    resumed, calm = records
    assert resumed["resumes"] == 1 and calm["resumes"] == 0
    assert_same_numbers(resumed, calm)


def test_after_sigterm_to_the_command_its_snakemake_and_the_training_have_ended_and_the_folder_is_unlocked(project):
    settings = project / "config" / "config.yaml"
    given = yaml.safe_load(settings.read_text()) | {
        "results": "ended",
        "checkpoint_seconds": 0.2,
        "configuration": ".test/config",
    }
    settings.write_text(yaml.safe_dump(given))
    words = [sys.executable, "-m", "shallows_papers.experiments.watching", "--cores", "1", "small_table"]
    process = begun(words, project, "ended")
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) >= 2
    process.terminate()
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert not [one for one in family if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    assert not list(project.glob(".snakemake/locks/*"))
    assert not list((project / "ended").rglob("runs/**/record.json")), "it ended before it could be interrupted"
