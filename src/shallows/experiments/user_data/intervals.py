"""Intervals of a mean over several divisions of the data, or over the rows of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: The share of intervals that hold the true value, were the data drawn anew.
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean with the half width of its 95 % interval and its standard error; infinite where nothing is known of it."""

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
    """The interval of a mean over divisions of the same rows, whose training parts overlap.

    Student's t with the variance times 1/k + n_test/n_train in place of 1/k.

    Parameters
    ----------
    values : sequence of float
        One for each of k divisions.
    n_train, n_test : int
        Rows of each division.

    References
    ----------
    C. Nadeau and Y. Bengio (2003), "Inference for the generalization error", Machine Learning 52.
    """
    from scipy import stats

    k = len(values)
    if k < 2:
        return Interval(float(np.mean(values)), math.inf, math.inf)
    error = math.sqrt(np.var(values, ddof=1) * (1 / k + n_test / n_train))
    return Interval(float(np.mean(values)), float(stats.t.ppf((1 + LEVEL) / 2, k - 1)) * error, error)


def over_rows(losses: Any) -> Interval:
    """The interval of a mean over independent test rows, by the normal law."""
    from scipy import stats

    losses = np.asarray(losses, dtype=np.float64)
    if len(losses) < 2:
        return Interval(float(np.mean(losses)), math.inf, math.inf)
    error = float(np.std(losses, ddof=1)) / math.sqrt(len(losses))
    return Interval(float(np.mean(losses)), float(stats.norm.ppf((1 + LEVEL) / 2)) * error, error)
