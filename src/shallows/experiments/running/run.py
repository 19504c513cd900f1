"""One run: prepared data in, a record and a curve out; killed and started again, it goes on where it was."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import math
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from shallows import datasets
from shallows.errors import ShallowsError, TrainingInterrupted
from shallows.training import Checkpoint, Curve, Observer, Progress

from ..planning.runs import digest
from . import code, record
from .metrics import METRICS, OF_PREDICTIONS, Sampled


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
    found = WAYS[job.asked["definition"]["runs"]](job, data, conditions, folder, key)
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
    final = ", ".join(f"{name} {float(value):.4g}" for name, value in made["metrics"]["final"].items())
    resumed = f", resumed {made['resumes']} times" if made["resumes"] else ""
    print(f"{name_of(job.asked)}: {final} ({seconds:.1f} s{resumed})", flush=True)
    return made


def key_of(asked: Mapping[str, Any], data_sha256: str) -> str:
    """Hash of all that a run's numbers depend on: parameters, marks, seed, data and code."""
    what = {name: value for name, value in asked.items() if name not in ("target_ids", "scale", "id", "definition")}
    definition = asked["definition"]
    call, looked_at = (
        definition["call"],
        {name: definition[name] for name in ("marks", "measures") if name in definition},
    )
    parts = (what, call, data_sha256, code.version_of_runs(call.values()))
    return digest(*parts, *([looked_at] if looked_at else []), length=16)


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
    definition, unit = asked["definition"], asked["definition"].get("marks", "epoch")
    make = _callable(definition["call"], task)
    estimator = make(
        **_until(unit, asked["marks"], parameters, make, data.x_train.shape[0]),
        random_state=asked["seed"],
        device=conditions.device,
        memory=conditions.memory,
    )
    if definition.get("measures") == "sampled":
        evaluate = Sampled(data, task)
    else:

        def evaluate(snapshot: Any) -> dict[str, float]:
            return METRICS[task](snapshot, data)

    curve = Curve(asked["marks"], evaluate, unit)
    checkpoint = Checkpoint(folder, key, conditions.checkpoint_seconds)
    with stopping_by_signal(checkpoint):
        observers = [curve, Progress(name_of(asked), max(asked["marks"]) if unit == "epoch" else None)]
        estimator.fit(data.x_train, data.y_train, observers=observers, checkpoint=checkpoint)
    if not curve.rows:
        raise ShallowsError("Training ended before the first mark.")

    fixed = ("epoch", "iteration", "seconds")
    rows = [
        {**place, **{name: row[name] for name in fixed}, "metric": metric, "value": value}
        for place, row in _placed(curve.rows, asked["marks"], unit)
        for metric, value in row.items()
        if metric not in fixed
    ]
    if definition.get("measures") == "sampled":
        chosen = estimator.effective_params_
        if chosen.get("batch_size"):
            rows += [
                {**place, **{name: row[name] for name in fixed}, "metric": "examples", "value": value}
                for place, row in _placed(curve.rows, asked["marks"], unit)
                for value in [row["iteration"] * chosen["batch_size"]]
            ]
        rows += [{"metric": name, "value": float(chosen[name])} for name in CHOSEN if chosen.get(name) is not None]
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
        "model": {"sha256": _sha256(getattr(estimator, "dual_coef_", getattr(estimator, "coef_", None)))},
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


#: What was chosen or estimated for a training that is looked at sample by sample, as numbers at no mark.
CHOSEN = ("batch_size", "block_size", "regularisation", "bandwidth", "step_size", "feature_variance", "gradient_rms")


def _until(
    unit: str, marks: Sequence[float], parameters: Mapping[str, Any], make: Callable[..., Any], n: int
) -> dict[str, Any]:
    """The parameters that let an estimator go as far as its last mark."""
    until: dict[str, Any] = {"max_epochs": max(marks)}
    if unit == "seconds":
        until = {"max_epochs": 10**6, "max_seconds": float(max(marks))}
    elif unit == "iteration" and "n_iter" in inspect.signature(make).parameters:
        until = {"n_iter": max(marks)}
    elif unit == "iteration":
        size = parameters.get("batch_size")
        if not size:
            raise ShallowsError("Marks in iterations need a batch_size, by which a pass over the data is counted.")
        until = {"max_epochs": math.ceil(max(marks) / math.ceil(n / size))}
    return {**until, **parameters}


def _placed(
    rows: Sequence[dict[str, float]], marks: Sequence[float], unit: str
) -> Iterator[tuple[dict[str, float], dict[str, float]]]:
    """Rows of a curve with the marks that they answer to, where these are not a column of theirs."""
    if unit != "seconds":
        yield from (({}, row) for row in rows)
        return
    for mark in sorted(marks):
        row = next((row for row in rows if row["seconds"] >= mark), None)
        if row is not None:
            yield {"budget": mark}, row


