"""The loop itself: it drives a solver through batches, rolls back, and writes checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from .. import arrays
from ..errors import DeviceError, DivergenceError, ShallowsError, TrainingInterrupted
from .batches import Listing, Stream
from .checkpoints import Checkpoint
from .monitors import monitor_of
from .observers import Observer
from .protocols import BatchSource, Order, Solver
from .run_state import COUNTED, Run
from .states import is_finite, keep, packed, put_back, unpacked
from .stopping import BestState, Stopping

MAX_ROLLBACKS = 20


def train(
    solver: Solver,
    problem: Any,
    batches: BatchSource,
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
        Has ``init(problem)`` and ``step(problem, state, batch)``. What its state may offer stands in
        `shallows.training.protocols`.
    problem
        What the solver understands. For a state of least squares it has ``targets`` and ``weights``; its ``growth``, if
        there is one, says how many times its reference the number that is watched may be.
    batches : Batches, Stream or OwnRows
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
    training = _Training(solver, problem, batches, stopping, observers, checkpoint, may_shrink, run)
    if checkpoint is None:
        training.go_on()
        return run
    checkpoint.acquire()
    try:
        training.restore()
        training.go_on()
    finally:
        checkpoint.release()
    return run


class _Training:
    """One call of `train`: the run, the places that it can go back to, and what is watched."""

    def __init__(
        self,
        solver: Solver,
        problem: Any,
        batches: BatchSource,
        stopping: Stopping,
        observers: Sequence[Observer],
        checkpoint: Checkpoint | None,
        may_shrink: bool,
        run: Run,
    ):
        self.solver, self.problem, self.batches, self.stopping = solver, problem, batches, stopping
        self.observers, self.checkpoint, self.run = observers, checkpoint, run
        self.streamed = isinstance(batches, Stream)
        self.may_shrink = may_shrink and not self.streamed and hasattr(run.state, "step_size")
        self.monitor = monitor_of(problem, run.state)
        self.at_epoch_start = None if self.streamed else keep(run.state)
        self.best = BestState()

    def go_on(self) -> None:
        """Train until a rule ends it; the state is then the best there was, where states are validated."""
        for observer in self.observers:
            observer.on_start(self.run)
        try:
            while not self.run.stopped_by:
                self.go_through_epoch()
            self.best.put_back(self.run.state)
        except Exception as error:
            if arrays.is_device_failure(error):
                raise self.device_failure(error) from error
            raise
        finally:
            for observer in self.observers:
                observer.on_end(self.run)

    def device_failure(self, error: Exception) -> DeviceError:
        """What to say, and to do, of a GPU that failed in the middle of a training."""
        where = f"epoch {self.run.epoch + 1}" if self.run.n_batches else f"batch {self.run.position + 1} of the stream"
        kept = self.checkpoint is not None and self.checkpoint.path.exists()
        what = (
            f"Run the same again in a new process: it goes on from {self.checkpoint.path}."
            if kept
            else "Start again in a new process; with a checkpoint (checkpoint=...) it would go on where it was."
        )
        cause = " ".join(str(error).split())[:200]
        return DeviceError(f"The GPU failed in {where} ({cause}). This process cannot use it any more. {what}")

    # ---------------------------------------------------------------------------------------- steps and epochs

    def go_through_epoch(self) -> None:
        """Batches up to the end of the epoch, or to where a rule, or divergence, breaks it off."""
        run = self.run
        order = self.batches.of_epoch(run.epoch)
        order = Listing(order) if isinstance(order, list) else order
        while (batch := order.at(run.position)) is not None:
            started = time.perf_counter()
            run.state = self.solver.step(self.problem, run.state, batch)
            run.seconds += time.perf_counter() - started
            if self.monitor.diverged(run.state, batch):
                self.roll_back()
                continue
            run.position += 1
            run.iteration += 1
            for observer in self.observers:
                observer.on_batch(run)
            run.stopped_by = self.stopping.after_batch(run, until_exhausted=not self.batches.names_rows)
            if run.stopped_by:
                break
            if self.streamed or order.at(run.position) is not None:
                self.write_if_due(f"at epoch {run.epoch + 1}")
        if order.ended or (not self.streamed and order.at(run.position) is None):
            self.end_epoch(order)

    def end_epoch(self, order: Order) -> None:
        """Count a whole epoch, or go back where it has diverged."""
        run, monitor = self.run, self.monitor
        if self.streamed and run.position == 0:
            raise ShallowsError("The stream ended before its first batch.")
        # A call with one batch of a stream says nothing of slow growth.
        if (not self.streamed and monitor.epoch_diverged()) or not is_finite(run.state):
            self.roll_back()
            return
        run.losses.append(monitor.epoch_loss())
        run.epoch, run.position = run.epoch + 1, 0
        monitor.begin_epoch()
        for observer in self.observers:
            observer.on_epoch(run)
        run.stopped_by = run.stopped_by or self.stopping.after_epoch(run)
        if self.stopping.validate is not None:
            rule = self.best.validate(run, self.stopping)
            run.stopped_by = run.stopped_by or rule
        if not self.streamed:
            self.at_epoch_start = keep(run.state)
        self.write_if_due(f"after epoch {run.epoch}", at_the_end=bool(run.stopped_by))

    def roll_back(self) -> None:
        """Go back to the start of the epoch with half the step."""
        run, state = self.run, self.run.state
        step_size = getattr(state, "step_size", math.nan)
        if not self.may_shrink or run.n_rollbacks >= MAX_ROLLBACKS:
            tried = f" after {run.n_rollbacks} halvings" if self.may_shrink else ""
            place = f"epoch {run.epoch + 1}" if run.n_batches else f"batch {run.position + 1} of the stream"
            if math.isnan(step_size):
                raise DivergenceError(
                    f"Training diverged in {place}. Scale the features, for instance with "
                    "sklearn.preprocessing.StandardScaler."
                )
            raise DivergenceError(
                f"Training diverged in {place} with step_size={step_size:.3g}{tried}. "
                "Take a smaller step_size, or leave it to the program (step_size=None)."
            )
        if run.last_rollback == run.epoch:
            # A smaller step from the same place failed too: the place itself is bad, grown in the epochs before.
            self.at_epoch_start = keep(self.solver.init(self.problem))
        put_back(state, self.at_epoch_start)
        state.step_size = 0.5 * step_size
        run.n_rollbacks += 1
        run.last_rollback = run.epoch
        run.iteration -= run.position
        run.position = 0
        self.monitor.begin_epoch()

    # --------------------------------------------------------------------------------------------- checkpoints

    def restore(self) -> None:
        """Go on from the checkpoint, if there is one."""
        restored = self.checkpoint.restore()
        if restored is None:
            return
        (held, notes), run, state = restored, self.run, self.run.state
        put_back(state, unpacked("coefficients", held, notes, state))
        if not self.streamed:
            self.at_epoch_start = unpacked("at_epoch_start", held, notes, state)
        if notes["has_best"]:
            self.best = BestState(notes["best"], unpacked("best", held, notes, state))
        if notes["step_size"] is not None:
            state.step_size = notes["step_size"]
        self.monitor.recall(notes["monitor"])
        for name in COUNTED:
            setattr(run, name, notes[name])
        _recall(self.observers, notes["observers"])
        run.n_resumes = self.checkpoint.n_resumes

    def write_if_due(self, place: str, at_the_end: bool = False) -> None:
        """Write a checkpoint if it is time, and end there if that was asked for."""
        if self.checkpoint is None or not (self.checkpoint.due() or at_the_end):
            return
        self.write()
        if self.checkpoint.stop_requested and not at_the_end:
            raise TrainingInterrupted(f"Training was stopped {place}; {self.checkpoint.path} holds where it was.")

    def write(self) -> None:
        """Write a checkpoint."""
        state = self.run.state
        kept = {"coefficients": keep(state, copied=False)}
        if self.at_epoch_start is not None:
            kept["at_epoch_start"] = self.at_epoch_start
        if self.best.kept is not None:
            kept["best"] = self.best.kept
        held, notes = packed(kept)
        notes |= {name: getattr(self.run, name) for name in COUNTED}
        notes |= {
            "step_size": getattr(state, "step_size", None),
            "monitor": self.monitor.remember(),
            "best": self.best.error,
            "has_best": self.best.kept is not None,
            "observers": [[type(o).__name__, o.remember()] for o in self.observers],
        }
        self.checkpoint.save(held, notes)


def _recall(observers: Sequence[Observer], memories: list[list[Any]]) -> None:
    """Hand every observer the memory of the next of its kind: a progress bar may come or go between two runs."""
    left = list(memories)
    for observer in observers:
        kind = next((memory for memory in left if memory[0] == type(observer).__name__), None)
        if kind is not None:
            left.remove(kind)
            observer.recall(kind[1])
