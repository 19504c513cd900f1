"""Finished runs, which are kept beside the checkpoints: one that is asked for again is found there, not done again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from shallows.atomic import replacing, write_json

from .job import Job, data_digest, folder_of, key_of, name_of

#: Below the folder of a job.
FINISHED = "finished"


def is_there(folder: Path) -> bool:
    """Whether the run of a job's folder was finished before, with its data, its parameters and its code."""
    return (folder / FINISHED / "record.json").exists()


def to_copy(job: Job) -> Path | None:
    """The folder of a finished record and curve that can stand in the places of a job as they are.

    Returns
    -------
    Path or None
        None where the run is not finished, where its record names other targets than those of now, or where the data
        are not prepared yet.
    """
    try:
        folder = folder_of(job, key_of(job.spec, data_digest(job.prepared))) / FINISHED
        found = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return folder if found["run"]["target_ids"] == job.spec["target_ids"] else None


def bring(job: Job, folder: Path) -> dict[str, Any]:
    """Bring the record and the curve of a finished run to the places of its job, and return the record.

    The targets that it names are those of now: they may be others than when it was run.
    """
    found = json.loads((folder / FINISHED / "record.json").read_text(encoding="utf-8"))
    found["run"]["target_ids"] = job.spec["target_ids"]
    if job.out is not None:  # a run that is only done for later is delivered by a job of its own
        with replacing(job.out / "curve.csv") as partial:
            shutil.copyfile(folder / FINISHED / "curve.csv", partial)
        write_json(job.out / "record.json", found)
    print(f"{name_of(job.spec)}: found finished", flush=True)
    return found
