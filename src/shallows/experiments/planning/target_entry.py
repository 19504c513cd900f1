"""A target's entry in the configuration: its evaluation points and variants, and what its schema cannot check.

Its metrics and claims must name what exists, and give functions the parameters that they have. A metric may be anything
that a run's curve or its single numbers hold; nothing here knows what methods measure. The module is read whenever the
workflow is parsed, so it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from shallows.errors import UnknownNameError

from ..claim_functions import ACROSS, ACROSS_CURVES, REDUCTIONS, check_call
from .configuration import ConfigurationError, placed

CRITERIA = ("at_most", "at_least", "between", "tolerance")


def marks(group: Mapping[str, Any]) -> tuple[int, ...]:
    """The evaluation points of a group of runs: a list of them, or a range with both ends."""
    given = group.get("marks", ())
    if isinstance(given, Mapping) and "seconds" in given:
        return tuple(given["seconds"])
    if isinstance(given, Mapping):
        return tuple(range(given.get("from", 1), given["to"] + 1, given.get("step", 1)))
    return tuple(given)


def unit(group: Mapping[str, Any]) -> str:
    """What the evaluation points of a group count in place of the method's own unit; empty where it is that."""
    return "seconds" if "seconds" in group.get("marks", ()) else ""


def variants(data: Mapping[str, Any]) -> list[str]:
    """The variants of a dataset that a target takes: one, or several, whose runs are repetitions as seeds are."""
    given = data["variant"]
    return [given] if isinstance(given, str) else list(given)


def check(target: str, spec: Mapping[str, Any]) -> None:
    """Check the metrics and claims of a target.

    Raises
    ------
    UnknownNameError
        A method, axis, function or parameter of a function that does not exist; it names the nearest.
    ConfigurationError
        A claim without exactly one criterion, a first passage without a level, or a name given twice.
    """
    for name, metric in spec["metrics"].items():
        with placed(f"target {target}, metric {name}"):
            if name in spec.get("claims", {}):
                raise ConfigurationError(f"The name {name!r} is both a metric and a claim.")
            if "first_passage" in metric and not list(_levels(metric)):
                raise ConfigurationError("A first passage needs a level, at_most or at_least.")
            for level in _levels(metric):
                _check_reference(level, spec)
    for name, claim in spec.get("claims", {}).items():
        with placed(f"target {target}, claim {name}"):
            if sum(one in claim for one in CRITERIA) != 1:
                raise ConfigurationError(f"The claim needs a criterion, one of {', '.join(CRITERIA)}.")
            ways = [key for key in ("at", "reduce") if key in claim]
            if claim.get("across") in ACROSS_CURVES:
                ways.append("across: " + claim["across"])
            elif "across" in claim:
                _known("function", claim["across"], {**ACROSS, **ACROSS_CURVES})
            if len(ways) > 1:
                raise ConfigurationError(f"Of {' and '.join(ways)} a claim has one: each makes the number by itself.")
            check_call(_known("function", claim.get("reduce", "last"), REDUCTIONS), claim.get("parameters", {}))
            _check_reference(claim.get("of"), spec)
            _check_reference(claim.get("over"), spec)
            for axis in (*claim.get("by", ()), *claim.get("comparable", ())):
                _known("setting", axis, ("data", "method", *spec["settings"]))


def printed_targets(spec: Mapping[str, Any]) -> list[str]:
    """The targets whose printed values are levels of the metrics of a target."""
    levels = [level for metric in spec["metrics"].values() for level in _levels(metric)]
    return list(
        dict.fromkeys(level["printed"] for level in levels if isinstance(level, Mapping) and "printed" in level)
    )


def _levels(metric: Mapping[str, Any]) -> Iterator[Any]:
    rule = metric.get("first_passage", {})
    return (rule[side] for side in ("at_most", "at_least") if side in rule)


def _check_reference(reference: Any, spec: Mapping[str, Any]) -> None:
    if not isinstance(reference, Mapping):
        return
    for key, wanted in reference.items():
        if key not in ("metric", "printed"):
            _known("setting", key, ("data", "method", *spec["settings"]))
        if key == "method":
            for word in wanted if isinstance(wanted, list) else [wanted]:
                _known("method", word, spec["methods"])


def _known(kind: str, name: Any, known: Iterable[str]) -> Any:
    if name not in known:
        raise UnknownNameError(kind, name, known)
    return known[name] if isinstance(known, Mapping) else name
