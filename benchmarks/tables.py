"""The tables of `run.py`: medians with their targets, and every measurement."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

TARGETS = ("case", "what", "median", "min–max", "target", "met", "sgemm GFLOP/s meanwhile", "")
COLUMNS = {
    "seconds": "seconds",
    "fit_seconds": "fit s",
    "processor_seconds": "its processor s",
    "cold_seconds": "cold fit s",
    "cold_processor_seconds": "its processor s",
    "product_seconds": "bare product s",
    "build_seconds": "building the matrix s",
    "epoch_seconds": "later epoch s",
    "error_percent": "test error %",
    "peak_gb": "peak GB",
    "sgemm_gflops": "sgemm GFLOP/s",
}


def targets(cases: dict[str, Any], quick: bool) -> Iterable[list[str]]:
    """Rows of medians with their targets; a quick check says nothing of the targets."""
    for case, found in cases.items():
        for row in found["rows"]:
            unit = f" {row['unit']}" if row["unit"] else ""
            target = f"{'under' if row['below'] else 'at most'} {round(row['target'], 2):g}{unit}"
            met = "–" if quick else "yes" if row["met"] else "**no**"
            cells = [case, row["what"], f"{_number(row['value'])}{unit}", _range(row["values"]), target, met]
            yield [*cells, _median_and_range(row["rates"]), row["note"]]
        if found["failure"]:
            yield [case, "**failed**", "", "", "", "**no**", "", found["failure"].splitlines()[0]]


def measurements(cases: dict[str, Any]) -> Iterable[list[str]]:
    """Rows of all measurements: medians over the rounds, with their range."""
    for case, found in cases.items():
        for label in dict.fromkeys(one["label"] for one in found["measurements"]):
            runs = [one for one in found["measurements"] if one["label"] == label]
            cells = [_median_and_range([one[key] for one in runs if key in one]) for key in COLUMNS]
            yield [case, label, str(len(runs)), *cells]


def conditions(results: dict[str, Any]) -> Iterable[str]:
    """Sentences on load, variables, data and environments."""
    loads = ", ".join(f"{case} {found['load']:.2f}" for case, found in results["cases"].items())
    yield f"load of the machine before each case: {loads}"
    removed = ", ".join(f"`{name}={value}`" for name, value in results["removed"].items()) or "none were set"
    yield f"variables hidden from all programs: {removed}; all on the CPU, `CUDA_VISIBLE_DEVICES` empty"
    if results["data"]:
        yield f"data: MNIST, pixels in [0, 1], sha256 of the prepared arrays {results['data'][:16]}…"
    for name, found in results["environments"].items():
        packages = ", ".join(f"{package} {version}" for package, version in found["packages"].items())
        blas = "; ".join(f"BLAS of {library}: {version}" for library, version in found["blas"].items())
        yield f"environment `{name}`: Python {found['python']}, {packages}; {blas or 'BLAS unknown'}"


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _range(values: list[float]) -> str:
    return f"{_number(min(values))}–{_number(max(values))}"


def _median_and_range(values: list[float]) -> str:
    if not values:
        return ""
    median = _number(statistics.median(values))
    return median if len(values) == 1 else f"{median} ({_range(values)})"
