"""Loads the class or function that a method's entry names; computes checksums of models and arrays."""

from __future__ import annotations

import hashlib
import inspect
import pkgutil
from collections.abc import Mapping
from typing import Any

import numpy as np

from shallows.errors import DivergenceError, ShallowsError

#: The phases of a run whose seconds a record has, and what an estimator calls them.
PHASES = {
    **{name: name for name in ("preparation", "eigensystem", "kernel_matrix", "training")},
    "prediction": "evaluation",
}


def callable_for(call: Mapping[str, str], task: str) -> Any:
    """The class or function that a method calls for a task, by its mapping from tasks, or ``"any"``."""
    place = call.get(task) or call.get("any")
    if place is None:
        raise ShallowsError(f"This method is not for {task}.")
    return pkgutil.resolve_name(place)


def accepted(function: Any, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the offered keyword arguments that a function or class takes."""
    known = inspect.signature(function).parameters
    takes_any = any(one.kind is one.VAR_KEYWORD for one in known.values())
    return {name: value for name, value in offered.items() if takes_any or name in known}


def sha256_of(values: Any) -> str | None:
    """Checksum of the content of an array or a sparse matrix; None for None."""
    if values is None:
        return None
    values = values.toarray() if hasattr(values, "toarray") else values
    return hashlib.sha256(np.ascontiguousarray(np.asarray(values)).tobytes()).hexdigest()


def seconds_by_phase(timings: Mapping[str, float]) -> dict[str, float]:
    """Seconds of each phase, 0 of one that was not timed."""
    return {phase: timings.get(name, 0.0) for phase, name in PHASES.items()}


def diverged(error: DivergenceError) -> dict[str, Any]:
    """The parts of the record of a run whose training diverged, with the rows of its curve up to there, if any."""
    return {
        "rows": getattr(error, "rows", []),
        "seconds_before": 0.0,
        "effective": {},
        "metrics": {"final": {}, "marks": []},
        "model": {"sha256": None},
        "times": seconds_by_phase({}),
        "resumes": 0,
        "rollbacks": 0,
        "diverged": str(error),
    }


def model_sha256(estimator: Any) -> str | None:
    """Checksum of an estimator's coefficients; None where it has none."""
    return sha256_of(getattr(estimator, "dual_coef_", getattr(estimator, "coef_", None)))
