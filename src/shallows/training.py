"""The one loop: drives any solver through batches until a stopping rule.

It owns the order of the batches, the stopping rules, the marks at which observers look, checkpoints, and the watch for
divergence. It does not know which solver it drives: all that a solver is asked for is `init` and `step`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import arrays, streams
from .errors import CheckpointError, DivergenceError, ShallowsError, TrainingInterrupted

# ------------------------------------------------------------------------------------------------ batches


@dataclass(frozen=True)
class Batches:
    """Contiguous batches of rows that were shuffled once, in an order that is new every epoch.

    Without replacement: every row is seen once an epoch. The order is a function of the seed and the epoch, so that a
    run can go on from any place.
    """

    n: int
    size: int
    seed: int

    def __len__(self) -> int:
        return -(-self.n // self.size)

    def of_epoch(self, epoch: int) -> list[slice]:
        """The batches of an epoch, in their order."""
        slices = list(arrays.blocks(self.n, self.size))
        return [slices[i] for i in streams.permutation(self.seed, "batches", epoch, len(slices))]


# ---------------------------------------------------------------------------------------------- observers


class Observer:
    """Looks on while a solver is trained. Subclasses override what they need."""

    def on_start(self, run: Run) -> None:
        """Before the first batch, or the first after a resume."""

    def on_batch(self, run: Run) -> None:
        """After every batch."""

    def on_epoch(self, run: Run) -> None:
        """After every epoch."""

    def on_end(self, run: Run) -> None:
        """After the last one, also when training failed."""

    def remember(self) -> Any:
        """What a checkpoint should keep of this observer, as JSON holds it."""
        return None

    def recall(self, memory: Any) -> None:
        """Take up what `remember` gave."""


class Curve(Observer):
    """Measures at marks.

    Parameters
    ----------
    marks : sequence of int
        Epochs after which to measure.
    evaluate : callable
        Given the snapshot of the model (``predict``, ``predict_training``, ``decision_function``, ``epoch``), returns
        the metrics by name.

    Attributes
    ----------
    rows : list of dict
        ``epoch, iteration, seconds`` (of training alone) and the metrics, one for each mark that was reached.
    """

    def __init__(self, marks: Iterable[int], evaluate: Callable[[Any], dict[str, float]]):
        self.marks = frozenset(int(mark) for mark in marks)
        self.evaluate = evaluate
        self.rows: list[dict[str, float]] = []

    def on_epoch(self, run: Run) -> None:  # noqa: D102
        if run.epoch in self.marks and all(row["epoch"] != run.epoch for row in self.rows):
            metrics = {name: float(value) for name, value in self.evaluate(run.snapshot()).items()}
            self.rows.append({"epoch": run.epoch, "iteration": run.iteration, "seconds": run.seconds, **metrics})

    def remember(self) -> Any:  # noqa: D102
        return self.rows

    def recall(self, memory: Any) -> None:  # noqa: D102
        self.rows = list(memory)


class Progress(Observer):
    """A bar with the time left, or a plain line now and then where there is no terminal.

    Runs that are done within ``delay`` seconds show nothing.
    """

    def __init__(self, label: str, n_epochs: int | None = None, delay: float = 2.0, every_seconds: float = 15.0):
        self.label, self.n_epochs, self.delay, self.every_seconds = label, n_epochs, delay, every_seconds
        self._bar: Any = None
        self._last = 0.0

    def on_start(self, run: Run) -> None:  # noqa: D102
        n_epochs = min(self.n_epochs or run.max_epochs, run.max_epochs)
        self._last = time.monotonic()
        if sys.stderr.isatty():
            from tqdm import tqdm

            total = n_epochs * run.n_batches
            self._bar = tqdm(
                total=total,
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
        done = run.iteration / (run.n_batches * min(self.n_epochs or run.max_epochs, run.max_epochs))
        left = run.seconds / max(done, 1e-9) * (1 - done)
        print(
            f"{self.label}: epoch {run.epoch + 1} of at most {run.max_epochs}, {100 * done:.0f} %, "
            f"about {_duration(left)} left",
            file=sys.stderr,
            flush=True,
        )

    def on_end(self, run: Run) -> None:  # noqa: D102
        if self._bar is not None:
            self._bar.close()


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


# -------------------------------------------------------------------------------------------- checkpoints

LOCK_SECONDS = 10.0
"""How long a run waits for the folder of its checkpoints before it says that another one works in it."""


class Checkpoint:
    """Keeps a run's state on disk, so that one that was killed goes on where it was.

    Parameters
    ----------
    folder : path
        Where; one run a folder. Held under a lock while the run lasts.
    key : str
        What the run is: a hash of what was asked, the data and the code. A checkpoint with another key is refused.
    every_seconds : float
        How often; 0 writes after every batch.

    Attributes
    ----------
    n_resumes : int
        How often the run went on from a checkpoint so far.
    """

    def __init__(self, folder: str | Path, key: str, every_seconds: float = 60.0):
        self.folder, self.key, self.every_seconds = Path(folder), key, every_seconds
        self.n_resumes = 0
        self._last = time.monotonic()
        self._stop = False
        self._lock: Any = None

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / "checkpoint.npz"

    def request_stop(self, *_: Any) -> None:
        """Ask the loop to write a checkpoint after the batch it is at and to raise `TrainingInterrupted`.

        It can be handed to ``signal.signal`` as it is.
        """
        self._stop = True

    @property
    def stop_requested(self) -> bool:
        """Whether `request_stop` was called."""
        return self._stop

    def acquire(self) -> None:
        """Lock the folder, or say that another process works in it."""
        import filelock

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = filelock.FileLock(self.folder / "lock")
            self._lock.acquire(timeout=LOCK_SECONDS)
        except filelock.Timeout:
            raise CheckpointError(
                f"Another process is training the run whose checkpoints lie in {self.folder}."
            ) from None
        except OSError as error:
            raise CheckpointError(f"Checkpoints cannot be kept in {self.folder}: {error.strerror or error}.") from error
        self._last = time.monotonic()

    def release(self) -> None:
        """Let others at the folder."""
        if self._lock is not None:
            self._lock.release()

    def restore(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Arrays and notes of the last checkpoint, or None if there is none.

        Raises
        ------
        CheckpointError
            If it belongs to another run or cannot be read.
        """
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                notes = json.loads(str(file["notes"]))
                held = {name: file[name] for name in file.files if name != "notes"}
            checksum, key, n_resumes = notes.pop("checksum"), notes["key"], notes["n_resumes"]
        except Exception as error:
            raise CheckpointError(f"{self.path} cannot be read ({error}). Delete it to start this run anew.") from error
        if key != self.key:
            raise CheckpointError(
                f"{self.path} belongs to another run (its parameters, data or code differ). "
                "Delete it or name another folder."
            )
        if checksum != _checksum(held, notes):
            raise CheckpointError(
                f"{self.path} was altered: its checksum does not match. Delete it to start this run anew."
            )
        self.n_resumes = n_resumes + 1
        return held, notes

    def due(self) -> bool:
        """Whether it is time to write."""
        return self._stop or time.monotonic() - self._last >= self.every_seconds

    def save(self, held: dict[str, np.ndarray], notes: dict[str, Any]) -> None:
        """Write beside the place, then move into it."""
        # Once there and back, since what is summed up on reading is what JSON made of it.
        notes = json.loads(json.dumps({**notes, "key": self.key, "n_resumes": self.n_resumes}))
        notes["checksum"] = _checksum(held, notes)
        partial = self.path.with_suffix(".partial")
        try:
            with open(partial, "wb") as file:
                np.savez(file, notes=np.array(json.dumps(notes)), **held)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                partial.unlink()
            raise CheckpointError(
                f"The checkpoint {self.path} could not be written: {error.strerror or error}."
            ) from error
        self._last = time.monotonic()


