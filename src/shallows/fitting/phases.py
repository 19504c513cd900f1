"""The clock of a fit: seconds of each phase."""

from __future__ import annotations

import time

from .. import training
from .checks import warn_user


class Phases:
    """Seconds of the phases of a fit that are over.

    Attributes
    ----------
    seconds : dict
        By the name of the phase.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = time.perf_counter()

    def end(self, name: str) -> None:
        """Note the seconds since the phase before ended."""
        now = time.perf_counter()
        self.seconds[name], self._began = now - self._began, now

    def left(self, max_seconds: float | None) -> float | None:
        """Seconds that the phases before leave to the training; warns if these are none."""
        before = sum(self.seconds.values())
        if max_seconds is not None and before > max_seconds:
            warn_user(
                f"max_seconds={max_seconds:g} were over before the first step, after {before:.3g} seconds; the "
                "training ends as soon as there is a model. Give it more time, or the bandwidth as a number."
            )
        return None if max_seconds is None else max(0.0, max_seconds - before)

    def end_training(self, run: training.Run) -> None:
        """Note the seconds of a training, and those of the evaluation next to it."""
        self.end("evaluation")
        evaluation = max(0.0, self.seconds["evaluation"] - run.seconds)
        self.seconds |= {"training": run.seconds, "evaluation": evaluation}
