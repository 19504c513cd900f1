"""Monitors detect divergence and compute the loss of an epoch, from what a state offers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import arrays
from .protocols import LeastSquaresState, MonitoredState
from .states import is_finite

GROWTH = 10.0
"""A batch whose loss exceeds this many times the loss of the zero function counts as divergence."""

EPOCH_GROWTH = 2.0
"""So does an epoch whose loss exceeds this many times that of the zero function: slow growth, caught early."""


class Monitor:
    """Watches the number that a state offers, if it offers one, see `protocols.MonitoredState`.

    A problem's ``growth``, if there is one, takes the place of `GROWTH`; infinite where long first steps are by design.
    """

    def __init__(self, problem: Any, state: Any):
        self._is_monitored = isinstance(state, MonitoredState)
        self.growth = getattr(problem, "growth", GROWTH)
        self.epoch_growth = EPOCH_GROWTH if math.isfinite(self.growth) else math.inf
        self._sum, self._sum_of_references = 0.0, 0.0
        self._total_of_references, self._n_references = 0.0, 0
        self._sum_of_usual = 0.0

    def diverged(self, state: Any, batch: Any) -> bool:
        """Whether the last step says so; one that does not is taken into the epoch."""
        offered = self._read(state)
        value, reference = offered or (math.nan, math.nan)
        earlier = getattr(state, "mean_zero_loss", 0.0)  # Of a stream, whose earlier calls had monitors of their own.
        if offered is None:
            diverged = not is_finite(state)
        elif math.isnan(reference):
            diverged = not math.isfinite(value)
        else:
            diverged = not math.isfinite(value) or (
                value > self.growth * max(self._usual(reference, batch), earlier) + 1e-30
            )
        if not diverged:
            self._sum += value
            self._sum_of_references += reference
            self._sum_of_usual += max(abs(reference), earlier)
        return diverged

    def epoch_diverged(self) -> bool:
        """Whether the sum over the epoch says so, where no batch did."""
        usual = max(self._reference_of_epoch(), self._sum_of_usual)
        return self._sum > self.epoch_growth * usual + 1e-30

    def epoch_loss(self) -> float:
        """The number of the epoch as a share of its reference; NaN where there is none."""
        return self._sum / max(self._reference_of_epoch(), 1e-300)

    def begin_epoch(self) -> None:
        """Forget the sums of the epoch."""
        self._sum = self._sum_of_references = self._sum_of_usual = 0.0

    def _read(self, state: Any) -> tuple[float, float] | None:
        """The number of the last step and its reference, if it has one."""
        return state.monitored() if self._is_monitored else None

    def _usual(self, reference: float, batch: Any) -> float:
        # A batch whose targets are all zero by chance has no loss of its own to be held against, so the mean of the
        # batches so far is; if none had any, nothing is.
        here = abs(reference)
        self._total_of_references, self._n_references = self._total_of_references + here, self._n_references + 1
        return max(here, self._total_of_references / self._n_references) or math.inf

    def _reference_of_epoch(self) -> float:
        return abs(self._sum_of_references)

    def remember(self) -> list[float]:
        """What a checkpoint keeps."""
        total = [self._total_of_references, self._n_references]
        return [self._sum, self._sum_of_references, *total, self._sum_of_usual]

    def recall(self, numbers: list[float]) -> None:
        """Go back to what `remember` gave."""
        self._sum, self._sum_of_references, self._total_of_references, self._n_references, self._sum_of_usual = numbers


class SquareLossMonitor(Monitor):
    """Holds the squared residuals of a batch against its squared targets, which the problem tells beforehand."""

    def __init__(self, problem: Any, state: Any):
        super().__init__(problem, state)
        self._losses = square_losses(problem)
        self._total = float(self._losses.sum())

    def _read(self, state: Any) -> tuple[float, float]:
        return state.loss, 0.0  # What it is held against is known by the batch.

    def _usual(self, reference: float, batch: slice | np.ndarray) -> float:
        here = self._losses[batch]
        return float(here.sum()) + self._total * len(here) / len(self._losses)

    def _reference_of_epoch(self) -> float:
        return self._total


def monitor_of(problem: Any, state: Any) -> Monitor:
    """The monitor that fits what a state offers."""
    least_squares = not isinstance(state, MonitoredState) and isinstance(state, LeastSquaresState)
    return (SquareLossMonitor if least_squares else Monitor)(problem, state)


def square_losses(problem: Any) -> np.ndarray:
    """Weighted square losses of the zero function at each row, shape (n,)."""
    targets = arrays.to_numpy(problem.targets).astype(np.float64, copy=False)
    rows = np.einsum("ij,ij->i", targets, targets)
    if problem.weights is not None:
        rows = rows * arrays.to_numpy(problem.weights)[:, 0]
    return rows
