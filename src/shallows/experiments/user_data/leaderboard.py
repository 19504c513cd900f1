"""The tables of a comparison on a user's own data: methods, defaults against search, predictions, bandwidths."""

from __future__ import annotations

import json
import math
import shutil
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shallows.datasets.files import write_json

from ..comparing.rows import Row, write_rows
from .comparison import TABLES, TARGET, has_test_rows
from .final_model import target_names
from .intervals import Interval
from .recommendation import Recommendation, recommend, sentence
from .results import MethodResult, Results, read
from .scores import metric_of
from .table_rows import METRICS, measured, meta, not_run

_NOTHING = "nothing to choose"


def write(outcomes: Iterable[str | Path], stamp: str | Path, folder: str | Path) -> None:
    """Write every table of a comparison as a tidy CSV and the JSON that describes it; remove runs of an earlier one.

    Parameters
    ----------
    outcomes : iterable of path
        ``outcome.json`` of every method and seed.
    stamp : path
        The description of the data.
    folder : path
        Where ``comparison.csv``, ``comparison.json`` and the other tables go.
    """
    outcomes = [*map(Path, outcomes)]
    _remove_others(outcomes)
    write_tables(read(outcomes, json.loads(Path(stamp).read_text(encoding="utf-8"))), folder)


def _remove_others(outcomes: Iterable[Path]) -> None:
    """Remove the runs of methods and seeds that had a part in an earlier comparison and have none in this one."""
    for folder in {path.parents[2] for path in outcomes}:
        for other in set(folder.glob(f"*/seed*/{outcomes[0].name}")) - set(outcomes):
            shutil.rmtree(other.parent)


def write_tables(results: Results, folder: str | Path, names: Iterable[str] = TABLES) -> None:
    """Write some of the tables of a comparison, each as a tidy CSV and the JSON that describes it.

    Parameters
    ----------
    results : Results
    folder : path
    names : iterable of str
        Some of `comparison.TABLES`.
    """
    found = recommend(results)
    made = {TARGET: _methods, "defaults": _defaults, "predictions": _predictions, "bandwidths": _bandwidths}
    for name in names:
        rows, described = made[name](results, found)
        write_rows(Path(folder) / f"{name}.csv", rows)
        write_json(Path(folder) / f"{name}.json", meta(name, results, rows, described))


# The methods ----------------------------------------------------------------------------------------------------------


def _methods(results: Results, found: Recommendation | None) -> tuple[list[Row], dict[str, Any]]:
    task = results.task
    rows = []
    for one in results.methods:
        if not one.records:
            rows.append(not_run(TARGET, results, one.label, metric_of(task, "test"), one.reason))
            continue
        setting = f"chosen={one.choice or _NOTHING}"
        metrics = [name for name in one.records[0]["metrics"]["final"] if "default" not in name]
        metrics.sort(key=list(METRICS).index)
        for metric in metrics:
            rows.append(measured(TARGET, results, one.label, setting, metric, one.values(metric), one.folders))
            if metric == metric_of(task, "test") and math.isfinite(width := results.interval(one).half_width):
                rows.append(measured(TARGET, results, one.label, setting, "interval", [width]))
    description = results.description
    described: dict[str, Any] = {
        "title": f"Methods on {description['entry']['title']}",
        "lead": sentence(results, found),
        "caption": _of_the_picture(results),
        "notes": [*description["told"].splitlines(), *_division(results)],
        "layout": {"rows": ["method", "chosen"], "columns": ["metric"], "open": True},
        "figure": {"kind": "error_against_costs", "recommended": found.chosen.label if found else ""},
    }
    return rows, described


def _of_the_picture(results: Results) -> str:
    what = "errors" if results.task == "classification" else "1 − R²"
    return (
        f"The test {what} of each method against the seconds of one fit with the chosen parameters, the seconds to "
        "predict the test rows, and the size of the fitted model, with what it keeps to go on learning; all axes are "
        "logarithmic. Bars are 95 % intervals, the ring marks the method to take, and the line joins the methods that "
        "no other one beats in both. A method far above the others stands at the upper edge, with an arrow. The search "
        "for parameters takes longer than a fit, as the table says."
    )


