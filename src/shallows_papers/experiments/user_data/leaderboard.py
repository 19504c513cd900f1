"""The tables of a comparison on one dataset: methods, defaults against search, predictions, bandwidths."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, get
from shallows_papers.datasets.files import write_json

from ..comparing.table_rows import Measured, Row, write_rows
from ..comparing.target_table import describe_runs
from ..comparing.verdicts import Verdict
from ..setting_text import parse_setting
from .comparison import PICTURES, TABLES, TARGET, has_test_rows
from .final_model import target_names
from .method_results import MethodResult, Results, read
from .prediction_scores import metric_of
from .recommendation import Recommendation, recommend, seconds, sentence

#: The metrics: their names in a heading, with their units.
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
    "million_operations": ("operations", "million"),
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
_NOTHING = "nothing to choose"


def write(outcomes: Iterable[str | Path], stamp: str | Path, folder: str | Path) -> None:
    """Write every table of a comparison into a folder, and remove the runs of methods and seeds that it has not."""
    outcomes = [*map(Path, outcomes)]
    for runs in {path.parents[2] for path in outcomes}:
        for other in set(runs.glob(f"*/seed*/{outcomes[0].name}")) - set(outcomes):
            shutil.rmtree(other.parent)
    write_tables(read(outcomes, json.loads(Path(stamp).read_text(encoding="utf-8"))), folder)


def write_tables(results: Results, folder: str | Path, names: Iterable[str] = TABLES) -> None:
    """Write some of the tables of a comparison, each as a tidy CSV and the JSON that describes it."""
    best = recommend(results)
    tables = {TARGET: _methods, "defaults": _defaults, "predictions": _predictions, "bandwidths": _bandwidths}
    for name in names:
        rows, described = tables[name](results, best)
        write_rows(Path(folder) / f"{name}.csv", rows)
        write_json(Path(folder) / f"{name}.json", _meta(name, results, rows, described))


def _measured(
    table: str,
    results: Results,
    method: str,
    setting: str,
    metric: str,
    values: Sequence[float],
    folders: Sequence[Path] = (),
) -> Row:
    """The row of one metric of a method: the mean of its values, one for each division, and their deviation."""
    known, unit = Measured(tuple(values)), METRICS[metric][1]
    return _row(
        table,
        results,
        method,
        metric,
        Verdict.MEASURED,
        setting=setting,
        measured_mean=_rounded(known.mean, unit),
        measured_sd=None if known.deviation is None else _rounded(known.deviation, unit),
        seeds=" ".join(map(str, results.done[0].seeds)),
        records=tuple(folder.as_posix() for folder in folders),
        values=known.values,
        repetitions=known.repetitions,
    )


def _rounded(value: float, unit: str) -> float:
    if unit == "s":
        return float(seconds(value).replace(",", ""))
    return 0.0 if abs(value) < 1e-12 else value  # what is left of a difference of equal numbers


def _not_run(table: str, results: Results, method: str, metric: str, reason: str) -> Row:
    return _row(table, results, method, metric, Verdict.NOT_RUN, reason=reason)


def _row(table: str, results: Results, method: str, metric: str, verdict: Verdict, **columns: Any) -> Row:
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
        **columns,
    )


def _meta(name: str, results: Results, rows: Sequence[Row], described: Mapping[str, Any]) -> dict[str, Any]:
    """What rendering needs of a table besides its rows."""
    entry = results.description["entry"]
    labels = {key: label + (f" ({unit})" if unit else "") for key, (label, unit) in METRICS.items()}
    # Choices and classes are shown as they are, names in small letters.
    labels = {value: value for row in rows for value in parse_setting(row.setting).values()} | labels
    labels[results.description["dataset"]] = entry["title"]
    used = [record for method in results.done for record in method.records]
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


def _methods(results: Results, best: Recommendation | None) -> tuple[list[Row], dict[str, Any]]:
    task = results.task
    rows = []
    for one in results.methods:
        if not one.records:
            rows.append(_not_run(TARGET, results, one.label, metric_of(task, "test"), one.reason))
            continue
        setting = f"chosen={one.choice or _NOTHING}"
        metrics = [name for name in one.records[0]["metrics"]["final"] if "default" not in name]
        for metric in sorted(metrics, key=list(METRICS).index):
            rows.append(_measured(TARGET, results, one.label, setting, metric, one.values(metric), one.folders))
            if metric == metric_of(task, "test") and math.isfinite(width := results.interval(one).half_width):
                rows.append(_measured(TARGET, results, one.label, setting, "interval", [width]))
    description = results.description
    what = "errors" if task == "classification" else "1 − R²"
    return rows, {
        "title": f"Methods on {description['entry']['title']}",
        "lead": sentence(results, best),
        "caption": f"The test {what} of each method against the seconds of one fit with the chosen parameters, the "
        "seconds to predict the test rows, and the size of the fitted model, with what it keeps to go on learning; all "
        "axes are logarithmic. Bars are 95 % intervals, the ring marks the method to take, and the line joins the "
        "methods that no other one beats in both. A method far above the others stands at the upper edge, with an "
        "arrow. The search for parameters takes longer than a fit, as the table says. Operations of a fit and of the "
        "predictions are counted by formulas, those in products of matrices as a sixteenth. The method to take follows "
        "from the errors and from these counts, and not from the measured seconds.",
        "notes": [*description["told"].splitlines(), *_division(results)],
        "layout": {"rows": ["method", "chosen"], "columns": ["metric"], "open": True},
        "figure": {"kind": "error_against_costs", "recommended": best.chosen.label if best else ""},
    }


def _division(results: Results) -> Iterable[str]:
    if not results.done:
        return
    first = results.done[0]
    by, (n_train, n_test) = first.records[0]["selection"], first.sizes
    once = results.n_splits == 1
    times = "once" if once else f"{results.n_splits} times, by the seeds {', '.join(map(str, first.seeds))}"
    yield (
        f"The rows were divided {times}{': ' if once else '. Each time '}parameters were chosen with {by['n_train']:,} "
        f"training rows by {by['n_validation']:,} others ({by['score']}); then each method was fitted to all "
        f"{n_train:,} training rows, and the {n_test:,} test rows were looked at once. Bandwidths are multiples of "
        "the median distance between training rows; shown are the parameters that did best on the validation rows"
        f"{'' if once else ' in the mean'}."
    )
    if results.by_rows:
        given = has_test_rows(results.description)
        yield (
            "Intervals are those of a mean over the test rows of the first division, since "
            f"{'the test rows are given' if given else 'there are fewer than three divisions'}; they leave out that "
            "other training rows would give other models."
        )
    else:
        yield (
            "Intervals are Student's over the divisions, widened for the rows that their training parts share (Nadeau "
            "and Bengio, 2003). Two methods are compared on the same rows, by the interval of their difference."
        )


def _defaults(results: Results, best: Recommendation | None) -> tuple[list[Row], dict[str, Any]]:
    task, rows = results.task, []
    within: dict[bool, list[str]] = {True: [], False: []}
    for one in results.done:
        gain = results.search_gain(one)
        if gain is None:
            continue
        scores = (metric_of(task, "test"), metric_of(task, "default"))
        values = [(metric, one.values(metric), one.folders) for metric in scores]
        values.append(("gain", [gain.mean], ()))
        if math.isfinite(gain.half_width):
            values.append(("interval", [gain.half_width], ()))
            within[gain.low <= 0].append(f"{one.label} ({gain.low:.2g} to {gain.high:.2g})")
        values += [(metric, one.values(metric), one.folders) for metric in ("default_seconds", "choice_seconds")]
        rows += [_measured("defaults", results, one.label, "", *item) for item in values]
    if not rows:
        rows.append(_not_run("defaults", results, "", metric_of(task, "test"), "no method has parameters to search"))
    unit = "points" if task == "classification" else "share of the variance"
    lead = f"What the search gains over the defaults, as {unit} with its 95 % interval. "
    for holds, words in ((True, "Within noise of it are the defaults of"), (False, "The search is better for")):
        if within[holds]:
            lead += f"{words} {'; '.join(within[holds])}. "
    if not any(within.values()):
        lead = "With one division of the rows, nothing says how much of a difference is chance. "
    return rows, {
        "title": "What a search finds beside the defaults",
        "lead": lead.strip(),
        "caption": "Each method with the parameters that were chosen, and as its class is without any parameter.",
        "notes": [],
        "layout": {"rows": ["method"], "columns": ["metric"]},
        "figure": None,
    }


def _predictions(results: Results, best: Recommendation | None) -> tuple[list[Row], dict[str, Any]]:
    described: dict[str, Any] = {
        "title": "Predicted and true",
        "caption": "",
        "notes": [],
        "layout": {"rows": ["true"], "columns": ["predicted"]},
        "figure": {"kind": "predicted_against_true"},
    }
    if best is None:
        return [_not_run("predictions", results, "", "count", "no method could be run")], described
    one = best.chosen
    true, predicted, classes = one.predictions()
    where = f"the test rows of the division by seed {one.seeds[0]}" if results.n_splits > 1 else "the test rows"
    if results.task == "classification":
        return _confusion(results, one, true, predicted, _cleaned(classes)), described | {
            "title": f"Classes predicted by {one.label}",
            "caption": f"How many of {where} of each class (down) were taken for which class (across).",
        }
    names = _cleaned(target_names(results.description))
    points = {"points": (one.folders[0] / "predictions.npz").as_posix(), "names": names}
    shape = len(true), -1
    return _tenths(results, one, true.reshape(shape), predicted.reshape(shape), names), described | {
        "title": f"Targets predicted by {one.label}",
        "caption": f"Predicted against true for {where}, in the units of the target; on the line they agree.",
        "notes": ["The table has the test rows in tenths by their true value."],
        "layout": {"rows": ["output", "tenth"], "columns": ["metric"]},
        "figure": described["figure"] | points,
    }


def _confusion(results: Results, one: MethodResult, true: Any, predicted: Any, names: Sequence[str]) -> list[Row]:
    from sklearn.metrics import confusion_matrix

    counts = confusion_matrix(true, predicted, labels=range(len(names)))
    return [
        _measured("predictions", results, one.label, f"true={a}; predicted={b}", "count", [counts[i, j]])
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    ]


def _tenths(results: Results, one: MethodResult, true: Any, predicted: Any, names: Sequence[str]) -> list[Row]:
    rows = []
    for output, name in enumerate(names):
        order = np.argsort(true[:, output], kind="stable")
        for tenth, part in enumerate(np.array_split(order, min(10, len(order))), start=1):
            a, b = true[part, output], predicted[part, output]
            values = {"true_mean": a.mean(), "predicted_mean": b.mean(), "rmse": np.sqrt(((a - b) ** 2).mean())}
            setting = f"output={name}; tenth={tenth}"
            rows += [
                _measured("predictions", results, one.label, setting, metric, [float(value)])
                for metric, value in values.items()
            ]
    return rows


def _cleaned(names: Iterable[str]) -> list[str]:
    """Names without ``;`` and ``=``, which separate the keys of a table."""
    return [str(name).replace(";", ",").replace("=", "≈") for name in names]


def _bandwidths(results: Results, best: Recommendation | None) -> tuple[list[Row], dict[str, Any]]:
    metric = "validation_error" if results.task == "classification" else "validation_unexplained"
    rows, at_end = [], []
    for one in results.done:
        lowest = one.trials.dropna(subset="factor").groupby(["factor", "seed"], sort=False)["score"].min()
        groups = lowest.groupby("factor")
        for factor, values in groups:
            setting = f"bandwidth={factor:g}"
            rows.append(_measured("bandwidths", results, one.label, setting, metric, values.tolist(), one.folders))
        means = groups.mean()
        if len(means) > 2 and means.iloc[[0, -1]].min() < means.iloc[1:-1].min():
            at_end.append(f"{one.label} ({means.idxmin():g})")
    if not rows:
        rows.append(_not_run("bandwidths", results, "", metric, "no method with a bandwidth could be run"))
    return rows, {
        "title": "Validation error against bandwidth",
        "caption": "The lowest validation error that any choice of the other parameters reached with a bandwidth, the "
        "mean over the divisions with a band of one standard deviation. The picture has the seven methods of the "
        "lowest test error, the table has all. A curve that is lowest at its end says that the bandwidths tried "
        "(config/methods.yaml) should reach further.",
        "notes": [f"Lowest at an end of the bandwidths tried: {', '.join(at_end)}."] if at_end else [],
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


def write_for_dataset(
    outcomes: Iterable[str | Path], dataset: str, scale: str, prepared: str | Path, folder: str | Path
) -> None:
    """Write the tables of the leaderboard of a catalogue's dataset, from the ``outcome.json`` of every method."""
    info = json.loads((Path(prepared) / "prepared.json").read_text(encoding="utf-8"))
    write_tables(read(outcomes, describe(get(dataset), info, scale)), folder, PICTURES)


