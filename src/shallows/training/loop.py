"""The loop itself: steps, stopping rules, checkpoints, the watch for divergence."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import arrays
from ..errors import DivergenceError, ShallowsError, TrainingInterrupted
from .batches import Batches, Listing, Stream
from .checkpoints import Checkpoint
from .observers import Observer


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
        Of training, without evaluation.
    tolerance : float
        The loss over an epoch, each batch measured before its own step, as a share of the loss of the zero function.
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
    validate: Callable[[Any], float] | None = None
    target: float | None = None
    patience: int = 3

    def __post_init__(self) -> None:
        if self.max_epochs < 1:
            raise ShallowsError(f"max_epochs must be at least 1, got {self.max_epochs!r}.")


@dataclass
class Run:
    """Where a training stands: what observers are shown and `train` returns.

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
        Of each epoch, as a share of the loss of the zero function.
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

GROWTH = 10.0
"""A batch whose loss exceeds this many times the loss of the zero function counts as divergence."""

EPOCH_GROWTH = 2.0
"""So does an epoch whose loss exceeds this many times that of the zero function: slow growth, caught early."""

MAX_ROLLBACKS = 20


def train(
    solver: Any,
    problem: Any,
    batches: Batches | Stream,
    stopping: Stopping,
    *,
    observers: Sequence[Observer] = (),
    checkpoint: Checkpoint | None = None,
    snapshot: Callable[[Any, int], Any] | None = None,
    may_shrink: bool = True,
    state: Any = None,
) -> Run:
    """Drive a solver until a stopping rule.

    Parameters
    ----------
    solver
        Has ``init(problem)`` and ``step(problem, state, batch)``. Its state has ``step_size`` and ``loss``, and either
        ``coefficients``, an array that is all there is to keep, or the methods ``remember() -> (arrays, numbers)``,
        ``recall(arrays, numbers)`` and ``is_finite()``, for models that grow.
    problem
        What the solver understands; has ``targets`` (n, c) and ``weights`` (n, 1) or None, by which the square loss of
        the zero function is known. A state whose loss is another one has ``zero_loss``, that of the zero function over
        the last batch; ``problem.growth`` then says how many times that a loss may be.
    batches : Batches or Stream
    stopping : Stopping
    observers : sequence of Observer
    checkpoint : Checkpoint, optional
        Resume from it if there is one, and write it.
    snapshot : callable, optional
        Makes what observers evaluate out of (state, epoch).
    may_shrink : bool
        On divergence, go back to the start of the epoch and halve the step (False: raise at once, for a step that the
        user chose). A stream cannot be read again, so there it is always an error.
    state : optional
        Go on from this state instead of ``solver.init(problem)``.

    Raises
    ------
    DivergenceError
        If the coefficients stop being finite or the loss explodes, and no smaller step may be or helps.
    TrainingInterrupted
        After `Checkpoint.request_stop`.
    ShallowsError
        If a stream ends before its first batch.
    """
    state = solver.init(problem) if state is None else state
    run = Run(state, len(batches), stopping.max_epochs, make_snapshot=snapshot, max_iterations=stopping.max_iterations)
    streamed = isinstance(batches, Stream)
    watch = _Watch(problem, state)
    at_epoch_start = None if streamed else _keep(state)
    best: tuple[float, Any] = (math.inf, None)
    epoch_loss = epoch_zero = 0.0

    if checkpoint is not None:
        checkpoint.acquire()
    try:
        restored = checkpoint.restore() if checkpoint is not None else None
        if restored is not None:
            held, notes = restored
            _put_back(state, _unpacked("coefficients", held, notes, state))
            if not streamed:
                at_epoch_start = _unpacked("at_epoch_start", held, notes, state)
            if notes["has_best"]:
                best = (notes["best"], _unpacked("best", held, notes, state))
            state.step_size, epoch_loss, epoch_zero = notes["step_size"], notes["epoch_loss"], notes["epoch_zero"]
            for name in COUNTED:
                setattr(run, name, notes[name])
            _recall(observers, notes["observers"])
            watch.told, watch.n_told = notes.get("watch", (0.0, 0))
            run.n_resumes = checkpoint.n_resumes

        def save() -> None:
            kept = {"coefficients": _keep(state, copied=False)}
            if at_epoch_start is not None:
                kept["at_epoch_start"] = at_epoch_start
            if best[1] is not None:
                kept["best"] = best[1]
            held, notes = _packed(kept)
            notes |= {name: getattr(run, name) for name in COUNTED}
            notes |= {
                "step_size": state.step_size,
                "epoch_loss": epoch_loss,
                "epoch_zero": epoch_zero,
                "best": best[0],
                "has_best": best[1] is not None,
                "watch": [watch.told, watch.n_told],
                "observers": [[type(o).__name__, o.remember()] for o in observers],
            }
            checkpoint.save(held, notes)

        def roll_back() -> None:
            nonlocal at_epoch_start, epoch_loss, epoch_zero
            at_epoch_start = _roll_back(solver, problem, run, state, at_epoch_start, may_shrink and not streamed)
            epoch_loss = epoch_zero = 0.0

        for observer in observers:
            observer.on_start(run)
        try:
            while not run.stopped_by:
                order = batches.of_epoch(run.epoch)
                order = Listing(order) if isinstance(order, list) else order
                while (batch := order.at(run.position)) is not None:
                    started = time.perf_counter()
                    state = run.state = solver.step(problem, state, batch)
                    run.seconds += time.perf_counter() - started
                    if watch.diverged(state, batch):
                        roll_back()
                        continue
                    epoch_loss += state.loss
                    epoch_zero += getattr(state, "zero_loss", 0.0)
                    run.position += 1
                    run.iteration += 1
                    for observer in observers:
                        observer.on_batch(run)
                    if stopping.max_iterations is not None and run.iteration >= stopping.max_iterations:
                        run.stopped_by = "max_iterations"
                    elif stopping.max_seconds is not None and run.seconds >= stopping.max_seconds:
                        run.stopped_by = "max_seconds"
                    if run.stopped_by:
                        break
                    if checkpoint is not None and checkpoint.due() and (streamed or order.at(run.position) is not None):
                        save()
                        if checkpoint.stop_requested:
                            raise TrainingInterrupted(
                                f"Training was stopped at epoch {run.epoch + 1}; {checkpoint.path} holds where it was."
                            )
                if order.ended or (not streamed and order.at(run.position) is None):
                    if streamed and run.position == 0:
                        raise ShallowsError("The stream ended before its first batch.")
                    zero = watch.zero_of_epoch(epoch_zero)
                    # A call with one batch of a stream says nothing of slow growth.
                    growing = not streamed and epoch_loss > watch.epoch_growth * zero + 1e-30
                    if growing or not _finite(state):
                        roll_back()
                        continue
                    run.losses.append(epoch_loss / max(zero, 1e-300))
                    run.epoch, run.position, epoch_loss, epoch_zero = run.epoch + 1, 0, 0.0, 0.0
                    for observer in observers:
                        observer.on_epoch(run)
                    run.stopped_by = run.stopped_by or _rule_that_holds(run, stopping)
                    if stopping.validate is not None:
                        error = float(stopping.validate(run.snapshot()))
                        run.validation_errors.append(error)
                        if error < best[0]:
                            best = (error, _keep(state))
                        if stopping.target is not None and error <= stopping.target:
                            run.stopped_by = run.stopped_by or "target"
                        since = len(run.validation_errors) - 1 - int(np.argmin(run.validation_errors))
                        if since >= stopping.patience:
                            run.stopped_by = run.stopped_by or "patience"
                    if not streamed:
                        at_epoch_start = _keep(state)
                    if checkpoint is not None and (checkpoint.due() or run.stopped_by):
                        save()
                        if checkpoint.stop_requested and not run.stopped_by:
                            raise TrainingInterrupted(
                                f"Training was stopped after epoch {run.epoch}; {checkpoint.path} holds where it was."
                            )
            if best[1] is not None:
                _put_back(state, best[1])
        finally:
            for observer in observers:
                observer.on_end(run)
    finally:
        if checkpoint is not None:
            checkpoint.release()
    return run


