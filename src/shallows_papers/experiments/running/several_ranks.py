"""A run that several MPI processes train together: start them and read their result from a file.

Run as a program, ``python -m ...several_ranks TASK``, this module is one of these processes. Rank 0 prints, keeps the
checkpoints and writes the result.
"""

import contextlib
import importlib.util
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shallows import arrays
from shallows.distributed.mpi import Mpi
from shallows.errors import DivergenceError, MissingExtraError, ShallowsError, TrainingInterrupted
from shallows.utils.atomic import write_json
from shallows_papers import datasets

from . import record, training_run
from .batch_system import at_sigterm
from .calls import diverged
from .job import Conditions, Job
from .record import plain

#: Files in the folder of a run: the parameters of its processes, and their result.
TASK, OUTCOME = "ranks-task.json", "ranks-outcome.json"
#: What the starting process writes to its first process; the end of the input asks the processes to stop.
BEGIN = "begin\n"


def train(job: Job, data: Any, conditions: Conditions, folder: Path, key: str) -> dict[str, Any]:
    """Train an estimator like `training_run.train`, with ``conditions.ranks`` processes.

    They continue from the checkpoint of any number of processes. Apart from rounding, the result is the same as with
    one process.
    """
    command = [*starter(conditions.launcher), "-n", str(conditions.ranks)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / OUTCOME).unlink(missing_ok=True)
    write_json(folder / TASK, task_of(job, conditions, folder, key))
    process = subprocess.Popen(
        [*command, sys.executable, "-m", f"{__package__}.several_ranks", str(folder / TASK)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    # The first process saves the state when its input ends; the MPI starter would end it at once.
    with _terminated_after(process), at_sigterm(lambda *_: process.stdin.close()):
        with suppress(BrokenPipeError):  # it has ended already, and its output gives the reason
            process.stdin.write(BEGIN)
            process.stdin.flush()
        for line in process.stdout:
            print(line, end="", file=sys.stderr, flush=True)
        status = process.wait()
    (folder / TASK).unlink(missing_ok=True)
    return outcome(folder / OUTCOME, f"{' '.join(command)} ended with status {status}")


def starter(launcher: str | None) -> list[str]:
    """Return the command that starts MPI programs, as a list of words: the batch system's, or ``mpiexec``."""
    if importlib.util.find_spec("mpi4py") is None:
        raise MissingExtraError("cluster", "A training by several processes (the setting 'ranks')")
    words = shlex.split(launcher or "mpiexec")
    beside = shutil.which(words[0], path=str(Path(sys.executable).parent))
    found = beside or shutil.which(words[0])
    if found is None:
        raise ShallowsError(
            f"There is no {words[0]} to start several processes with (the setting 'ranks'). Load the MPI of your "
            "system, install one (pip install mpich), or name its starter with the setting 'launcher'."
        )
    return [found, *words[1:]]


def task_of(job: Job, conditions: Conditions, folder: Path, key: str) -> dict[str, Any]:
    """Return the parameters of the processes: the run, its paths and its conditions."""
    return plain(
        {
            "spec": job.spec,
            "prepared": job.prepared,
            "preconditioner": job.preconditioner,
            "conditions": {name: getattr(conditions, name) for name in ("device", "memory", "checkpoint_seconds")},
            "folder": folder,
            "key": key,
        }
    )


def outcome(path: Path, ended: str) -> dict[str, Any]:
    """Read the result of the processes; `ended` says how they ended, for the error if there is no result."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ShallowsError(
            f"The processes that train together failed: {ended}. Their output is above; the last checkpoint is "
            "unchanged."
        ) from None
    path.unlink()
    if "stopped" in found:
        raise TrainingInterrupted(found["stopped"])
    if "failed" in found:
        raise ShallowsError(found["failed"])
    return found


@contextmanager
def _terminated_after(process: subprocess.Popen[str]) -> Iterator[None]:
    try:
        yield
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()


def main(place: str) -> int:
    """Do the task in a file and write the result to its folder; return 0, also for a stopped or failed training."""
    task = json.loads(Path(place).read_text(encoding="utf-8"))
    folder = Path(task["folder"])
    with Mpi() as ranks, contextlib.ExitStack() as stack:
        if ranks.rank == 0:
            threading.Thread(target=_stop_when_asked, daemon=True).start()
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            quiet = stack.enter_context(open(os.devnull, "w"))
            stack.enter_context(contextlib.redirect_stdout(quiet))
            stack.enter_context(contextlib.redirect_stderr(quiet))
        record.reset_peak_memory()
        try:
            with ranks.ending_together():
                found = _train(task, folder, ranks)
        except TrainingInterrupted as error:
            found = {"stopped": str(error)}
        except DivergenceError as error:
            found = diverged(error)
        except ShallowsError as error:
            found = {"failed": str(error)}
        else:
            found["effective"]["ranks"] = ranks.size
            found["peak_memory_bytes"] = ranks.total(arrays.peak_memory())
        if ranks.rank == 0:
            write_json(folder / OUTCOME, record.plain(found))
    return 0


def _train(task: dict[str, Any], folder: Path, ranks: Mpi) -> dict[str, Any]:
    prepared = Path(task["prepared"])
    preconditioner = Path(task["preconditioner"]) if task["preconditioner"] else None
    job = Job(task["spec"], prepared, out=folder, checkpoints=folder.parent, preconditioner=preconditioner)
    data, conditions = datasets.load(prepared), Conditions(**task["conditions"])
    return training_run.train(job, data, conditions, folder, task["key"], ranks)


def _stop_when_asked() -> None:
    """Save the state and stop once the process that started this one has closed its end of the input or has ended."""
    if sys.stdin.readline() == BEGIN:
        sys.stdin.read()
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
