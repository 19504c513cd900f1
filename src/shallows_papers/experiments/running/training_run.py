"""Runs that fit an estimator: of kind "estimator", measured at each mark, and of kind "plain", measured once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shallows.errors import DivergenceError, ShallowsError
from shallows.ranks import ALONE, Alone
from shallows.training import Checkpoint, Curve, Observer, Progress

from ..parameters import by_last_name
from . import measures
from .batch_system import stopping_by_signal
from .calls import callable_for, keeps_checkpoints, make_estimator, model_sha256, path_of, seconds_by_phase
from .job import Conditions, Job, name_of
from .measures import KeptOutputs
from .status import Status

#: The longest preparation of a fit whose marks are seconds of training.
PREPARATION_SECONDS = 3600.0

#: The columns of a curve that are not metrics.
_PLACE = ("epoch", "iteration", "seconds")


def train(job: Job, data: Any, conditions: Conditions, folder: Path, key: str, ranks: Alone = ALONE) -> dict[str, Any]:
    """Train an estimator until its last mark.

    The checkpoints of this run are in ``folder``; one with another key is an error. Returns the parts of the record
    that this kind of run knows, the ``rows`` of its curve, and its ``outputs``. ``ranks``: the processes that train
    together.
    """
    spec, definition = job.spec, job.spec["definition"]
    if not spec["marks"]:
        raise ShallowsError("A method that is trained needs marks: the epochs after which it is evaluated.")
    unit = definition.get("marks", "epoch")
    make = callable_for(definition["call"], data.info["task"])
    own = {"random_state": spec["seed"], "device": conditions.device, "memory": conditions.memory}
    estimator = make_estimator(make, spec["parameters"], **own)
    further = _until_last_mark(unit, spec["marks"], estimator, spec["parameters"], data.x_train.shape[0])
    if job.preconditioner is not None:
        further["preconditioner"] = job.preconditioner
    for name, value in further.items():
        path = path_of(estimator, name)
        if path not in spec["parameters"]:
            estimator.set_params(**{path: value})
    measure = measures.make(definition.get("measures") or measures.default_for(estimator), data)
    outputs = KeptOutputs(measure)

    def evaluate(snapshot: Any) -> dict[str, float]:
        values = measure.of_snapshot(snapshot)
        outputs.keep(snapshot)
        return values

    curve = Curve(spec["marks"], evaluate, unit)
    checkpoint = Checkpoint(folder, key, conditions.checkpoint_seconds)
    n_epochs = max(spec["marks"]) if unit == "epoch" else None

    def metrics_of(row: Mapping[str, float]) -> dict[str, float]:
        return {name: value for name, value in row.items() if name not in _PLACE}

    def rows_of(values_of: Callable[[Mapping[str, float]], dict[str, float]]) -> Iterator[dict[str, Any]]:
        for budget, row in _with_budgets(curve.rows, spec["marks"], unit):
            place = {**budget, **{name: row[name] for name in _PLACE}}
            for metric, value in values_of(row).items():
                yield {**place, "metric": metric, "value": value}

    with stopping_by_signal(checkpoint), Status(folder, name_of(spec), n_epochs) as status:
        observers: list[Observer] = [curve, Progress(name_of(spec), n_epochs), status]
        if unit == "seconds":
            observers.append(LastSecond(max(spec["marks"])))
        try:
            several = {} if ranks is ALONE else {"ranks": ranks}
            estimator.fit(*measure.training_arrays(), observers=observers, checkpoint=checkpoint, **several)
        except DivergenceError as error:
            error.rows = list(rows_of(metrics_of))
            raise
    if not curve.rows:
        raise ShallowsError("Training ended before the first mark.")

    rows = list(rows_of(metrics_of))
    rows += rows_of(lambda row: measure.at_iteration(estimator, row["iteration"]))
    rows += [{"metric": name, "value": value} for name, value in measure.of_training(estimator).items()]
    report = dict(estimator.report_)
    timings = report.pop("timings")
    return {
        "rows": rows,
        "outputs": outputs.arrays(estimator),
        "seconds_before": 0.0,
        "effective": report,
        "metrics": {"final": metrics_of(curve.rows[-1]), "marks": curve.rows},
        "model": {"sha256": model_sha256(estimator)},
        "times": seconds_by_phase(timings),
        "resumes": estimator.n_resumes_,
        "rollbacks": estimator.n_rollbacks_,
    }


def _until_last_mark(
    unit: str, marks: Sequence[float], estimator: Any, parameters: Mapping[str, Any], n: int
) -> dict[str, Any]:
    """Return the parameters that train an estimator until its last mark, by the last part of their paths."""
    until: dict[str, Any] = {"max_epochs": max(marks)}
    if unit == "seconds":
        # LastSecond ends the training. The limit of the fit also counts its preparation, which no mark does.
        until = {"max_epochs": 10**6, "max_seconds": PREPARATION_SECONDS + max(marks)}
    elif unit == "iteration" and (
        "n_iter" in estimator.get_params(deep=False) or path_of(estimator, "n_iter") != "n_iter"
    ):
        until = {"n_iter": max(marks)}
    elif unit == "iteration":
        size = by_last_name(parameters).get("batch_size")
        if not size:
            raise ShallowsError("Marks in iterations need a batch_size, to count the iterations of an epoch.")
        until = {"max_epochs": math.ceil(max(marks) / math.ceil(n / size))}
    return until


def _with_budgets(
    rows: Sequence[dict[str, float]], marks: Sequence[float], unit: str
) -> Iterator[tuple[dict[str, float], dict[str, float]]]:
    """Yield the rows of a curve, each with its budget of seconds if marks are budgets."""
    if unit != "seconds":
        yield from (({}, row) for row in rows)
        return
    for mark in sorted(marks):
        row = next((row for row in rows if row["seconds"] >= mark), None)
        if row is not None:
            yield {"budget": mark}, row


class LastSecond(Observer):
    """Ends a training after some seconds without preparation and evaluation, as soon as there is a model."""

    def __init__(self, seconds: float):
        self.seconds = seconds

    def on_batch(self, run: Any) -> None:
        """See `shallows.training.Observer`."""
        if run.seconds >= self.seconds and getattr(run.state, "has_model", True):
            run.stopped_by = "max_seconds"


class AtTheEnd(Observer):
    """Measures once, when training is over and the model still has its kernel matrix."""

    def __init__(self, evaluate: Callable[[Any], dict[str, float]], keep: Callable[[Any], None]):
        self.evaluate, self.keep = evaluate, keep
        self.values: dict[str, float] = {}

    def on_end(self, run: Any) -> None:
        """See `shallows.training.Observer`."""
        if run.stopped_by:
            snapshot = run.snapshot()
            self.values = self.evaluate(snapshot)
            self.keep(snapshot)


def fit_once(job: Job, data: Any, conditions: Conditions, folder: Path, key: str) -> dict[str, Any]:
    """Fit an estimator completely and measure it at the end, without marks.

    An estimator whose ``fit`` takes observers and a checkpoint is watched, saved and resumed like a training.
    Parameters and result are as in `training_run.train`.
    """
    spec, definition = job.spec, job.spec["definition"]
    make = callable_for(definition["call"], data.info["task"])
    own = {"random_state": spec["seed"], "device": conditions.device, "memory": conditions.memory}
    estimator = make_estimator(make, spec["parameters"], **own)
    measure = measures.make(definition.get("measures") or measures.default_for(estimator), data)
    outputs = KeptOutputs(measure)
    x, y = measure.training_arrays()
    clock = time.perf_counter()
    if keeps_checkpoints(estimator):
        end = AtTheEnd(measure.of_snapshot, outputs.keep)
        checkpoint = Checkpoint(folder, key, conditions.checkpoint_seconds)
        with stopping_by_signal(checkpoint), Status(folder, name_of(spec)) as status:
            estimator.fit(x, y, observers=[end, Progress(name_of(spec)), status], checkpoint=checkpoint)
        values, fitted, predicted = end.values, time.perf_counter() - clock, 0.0
    else:
        estimator.fit(np.asarray(x), np.asarray(y))
        fitted, clock = time.perf_counter() - clock, time.perf_counter()
        values = measure.of_estimator(estimator)
        predicted = time.perf_counter() - clock
    report = dict(getattr(estimator, "report_", {}))
    timings = report.pop("timings", {})
    if measure.times_fit:
        values["fit_seconds"] = fitted
    return {
        "rows": [{"metric": metric, "value": value} for metric, value in values.items()],
        "outputs": outputs.arrays(estimator),
        "seconds_before": 0.0,
        "effective": {"device": "cpu", **report},
        "metrics": {"final": values, "marks": []},
        "model": {"sha256": model_sha256(estimator)},
        "times": seconds_by_phase({"training": fitted, "evaluation": predicted, **timings}),
        "resumes": getattr(estimator, "n_resumes_", 0),
        "rollbacks": getattr(estimator, "n_rollbacks_", 0),
    }
