"""The rows of a table of a comparison, and what rendering needs besides them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..comparing.measured import Measured
from ..comparing.rows import Row
from ..comparing.target_table import describe_runs
from ..comparing.verdicts import Verdict
from ..setting_text import parse_setting
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
) -> Row:
    """A row of one metric of a method: the mean of its values, one for each division, and their deviation."""
    known, unit = Measured(tuple(values)), METRICS[metric][1]
    return replace(
        _row(table, results, method, metric, Verdict.MEASURED),
        setting=setting,
        measured_mean=_rounded(known.mean, unit),
        measured_sd=None if known.deviation is None else _rounded(known.deviation, unit),
        seeds=" ".join(str(one) for one in results.done[0].seeds),
        records=tuple(folder.as_posix() for folder in folders),
        values=known.values,
        repetitions=known.repetitions,
    )


def _rounded(value: float, unit: str) -> float:
    if unit == "s":
        return float(seconds(value).replace(",", ""))
    return 0.0 if abs(value) < 1e-12 else value  # what is left of a difference of equal numbers


def not_run(table: str, results: Results, method: str, metric: str, reason: str) -> Row:
    """The row of a method that was not run."""
    return replace(_row(table, results, method, metric, Verdict.NOT_RUN), reason=reason)


def _row(table: str, results: Results, method: str, metric: str, verdict: Verdict) -> Row:
    n_train, n_test = results.done[0].sizes if results.done else (None, None)
    return Row(
        target=table,
        dataset=results.description["dataset"],
        n_train=n_train,
        n_test=n_test,
        method=method,
        metric=metric,
        verdict=verdict,
        scale=results.scale,
        unit=METRICS[metric][1],
    )


def meta(name: str, results: Results, rows: Sequence[Row], described: Mapping[str, Any]) -> dict[str, Any]:
    """What rendering needs of a table besides its rows."""
    entry = results.description["entry"]
    labels = {key: label + (f" ({unit})" if unit else "") for key, (label, unit) in METRICS.items()}
    # What was chosen, and classes, are shown as they are, names in small letters.
    for row in rows:
        for value in parse_setting(row.setting).values():
            labels.setdefault(value, value)
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
        **described,
    }