def _checksum(held: dict[str, np.ndarray], notes: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(notes, sort_keys=True).encode())
    for name in sorted(held):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(held[name]).tobytes())
    return digest.hexdigest()


# ------------------------------------------------------------------------------------------------ the loop


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
    n_batches, max_epochs : int
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
    batches: Batches,
    stopping: Stopping,
    *,
    observers: Sequence[Observer] = (),
    checkpoint: Checkpoint | None = None,
    snapshot: Callable[[Any, int], Any] | None = None,
    may_shrink: bool = True,
) -> Run:
    """Drive a solver until a stopping rule.

    Parameters
    ----------
    solver
        Has ``init(problem)`` and ``step(problem, state, batch)``; its state has ``coefficients``, ``step_size`` and
        ``loss``.
    problem
        What the solver understands; has ``targets`` (n, c) and ``weights`` (n, 1) or None.
    batches : Batches
    stopping : Stopping
    observers : sequence of Observer
    checkpoint : Checkpoint, optional
        Resume from it if there is one, and write it.
    snapshot : callable, optional
        Makes what observers evaluate out of (state, epoch).
    may_shrink : bool
        On divergence, go back to the start of the epoch and halve the step (False: raise at once, for a step that the
        user chose).

    Raises
    ------
    DivergenceError
        If the coefficients stop being finite or the loss explodes, and no smaller step may be or helps.
    TrainingInterrupted
        After `Checkpoint.request_stop`.
    """
    state = solver.init(problem)
    run = Run(state, len(batches), stopping.max_epochs, make_snapshot=snapshot)
    zero_loss = _zero_losses(problem)
    at_epoch_start = _copy(state.coefficients)
    best: tuple[float, Any] = (math.inf, None)
    epoch_loss = 0.0

    if checkpoint is not None:
        checkpoint.acquire()
    try:
        restored = checkpoint.restore() if checkpoint is not None else None
        if restored is not None:
            held, notes = restored
            state.coefficients = arrays.like(held["coefficients"], state.coefficients)
            at_epoch_start = arrays.like(held["at_epoch_start"], state.coefficients)
            if "best" in held:
                best = (notes["best"], arrays.like(held["best"], state.coefficients))
            state.step_size, epoch_loss = notes["step_size"], notes["epoch_loss"]
            for name in COUNTED:
                setattr(run, name, notes[name])
            _recall(observers, notes["observers"])
            run.n_resumes = checkpoint.n_resumes

        def save() -> None:
            held = {
                "coefficients": arrays.to_numpy(state.coefficients),
                "at_epoch_start": arrays.to_numpy(at_epoch_start),
            }
            if best[1] is not None:
                held["best"] = arrays.to_numpy(best[1])
            notes = {name: getattr(run, name) for name in COUNTED}
            notes |= {
                "step_size": state.step_size,
                "epoch_loss": epoch_loss,
                "best": best[0],
                "observers": [[type(o).__name__, o.remember()] for o in observers],
            }
            checkpoint.save(held, notes)

        for observer in observers:
            observer.on_start(run)
        try:
            while not run.stopped_by:
                order = batches.of_epoch(run.epoch)
                while run.position < len(order):
                    started = time.perf_counter()
                    batch = order[run.position]
                    state = run.state = solver.step(problem, state, batch)
                    run.seconds += time.perf_counter() - started
                    if _diverged(state, zero_loss, batch):
                        _roll_back(run, state, at_epoch_start, may_shrink)
                        epoch_loss = 0.0
                        continue
                    epoch_loss += state.loss
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
                    if checkpoint is not None and checkpoint.due() and run.position < len(order):
                        save()
                        if checkpoint.stop_requested:
                            raise TrainingInterrupted(
                                f"Training was stopped at epoch {run.epoch + 1}; {checkpoint.path} holds where it was."
                            )
                if run.position == len(order):
                    if not _finite(state.coefficients) or epoch_loss > EPOCH_GROWTH * zero_loss[-1] + 1e-30:
                        _roll_back(run, state, at_epoch_start, may_shrink)
                        epoch_loss = 0.0
                        continue
                    run.losses.append(epoch_loss / max(zero_loss[-1], 1e-300))
                    run.epoch, run.position, epoch_loss = run.epoch + 1, 0, 0.0
                    for observer in observers:
                        observer.on_epoch(run)
                    run.stopped_by = run.stopped_by or _rule_that_holds(run, stopping)
                    if stopping.validate is not None:
                        error = float(stopping.validate(run.snapshot()))
                        run.validation_errors.append(error)
                        if error < best[0]:
                            best = (error, _copy(state.coefficients))
                        if stopping.target is not None and error <= stopping.target:
                            run.stopped_by = run.stopped_by or "target"
                        since = len(run.validation_errors) - 1 - int(np.argmin(run.validation_errors))
                        if since >= stopping.patience:
                            run.stopped_by = run.stopped_by or "patience"
                    at_epoch_start = _copy(state.coefficients)
                    if checkpoint is not None and (checkpoint.due() or run.stopped_by):
                        save()
                        if checkpoint.stop_requested and not run.stopped_by:
                            raise TrainingInterrupted(
                                f"Training was stopped after epoch {run.epoch}; {checkpoint.path} holds where it was."
                            )
            if best[1] is not None:
                state.coefficients = best[1]
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
    return "max_epochs" if run.epoch >= stopping.max_epochs else ""


