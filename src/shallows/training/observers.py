"""Observers of a training: curves of metrics, and the display of progress."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers
from ..utils.progress import duration

if TYPE_CHECKING:
    from .loop import Run


class Observer:
    """Called by the loop at each stage of a training. Subclasses override the methods that they need.

    An observer that sets ``run.stopped_by`` after a batch ends the training there.
    """

    def on_start(self, run: Run) -> None:
        """Before the first batch, or the first after a resume."""

    def on_batch(self, run: Run) -> None:
        """After every batch."""

    def on_epoch(self, run: Run) -> None:
        """After every epoch."""

    def on_end(self, run: Run) -> None:
        """At the end, also after a failure."""

    def remember(self) -> Any:
        """What a checkpoint keeps of this observer, storable as JSON."""
        return None

    def recall(self, memory: Any) -> None:
        """Continue from the result of `remember`."""


UNITS = ("epoch", "iteration", "seconds")


@takes_numpy_integers
class Curve(Observer):
    """Evaluates the model at some points of its training.

    Parameters
    ----------
    points : sequence of int or float
        The epochs, iterations or seconds after which to evaluate.
    evaluate : callable
        Takes the snapshot of the model, which predicts or transforms, and returns the metrics by name.
    unit : {"epoch", "iteration", "seconds"}
        The unit of the points. Seconds are seconds of training, and the first batch that reaches a point counts.

    Attributes
    ----------
    rows : list of dict
        ``epoch, iteration, seconds`` and the metrics, for each point that was reached.
    """

    def __init__(
        self,
        points: Iterable[float],
        evaluate: Callable[[Any], dict[str, float]],
        unit: str = "epoch",
    ):
        if unit not in UNITS:
            raise ShallowsError(f"A curve counts in {', '.join(map(repr, UNITS))}, not {unit!r}.")
        self.unit = unit
        self.points = frozenset(float(point) if unit == "seconds" else int(point) for point in points)
        self.evaluate = evaluate
        self.rows: list[dict[str, float]] = []

    def on_batch(self, run: Run) -> None:  # noqa: D102
        if self.unit == "epoch":
            return
        # Rows of steps that the loop has taken back are measured again.
        self.rows = [row for row in self.rows if row["iteration"] < run.iteration]
        before = self.rows[-1][self.unit] if self.rows else 0
        here = getattr(run, self.unit)
        if any(before < point <= here for point in self.points) if self.unit == "seconds" else here in self.points:
            self._measure(run)

    def on_epoch(self, run: Run) -> None:  # noqa: D102
        if self.unit == "epoch" and run.epoch in self.points and all(row["epoch"] != run.epoch for row in self.rows):
            self._measure(run)

    def _measure(self, run: Run) -> None:
        metrics = {name: float(value) for name, value in self.evaluate(run.snapshot()).items()}
        self.rows.append({"epoch": run.epoch, "iteration": run.iteration, "seconds": run.seconds, **metrics})

    def remember(self) -> Any:  # noqa: D102
        return self.rows

    def recall(self, memory: Any) -> None:  # noqa: D102
        self.rows = list(memory)


@takes_numpy_integers
class Progress(Observer):
    """Shows a bar with the time left. Without a terminal or tqdm it prints a line now and then.

    The bar appears after ``delay`` seconds, and lines are ``every_seconds`` apart. ``n_epochs`` is the number of epochs
    if the run ends earlier than it knows.
    """

    def __init__(self, label: str, n_epochs: int | None = None, delay: float = 2.0, every_seconds: float = 15.0):
        self.label, self.n_epochs, self.delay, self.every_seconds = label, n_epochs, delay, every_seconds
        self._bar: Any = None
        self._last = 0.0

    def on_start(self, run: Run) -> None:  # noqa: D102
        self._last = time.monotonic()
        if sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None:
            from tqdm import tqdm

            self._bar = tqdm(
                total=_total(run, self.n_epochs) or None,
                initial=run.iteration,
                desc=self.label,
                unit="batch",
                delay=self.delay,
                leave=False,
            )

    def on_batch(self, run: Run) -> None:  # noqa: D102
        if self._bar is not None:
            self._bar.update(run.iteration - self._bar.n)
            return
        now = time.monotonic()
        if now - self._last < self.every_seconds:
            return
        self._last = now
        place, done, left = place_of(run, self.n_epochs)
        if done is not None:
            place += f", {100 * done:.0f} %, about {duration(left)} left"
        print(f"{self.label}: {place}", file=sys.stderr, flush=True)

    def on_end(self, run: Run) -> None:  # noqa: D102
        if self._bar is not None:
            self._bar.close()


def place_of(run: Run, n_epochs: int | None = None) -> tuple[str, float | None, float | None]:
    """The place of a training as text, its share, and the seconds that are left; None if the end is unknown.

    ``n_epochs`` is the number of epochs if the run ends earlier than it knows.
    """
    total = _total(run, n_epochs)
    if run.n_batches:
        place = f"epoch {run.epoch + 1} of at most {run.max_epochs}"
    else:
        place = f"batch {run.iteration}" + (f" of {total}" if total else f", {duration(run.seconds)}")
    if not total:
        return place, None, None
    share = run.iteration / total
    return place, share, run.seconds / max(share, 1e-9) * (1 - share)


def _total(run: Run, n_epochs: int | None) -> int:
    """The number of batches in all, 0 if unknown."""
    total = run.n_batches * min(n_epochs or run.max_epochs, run.max_epochs)
    asked = run.max_iterations or 0
    return min(total, asked) if total and asked else total or asked
