"""A run of kind "analysis": a function of the data returns curves over an index and single numbers."""

from __future__ import annotations

import inspect
import time
from pathlib import Path
from typing import Any

import numpy as np

from shallows.training import Checkpoint

from ...papers.resumable import ResumableLoop
from .batch_system import stopping_by_signal
from .calls import arguments, callable_for, seconds_by_phase, sha256_of
from .job import Conditions, Job, name_of
from .status import Status

#: Prefix of a metric -> the position on the curve from which it is taken.
ENDS = {"first": 0, "last": -1}


def analyse(job: Job, data: Any, conditions: Conditions, folder: Path, key: str) -> dict[str, Any]:
    """Call the function of an analysis on the training features or, if its method asks for it, on all the data.

    It gets the seed, the device and the memory if it has parameters ``random_state``, ``device`` and ``memory``. A
    function with a parameter ``progress`` gets a `ResumableLoop` for its work, which shows its progress and resumes
    after a kill. Parameters and result are as in `training_run.train`.
    """
    spec, definition = job.spec, job.spec["definition"]
    function = callable_for(definition["call"], data.info["task"])
    argument = data if definition.get("takes") == "data" else data.x_train
    own = {"random_state": spec["seed"], "device": conditions.device, "memory": conditions.memory}
    given = arguments(function, spec["parameters"], **own)
    n_resumes, before = 0, 0.0
    clock = time.perf_counter()
    if "progress" in inspect.signature(function).parameters:
        checkpoint = Checkpoint(folder, key, conditions.checkpoint_seconds)
        status = Status(folder, name_of(spec), prints=False)  # the loop prints its own lines
        with stopping_by_signal(checkpoint), status, ResumableLoop(name_of(spec), checkpoint) as progress:
            found = function(argument, **given, progress=progress)
        n_resumes, before = checkpoint.n_resumes, progress.seconds_before
    else:
        found = function(argument, **given)
    seconds = time.perf_counter() - clock
    curve = {metric: np.asarray(values, dtype=np.float64) for metric, values in found.curve.items()}
    index = [int(one) if float(one).is_integer() else float(one) for one in found.index]
    single = {metric: float(value) for metric, value in getattr(found, "numbers", {}).items()}
    rows = [
        {definition["index"]: place, "metric": metric, "value": float(value)}
        for metric, values in found.curve.items()
        for place, value in zip(index, values, strict=True)
        if value is not None  # None leaves no row; NaN is kept
    ]
    rows += [{definition["index"]: "", "metric": metric, "value": value} for metric, value in single.items()]
    marks = [
        {definition["index"]: place, **{metric: float(values[at]) for metric, values in curve.items()}}
        for at, place in enumerate(index)
        if place in spec["marks"]
    ]
    final = {f"{which}_{metric}": float(values[at]) for metric, values in curve.items() for which, at in ENDS.items()}
    final |= single
    return {
        "rows": rows,
        "seconds_before": before,
        "effective": {"n_values": len(found.index), **found.effective},
        "metrics": {"final": final, "marks": marks},
        "model": {"sha256": sha256_of(np.concatenate([*curve.values(), np.array(list(single.values()))]))},
        "times": seconds_by_phase({"eigensystem": seconds + before}),
        "resumes": n_resumes,
        "rollbacks": 0,
    }