def describe(dataset: Dataset, info: Mapping[str, Any], scale: str) -> dict[str, Any]:
    """Describe a dataset of the catalogue in the form of the description of a user's own data."""
    has_test = bool(dataset.n_test)
    of_all = (dataset.n_train, dataset.n_test) if has_test else (None, None)
    where = "of its own test part" if has_test else "drawn from all rows, since it has no test part"
    rows = f"{_of(info['n_train'], of_all[0])} training rows and {_of(info['n_test'], of_all[1])} test rows {where}"
    told = (
        f"{dataset.title}: {rows}, {info['n_features']:,} features{_scaled(info)}. Times are seconds of the processor "
        "on one thread, so that a busy machine does not count; on a GPU they are those of the clock. Licence: "
        f"{dataset.licence}."
    )
    return {
        "dataset": dataset.name,
        "scale": scale,
        "told": told,
        "entry": {
            "title": dataset.title,
            "task": dataset.task,
            "n_train": dataset.n_train,
            "n_test": dataset.n_test or 0,
            "n_classes": dataset.n_classes,
            "n_targets": dataset.n_targets,
            "citation": dataset.citation,
            "options": {},
        },
    }


def _of(used: int, available: int | None) -> str:
    return f"{used:,}" if available in (None, used) else f"{used:,} of the {available:,}"


def _scaled(info: Mapping[str, Any]) -> str:
    used = {name for step in info["steps"] for name in step}
    if "unit" in used:
        return " scaled to [0, 1]"
    return " with mean 0 and variance 1" if "zscore" in used else " as they come"
