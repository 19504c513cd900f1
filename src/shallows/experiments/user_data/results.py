"""What the methods of a comparison measured, method by method over the divisions of the data, and how they differ."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..running import record as records
from .comparison import SCALE, has_test_rows
from .intervals import Interval, over_rows, over_splits
from .scores import metric_of, reported, row_losses


@dataclass(frozen=True)
class MethodResult:
    """One method with what it left for each division of the data.

    Attributes
    ----------
    method, label : str
    reason : str
        Why it was not run; empty where it was.
    folders : tuple of Path
    records : tuple of dict
        One for each seed, in the same order.
    task : str
    """

    method: str
    label: str
    task: str
    reason: str = ""
    folders: tuple[Path, ...] = ()
    records: tuple[dict[str, Any], ...] = field(default=(), repr=False)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds by which the data were divided."""
        return tuple(one["run"]["seed"] for one in self.records)

    def values(self, metric: str) -> list[float]:
        """A metric, for each seed for which it was measured."""
        finals = [one["metrics"]["final"] for one in self.records]
        return [final[metric] for final in finals if metric in final]

    def mean(self, metric: str) -> float:
        """The mean of a metric."""
        return statistics.fmean(self.values(metric))

    @property
    def scores(self) -> list[float]:
        """The test score for each seed; lower is better."""
        return [reported(self.task, value) for value in self.values(metric_of(self.task, "test"))]

    @property
    def seconds(self) -> float:
        """Mean seconds of fitting the chosen model and of predicting the test rows."""
        return self.mean("fit_seconds") + self.mean("predict_seconds")

    @property
    def sizes(self) -> tuple[int, int]:
        """Training and test rows of a division."""
        return self.records[0]["data"]["n_train"], self.records[0]["data"]["n_test"]

    def predictions(self, place: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """The true and the predicted targets of the test rows of one division."""
        with np.load(self.folders[place] / "predictions.npz", allow_pickle=False) as held:
            return held["true"], held["predicted"]

    @property
    def classes(self) -> list[str]:
        """Names of the classes by their numbers; none in regression."""
        with np.load(self.folders[0] / "predictions.npz", allow_pickle=False) as held:
            return held["classes"].tolist()

    def trial_scores(self) -> dict[str, float]:
        """The mean validation score of every choice of parameters that every division tried, by its words."""
        found: dict[str, list[float]] = {}
        for one in self.records:
            for trial in one["selection"]["trials"]:
                found.setdefault(trial["words"], []).append(float(trial.get("score", "inf")))
        whole = {words: statistics.fmean(scores) for words, scores in found.items() if len(scores) == len(self.records)}
        return {words: score for words, score in whole.items() if np.isfinite(score)}

    @property
    def choice(self) -> str:
        """The words of the parameters with the best mean validation score."""
        scores = self.trial_scores()
        return min(scores, key=scores.get) if scores else self.records[0]["selection"]["chosen"]


@dataclass(frozen=True)
class Results:
    """The methods of a comparison, the best on the test rows first and those that were not run last.

    Attributes
    ----------
    methods : tuple of MethodResult
    description : mapping
        Of the data.
    """

    methods: tuple[MethodResult, ...]
    description: Mapping[str, Any]

    @property
    def task(self) -> str:
        """The task of the data."""
        return self.description["entry"]["task"]

    @property
    def scale(self) -> str:
        """The scale of the tables: that of the description, or the word that stands for a user's own data."""
        return self.description.get("scale", SCALE)

    @property
    def done(self) -> tuple[MethodResult, ...]:
        """The methods that were run."""
        return tuple(one for one in self.methods if one.records)

    @property
    def n_splits(self) -> int:
        """How many divisions of the data there are."""
        return max((len(one.records) for one in self.done), default=0)

    @property
    def by_rows(self) -> bool:
        """Whether intervals follow from the test rows of the first division, as where there are fewer than three."""
        return has_test_rows(self.description) or self.n_splits < 3

    def interval(self, one: MethodResult) -> Interval:
        """The interval of a method's mean test score."""
        if self.by_rows:
            return over_rows(self._losses(one))
        return over_splits(one.scores, *one.sizes)

    def difference(self, one: MethodResult, other: MethodResult) -> Interval:
        """The interval of how much worse the first is than the second, on the same rows."""
        if self.by_rows:
            return over_rows(self._losses(one) - self._losses(other))
        pairs = dict(zip(other.seeds, other.scores, strict=True))
        gaps = [score - pairs[seed] for seed, score in zip(one.seeds, one.scores, strict=True) if seed in pairs]
        return over_splits(gaps, *one.sizes)

    def search_gain(self, one: MethodResult) -> Interval | None:
        """The interval of how much worse the defaults are than what was chosen; None where nothing was chosen."""
        defaults = one.values(metric_of(self.task, "default"))
        if len(defaults) < len(one.records) or not defaults:
            return None
        gaps = [reported(self.task, value) - score for value, score in zip(defaults, one.scores, strict=True)]
        return over_splits(gaps, *one.sizes)

    def _losses(self, one: MethodResult) -> np.ndarray:
        true, predicted = one.predictions()
        return row_losses(self.task, predicted, true)


def read(outcomes: Iterable[str | Path], description: Mapping[str, Any]) -> Results:
    """Read the outcomes of all methods and seeds of a comparison."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path in map(Path, outcomes):
        outcome = {"folder": path.parent, **json.loads(path.read_text(encoding="utf-8"))}
        if outcome["has_part"]:
            groups.setdefault(outcome["method"], []).append(outcome)
    task = description["entry"]["task"]
    found = [_method(group, task) for group in groups.values()]
    found.sort(key=lambda one: (not one.records, statistics.fmean(one.scores) if one.records else 0.0))
    return Results(tuple(found), description)


def _method(group: Sequence[Mapping[str, Any]], task: str) -> MethodResult:
    done = [one for one in group if "record" in one]
    reasons = [one["reason"] for one in group if "reason" in one]
    return MethodResult(
        group[0]["method"],
        group[0]["label"],
        task,
        reasons[0] if reasons and not done else "",
        tuple(one["folder"] for one in done),
        tuple(records.read(one["folder"])[0] for one in done),
    )
