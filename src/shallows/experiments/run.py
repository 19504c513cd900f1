"""One run: prepared data in, a record and a curve out; killed and started again, it goes on where it was."""

from __future__ import annotations

import hashlib
import importlib
import signal
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from shallows import datasets
from shallows.errors import ShallowsError, TrainingInterrupted
from shallows.training import Checkpoint, Curve, Progress

from . import code, record
from .metrics import METRICS
from .runs import digest


@dataclass(frozen=True)
class Conditions:
    """How runs are done, which must not change what they find.

    Attributes
    ----------
    device : str
        ``"auto"``, ``"cpu"`` or ``"gpu"``.
    memory : int, str or None
        Budget of one run; None for a share of what is free.
    checkpoint_seconds : float
        How often a training saves its state.
    """

    device: str = "auto"
    memory: int | str | None = None
    checkpoint_seconds: float = 60.0

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Conditions:
        """From the contents of ``config.yaml``."""
        return cls(settings["device"], settings["memory"], settings["checkpoint_seconds"])


@dataclass(frozen=True)
class Job:
    """One run with its places.

    Attributes
    ----------
    asked : dict
        What `Run.asked` of the plan gives.
    prepared : Path
        Folder of the prepared arrays.
    out : Path
        Folder of ``record.json`` and ``curve.csv``.
    checkpoints : Path
        Folder for what a killed run leaves, shared by all runs.
    preconditioner : Path or None
        The artifact, where the method takes one.
    """

    asked: dict[str, Any]
    prepared: Path
    out: Path
    checkpoints: Path
    preconditioner: Path | None = None


def execute_all(jobs: Sequence[Job], conditions: Conditions) -> list[str]:
    """Do several runs in one process, each whatever becomes of the others.

    Returns
    -------
    list of str
        One sentence for each run that failed.

    Raises
    ------
    TrainingInterrupted
        When the process was asked to stop (SIGTERM); the state of the run at hand is saved.
    """
    failures = []
    for job in jobs:
        try:
            execute(job, conditions)
        except TrainingInterrupted:
            raise
        except ShallowsError as error:
            failures.append(f"{name_of(job.asked)}: {error}")
        except Exception as error:
            traceback.print_exc()
            failures.append(f"{name_of(job.asked)}: {type(error).__name__}: {error}")
    return failures


def execute(job: Job, conditions: Conditions) -> dict[str, Any]:
    """Do one run, or find it done, and leave its record and curve.

    Returns
    -------
    dict
        The record.
    """
    data = datasets.load(job.prepared)
    key = key_of(job.asked, data.info["sha256"])
    folder = job.checkpoints / f"{job.asked['id']}-{key}"
    finished = folder / "finished"
    if (finished / "record.json").exists():
        # Found again: what a batch had finished before another of its runs failed, or before its outputs were deleted.
        found, rows = record.read(finished)
        found["run"]["target_ids"] = job.asked["target_ids"]
        record.write(job.out, found, rows)
        print(f"{name_of(job.asked)}: found finished", flush=True)
        return found
    record.reset_peak_memory()
    started, clock = datetime.now(UTC), time.perf_counter()
    work = _fit if job.asked["definition"]["runs"] == "estimator" else _analyse
    found = work(job, data, conditions, folder, key)
    rows = found.pop("rows")
    seconds = time.perf_counter() - clock + found.pop("seconds_before")
    made = record.plain(
        {
            "schema_version": record.SCHEMA_VERSION,
            "run": {**{name: value for name, value in job.asked.items() if name != "definition"}, "key": key},
            "data": {
                name: data.info[name]
                for name in ("title", "n_train", "n_test", "n_features", "sha256", "licence", "steps")
            },
            **found,
            "times": {**found["times"], "total": seconds},
            "peak_memory_bytes": record.peak_memory(),
            **record.provenance(),
            "started": started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }
    )
    record.write(finished, made, rows)
    record.write(job.out, made, rows)
    final = ", ".join(f"{name} {value:.4g}" for name, value in made["metrics"]["final"].items())
    resumed = f", resumed {made['resumes']} times" if made["resumes"] else ""
    print(f"{name_of(job.asked)}: {final} ({seconds:.1f} s{resumed})", flush=True)
    return made


def key_of(asked: Mapping[str, Any], data_sha256: str) -> str:
    """Hash of all that a run's numbers depend on: parameters, marks, seed, data and code."""
    what = {name: value for name, value in asked.items() if name not in ("target_ids", "scale", "id", "definition")}
    return digest(what, asked["definition"]["call"], data_sha256, code.version_of("training"), length=16)


def name_of(asked: Mapping[str, Any]) -> str:
    """A run for people, on one line."""
    told = " ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in asked["parameters"].items()
        if value is not None
    )
    return f"{asked['method']} on {asked['dataset']} [{told} seed={asked['seed']}]"


# An estimator through its epochs -------------------------------------------------------------------------------------


