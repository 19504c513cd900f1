"""The tables of a comparison on one dataset, with the numbers for its pictures of predictions and bandwidths."""

import json
import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, get
from shallows_papers.datasets.files import write_json

from ..comparing.table_rows import Measured, Row, write_rows
from ..comparing.target_table import describe_runs
from ..comparing.verdicts import Verdict
from ..setting_text import parse_setting
from . import method_results
from .comparison import TARGET, has_test_rows
from .method_results import MethodResult, Results, read
from .prediction_scores import metric_of
from .recommendation import Recommendation, recommend, seconds, sentence
from .saved_model import target_names

#: The metrics: their headings and units.
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
    "gain_interval": ("gain, 95 % interval, ±", ""),
    "count": ("test rows", ""),
    "rmse": ("RMSE", ""),
}


def write(
    outcomes: Iterable[str | Path], stamp: str | Path, prepared: str | Path, scale: str, folder: str | Path
) -> None:
    """Write every table of a comparison into a folder, and remove runs of methods and seeds that it does not have.

    The stamp has the description of a user's own data. A dataset of the catalogue is described by its entry and its
    preparation for the test.
    """
    outcomes = [*map(Path, outcomes)]
    for runs in {path.parents[2] for path in outcomes}:
        for other in set(runs.glob(f"*/seed*/{outcomes[0].name}")) - set(outcomes):
            shutil.rmtree(other.parent)
    description = json.loads(Path(stamp).read_text(encoding="utf-8"))
    if "entry" not in description:
        info = json.loads((Path(prepared) / "prepared.json").read_text(encoding="utf-8"))
        description = describe(get(description["dataset"]), info, scale)
    write_tables(read(outcomes, description), folder)


def write_tables(results: Results, folder: str | Path) -> None:
    """Write the tables of a comparison, each as a tidy CSV and the JSON that describes it."""
    best = recommend(results)
    for table in (_methods(results, best), _predictions(results, best), _bandwidths(results)):
        write_rows(Path(folder) / f"{table.name}.csv", table.rows)
        write_json(Path(folder) / f"{table.name}.json", table.as_data())


@dataclass
class _Table:
    """A table under construction: its rows, and what else rendering needs."""

    name: str
    results: Results
    described: dict[str, Any]
    rows: list[Row] = field(default_factory=list)

    def add(
        self, method: str, metric: str, values: Sequence[float], setting: str = "", folders: Sequence[Path] = ()
    ) -> None:
        """Add one metric of a method: the mean and the deviation of its values, one for each split."""
        known, unit = Measured(tuple(values)), METRICS[metric][1]
        self._add(
            method,
            metric,
            Verdict.MEASURED,
            setting=setting,
            measured_mean=_rounded(known.mean, unit),
            measured_sd=None if known.deviation is None else _rounded(known.deviation, unit),
            seeds=" ".join(map(str, self.results.done[0].seeds)),
            records=tuple(folder.as_posix() for folder in folders),
            values=known.values,
            repetitions=known.repetitions,
        )

    def add_absent(self, method: str, metric: str, reason: str) -> None:
        self._add(method, metric, Verdict.NOT_RUN, reason=reason)

    def _add(self, method: str, metric: str, verdict: Verdict, **columns: Any) -> None:
        results = self.results
        n_train, n_test = results.done[0].sizes if results.done else (None, None)
        known = {"target": self.name, "dataset": results.description["dataset"], "n_train": n_train, "n_test": n_test}
        known |= {"method": method, "metric": metric, "verdict": verdict, "scale": results.scale}
        self.rows.append(Row(**known, unit=METRICS[metric][1], **columns))

    def as_data(self) -> dict[str, Any]:
        """What rendering needs in addition to the rows."""
        description = self.results.description
        labels = {key: label + (f" ({unit})" if unit else "") for key, (label, unit) in METRICS.items()}
        # Choices and classes are shown unchanged, names in lower case.
        labels = {value: value for row in self.rows for value in parse_setting(row.setting).values()} | labels
        labels[description["dataset"]] = description["entry"]["title"]
        used = [record for method in self.results.done for record in method.records]
        return {
            "id": self.name,
            "source": "",
            "paper": "",
            "citation": description["entry"]["citation"],
            "kind": "table",
            "scale": self.results.scale,
            "label": describe_runs(used, self.results.scale),
            "labels": labels,
            "notes": [],
            **self.described,
        }


