"""The columns of a target's table, and one row of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ..setting_text import format_setting
from . import verdicts
from .evaluations import RunResult

COLUMNS = (
    *("target", "dataset", "n_train", "n_test", "method", "setting", "metric", "published"),
    *("measured_mean", "measured_sd", "seeds", "verdict", "scale", "reason", "unit", "tolerance", "records"),
    *("evidence", "item", "derived", "fixed", "margin", "low", "high"),
)


class Rows:
    """Makes the rows of one target from what they share.

    Parameters
    ----------
    comparison : mapping
        `Plan.comparison` of the target.
    """

    def __init__(self, comparison: Mapping[str, Any]):
        self.comparison = comparison
        self._defined = {**comparison["spec"]["metrics"], **comparison["spec"].get("claims", {})}

    def row(
        self,
        word: str,
        method: str,
        setting: Mapping[str, Any],
        metric: str,
        judgement: tuple[str, str],
        printed: Mapping[str, str] | None = None,
        values: Sequence[float] = (),
        runs: Sequence[RunResult] = (),
        *,
        tolerance: str = "",
        margin: float | None = None,
        interval: tuple[float, float] | None = None,
    ) -> dict[str, Any]:
        """One row: a dataset by the paper's word, what was measured there, and the verdict with its reason.

        Parameters
        ----------
        printed : mapping, optional
            The row of the published file that it stands beside.
        values : sequence of float
            One a repetition.
        tolerance : str
            The criterion in words, where it was applied.
        margin : float, optional
            How far the mean might lie from the published number.
        interval : pair of float, optional
            By which it was judged.
        """
        size, definition = self._size(word, runs), self._defined.get(metric, {})
        printed = printed or {}
        reason = judgement[1]
        if printed.get("derived"):
            reason = "; ".join(filter(None, (f"counted elsewhere: {printed['derived']}", reason)))
        deviation = statistics.stdev if all(map(math.isfinite, values)) else lambda _: math.nan
        low, high = interval or (None, None)
        return {
            "target": self.comparison["target"],
            "dataset": dataset_name(self.comparison["sizes"], word),
            "n_train": size.get("n_train", ""),
            "n_test": size.get("n_test", ""),
            "method": method,
            "setting": format_setting(setting),
            "metric": metric,
            "published": printed.get("published", ""),
            "measured_mean": f"{statistics.fmean(values):.8g}" if values else "",
            "measured_sd": f"{deviation(values):.8g}" if len(values) > 1 else "",
            "seeds": " ".join(map(str, sorted({run.record["run"]["seed"] for run in runs}))),
            "verdict": verdicts.of_kind(judgement[0], definition.get("evidence", "")),
            "scale": self.comparison["scale"],
            "reason": reason,
            "unit": definition.get("unit", ""),
            "tolerance": tolerance,
            "records": ";".join(run.folder for run in runs),
            "evidence": definition.get("evidence", "") if printed else "",
            "item": printed.get("item", ""),
            "derived": printed.get("derived", ""),
            "fixed": definition.get("fixed", "") if tolerance else "",
            "margin": "" if margin is None else f"{margin:.4g}",
            "low": "" if low is None else f"{low:.6g}",
            "high": "" if high is None else f"{high:.6g}",
        }

    def not_run(
        self, word: str, method: str, setting: Mapping[str, Any], printed: Mapping[str, str] | None, metric: str
    ) -> dict[str, Any]:
        """The row of a published value beside which nothing was measured."""
        reason = (
            self._defined.get(metric, {}).get("not_measured")
            or self.comparison["missing"].get(word)
            or self.comparison["left_out"]
            or "not asked for at this scale"
        )
        return self.row(word, method, setting, metric, (verdicts.NOT_RUN, reason), printed)

    def incomparable(self, word: str, runs: Sequence[RunResult] = ()) -> str | None:
        """Why the data that these runs of this scale used cannot stand beside the paper's."""
        if word not in self.comparison["sizes"]:
            return None
        paper = self.comparison["spec"]["published_data"].get(word)
        return verdicts.incomparable_data(word, paper, self._size(word, runs))

    def _size(self, word: str, runs: Sequence[RunResult]) -> Mapping[str, Any]:
        """The size of the data; where it matters for the comparison, the training points are those that were used."""
        size = self.comparison["sizes"].get(word, {})
        if not size or (self.comparison["spec"]["published_data"].get(word) or {}).get("any"):
            return size
        here = [run for run in runs if run.record["run"].get("dataset") in (None, size["dataset"])]
        return {**size, "n_train": min([size["n_train"], *(run.points_used for run in here)])}


def dataset_name(sizes: Mapping[str, Mapping[str, Any]], word: str) -> str:
    """The dataset that stands for a paper's word, with the word where it stands for several of them."""
    if word not in sizes:
        return word
    dataset = sizes[word]["dataset"]
    shared = sum(one["dataset"] == dataset for one in sizes.values()) > 1
    return f"{dataset} ({word})" if shared else dataset
