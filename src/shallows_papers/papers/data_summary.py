"""Sizes, numbers of labels and ranges of prepared data, to compare with the values in a paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from .results import AnalysisResult


def summarise(data: Any, *, n_rows: int = 10000) -> AnalysisResult:
    """Return numbers that describe prepared data.

    Numbers: ``n`` (training points), ``n_all`` (with the test points), ``d`` (features), ``n_labels`` (classes, or
    numbers to predict at once), ``smallest`` and ``largest`` feature, ``mean`` and ``deviation`` (averages
    over the features), ``n_test``, ``smallest_target`` and ``largest_target`` of the training part.
    """
    x, y = data.x_train, np.asarray(data.y_train)
    rows = np.asarray(x[:n_rows], dtype=np.float64)
    labels = len(np.unique(y)) if y.dtype.kind in "iub" and y.ndim == 1 else (y.shape[1] if y.ndim == 2 else 1)
    numbers = {
        "n": x.shape[0],
        "n_all": x.shape[0] + data.x_test.shape[0],
        "d": x.shape[1],
        "n_labels": labels,
        "smallest": rows.min(),
        "largest": rows.max(),
        "mean": rows.mean(),
        "deviation": rows.std(axis=0).mean(),
        "n_test": data.x_test.shape[0],
        "smallest_target": y.min(),
        "largest_target": y.max(),
    }
    return AnalysisResult([], {}, {name: float(value) for name, value in numbers.items()})