def _recall(observers: Sequence[Observer], memories: list[list[Any]]) -> None:
    """Hand every observer the memory of the next of its kind: a progress bar may come or go between two runs."""
    left = list(memories)
    for observer in observers:
        kind = next((memory for memory in left if memory[0] == type(observer).__name__), None)
        if kind is not None:
            left.remove(kind)
            observer.recall(kind[1])


def _rule_that_holds(run: Run, stopping: Stopping) -> str:
    if run.losses[-1] <= stopping.tolerance:
        return "tolerance"
    if getattr(run.state, "exhausted", False):  # a solver that has nothing left to do says so
        return "exhausted"
    return "max_epochs" if run.epoch >= stopping.max_epochs else ""


# ---------------------------------------------------------------------------------------- the watch for divergence


class _Watch:
    """What losses are held against: those of the zero function."""

    def __init__(self, problem: Any, state: Any):
        self.growth = getattr(problem, "growth", GROWTH)
        self.epoch_growth = EPOCH_GROWTH if math.isfinite(self.growth) else math.inf
        self.cumulated = None if hasattr(state, "zero_loss") else _zero_losses(problem)
        self.told, self.n_told = 0.0, 0

    def zero_of_epoch(self, summed: float) -> float:
        """Over an epoch, whose batches' sum is ``summed``."""
        return abs(summed) if self.cumulated is None else self.cumulated[-1]

    def diverged(self, state: Any, batch: Any) -> bool:
        """Whether the loss of the last batch, before its step, says so."""
        if self.cumulated is None:
            # A batch whose targets are all zero by chance has no loss of its own to be held against, so the mean of the
            # batches so far is; if none had any, nothing is.
            here = abs(state.zero_loss)
            self.told, self.n_told = self.told + here, self.n_told + 1
            usual = max(here, self.told / self.n_told) or math.inf
        else:
            share = (batch.stop - batch.start) / (len(self.cumulated) - 1)
            usual = self.cumulated[batch.stop] - self.cumulated[batch.start] + self.cumulated[-1] * share
        return not math.isfinite(state.loss) or state.loss > self.growth * usual + 1e-30


