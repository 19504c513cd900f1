"""The lock of a folder after its Snakemake was killed, and signals to the command that runs Snakemake.

A substitute for Snakemake locks the folder too, and has a job. `test_workflow_interrupted` runs Snakemake.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from shallows_papers.experiments import watching
from shallows_papers.experiments.running import snakemake_process
from workflow_runs import PROJECT

STAND_IN = """
import shutil, subprocess, sys, time
from pathlib import Path
from shallows_papers.experiments.running import snakemake_process

snakemake_process.register()
locks = Path(".snakemake/locks")
if list(locks.glob("*.lock")):
    sys.exit("LockException:\\nError: Directory cannot be locked. It can be removed with the --unlock argument.")
locks.mkdir(parents=True)
(locks / "0.output.lock").write_text("a\\n")
try:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "the job"]).wait()
finally:
    shutil.rmtree(locks)
"""

COMMAND = [sys.executable, "-m", "shallows_papers.experiments.watching"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "elsewhere" / "snakemake").mkdir(parents=True)
    (tmp_path / "elsewhere" / "snakemake" / "__init__.py").touch()
    (tmp_path / "elsewhere" / "snakemake" / "__main__.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "elsewhere"), str(PROJECT / "src")]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def started(words):
    """A process, once the substitute's job runs, and the processes that it has started."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    family = []
    while not any("the job" in one.cmdline() for one in family):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
        family = psutil.Process(process.pid).children(recursive=True)
    return process, family


def locks():
    return list(Path(".snakemake/locks").glob("*.lock"))


def running(processes):
    return [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_command_ends_snakemake_and_its_jobs_and_unlocks_the_folder(number, folder):
    process, family = started(COMMAND)
    process.send_signal(number)
    assert process.wait(timeout=60) == 128 + number
    assert not running(family) and not locks()


def test_where_the_command_is_killed_snakemake_and_its_jobs_end_and_the_next_one_takes_the_folder(folder):
    process, family = started(COMMAND)
    process.kill()
    process.wait()
    assert snakemake_process.remove_stale_lock() or not locks()
    assert psutil.wait_procs(family, timeout=30)[1] == []


def test_the_lock_of_a_snakemake_that_was_killed_is_taken_over_and_that_of_one_that_lives_is_not(folder, capfd):
    process, family = started([sys.executable, "-m", "snakemake"])
    try:
        assert not snakemake_process.remove_stale_lock()
        assert watching.watch([]) == 1
        said = capfd.readouterr()
        assert f"another run works in {folder} (process {process.pid}). Wait until it has ended" in said.err
        assert "unlock" not in said.out
    finally:
        process.kill()
        process.wait()
        for one in family:
            one.kill()
    assert locks()
    assert snakemake_process.remove_stale_lock() and not locks()


@pytest.mark.parametrize("record", ["elsewhere 1 0\n", "", "\0\0\0\0", None])
def test_a_lock_whose_process_is_not_known_stays_and_the_complete_command_is_named(record, folder, capfd):
    Path(".snakemake/locks").mkdir(parents=True)
    Path(".snakemake/locks/0.output.lock").write_text("a\n")
    if record is not None:
        Path(".snakemake/running").write_text(record)
    assert not snakemake_process.remove_stale_lock()
    assert watching.watch(["compare", "--config", "dataset=my data.csv"]) == 1
    said = capfd.readouterr().err
    assert f"cd {folder} && {sys.executable} -m snakemake --unlock compare --config 'dataset=my data.csv'" in said
    assert locks()
