"""The loop: it drives any solver through batches until a stopping rule ends it, and goes back where it diverges.

It decides where observers evaluate and when a checkpoint is written. It does not know which solver it drives.
"""

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import arrays
from ..errors import DeviceError, DivergenceError, ShallowsError, TrainingInterrupted
from ..utils.plain_numbers import takes_numpy_integers
from .checkpoints import Checkpoint
from .observers import Observer
from .steps import BatchSource, Kept, Monitor, Solver, Stream, packed, unpacked

MAX_ROLLBACKS = 20


@dataclass
class Run:
    """The progress of one training, which the loop shows to observers and `train` returns.

    ``epoch, position, iteration``: completed epochs, batches of the next epoch, and batches in all. ``n_batches`` of an
    epoch is 0 for a stream. ``seconds`` of training, without evaluation, over all resumes. ``losses``: of each epoch,
    as a share of the zero function's loss or another reference, see `steps.MonitoredState`; NaN without a loss.
    ``stopped_by``: the rule that ended the training.
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
        """The current model, for evaluation."""
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
"""Fields of a `Run` that a checkpoint keeps, in addition to the solver's state."""


@takes_numpy_integers
@dataclass(frozen=True)
class Stopping:
    """When training ends: at the first of these rules that applies.

    ``max_iterations`` counts batches, and ``max_seconds`` are without evaluation; they end no run whose solver has no
    model yet. ``tolerance``: of the loss over an epoch, each batch measured before its own step, as a share of the zero
    function's loss. ``least_fall``: stop after two epochs in a row that each lower the loss by less than this share.
    ``validate`` returns the error of a snapshot of the model after every epoch; the result is the state with the
    smallest error, and training stops after ``patience`` epochs without a smaller one.
    """

    max_epochs: int
    max_iterations: int | None = None
    max_seconds: float | None = None
    tolerance: float = 0.0
    least_fall: float = 0.0
    validate: Callable[[Any], float] | None = None
    patience: int = 3

    def after_batch(self, run: Run, *, until_exhausted: bool) -> str:
        """The rule that ends the run after a batch, or an empty text."""
        if self.max_iterations is not None and run.iteration >= self.max_iterations:
            return "max_iterations"
        # The steps of a first pass over the data may not make a model.
        has_model = getattr(run.state, "has_model", True)
        if self.max_seconds is not None and run.seconds >= self.max_seconds and has_model:
            return "max_seconds"
        return "exhausted" if until_exhausted and getattr(run.state, "exhausted", False) else ""

    def after_epoch(self, run: Run) -> str:
        """The rule that ends the run after an epoch, or an empty text; `BestState` has the rules of validation."""
        if run.losses[-1] <= self.tolerance:
            return "tolerance"
        if self.least_fall and len(run.losses) > 2:
            least = 1.0 - self.least_fall
            if all(later > least * earlier for earlier, later in itertools.pairwise(run.losses[-3:])):
                return "plateau"
        if getattr(run.state, "exhausted", False):
            return "exhausted"
        return "max_epochs" if run.epoch >= self.max_epochs else ""


