"""What a person reads: targets beside medians, every measurement, and what it all ran on."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

COLUMNS = {
    "seconds": "seconds",
    "fit_seconds": "fit s",
    "product_seconds": "bare product s",
    "build_seconds": "building the matrix s",
    "epoch_seconds": "epoch s",
    "step_seconds": "step s",
    "plain_seconds": "plain step s",
    "error_percent": "test error %",
    "peak_gb": "peak GB",
    "sgemm_gflops": "sgemm GFLOP/s",
}


def markdown(results: dict[str, Any]) -> str:
    """The whole page.

    Parameters
    ----------
    results : dict
        What `run.py` writes as JSON.
    """
    told = ["# Benchmark", ""]
    if results["quick"]:
        told += ["**A quick check on tiny data: it shows that everything runs, and says nothing of the targets.**", ""]
    told += [*_targets(results), "", *_measurements(results), "", *_environment(results), ""]
    return "\n".join(told)


def _targets(results: dict[str, Any]) -> Iterable[str]:
    yield "| case | what | median | min–max | target | met | sgemm GFLOP/s beside it | |"
    yield "|---|---|---|---|---|---|---|---|"
    for case, found in results["cases"].items():
        for row in found["rows"]:
            unit = f" {row['unit']}" if row["unit"] else ""
            target = f"{'under' if row['below'] else 'at most'} {round(row['target'], 2):g}{unit}"
            met = "–" if results["quick"] else "yes" if row["met"] else "**no**"
            cells = [case, row["what"], f"{_number(row['value'])}{unit}", _range(row["values"]), target, met]
            yield _line([*cells, _median_and_range(row["rates"]), row["note"]])
        if found["failure"]:
            yield _line([case, "**failed**", "", "", "", "**no**", "", found["failure"].splitlines()[0]])


def _measurements(results: dict[str, Any]) -> Iterable[str]:
    yield "Every program in a fresh process; medians over the rounds, min–max in brackets."
    yield ""
    yield _line(["case", "program", "rounds", *COLUMNS.values()])
    yield "|" + "---|" * (3 + len(COLUMNS))
    for case, found in results["cases"].items():
        labels = dict.fromkeys(one["label"] for one in found["measurements"])
        for label in labels:
            runs = [one for one in found["measurements"] if one["label"] == label]
            cells = [_median_and_range([one[key] for one in runs if key in one]) for key in COLUMNS]
            yield _line([case, label, str(len(runs)), *cells])


def _environment(results: dict[str, Any]) -> Iterable[str]:
    machine = results["machine"]
    yield f"Measured {results['started']}, code {results['code']}."
    yield ""
    yield f"- {machine['cpu']}; {machine['cores']} cores used, {machine['memory_gb']:.0f} GB; {machine['system']}"
    loads = ", ".join(f"{case} {found['load']:.2f}" for case, found in results["cases"].items())
    yield f"- load of the machine before each case, by others or just before: {loads}"
    removed = ", ".join(f"`{name}={value}`" for name, value in results["removed"].items()) or "none were set"
    yield f"- variables kept from all programs: {removed}; all on the CPU, `CUDA_VISIBLE_DEVICES` empty"
    if results["data"]:
        yield f"- data: MNIST, pixels in [0, 1], sha256 of the prepared arrays {results['data'][:16]}…"
    for name, found in results["environments"].items():
        packages = ", ".join(f"{package} {version}" for package, version in found["packages"].items())
        blas = "; ".join(f"BLAS of {library}: {told}" for library, told in found["blas"].items()) or "BLAS unknown"
        yield f"- environment `{name}`: Python {found['python']}, {packages}; {blas}"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _range(values: list[float]) -> str:
    return f"{_number(min(values))}–{_number(max(values))}"


def _median_and_range(values: list[float]) -> str:
    if not values:
        return ""
    median = _number(statistics.median(values))
    return median if len(values) == 1 else f"{median} ({_range(values)})"
