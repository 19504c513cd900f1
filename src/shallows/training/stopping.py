"""Stopping rules, and the state with the smallest validation error."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers
from .run_state import Run
from .states import Kept, keep, put_back


@takes_numpy_integers
@dataclass(frozen=True)
class Stopping:
    """When training ends: at the first of these that comes true.

    Parameters
    ----------
    max_epochs : int
        Passes over the data.
    max_iterations : int, optional
        Batches.
    max_seconds : float, optional
        Of training, without evaluation; they end no run whose solver has no model yet, see `has_model`.
    tolerance : float
        The loss over an epoch, each batch measured before its own step, as a share of the loss of the zero function.
    least_fall : float
        Stop after two epochs in a row over which the loss fell by less than this share of itself; 0 lets it rest.
    validate : callable, optional
        Given a snapshot of the model, returns an error to be made small; measured after every epoch. The coefficients
        with the smallest are the result.
    target : float, optional
        Stop when that error is at most this.
    patience : int
        Stop after so many epochs without a smaller error.
    """

    max_epochs: int
    max_iterations: int | None = None
    max_seconds: float | None = None
    tolerance: float = 0.0
    least_fall: float = 0.0
    validate: Callable[[Any], float] | None = None
    target: float | None = None
    patience: int = 3

    def __post_init__(self) -> None:
        if self.max_epochs < 1:
            raise ShallowsError(f"max_epochs must be at least 1, got {self.max_epochs!r}.")

    def after_batch(self, run: Run, *, until_exhausted: bool) -> str:
        """The rule that ends the run after a batch, or nothing."""
        if self.max_iterations is not None and run.iteration >= self.max_iterations:
            return "max_iterations"
        if self.max_seconds is not None and run.seconds >= self.max_seconds and has_model(run.state):
            return "max_seconds"
        return "exhausted" if until_exhausted and is_exhausted(run.state) else ""

    def after_epoch(self, run: Run) -> str:
        """The rule that ends the run after an epoch, or nothing; validation has its own, see `BestState`."""
        if run.losses[-1] <= self.tolerance:
            return "tolerance"
        if self.least_fall and len(run.losses) > 2:
            least = 1.0 - self.least_fall
            if all(later > least * earlier for earlier, later in itertools.pairwise(run.losses[-3:])):
                return "plateau"
        if is_exhausted(run.state):
            return "exhausted"
        return "max_epochs" if run.epoch >= self.max_epochs else ""


def has_model(state: Any) -> bool:
    """Whether the steps so far make a model; those of a first pass over the data may not."""
    return getattr(state, "has_model", True)


def is_exhausted(state: Any) -> bool:
    """Whether a solver says that it has nothing left to do."""
    return getattr(state, "exhausted", False)


@dataclass
class BestState:
    """The state with the smallest validation error so far."""

    error: float = math.inf
    kept: Kept | None = field(default=None, repr=False)  # See `states.keep`

    def validate(self, run: Run, stopping: Stopping) -> str:
        """Measure the state of a run and keep it if it is the best; returns the rule that ends the run, or nothing."""
        error = float(stopping.validate(run.snapshot()))
        run.validation_errors.append(error)
        if error < self.error:
            self.error, self.kept = error, keep(run.state)
        if stopping.target is not None and error <= stopping.target:
            return "target"
        since = len(run.validation_errors) - 1 - int(np.argmin(run.validation_errors))
        return "patience" if since >= stopping.patience else ""

    def put_back(self, state: Any) -> None:
        """Bring a state to the best there was, if any was measured."""
        if self.kept is not None:
            put_back(state, self.kept)
