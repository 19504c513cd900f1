"""Estimates scaled to what finished runs of a method took: ``measured_costs.json``, by ``benchmarks/cost_model.py``.

A method's constants are those of its own runs; a method of which no run was measured has those of the methods that are
counted by the same function of `costs`. The time has two: seconds of the start, which libraries and what a function
does not count take whatever the size, and a factor of the work. The factor holds for as much work as was measured.
What goes beyond counts by the function alone: in short runs steps and starts weigh more than in long ones.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from .costs import OVERHEAD_SECONDS, Cost

PATH = Path(__file__).with_suffix(".json")


def scaled(cost: Cost, method: str, model: str) -> Cost:
    """An estimate by the function of `costs` called ``model``, corrected by the constants of its method."""
    work = max(0.0, cost.seconds - OVERHEAD_SECONDS)
    measured = min(work, _factor("most", method, model))
    seconds = _factor("seconds", method, model) * measured + work - measured
    memory = _factor("memory", method, model) * cost.memory_bytes
    return Cost(_factor("start", method, model, default=OVERHEAD_SECONDS) + seconds, int(memory))


def within() -> dict[str, float]:
    """Factors that nine of ten estimates were within, for settings that were not measured: ``seconds``, ``memory``."""
    return _measured()["within"]


def _factor(what: str, method: str, model: str, default: float = 1.0) -> float:
    factors = _measured()[what]
    return factors["methods"].get(method, factors["models"].get(model, default))


@cache
def _measured() -> dict[str, dict]:
    return json.loads(PATH.read_text(encoding="utf-8"))