@dataclass
class BestState:
    """The state with the smallest validation error so far."""

    error: float = math.inf
    kept: Kept | None = field(default=None, repr=False)

    def validate(self, run: Run, stopping: Stopping) -> str:
        """Measure the state of a run and keep it if it is the best; returns the rule that ends the run, if any."""
        error = float(stopping.validate(run.snapshot()))
        run.validation_errors.append(error)
        if error < self.error:
            self.error, self.kept = error, run.state.remember()
        since = len(run.validation_errors) - 1 - int(np.argmin(run.validation_errors))
        return "patience" if since >= stopping.patience else ""


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
    """Drive a solver until a stopping rule; `shallows.training.steps` describes what it needs of solver and state.

    With ``may_shrink=False``, for a step that the user chose, divergence is an error; otherwise training goes back to
    the start of the epoch and halves the step. A stream cannot be read again, so its divergence is always an error.
    ``snapshot`` makes the model for observers of a state and an epoch. A ``state`` replaces ``solver.init(problem)``.
    Raises `DivergenceError`, `TrainingInterrupted` after `Checkpoint.request_stop`, or for a stream without a batch.
    """
    if stopping.max_epochs < 1:
        raise ShallowsError(f"max_epochs must be at least 1, got {stopping.max_epochs!r}.")
    state = solver.init(problem) if state is None else state
    run = Run(state, len(batches), stopping.max_epochs, make_snapshot=snapshot, max_iterations=stopping.max_iterations)
    streamed = isinstance(batches, Stream)
    of_call = solver, problem, batches, stopping, observers, checkpoint, run, streamed, not may_shrink
    # The kept state has no other name here: the training replaces it, and its arrays are then released.
    training = _Training(*of_call, Monitor(problem, state), None if streamed else state.remember())
    if checkpoint is not None:
        checkpoint.acquire()
    try:
        if checkpoint is not None:
            training.restore()
        for observer in observers:
            observer.on_start(run)
        try:
            while not run.stopped_by:
                training.go_through_epoch()
            if training.best.kept is not None:
                run.state.recall(*training.best.kept)
        finally:
            for observer in observers:
                observer.on_end(run)
    except Exception as error:
        if arrays.is_device_failure(error):
            raise training.device_failure(error) from error
        raise
    finally:
        if checkpoint is not None:
            checkpoint.release()
    return run


