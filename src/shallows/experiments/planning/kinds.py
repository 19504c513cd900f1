"""What a target's metrics and claims must agree with beyond their schema: names that exist, one criterion a claim.

Read whenever the workflow is parsed, so it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shallows.errors import UnknownNameError

from .configuration import ConfigurationError

#: What needs a number beside it.
_NEEDS = {"at": "at", "share_under": "level", "first_under": "level"}
_CRITERIA = ("at_most", "at_least", "between", "tolerance")


def marks(asked: Mapping[str, Any]) -> tuple[int, ...]:
    """The marks of a group of runs: a list of them, or a range with both ends."""
    given = asked.get("marks", ())
    if isinstance(given, Mapping):
        return tuple(range(given.get("from", 1), given["to"] + 1, given.get("step", 1)))
    return tuple(given)


def variants(data: Mapping[str, Any]) -> list[str]:
    """The variants of a dataset that a target takes: one, or several, whose runs are repetitions as seeds are."""
    given = data["variant"]
    return [given] if isinstance(given, str) else list(given)


def check(target: str, spec: Mapping[str, Any]) -> None:
    """Check the metrics and claims of a target.

    Raises
    ------
    UnknownNameError
        A method or axis that the target does not have.
    ConfigurationError
        A claim without a criterion, or a reduction without its number.
    """
    for name, metric in spec["metrics"].items():
        where = f"target {target}, metric {name}"
        if name in spec.get("claims", {}):
            raise ConfigurationError(f"The name {name!r} is both a metric and a claim (target {target}).")
        for level in (metric.get("reached", {}).get(side) for side in ("at_most", "at_least")):
            _check_reference(level, spec, where)
        if "reached" in metric and not {"at_most", "at_least"} & set(metric["reached"]):
            raise ConfigurationError(f"What is reached needs a level, at_most or at_least ({where}).")
    for name, claim in spec.get("claims", {}).items():
        where = f"target {target}, claim {name}"
        if not any(one in claim for one in _CRITERIA):
            raise ConfigurationError(f"The claim needs a criterion, one of {', '.join(_CRITERIA)} ({where}).")
        needed = _NEEDS.get(claim.get("reduce", ""))
        if needed and needed not in claim:
            raise ConfigurationError(f"The reduction {claim['reduce']!r} needs {needed!r} ({where}).")
        _check_reference(claim.get("of"), spec, where)
        _check_reference(claim.get("over"), spec, where)
        for axis in (*claim.get("by", ()), *claim.get("comparable", ())):
            _check_axis(axis, spec, where)


def printed_targets(spec: Mapping[str, Any]) -> list[str]:
    """The targets whose printed values are levels of the metrics of a target."""
    sides = [
        metric.get("reached", {}).get(side) for metric in spec["metrics"].values() for side in ("at_most", "at_least")
    ]
    return list(dict.fromkeys(level["printed"] for level in sides if isinstance(level, Mapping) and "printed" in level))


def _check_reference(reference: Any, spec: Mapping[str, Any], where: str) -> None:
    if not isinstance(reference, Mapping):
        return
    for key, wanted in reference.items():
        if key in ("metric", "printed"):
            continue
        _check_axis(key, spec, where)
        if key == "method":
            for word in wanted if isinstance(wanted, list) else [wanted]:
                if word not in spec["methods"]:
                    raise _placed("method", word, spec["methods"], where)


def _check_axis(axis: str, spec: Mapping[str, Any], where: str) -> None:
    known = ("data", "method", *spec["settings"])
    if axis not in known:
        raise _placed("setting", axis, known, where)


def _placed(kind: str, name: Any, known: Any, where: str) -> UnknownNameError:
    error = UnknownNameError(kind, name, known)
    error.args = (f"{error} ({where})",)
    return error