def _division(results: Results) -> Iterable[str]:
    if not results.done:
        return
    one = results.done[0]
    by, (n_train, n_test) = one.records[0]["selection"], one.sizes
    once = results.n_splits == 1
    times = "once" if once else f"{results.n_splits} times, by the seeds {_seeds(one)}"
    yield (
        f"The rows were divided {times}{': ' if once else '. Each time '}parameters were chosen with {by['n_train']:,} "
        f"training rows by {by['n_validation']:,} others ({by['score']}); then each method was fitted to all "
        f"{n_train:,} training rows, and the {n_test:,} test rows were looked at once. Bandwidths are multiples of "
        "the median distance between training rows; shown are the parameters that did best on the validation rows"
        f"{'' if once else ' in the mean'}."
    )
    if results.by_rows:
        why = (
            "the test rows are given" if has_test_rows(results.description) else "there are fewer than three divisions"
        )
        yield (
            f"Intervals are those of a mean over the test rows of the first division, since {why}; they leave out that "
            "other training rows would give other models."
        )
    else:
        yield (
            "Intervals are Student's over the divisions, widened for the rows that their training parts share (Nadeau "
            "and Bengio, 2003). Two methods are compared on the same rows, by the interval of their difference."
        )


def _seeds(one: MethodResult) -> str:
    return ", ".join(map(str, one.seeds))


# Defaults against search ----------------------------------------------------------------------------------------------


def _defaults(results: Results, found: Recommendation | None) -> tuple[list[Row], dict[str, Any]]:
    task, rows = results.task, []
    within: dict[bool, list[str]] = {True: [], False: []}
    for one in results.done:
        gain = results.search_gain(one)
        if gain is None:
            continue
        for metric in (metric_of(task, "test"), metric_of(task, "default")):
            rows.append(measured("defaults", results, one.label, "", metric, one.values(metric), one.folders))
        rows.append(measured("defaults", results, one.label, "", "gain", [gain.mean]))
        if math.isfinite(gain.half_width):
            rows.append(measured("defaults", results, one.label, "", "interval", [gain.half_width]))
            within[gain.low <= 0].append(f"{one.label} ({_range(gain)})")
        for metric in ("default_seconds", "choice_seconds"):
            rows.append(measured("defaults", results, one.label, "", metric, one.values(metric), one.folders))
    if not rows:
        rows.append(not_run("defaults", results, "", metric_of(task, "test"), "no method has parameters to search"))
    unit = "points" if task == "classification" else "share of the variance"
    lead = f"What the search gains over the defaults, as {unit} with its 95 % interval. "
    for holds, words in ((True, "Within noise of it are the defaults of"), (False, "The search is better for")):
        if within[holds]:
            lead += f"{words} {'; '.join(within[holds])}. "
    if not any(within.values()):
        lead = "With one division of the rows, nothing says how much of a difference is chance. "
    described: dict[str, Any] = {
        "title": "What a search finds beside the defaults",
        "lead": lead.strip(),
        "caption": "Each method with the parameters that were chosen, and as its class is without any parameter.",
        "notes": [],
        "layout": {"rows": ["method"], "columns": ["metric"]},
        "figure": None,
    }
    return rows, described


def _range(gap: Interval) -> str:
    return f"{gap.low:.2g} to {gap.high:.2g}"


# Predictions of the method to take ------------------------------------------------------------------------------------


def _predictions(results: Results, found: Recommendation | None) -> tuple[list[Row], dict[str, Any]]:
    described: dict[str, Any] = {
        "title": "Predicted and true",
        "caption": "",
        "notes": [],
        "layout": {"rows": ["true"], "columns": ["predicted"]},
        "figure": {"kind": "predicted_against_true"},
    }
    if found is None:
        reason = "no method could be run"
        return [not_run("predictions", results, "", "count", reason)], described
    one = found.chosen
    true, predicted = one.predictions()
    where = f"the test rows of the division by seed {one.seeds[0]}" if results.n_splits > 1 else "the test rows"
    if results.task == "classification":
        rows = _confusion(results, one, true, predicted)
        described |= {
            "title": f"Classes predicted by {one.label}",
            "caption": f"How many of {where} of each class (down) were taken for which class (across).",
        }
        return rows, described
    rows = _tenths(results, one, true.reshape(len(true), -1), predicted.reshape(len(true), -1))
    described |= {
        "title": f"Targets predicted by {one.label}",
        "caption": f"Predicted against true for {where}, in the units of the target; on the line they agree.",
        "notes": ["The table has the test rows in tenths by their true value."],
        "layout": {"rows": ["output", "tenth"], "columns": ["metric"]},
    }
    described["figure"] |= {"points": (one.folders[0] / "predictions.npz").as_posix(), "names": _targets(results)}
    return rows, described