def _rounded(value: float, unit: str) -> float:
    if unit == "s":
        return float(seconds(value).replace(",", ""))
    return 0.0 if abs(value) < 1e-12 else value  # the rounding error of a difference of equal numbers


def _methods(results: Results, best: Recommendation | None) -> _Table:
    task, description = results.task, results.description
    test, default = (metric_of(task, part) for part in ("test", "default"))
    what = "errors" if task == "classification" else "1 − R²"
    gains = {one.method: gain for one in results.done if (gain := results.search_gain(one))}
    table = _Table(
        TARGET,
        results,
        {
            "title": f"Methods on {description['entry']['title']}",
            "lead": sentence(results, best),
            "caption": f"The test {what} of each method with its 95 % interval, the seconds of one fit with the "
            "chosen parameters, the seconds to predict the test rows, and the size of the fitted model, with what it "
            "keeps for further training. All axes are logarithmic. The orange method is the one to take; that follows "
            "from the errors and from the sizes of the models, and not from the measured seconds. The search for "
            "parameters takes longer than a fit, as the table says.",
            "notes": [
                *description["told"].splitlines(),
                *_division(results),
                *_gains(results, gains),
                *filter(None, (method_results.sentence(one.label, one.warnings) for one in results.methods)),
            ],
            "layout": {"rows": ["method", "chosen"], "columns": ["metric"], "open": True},
            "figure": {"kind": "error_against_costs", "recommended": best.chosen.label if best else ""},
        },
    )
    for one in results.methods:
        if not one.records:
            table.add_absent(one.label, test, one.reason)
            continue
        setting = f"chosen={one.choice or 'nothing to choose'}"
        values = {metric: (one.values(metric), one.folders) for metric in one.records[0]["metrics"]["final"]}
        derived = {"interval": results.interval(one).half_width}
        if gain := gains.get(one.method):
            derived |= {"gain": gain.mean, "gain_interval": gain.half_width}
        else:
            values = {metric: known for metric, known in values.items() if metric not in (default, "default_seconds")}
        values |= {metric: ([value], ()) for metric, value in derived.items() if math.isfinite(value)}
        for metric in filter(values.__contains__, METRICS):
            table.add(one.label, metric, values[metric][0], setting, values[metric][1])
    return table


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
            "Intervals are for a mean over the test rows of the first division, since "
            f"{'the test rows are given' if given else 'there are fewer than three divisions'}; they leave out that "
            "other training rows would give other models."
        )
    else:
        yield (
            "Intervals are Student's over the divisions, widened for the rows that their training parts share (Nadeau "
            "and Bengio, 2003). Two methods are compared on the same rows, by the interval of their difference."
        )


def _gains(results: Results, gains: Mapping[str, Any]) -> Iterable[str]:
    """Say which methods a search improves over the defaults of their classes, each with its interval."""
    if not gains:
        return
    labels = {one.method: one.label for one in results.done}
    known = {name: gain for name, gain in gains.items() if math.isfinite(gain.half_width)}
    text = "With a single division, nothing says how much of a gain is chance."
    if known:
        unit = "points" if results.task == "classification" else "share of the variance"
        text = f"What the search gains over the defaults, as {unit} with its 95 % interval."
    for holds, words in ((True, "Within noise of it are the defaults of"), (False, "The search is better for")):
        some = [f"{labels[name]} ({one.low:.2g} to {one.high:.2g})" for name, one in known.items()]
        some = [words for words, one in zip(some, known.values(), strict=True) if (one.low <= 0) is holds]
        text += f" {words} {'; '.join(some)}." if some else ""
    yield text


