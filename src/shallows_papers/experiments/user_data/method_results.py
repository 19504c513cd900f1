"""The results of a comparison: what each method measured over the splits, intervals, and warnings of its fits."""

import json
import math
import re
import statistics
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from ..running import record as records
from .comparison import SCALE, has_test_rows
from .prediction_scores import metric_of, reported, row_losses

#: The share of intervals that contain the true value, if the data were drawn again.
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean with the half width of its 95 % interval and its standard error; infinite where they are not known."""

    mean: float
    half_width: float
    standard_error: float

    @property
    def low(self) -> float:
        """The lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + self.half_width


def over_splits(values: Sequence[float], n_train: int, n_test: int) -> Interval:
    """Return the interval of a mean over k splits of the same rows, whose training parts overlap.

    Student's t with the variance times 1/k + n_test/n_train instead of 1/k (C. Nadeau and Y. Bengio, 2003, "Inference
    for the generalization error", Machine Learning 52).
    """
    from scipy import stats

    return _interval(values, 1 / len(values) + n_test / n_train, stats.t(max(len(values) - 1, 1)))


def over_rows(losses: Any) -> Interval:
    """Return the interval of a mean over independent test rows, by the normal distribution."""
    from scipy import stats

    return _interval(losses, 1 / len(losses), stats.norm())


def _interval(values: Any, share: float, distribution: Any) -> Interval:
    """Return the interval of a mean whose variance is this share of the variance of the values."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, math.inf, math.inf)
    error = math.sqrt(np.var(values, ddof=1) * share)
    return Interval(mean, float(distribution.ppf((1 + LEVEL) / 2)) * error, error)


@dataclass(frozen=True)
class MethodResult:
    """The results of one method, with a folder and a record for each seed."""

    method: str
    label: str
    task: str
    reason: str = ""  # why the method was not run; empty if it was
    folders: tuple[Path, ...] = ()
    records: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    warnings: Mapping[str, int] = field(default_factory=dict)  # of the fits, each with its number

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the splits."""
        return tuple(record["run"]["seed"] for record in self.records)

    def values(self, metric: str) -> list[float]:
        """Return a metric for each seed for which it was measured."""
        finals = [record["metrics"]["final"] for record in self.records]
        return [final[metric] for final in finals if metric in final]

    @property
    def scores(self) -> list[float]:
        """The test score for each seed; lower is better."""
        return [reported(self.task, value) for value in self.values(metric_of(self.task, "test"))]

    @property
    def seconds(self) -> float:
        """Mean seconds of fitting the chosen model and of predicting the test rows."""
        return sum(statistics.fmean(self.values(metric)) for metric in ("fit_seconds", "predict_seconds"))

    @property
    def kilobytes(self) -> float:
        """Mean size of the fitted model."""
        return statistics.fmean(self.values("model_kilobytes"))

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of training and of test rows of a split."""
        return self.records[0]["data"]["n_train"], self.records[0]["data"]["n_test"]

    def predictions(self) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """The true and the predicted targets of the test rows of the first split, and the names of the classes."""
        with np.load(self.folders[0] / "predictions.npz", allow_pickle=False) as held:
            return held["true"], held["predicted"], held["classes"].tolist()

    @cached_property
    def trials(self) -> pandas.DataFrame:
        """Every choice that was tried with a finite score: ``seed``, ``words``, ``factor`` (or NaN) and ``score``."""
        rows = [
            {"factor": None, "score": "inf", **trial, "seed": record["run"]["seed"]}
            for record in self.records
            for trial in record["selection"]["trials"]
        ]
        table = pandas.DataFrame(rows, columns=["seed", "words", "factor", "score"])
        table = table.astype({"factor": float, "score": float})
        return table[np.isfinite(table["score"])]

    @property
    def choice(self) -> str:
        """The parameters with the best mean validation score over all splits, as text."""
        scores = self.trials.groupby("words", sort=False)["score"].agg(["mean", "count"])
        means = scores.loc[scores["count"] == len(self.records), "mean"]
        return means.idxmin() if len(means) else self.records[0]["selection"]["chosen"]


@dataclass(frozen=True)
class Results:
    """The methods of a comparison, ordered by test score, with the methods that were not run last."""

    methods: tuple[MethodResult, ...]
    description: Mapping[str, Any]  # of the data

    @property
    def task(self) -> str:
        """The task of the data."""
        return self.description["entry"]["task"]

    @property
    def scale(self) -> str:
        """The scale named in the description, or the word for a user's own data."""
        return self.description.get("scale", SCALE)

    @property
    def done(self) -> tuple[MethodResult, ...]:
        """The methods that were run."""
        return tuple(method for method in self.methods if method.records)

    @property
    def n_splits(self) -> int:
        """Number of splits of the data."""
        return max((len(method.records) for method in self.done), default=0)

    @property
    def by_rows(self) -> bool:
        """Whether intervals are computed from the test rows of the first split, as with fewer than three splits."""
        return has_test_rows(self.description) or self.n_splits < 3

    def interval(self, method: MethodResult) -> Interval:
        """The interval of a method's mean test score."""
        return over_rows(self._losses(method)) if self.by_rows else over_splits(method.scores, *method.sizes)

    def difference(self, method: MethodResult, other: MethodResult) -> Interval:
        """Return the interval of how much worse the first method is than the second, on the same rows."""
        if self.by_rows:
            return over_rows(self._losses(method) - self._losses(other))
        pairs = dict(zip(other.seeds, other.scores, strict=True))
        gaps = [value - pairs[seed] for seed, value in zip(method.seeds, method.scores, strict=True) if seed in pairs]
        return over_splits(gaps, *method.sizes)

    def search_gain(self, method: MethodResult) -> Interval | None:
        """Return the interval of how much worse the defaults are than the choice; None if nothing was chosen."""
        defaults = method.values(metric_of(self.task, "default"))
        if len(defaults) < len(method.records) or not defaults:
            return None
        gaps = [reported(self.task, value) - score for value, score in zip(defaults, method.scores, strict=True)]
        return over_splits(gaps, *method.sizes)

    def _losses(self, method: MethodResult) -> np.ndarray:
        true, predicted, _ = method.predictions()
        return row_losses(self.task, predicted, true)


