"""Which metrics of a target depend on how fast a machine is, so that two machines need not agree on them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

#: Of a metric's or a claim's name or label: it is a time, or made of times.
_WORDS = re.compile(r"(?<![a-z])(seconds|minutes|hours|times?|overhead)(?![a-z])", re.IGNORECASE)


def read(root: str | Path) -> dict[str, list[str]]:
    """Metrics that ``config/reference.yaml`` names, by target, since neither name nor label says that they are times.

    There are none where there is no such file.
    """
    path = Path(root) / "config" / "reference.yaml"
    if not path.exists():
        return {}
    return yaml.safe_load(path.read_text(encoding="utf-8"))["of_the_machine"]


def of_target(spec: Mapping[str, Any], named: Iterable[str] = ()) -> list[str]:
    """Metrics and claims of a target that are times, or ratios or powers of times.

    Parameters
    ----------
    spec : mapping
        The target's entry.
    named : iterable of str
        Those that `read` gives for it.
    """
    defined = {**spec["metrics"], **spec.get("claims", {})}
    timed = {name for name, one in defined.items() if _is_time(name) or _is_time(one["label"])} | set(named)
    return [name for name, one in defined.items() if name in timed or _made_of(one, timed)]


def _made_of(definition: Mapping[str, Any], timed: set[str]) -> bool:
    """Whether a claim is about a metric that is a time."""
    metric = definition.get("metric", "")
    return metric in timed or _is_time(metric)


def _is_time(text: str) -> bool:
    return bool(_WORDS.search(text.replace("_", " ")))