def _predictions(results: Results, best: Recommendation | None) -> _Table:
    table = _Table(
        "predictions",
        results,
        {
            "title": "Predicted and true",
            "caption": "",
            "layout": {"rows": ["true"], "columns": ["predicted"]},
            "figure": {"kind": "predicted_against_true"},
        },
    )
    if best is None:
        table.add_absent("", "count", "no method could be run")
        return table
    one = best.chosen
    true, predicted, classes = one.predictions()
    where = f"the test rows of the division by seed {one.seeds[0]}" if results.n_splits > 1 else "the test rows"
    if results.task == "classification":
        table.described |= {
            "title": f"Classes predicted by {one.label}",
            "caption": f"How many of {where} of each class (down) were taken for which class (across).",
        }
        _add_confusion(table, one, true, predicted, _cleaned(classes))
        return table
    names = _cleaned(target_names(results.description))
    points = (one.folders[0] / "predictions.npz").as_posix()
    table.described |= {
        "title": f"Targets predicted by {one.label}",
        "caption": f"Predicted against true for {where}, in the units of the target; on the line they agree.",
        "layout": {"rows": ["output"], "columns": ["metric"]},
        "figure": {"kind": "predicted_against_true", "points": points, "names": names},
    }
    errors = np.sqrt(((predicted - true) ** 2).reshape(len(true), -1).mean(axis=0))
    for name, value in zip(names, errors, strict=True):
        table.add(one.label, "rmse", [float(value)], f"output={name}")
    return table


def _add_confusion(table: _Table, one: MethodResult, true: Any, predicted: Any, names: Sequence[str]) -> None:
    from sklearn.metrics import confusion_matrix

    counts = confusion_matrix(true, predicted, labels=range(len(names)))
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            table.add(one.label, "count", [counts[i, j]], f"true={a}; predicted={b}")


def _cleaned(names: Iterable[str]) -> list[str]:
    """Return names without ``;`` and ``=``, which separate the keys of a table."""
    return [str(name).replace(";", ",").replace("=", "≈") for name in names]


def _bandwidths(results: Results) -> _Table:
    metric = "validation_error" if results.task == "classification" else "validation_unexplained"
    table = _Table(
        "bandwidths",
        results,
        {
            "title": "Validation error against bandwidth",
            "caption": "The lowest validation error that any choice of the other parameters reached with a bandwidth, "
            "the mean over the divisions with a band of one standard deviation. The picture has the seven methods of "
            "the lowest test error, the table has all. A curve that is lowest at its end says that the bandwidths "
            "tried (config/methods.yaml) should reach further.",
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
        },
    )
    at_end = []
    for one in results.done:
        lowest = one.trials.dropna(subset="factor").groupby(["factor", "seed"], sort=False)["score"].min()
        groups = lowest.groupby("factor")
        for factor, values in groups:
            table.add(one.label, metric, values.tolist(), f"bandwidth={factor:g}", one.folders)
        means = groups.mean()
        if len(means) > 2 and means.iloc[[0, -1]].min() < means.iloc[1:-1].min():
            at_end.append(f"{one.label} ({means.idxmin():g})")
    if at_end:
        table.described["notes"] = [f"Lowest at an end of the bandwidths tried: {', '.join(at_end)}."]
    if not table.rows:
        table.add_absent("", metric, "no method with a bandwidth could be run")
    return table


def describe(dataset: Dataset, info: Mapping[str, Any], scale: str) -> dict[str, Any]:
    """Describe a dataset of the catalogue in the form of the description of a user's own data."""
    has_test = bool(dataset.n_test)
    of_all = (dataset.n_train, dataset.n_test) if has_test else (None, None)
    where = "of its test part" if has_test else "drawn from all rows, since it has no test part"
    rows = f"{_of(info['n_train'], of_all[0])} training rows and {_of(info['n_test'], of_all[1])} test rows {where}"
    told = (
        f"{dataset.title}: {rows}, {info['n_features']:,} features{_scaled(info)}. Times are seconds of the processor "
        "on one thread, so that a busy machine does not count; on a GPU they are wall-clock seconds. Licence: "
        f"{dataset.licence}."
    )
    kept = ("title", "task", "n_train", "n_classes", "n_targets", "citation")
    entry = {**{name: getattr(dataset, name) for name in kept}, "n_test": dataset.n_test or 0, "options": {}}
    return {"dataset": dataset.name, "scale": scale, "told": told, "entry": entry}


def _of(used: int, available: int | None) -> str:
    return f"{used:,}" if available in (None, used) else f"{used:,} of the {available:,}"


def _scaled(info: Mapping[str, Any]) -> str:
    words = {"unit": " scaled to [0, 1]", **dict.fromkeys(("zscore", "scale_columns"), " with mean 0 and variance 1")}
    return next((words[name] for step in info["steps"] for name in step if name in words), " as they come")
