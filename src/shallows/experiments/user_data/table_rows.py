"""The rows of a table of a comparison, and what rendering needs besides them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..comparing import verdicts
from ..comparing.target_table import describe_runs
from .recommendation import seconds
from .results import Results

#: What is measured, as it is called in a heading, with its unit.
METRICS = {
    "test_error": ("test error", "%"),
    "test_r2": ("test R²", ""),
    "interval": ("95 % interval, ±", ""),
    "test_rmse": ("test RMSE", ""),
    "validation_error": ("validation error", "%"),
    "validation_r2": ("validation R²", ""),
    "validation_unexplained": ("validation, 1 − R²", ""),
    "fit_seconds": ("fit", "s"),
    "predict_seconds": ("prediction", "s"),
    "model_kilobytes": ("size of the model", "kB"),
    "choice_seconds": ("choice of parameters", "s"),
    "default_error": ("test error at the defaults", "%"),
    "default_r2": ("test R² at the defaults", ""),
    "default_seconds": ("fit at the defaults", "s"),
    "gain": ("the search gains", ""),
    "count": ("test rows", ""),
    "true_mean": ("true, mean", ""),
    "predicted_mean": ("predicted, mean", ""),
    "rmse": ("RMSE", ""),
}


def measured(
    table: str,
    results: Results,
    method: str,
    setting: str,
    metric: str,
    values: Sequence[float],
    folders: Sequence[Path] = (),
) -> dict[str, Any]:
    """A row of one metric of a method: the mean of its values, one for each division, and their deviation."""
    write_number: Callable[[float], str] = seconds if metric.endswith("_seconds") else _written
    return _row(table, results, method, setting, metric) | {
        "measured_mean": write_number(statistics.fmean(values)).replace(",", ""),
        "measured_sd": write_number(statistics.stdev(values)).replace(",", "") if len(values) > 1 else "",
        "seeds": " ".join(str(one) for one in results.done[0].seeds),
        "verdict": verdicts.MEASURED,
        "records": ";".join(folder.as_posix() for folder in folders),
    }


def _written(value: float) -> str:
    # What is left of a difference of equal numbers is no number to show.
    return f"{value if abs(value) > 1e-12 else 0.0:.8g}"


def not_run(table: str, results: Results, method: str, metric: str, reason: str) -> dict[str, Any]:
    """The row of a method that was not run."""
    return _row(table, results, method, "", metric) | {"verdict": verdicts.NOT_RUN, "reason": reason}


def _row(table: str, results: Results, method: str, setting: str, metric: str) -> dict[str, Any]:
    n_train, n_test = results.done[0].sizes if results.done else ("", "")
    return {
        "target": table,
        "dataset": results.description["dataset"],
        "n_train": n_train,
        "n_test": n_test,
        "method": method,
        "setting": setting,
        "metric": metric,
        "published": "",
        "measured_mean": "",
        "measured_sd": "",
        "seeds": "",
        "verdict": "",
        "scale": results.scale,
        "reason": "",
        "unit": METRICS[metric][1],
        "tolerance": "",
        "records": "",
    }


def meta(
    name: str, results: Results, rows: Sequence[Mapping[str, Any]], described: Mapping[str, Any]
) -> dict[str, Any]:
    """What rendering needs of a table besides its rows."""
    entry = results.description["entry"]
    labels = {key: label + (f" ({unit})" if unit else "") for key, (label, unit) in METRICS.items()}
    # What was chosen, and classes, are shown as they are, names in small letters.
    for row in rows:
        for part in filter(None, str(row["setting"]).split("; ")):
            labels.setdefault(part.partition("=")[2], part.partition("=")[2])
    labels[results.description["dataset"]] = entry["title"]
    used = [record for one in results.done for record in one.records]
    return {
        "id": name,
        "source": "",
        "paper": "",
        "citation": entry["citation"],
        "kind": "table",
        "scale": results.scale,
        "label": describe_runs(used, results.scale),
        "labels": labels,
        "verdict_counts": {},
        **described,
    }
