"""Load the class or function that a method's entry names; compute checksums of models and arrays."""

import dataclasses
import hashlib
import inspect
import pkgutil
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from shallows import kernels
from shallows.errors import DivergenceError, ShallowsError
from shallows.fitting.machine import Options
from shallows.utils.frozen import with_parameters

from ..parameters import divided

#: The phases of a run whose seconds are in a record, and their names in an estimator.
PHASES = {
    **{name: name for name in ("preparation", "eigensystem", "kernel_matrix", "training")},
    "prediction": "evaluation",
}


def callable_for(call: Mapping[str, str], task: str) -> Any:
    """Return the class or function that a method calls for a task, from its mapping of tasks or ``"any"``."""
    place = call.get(task) or call.get("any")
    if place is None:
        raise ShallowsError(f"This method is not for {task}.")
    return pkgutil.resolve_name(place)


def accepted(function: Any, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return the offered keyword arguments that a function or class takes."""
    known = inspect.signature(function).parameters
    takes_any = any(one.kind is one.VAR_KEYWORD for one in known.values())
    return {name: value for name, value in offered.items() if takes_any or name in known}


def make_estimator(make: Any, parameters: Mapping[str, Any], **own: Any) -> Any:
    """Make an estimator from the parameters of a run, by their paths, and from parameters in ``own`` that it has.

    An estimator of this package has the device and the memory among its options. A device that its solver cannot use
    is left out.
    """
    own = accepted(make, own) | _in_options(make, own)
    whole, inside = divided({**parameters, **own})
    estimator = make(**whole)
    paths = {f"{name}__{path}": value for name, given in inside.items() for path, value in given.items()}
    devices = getattr(_part(estimator, "solver"), "devices", None)
    if devices is not None and str(own.get("options__device")).partition(":")[0] not in ("auto", *devices):
        paths.pop("options__device", None)  # its solver runs on another device
    return estimator.set_params(**paths) if paths else estimator


def path_of(estimator: Any, name: str) -> str:
    """Return the path of a parameter that an estimator, its solver or its options have; the name if none has it."""
    if name in estimator.get_params(deep=False):
        return name
    return next((f"{part}__{name}" for part in ("solver", "options") if name in _fields(estimator, part)), name)


def keeps_checkpoints(estimator: Any) -> bool:
    """Whether a fit takes observers and a checkpoint; solvers without epochs may not."""
    takes = "checkpoint" in inspect.signature(estimator.fit).parameters
    return takes and getattr(_part(estimator, "solver"), "has_epochs", True)


def _part(estimator: Any, name: str) -> Any:
    """Return the object of a parameter, or its class if the parameter is a name; None without one."""
    value = getattr(estimator, "get_params", lambda **_: {})(deep=False).get(name, ...)
    if name == "options" and value is None:
        return Options()
    return getattr(estimator, "_named", {}).get(name, {}).get(value) if isinstance(value, str) else value


def _fields(estimator: Any, name: str) -> list[str]:
    """Return the parameters of the object that a parameter is or names."""
    part = _part(estimator, name)
    return [item.name for item in dataclasses.fields(part)] if dataclasses.is_dataclass(part) else []


def arguments(function: Any, parameters: Mapping[str, Any], **own: Any) -> dict[str, Any]:
    """Return the arguments of a function from parameters by their paths and from arguments in ``own`` that it takes.

    Objects are made from names: names of kernels are known, and a module has the tables of other objects in ``NAMED``,
    such as ``{"solver": SOLVERS}``.
    """
    tables = {"kernel": kernels.KERNELS, **getattr(sys.modules[function.__module__], "NAMED", {})}
    whole, inside = divided({**parameters, **accepted(function, own), **_in_options(function, own)})
    for name, given in inside.items():
        value = Options() if name == "options" else whole.get(name)
        value = value if value is not None else inspect.signature(function).parameters[name].default
        if isinstance(value, str):
            value = tables[name][value]()
        whole[name] = with_parameters(value, given)
    return whole


def _in_options(function: Any, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that belong to the options of a function or class, by paths."""
    if "options" not in inspect.signature(function).parameters:
        return {}
    return {f"options__{name}": own[name] for name in ("device", "memory") if name in own}


def sha256_of(values: Any) -> str | None:
    """Return the checksum of the content of an array or a sparse matrix; None for None."""
    if values is None:
        return None
    values = values.toarray() if hasattr(values, "toarray") else values
    return hashlib.sha256(np.ascontiguousarray(np.asarray(values)).tobytes()).hexdigest()


def seconds_by_phase(timings: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds of each phase; 0 if it was not timed."""
    return {phase: timings.get(name, 0.0) for phase, name in PHASES.items()}


def diverged(error: DivergenceError) -> dict[str, Any]:
    """Return the parts of the record of a run whose training diverged, with the rows of its curve, if any."""
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
    """Return the checksum of an estimator's coefficients; None without coefficients."""
    return sha256_of(getattr(estimator, "dual_coef_", getattr(estimator, "coef_", None)))
