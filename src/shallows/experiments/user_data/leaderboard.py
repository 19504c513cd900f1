"""The table of a comparison on a user's own data: the error of each method with its chosen parameters, best first."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shallows.datasets.files import write_json

from ..comparing import verdicts
from ..comparing.target_table import describe_runs, write_rows
from ..comparing.uncertainty import standard_error
from ..running import record as records
from .comparison import SCALE, TARGET

_METRICS = {
    "validation_error": {"label": "validation error", "unit": "%"},
    "test_error": {"label": "test error", "unit": "%"},
    "validation_r2": {"label": "validation R²", "unit": ""},
    "test_r2": {"label": "test R²", "unit": ""},
    "test_rmse": {"label": "test RMSE", "unit": ""},
    "fit_seconds": {"label": "fit", "unit": "s"},
    "predict_seconds": {"label": "prediction", "unit": "s"},
    "choice_seconds": {"label": "choice of parameters", "unit": "s"},
}
# The metric by which methods stand in the table, and whether a low one is good.
_RANKED = {"classification": ("test_error", 1), "regression": ("test_r2", -1)}


def write(outcomes: Iterable[str | Path], stamp: str | Path, csv_path: str | Path, meta_path: str | Path) -> None:
    """Write the comparison as a tidy CSV and the JSON that describes it.

    Parameters
    ----------
    outcomes : iterable of path
        ``outcome.json`` of every method and seed.
    stamp : path
        The description of the data.
    csv_path, meta_path : path
        Where the two go.
    """
    description = json.loads(Path(stamp).read_text(encoding="utf-8"))
    found = [{"folder": Path(path).parent, **json.loads(Path(path).read_text(encoding="utf-8"))} for path in outcomes]
    for one in found:
        if "record" in one:
            one["content"] = records.read(one["folder"])[0]
    by_method: dict[str, list[dict[str, Any]]] = {}
    for one in (one for one in found if one["has_part"]):
        by_method.setdefault(one["method"], []).append(one)
    metric, sign = _RANKED[description["entry"]["task"]]
    groups = sorted(by_method.values(), key=lambda group: _rank(group, metric, sign))
    rows = [row for group in groups for row in _rows(group, description)]
    write_rows(csv_path, rows)
    used = [one["content"] for one in found if "content" in one]
    write_json(Path(meta_path), _described(description, used, rows))


def _rank(group: Sequence[Mapping[str, Any]], metric: str, sign: int) -> tuple[bool, float]:
    values = [one["content"]["metrics"]["final"][metric] for one in group if "content" in one]
    return not values, sign * statistics.fmean(values) if values else 0.0


def _rows(group: Sequence[Mapping[str, Any]], description: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    done = [one for one in group if "content" in one]
    data = done[0]["content"]["data"] if done else {}
    shared = {
        "target": TARGET,
        "dataset": description["dataset"],
        "n_train": data.get("n_train", ""),
        "n_test": data.get("n_test", ""),
        "method": group[0]["label"],
        "published": "",
        "scale": SCALE,
        "tolerance": "",
    }
    if not done:
        yield {
            **shared,
            "setting": "",
            "metric": _RANKED[description["entry"]["task"]][0],
            "measured_mean": "",
            "measured_sd": "",
            "seeds": "",
            "verdict": verdicts.NOT_RUN,
            "reason": group[0]["reason"],
            "unit": "",
            "records": "",
        }
        return
    chosen = dict.fromkeys(one["content"]["selection"]["chosen"] for one in done)
    for metric in done[0]["content"]["metrics"]["final"]:
        values = [one["content"]["metrics"]["final"][metric] for one in done]
        yield {
            **shared,
            "setting": f"chosen={' or '.join(filter(None, chosen)) or 'nothing to choose'}",
            "metric": metric,
            "measured_mean": _number(metric, statistics.fmean(values)),
            "measured_sd": _number(metric, statistics.stdev(values)) if len(values) > 1 else "",
            "seeds": " ".join(str(one["seed"]) for one in done),
            "verdict": verdicts.MEASURED,
            "reason": "",
            "unit": _METRICS[metric]["unit"],
            "records": ";".join(one["folder"].as_posix() for one in done),
        }


def _number(metric: str, value: float) -> str:
    # Of a time no more is worth telling than hundredths of a second.
    return f"{value:.2f}" if metric.endswith("_seconds") else f"{value:.8g}"


def _described(
    description: Mapping[str, Any], used: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    entry = description["entry"]
    labels = {name: one["label"] + (f" ({one['unit']})" if one["unit"] else "") for name, one in _METRICS.items()}
    # What was chosen is shown as it is, names in small letters.
    labels |= {row["setting"].partition("=")[2]: row["setting"].partition("=")[2] for row in rows if row["setting"]}
    labels[description["dataset"]] = entry["title"]
    notes = [description["told"]]
    if used:
        by, data = used[0]["selection"], used[0]["data"]
        notes.append(
            f"Parameters were chosen with {by['n_train']:,} training rows by {by['n_validation']:,} others "
            f"({by['score']}); then each method was fitted to all {data['n_train']:,} training rows, and the "
            f"{data['n_test']:,} test rows were looked at once. Bandwidths are in the units of the prepared features."
        )
        notes += _noise(rows, data["n_test"])
    return {
        "id": TARGET,
        "title": f"Methods on {entry['title']}",
        "source": "",
        "paper": "",
        "citation": entry["citation"],
        "kind": "table",
        "caption": "The methods that suit these data, the best on the test rows first.",
        "notes": notes,
        "scale": SCALE,
        "label": describe_runs(used, SCALE),
        "labels": labels,
        "layout": {"rows": ["method", "chosen"], "columns": ["metric"]},
        "figure": None,
        "verdict_counts": {},
    }


def _noise(rows: Sequence[Mapping[str, Any]], n_test: int) -> Iterable[str]:
    errors = [float(row["measured_mean"]) for row in rows if row["metric"] == "test_error" and row["measured_mean"]]
    if errors and n_test:
        deviation = standard_error(min(errors), n_test)
        yield (
            f"Counted on {n_test:,} rows, the lowest error has a standard deviation of about {deviation:.2g} points: "
            "smaller differences say nothing."
        )