def _confusion(results: Results, one: MethodResult, true: Any, predicted: Any) -> list[Row]:
    names = _classes(one)
    counts = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(counts, (true.astype(int), predicted.astype(int)), 1)
    return [
        measured("predictions", results, one.label, f"true={a}; predicted={b}", "count", [counts[i, j]])
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    ]


def _tenths(results: Results, one: MethodResult, true: Any, predicted: Any) -> list[Row]:
    rows = []
    for output, name in enumerate(_targets(results)):
        order = np.argsort(true[:, output], kind="stable")
        for tenth, part in enumerate(np.array_split(order, min(10, len(order))), start=1):
            pair = true[part, output], predicted[part, output]
            values = {
                "true_mean": np.mean(pair[0]),
                "predicted_mean": np.mean(pair[1]),
                "rmse": math.sqrt(np.mean((pair[0] - pair[1]) ** 2)),
            }
            setting = f"output={name}; tenth={tenth}"
            rows += [measured("predictions", results, one.label, setting, *item) for item in _each(values)]
    return rows


def _each(values: Mapping[str, float]) -> Iterable[tuple[str, list[float]]]:
    return ((name, [float(value)]) for name, value in values.items())


def _classes(one: MethodResult) -> list[str]:
    """Names of the classes, cleaned of what divides the keys of a table."""
    return [str(name).replace(";", ",").replace("=", "≈") for name in one.classes]


def _targets(results: Results) -> list[str]:
    return [name.replace(";", ",").replace("=", "≈") for name in target_names(results.description)]


# Bandwidths -----------------------------------------------------------------------------------------------------------


def _bandwidths(results: Results, found: Recommendation | None) -> tuple[list[Row], dict[str, Any]]:
    metric = "validation_error" if results.task == "classification" else "validation_unexplained"
    rows = []
    for one in results.done:
        for factor, values in sorted(_by_factor(one).items()):
            setting = f"bandwidth={factor:g}"
            rows.append(measured("bandwidths", results, one.label, setting, metric, values, one.folders))
    if not rows:
        rows.append(not_run("bandwidths", results, "", metric, "no method with a bandwidth could be run"))
    described: dict[str, Any] = {
        "title": "Validation error against bandwidth",
        "caption": "The lowest validation error that any choice of the other parameters reached with a bandwidth, the "
        "mean over the divisions with a band of one standard deviation. The picture has the seven methods of the "
        "lowest test error, the table has all. A curve that is lowest at its end says that the bandwidths tried "
        "(config/methods.yaml) should reach further.",
        "notes": _ends(results),
        "marks": ["bandwidth"],
        "layout": {"rows": ["bandwidth"], "columns": ["method"]},
        "figure": {
            "kind": "curves",
            "x": "bandwidth",
            "y": [metric],
            "lines": "method",
            "x_scale": "log",
            "x_label": "bandwidth / median distance",
        },
    }
    return rows, described


def _by_factor(one: MethodResult) -> dict[float, list[float]]:
    """For each bandwidth, in median distances, the best validation score of each division."""
    found: dict[float, list[float]] = {}
    for record in one.records:
        best: dict[float, float] = {}
        for trial in record["selection"]["trials"]:
            if "factor" in trial and math.isfinite(score := float(trial.get("score", "inf"))):
                best[trial["factor"]] = min(score, best.get(trial["factor"], math.inf))
        for factor, score in best.items():
            found.setdefault(factor, []).append(score)
    return found


def _ends(results: Results) -> list[str]:
    at_end = []
    for one in results.done:
        means = {factor: statistics.fmean(values) for factor, values in _by_factor(one).items()}
        if len(means) > 2:
            factors = sorted(means)
            best = min(factors, key=means.get)
            inner = min(means[factor] for factor in factors[1:-1])
            if best in (factors[0], factors[-1]) and means[best] < inner:
                at_end.append(f"{one.label} ({best:g})")
    return [f"Lowest at an end of the bandwidths tried: {', '.join(at_end)}."] if at_end else []