def read(outcomes: Iterable[str | Path], description: Mapping[str, Any]) -> Results:
    """Read the outcomes of all methods and seeds of a comparison."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path in map(Path, outcomes):
        outcome = {"folder": path.parent, **json.loads(path.read_text(encoding="utf-8"))}
        if outcome["has_part"]:
            groups.setdefault(outcome["method"], []).append(outcome)
    task = description["entry"]["task"]
    methods = [_method(group, task) for group in groups.values()]
    methods.sort(key=lambda one: (0, statistics.fmean(one.scores), one.kilobytes, one.method) if one.records else (1,))
    return Results(tuple(methods), description)


def _method(group: Sequence[Mapping[str, Any]], task: str) -> MethodResult:
    done = [outcome for outcome in group if "record" in outcome]
    reasons = [outcome["reason"] for outcome in group if "reason" in outcome]
    return MethodResult(
        group[0]["method"],
        group[0]["label"],
        task,
        reasons[0] if reasons and not done else "",
        tuple(outcome["folder"] for outcome in done),
        tuple(records.read(outcome["folder"])[0] for outcome in done),
        of_outcomes(group),
    )


_NUMBER = re.compile(r"\d[\d.]*(?:e[-+]?\d+)?")


@contextmanager
def collect_warnings(counts: dict[str, int]) -> Iterator[None]:
    """Count the warnings of the block by their texts instead of printing them."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    counts |= count_kinds((str(one.message), 1) for one in found)


def count_kinds(told: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Count texts that differ only in numbers together, under the first of them."""
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for text, n in told:
        line = first.setdefault(_NUMBER.sub("", text), " ".join(text.split()))
        counts[line] = counts.get(line, 0) + n
    return counts


def of_outcomes(outcomes: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the warnings of a method over all its outcomes."""
    return count_kinds(pair for outcome in outcomes for pair in outcome.get("warnings", {}).items())


def sentence(label: str, counts: Mapping[str, int]) -> str:
    """Show the warnings of a method in one line; empty without warnings."""
    if not counts:
        return ""
    n = sum(counts.values())
    return f"{label} warned{f' {n} times, most often' if n > 1 else ''}: {max(counts, key=counts.__getitem__)}"