def _zero_losses(problem: Any) -> np.ndarray:
    """Cumulated square losses of the zero function, shape (n + 1,)."""
    targets = arrays.to_numpy(problem.targets).astype(np.float64, copy=False)
    rows = np.einsum("ij,ij->i", targets, targets)
    if problem.weights is not None:
        rows = rows * arrays.to_numpy(problem.weights)[:, 0]
    return np.concatenate([[0.0], np.cumsum(rows)])


def _roll_back(solver: Any, problem: Any, run: Run, state: Any, at_epoch_start: Any, may_shrink: bool) -> Any:
    """Go back to the start of the epoch with half the step; returns what that start is from now on."""
    if not may_shrink or run.n_rollbacks >= MAX_ROLLBACKS:
        tried = "" if may_shrink is False else f" after {run.n_rollbacks} halvings"
        place = f"epoch {run.epoch + 1}" if run.n_batches else f"batch {run.position + 1} of the stream"
        raise DivergenceError(
            f"Training diverged in {place} with step_size={state.step_size:.3g}{tried}. "
            "Take a smaller step_size, or leave it to the program (step_size=None)."
        )
    step_size = state.step_size
    if run.last_rollback == run.epoch:
        # A smaller step from the same place failed too: the place itself is bad, grown in the epochs before.
        at_epoch_start = _keep(solver.init(problem))
    _put_back(state, at_epoch_start)
    state.step_size = 0.5 * step_size
    run.n_rollbacks += 1
    run.last_rollback = run.epoch
    run.iteration -= run.position
    run.position = 0
    return at_epoch_start


def _finite(state: Any) -> bool:
    if hasattr(state, "is_finite"):
        return state.is_finite()
    xp = arrays.namespace(state.coefficients)
    return bool(xp.all(xp.isfinite(state.coefficients)))


# ------------------------------------------------------------------------------------------------- keeping states
# What is kept of a state is a pair: arrays by name, numbers by name. A state that is its coefficients has one array.


def _keep(state: Any, copied: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    if hasattr(state, "remember"):
        return state.remember()
    return {"": _copy(state.coefficients) if copied else state.coefficients}, {}


def _put_back(state: Any, kept: tuple[dict[str, Any], dict[str, Any]]) -> None:
    if hasattr(state, "remember"):
        state.recall(*kept)
    else:
        state.coefficients = _copy(kept[0][""])


def _packed(kept: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Several kept states as the arrays and the notes of a checkpoint."""
    held = {
        f"{place}.{name}" if name else place: arrays.to_numpy(array)
        for place, (parts, _) in kept.items()
        for name, array in parts.items()
    }
    return held, {"numbers": {place: numbers for place, (_, numbers) in kept.items()}}


def _unpacked(place: str, held: dict[str, np.ndarray], notes: dict[str, Any], state: Any) -> Any:
    """One of them again."""
    if hasattr(state, "remember"):
        parts = {name[len(place) + 1 :]: held[name] for name in held if name.startswith(f"{place}.")}
        return parts, notes["numbers"][place]
    return {"": arrays.like(held[place], state.coefficients)}, {}


def _copy(x: Any) -> Any:
    return arrays.namespace(x).asarray(x, copy=True)