# Any other estimator, at once -----------------------------------------------------------------------------------------


class AtTheEnd(Observer):
    """Measures once, when training is over and the model still has its kernel matrix at hand.

    Parameters
    ----------
    evaluate : callable
        As for `shallows.training.Curve`.

    Attributes
    ----------
    values : dict of float
        The metrics; empty while training is not over.
    """

    def __init__(self, evaluate: Callable[[Any], dict[str, float]]):
        self.evaluate = evaluate
        self.values: dict[str, float] = {}

    def on_end(self, run: Any) -> None:
        """See `shallows.training.Observer`."""
        if run.stopped_by:
            self.values = self.evaluate(run.snapshot())


def _fit_at_once(job: Job, data: Any, conditions: Conditions, folder: Path, key: str) -> dict[str, Any]:
    """An estimator that is fitted to the end, and measured there: at no mark."""
    asked, task = job.asked, data.info["task"]
    make = _callable(asked["definition"]["call"], task)
    own = {"random_state": asked["seed"], "device": conditions.device, "memory": conditions.memory}
    known = inspect.signature(make).parameters
    estimator = make(**asked["parameters"], **{name: value for name, value in own.items() if name in known})
    looked_on = "checkpoint" in inspect.signature(estimator.fit).parameters
    clock = time.perf_counter()
    if looked_on:
        end = AtTheEnd(lambda snapshot: METRICS[task](snapshot, data))
        checkpoint = Checkpoint(folder, key, conditions.checkpoint_seconds)
        with stopping_by_signal(checkpoint):
            observers = [end, Progress(name_of(asked))]
            estimator.fit(data.x_train, data.y_train, observers=observers, checkpoint=checkpoint)
        values, fitted, predicted = end.values, time.perf_counter() - clock, 0.0
    else:
        estimator.fit(np.asarray(data.x_train), np.asarray(data.y_train))
        fitted, clock = time.perf_counter() - clock, time.perf_counter()
        if asked["definition"].get("measures") == "sampled":
            values = Sampled(data, task).of_predictions(estimator.predict)
        else:
            values = OF_PREDICTIONS[task](estimator.predict(np.asarray(data.x_test)), data)
        predicted = time.perf_counter() - clock
    timings = getattr(estimator, "timings_", {})
    if asked["definition"].get("measures") == "sampled":
        values["fit_seconds"] = fitted
    return {
        "rows": [{"metric": metric, "value": value} for metric, value in values.items()],
        "seconds_before": 0.0,
        "effective": {"device": "cpu", **getattr(estimator, "effective_params_", {})},
        "metrics": {"final": values, "marks": []},
        "model": {"sha256": _sha256(getattr(estimator, "dual_coef_", getattr(estimator, "coef_", None)))},
        "times": {
            "preparation": timings.get("preparation", 0.0),
            "eigensystem": timings.get("eigensystem", 0.0),
            "kernel_matrix": timings.get("kernel_matrix", 0.0),
            "training": timings.get("training", fitted),
            "prediction": timings.get("evaluation", predicted),
        },
        "resumes": getattr(estimator, "n_resumes_", 0),
        "rollbacks": getattr(estimator, "n_rollbacks_", 0),
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
    """One function, of the training features or of all the data: curves over an index of its own, single numbers."""
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
    index = [_place(one) for one in found.index]
    single = {metric: float(value) for metric, value in getattr(found, "numbers", {}).items()}
    rows = [
        {definition["index"]: place, "metric": metric, "value": float(value)}
        for metric, values in curve.items()
        for place, value in zip(index, values, strict=True)
        if value == value  # where a metric has no value it leaves no row
    ]
    rows += [{definition["index"]: "", "metric": metric, "value": value} for metric, value in single.items()]
    marks = [
        {definition["index"]: place, **{metric: float(values[at]) for metric, values in curve.items()}}
        for at, place in enumerate(index)
        if place in asked["marks"]
    ]
    final = {f"{which}_{metric}": float(values[at]) for metric, values in curve.items() for which, at in ENDS.items()}
    final |= single
    return {
        "rows": rows,
        "seconds_before": 0.0,
        "effective": {"n_values": len(found.index), **found.effective},
        "metrics": {"final": final, "marks": marks},
        "model": {"sha256": _sha256(np.concatenate([*curve.values(), np.array(list(single.values()))]))},
        "times": {"preparation": 0.0, "eigensystem": seconds, "kernel_matrix": 0.0, "training": 0.0, "prediction": 0.0},
        "resumes": 0,
        "rollbacks": 0,
    }


def _place(index: Any) -> int | float:
    """A place of a curve as it is written: whole numbers without a point."""
    number = float(index)
    return int(number) if number.is_integer() else number


ENDS = {"first": 0, "last": -1}

#: How a method is done, by what its entry says that it runs.
WAYS = {"estimator": _fit, "plain": _fit_at_once, "analysis": _analyse}


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