def _zero_losses(problem: Any) -> np.ndarray:
    """Cumulated losses of the zero function, shape (n + 1,): what a batch's loss is held against."""
    targets = arrays.to_numpy(problem.targets).astype(np.float64, copy=False)
    rows = np.einsum("ij,ij->i", targets, targets)
    if problem.weights is not None:
        rows = rows * arrays.to_numpy(problem.weights)[:, 0]
    return np.concatenate([[0.0], np.cumsum(rows)])


def _diverged(state: Any, zero_loss: np.ndarray, batch: slice) -> bool:
    usual = (
        zero_loss[batch.stop]
        - zero_loss[batch.start]
        + zero_loss[-1] * (batch.stop - batch.start) / (len(zero_loss) - 1)
    )
    return not math.isfinite(state.loss) or state.loss > GROWTH * usual + 1e-30


def _roll_back(run: Run, state: Any, at_epoch_start: Any, may_shrink: bool) -> None:
    if not may_shrink or run.n_rollbacks >= MAX_ROLLBACKS:
        tried = "" if may_shrink is False else f" after {run.n_rollbacks} halvings"
        raise DivergenceError(
            f"Training diverged in epoch {run.epoch + 1} with step_size={state.step_size:.3g}{tried}. "
            "Take a smaller step_size, or leave it to the program (step_size=None)."
        )
    if run.last_rollback == run.epoch:
        # A smaller step from the same place failed too: the place itself is bad, grown in the epochs before.
        at_epoch_start[...] = 0.0
    state.coefficients = _copy(at_epoch_start)
    state.step_size *= 0.5
    run.n_rollbacks += 1
    run.last_rollback = run.epoch
    run.iteration -= run.position
    run.position = 0


def _finite(x: Any) -> bool:
    xp = arrays.namespace(x)
    return bool(xp.all(xp.isfinite(x)))


def _copy(x: Any) -> Any:
    return arrays.namespace(x).asarray(x, copy=True)
