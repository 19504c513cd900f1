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
        published: str = "",
        values: Sequence[float] = (),
        runs: Sequence[RunResult] = (),
        tolerance: str = "",
    ) -> dict[str, Any]:
        """One row: a dataset by the paper's word, what was measured there, and the verdict with its reason."""
        size = self.comparison["sizes"].get(word, {})
        deviation = statistics.stdev if all(map(math.isfinite, values)) else lambda _: math.nan
        return {
            "target": self.comparison["target"],
            "dataset": dataset_name(self.comparison["sizes"], word),
            "n_train": size.get("n_train", ""),
            "n_test": size.get("n_test", ""),
            "method": method,
            "setting": format_setting(setting),
            "metric": metric,
            "published": published,
            "measured_mean": f"{statistics.fmean(values):.8g}" if values else "",
            "measured_sd": f"{deviation(values):.8g}" if len(values) > 1 else "",
            "seeds": " ".join(map(str, sorted({run.record["run"]["seed"] for run in runs}))),
            "verdict": judgement[0],
            "scale": self.comparison["scale"],
            "reason": judgement[1],
            "unit": self._defined.get(metric, {}).get("unit", ""),
            "tolerance": tolerance,
            "records": ";".join(run.folder for run in runs),
        }

    def not_run(
        self, word: str, method: str, setting: Mapping[str, Any], metric: str, published: str
    ) -> dict[str, Any]:
        """The row of a published value beside which nothing was measured."""
        reason = self.comparison["missing"].get(word) or self.comparison["left_out"] or "not asked for at this scale"
        return self.row(word, method, setting, metric, (verdicts.NOT_RUN, reason), published)

    def incomparable(self, word: str) -> str | None:
        """Why the data of this scale cannot stand beside the paper's."""
        size = self.comparison["sizes"].get(word)
        if size is None:
            return None
        return verdicts.incomparable_data(word, self.comparison["spec"]["published_data"].get(word), size)


def dataset_name(sizes: Mapping[str, Mapping[str, Any]], word: str) -> str:
    """The dataset that stands for a paper's word, with the word where it stands for several of them."""
    if word not in sizes:
        return word
    dataset = sizes[word]["dataset"]
    shared = sum(one["dataset"] == dataset for one in sizes.values()) > 1
    return f"{dataset} ({word})" if shared else dataset