def _fit(job: Job, data: Any, conditions: Conditions, folder: Path, key: str) -> dict[str, Any]:
    asked, task = job.asked, data.info["task"]
    if not asked["marks"]:
        raise ShallowsError("A method that is trained needs marks: the epochs after which it is evaluated.")
    parameters = dict(asked["parameters"])
    if job.preconditioner is not None:
        parameters["preconditioner"] = job.preconditioner
    estimator = _callable(asked["definition"]["call"], task)(
        **parameters,
        max_epochs=max(asked["marks"]),
        random_state=asked["seed"],
        device=conditions.device,
        memory=conditions.memory,
    )
    curve = Curve(asked["marks"], lambda snapshot: METRICS[task](snapshot, data))
    checkpoint = Checkpoint(folder, key, conditions.checkpoint_seconds)
    with stopping_by_signal(checkpoint):
        observers = [curve, Progress(name_of(asked), max(asked["marks"]))]
        estimator.fit(data.x_train, data.y_train, observers=observers, checkpoint=checkpoint)
    if not curve.rows:
        raise ShallowsError("Training ended before the first mark.")

    fixed = ("epoch", "iteration", "seconds")
    rows = [
        {**{name: row[name] for name in fixed}, "metric": metric, "value": value}
        for row in curve.rows
        for metric, value in row.items()
        if metric not in fixed
    ]
    before = _seconds_of(job.preconditioner)
    timings = estimator.timings_
    return {
        "rows": rows,
        "seconds_before": before,
        "effective": estimator.effective_params_,
        "metrics": {
            "final": {name: value for name, value in curve.rows[-1].items() if name not in fixed},
            "marks": curve.rows,
        },
        "model": {"sha256": _sha256(getattr(estimator, "dual_coef_", None))},
        "times": {
            "preparation": timings.get("preparation", 0.0),
            "eigensystem": timings.get("eigensystem", 0.0) + before,
            "kernel_matrix": timings.get("kernel_matrix", 0.0),
            "training": timings.get("training", 0.0),
            "prediction": timings.get("evaluation", 0.0),
        },
        "resumes": estimator.n_resumes_,
        "rollbacks": estimator.n_rollbacks_,
    }


def _seconds_of(preconditioner: Path | None) -> float:
    if preconditioner is None:
        return 0.0
    from shallows.spectrum import load_preconditioner

    return load_preconditioner(preconditioner).seconds


@contextmanager
def stopping_by_signal(checkpoint: Checkpoint) -> Iterator[None]:
    """On SIGTERM, as batch systems send it before their time limit, save the state after the batch at hand and stop."""
    try:
        before = signal.signal(signal.SIGTERM, checkpoint.request_stop)
    except ValueError:  # not the main thread, which alone may do this
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# An analysis of the data ---------------------------------------------------------------------------------------------


def _analyse(job: Job, data: Any, conditions: Conditions, folder: Path, key: str) -> dict[str, Any]:
    """One function, of the training features or of all the data, that gives a curve over an index of its own."""
    asked, definition = job.asked, job.asked["definition"]
    clock = time.perf_counter()
    found = _callable(definition["call"], data.info["task"])(
        data if definition.get("takes") == "data" else data.x_train,
        **asked["parameters"],
        random_state=asked["seed"],
        device=conditions.device,
        memory=conditions.memory,
    )
    seconds = time.perf_counter() - clock
    curve = {metric: np.asarray(values, dtype=np.float64) for metric, values in found.curve.items()}
    rows = [
        {definition["index"]: int(place), "metric": metric, "value": float(value)}
        for metric, values in curve.items()
        for place, value in zip(found.index, values, strict=True)
    ]
    marks = [
        {definition["index"]: int(place), **{metric: float(values[at]) for metric, values in curve.items()}}
        for at, place in enumerate(found.index)
        if place in asked["marks"]
    ]
    final = {f"{which}_{metric}": float(values[at]) for metric, values in curve.items() for which, at in ENDS.items()}
    return {
        "rows": rows,
        "seconds_before": 0.0,
        "effective": {"n_values": len(found.index), **found.effective},
        "metrics": {"final": final, "marks": marks},
        "model": {"sha256": _sha256(np.stack(list(curve.values())))},
        "times": {"preparation": 0.0, "eigensystem": seconds, "kernel_matrix": 0.0, "training": 0.0, "prediction": 0.0},
        "resumes": 0,
        "rollbacks": 0,
    }


ENDS = {"first": 0, "last": -1}


# Shared --------------------------------------------------------------------------------------------------------------


def _callable(call: Mapping[str, str], task: str) -> Any:
    place = call.get(task) or call.get("any")
    if place is None:
        raise ShallowsError(f"This method has nothing to offer for {task}.")
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def _sha256(values: Any) -> str | None:
    if values is None:
        return None
    return hashlib.sha256(np.ascontiguousarray(np.asarray(values)).tobytes()).hexdigest()


def make_preconditioner(asked: Mapping[str, Any], prepared: Path, out: Path, conditions: Conditions) -> None:
    """Make a preconditioner as an artifact of its own."""
    from shallows import spectrum

    data = datasets.load(prepared)
    made = spectrum.fit_preconditioner(
        data.x_train,
        **asked["parameters"],
        random_state=asked["seed"],
        device=conditions.device,
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    made.save(out)
    print(f"preconditioner {out.stem}: {made.seconds:.1f} s", flush=True)
