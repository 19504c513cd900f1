"""Metrics of a target that depend on the speed of a machine, on which two machines need not agree."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from shallows.experiments.planning.plan import Plan


def read(root: str | Path, target: str) -> list[str]:
    """Metrics, claims and curves that ``config/reference.yaml`` names for a target; none without that file."""
    path = Path(root) / "config" / "reference.yaml"
    if not path.exists():
        return []
    named = yaml.safe_load(path.read_text(encoding="utf-8"))["of_the_machine"]
    return [*named["times"], *named["targets"].get(target, ())]


def of_target(plan: Plan, target: str) -> list[str]:
    """Metrics and claims of a target that are named, and claims about what is named."""
    return among(plan.target(target), read(plan.configuration.root, target))


def among(spec: Mapping[str, Any], named: Collection[str]) -> list[str]:
    """Of the metrics and claims of a target's entry those that are named or are about what is named."""
    defined = {**spec["metrics"], **spec.get("claims", {})}
    return [name for name, one in defined.items() if name in named or one.get("metric") in named]
