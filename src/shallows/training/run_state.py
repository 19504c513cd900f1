"""The progress of one training: its counters, times and losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Run:
    """The progress of one training, which the loop shows to observers and `train` returns.

    Attributes
    ----------
    state
        The solver's.
    epoch, position, iteration : int
        Whole epochs done, batches done of the next one, batches done in all.
    n_batches : int
        Of an epoch; 0 for a stream.
    max_epochs : int
    max_iterations : int or None
    seconds : float
        Of training alone, over all resumes.
    losses : list of float
        Of each epoch, as a share of the loss of the zero function, or of whatever else the state's number is held
        against; NaN where it offers none, see `protocols.MonitoredState`.
    n_rollbacks, n_resumes : int
    stopped_by : str
        Which rule ended it.
    """

    state: Any
    n_batches: int
    max_epochs: int
    epoch: int = 0
    position: int = 0
    iteration: int = 0
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)
    n_rollbacks: int = 0
    n_resumes: int = 0
    last_rollback: int = -1
    stopped_by: str = ""
    validation_errors: list[float] = field(default_factory=list)
    make_snapshot: Callable[[Any, int], Any] | None = None
    max_iterations: int | None = None

    def snapshot(self) -> Any:
        """The model as it is now, for evaluation."""
        return self.make_snapshot(self.state, self.epoch) if self.make_snapshot else self.state


COUNTED = (
    "epoch",
    "position",
    "iteration",
    "seconds",
    "losses",
    "n_rollbacks",
    "last_rollback",
    "stopped_by",
    "validation_errors",
)
"""What a checkpoint keeps of a `Run`, beside the solver's state."""