@dataclass
class _Training:
    """One call of `train`: the run, the states that it can go back to, and the monitor."""

    solver: Solver
    problem: Any
    batches: BatchSource
    stopping: Stopping
    observers: Sequence[Observer]
    checkpoint: Checkpoint | None
    run: Run
    streamed: bool
    step_is_given: bool
    monitor: Monitor
    at_epoch_start: Kept | None  # None on a stream
    best: BestState = field(default_factory=BestState)

    def device_failure(self, error: Exception) -> DeviceError:
        """The error for a GPU that failed during the training, with what to do."""
        where = f"epoch {self.run.epoch + 1}" if self.run.n_batches else f"batch {self.run.position + 1} of the stream"
        kept = self.checkpoint is not None and self.checkpoint.path.exists()
        what = (
            f"Run the same again in a new process: it continues from {self.checkpoint.path}."
            if kept
            else "Start again in a new process. With a checkpoint (checkpoint=...) it would continue where it failed."
        )
        cause = " ".join(str(error).split())[:200]
        return DeviceError(f"The GPU failed in {where} ({cause}). This process can no longer use it. {what}")

    # ---------------------------------------------------------------------------------------- steps and epochs

    def go_through_epoch(self) -> None:
        """Take the batches of an epoch, until it has ended or diverged or a rule ends the run."""
        run, order = self.run, self.batches.of_epoch(self.run.epoch)
        for batch in itertools.islice(order, run.position, None):
            started = time.perf_counter()
            run.state = self.solver.step(self.problem, run.state, batch)
            run.seconds += time.perf_counter() - started
            if self.monitor.diverged(run.state, batch):
                self.roll_back()
                return
            run.position += 1
            run.iteration += 1
            for observer in self.observers:
                observer.on_batch(run)
            until_exhausted = not self.batches.names_rows
            run.stopped_by = run.stopped_by or self.stopping.after_batch(run, until_exhausted=until_exhausted)
            if run.stopped_by:
                break
            if self.checkpoint is not None and (self.streamed or run.position < len(order)):
                self.write_if_due(f"at epoch {run.epoch + 1}")
        if not run.stopped_by or (not self.streamed and run.position == len(order)):
            self.end_epoch()

    def end_epoch(self) -> None:
        """Count a whole epoch, or go back if it has diverged."""
        run = self.run
        if self.streamed and run.position == 0:
            raise ShallowsError("The stream ended before its first batch.")
        loss, diverged = self.monitor.end_epoch()
        # One batch of a stream shows no slow growth.
        if (diverged and not self.streamed) or not run.state.is_finite():
            self.roll_back()
            return
        run.losses.append(loss)
        run.epoch, run.position = run.epoch + 1, 0
        for observer in self.observers:
            observer.on_epoch(run)
        run.stopped_by = run.stopped_by or self.stopping.after_epoch(run)
        if self.stopping.validate is not None:
            rule = self.best.validate(run, self.stopping)
            run.stopped_by = run.stopped_by or rule
        if not self.streamed:
            self.at_epoch_start = run.state.remember()
        if self.checkpoint is not None:
            self.write_if_due(f"after epoch {run.epoch}", at_the_end=bool(run.stopped_by))

    def roll_back(self) -> None:
        """Go back to the start of the epoch with half the step."""
        run, state = self.run, self.run.state
        step_size = getattr(state, "step_size", math.nan)
        may_shrink = not (self.step_is_given or self.streamed) and hasattr(state, "step_size")
        if not may_shrink or run.n_rollbacks >= MAX_ROLLBACKS:
            tried = f" after {run.n_rollbacks} halvings" if may_shrink else ""
            place = f"epoch {run.epoch + 1}" if run.n_batches else f"batch {run.position + 1} of the stream"
            if math.isnan(step_size):
                raise DivergenceError(
                    f"Training diverged in {place}. Scale the features, for instance with "
                    "sklearn.preprocessing.StandardScaler."
                )
            remedy = "Give the solver a smaller step, or none: then it chooses the step."
            if not self.step_is_given:
                remedy = (
                    "Scale the features, for instance with sklearn.preprocessing.StandardScaler, or set a smaller step."
                )
            raise DivergenceError(f"Training diverged in {place} with step_size={step_size:.3g}{tried}. {remedy}")
        if run.last_rollback == run.epoch:
            # A smaller step from the same state failed too: the state itself has grown in the epochs before.
            self.at_epoch_start = self.solver.init(self.problem).remember()
        state.recall(*self.at_epoch_start)
        state.step_size = 0.5 * step_size
        run.n_rollbacks += 1
        run.last_rollback = run.epoch
        run.iteration -= run.position
        run.position = 0
        self.monitor.end_epoch()

    # --------------------------------------------------------------------------------------------- checkpoints

    def restore(self) -> None:
        """Continue from the checkpoint, if there is one."""
        restored = self.checkpoint.restore()
        if restored is None:
            return
        (held, notes), run, state = restored, self.run, self.run.state
        state.recall(*unpacked("coefficients", held, notes))
        if not self.streamed:
            self.at_epoch_start = unpacked("at_epoch_start", held, notes)
        if notes["has_best"]:
            self.best = BestState(notes["best"], unpacked("best", held, notes))
        if notes["step_size"] is not None:
            state.step_size = notes["step_size"]
        self.monitor.recall(notes["monitor"])
        for name in COUNTED:
            setattr(run, name, notes[name])
        memories = list(notes["observers"])
        for observer in self.observers:
            # Each takes the memory of the next of its kind: a progress bar may come or go between two runs.
            memory = next((memory for memory in memories if memory[0] == type(observer).__name__), None)
            if memory is not None:
                memories.remove(memory)
                observer.recall(memory[1])
        run.n_resumes = self.checkpoint.n_resumes

    def write_if_due(self, place: str, at_the_end: bool = False) -> None:
        """Write a checkpoint if it is time, and raise `TrainingInterrupted` if a stop was requested."""
        if not (self.checkpoint.due() or at_the_end):
            return
        state = self.run.state
        kept = {"coefficients": state.remember()}
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
        if self.checkpoint.stop_requested and not at_the_end:
            raise TrainingInterrupted(f"Training was stopped {place}. {self.checkpoint.path} has its state.")
