"""The program of each process that trains a run together with others: ``python -m ...rank_program TASK``.

`several_ranks` starts it. The process of rank 0 prints, keeps the checkpoints and writes the result.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from shallows.distributed.mpi import Mpi
from shallows.errors import DivergenceError, ShallowsError, TrainingInterrupted
from shallows.utils.atomic import write_json
from shallows_papers import datasets

from . import record, several_ranks, training_run
from .calls import diverged
from .job import Conditions, Job


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
            found["peak_memory_bytes"] = ranks.total(record.peak_memory())
        if ranks.rank == 0:
            write_json(folder / several_ranks.OUTCOME, record.plain(found))
    return 0


def _train(task: dict[str, Any], folder: Path, ranks: Mpi) -> dict[str, Any]:
    prepared = Path(task["prepared"])
    preconditioner = Path(task["preconditioner"]) if task["preconditioner"] else None
    job = Job(task["spec"], prepared, out=folder, checkpoints=folder.parent, preconditioner=preconditioner)
    data, conditions = datasets.load(prepared), Conditions(**task["conditions"])
    return training_run.train(job, data, conditions, folder, task["key"], ranks)


def _stop_when_asked() -> None:
    """Save the state and stop once the process that started this one has closed its end of the input or has ended."""
    if sys.stdin.readline() == several_ranks.BEGIN:
        sys.stdin.read()
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
