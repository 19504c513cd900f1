"""A run of kind "plain": any estimator of scikit-learn's kind is fitted completely and measured once."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shallows.training import Checkpoint, Observer, Progress

from . import measures
from .batch_system import stopping_by_signal
from .calls import callable_for, keeps_checkpoints, make_estimator, model_sha256, seconds_by_phase
from .job import Conditions, Job, name_of
from .kept_outputs import KeptOutputs
from .status import Status


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
