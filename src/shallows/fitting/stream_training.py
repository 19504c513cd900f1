"""Training on a stream: a model begins as a fit to the first rows, and continues by steps with the rows that follow.

Until there are enough first rows, the model is fitted again each time that their number has grown by the factor
`GROWTH`. After that, rows wait until there are enough for a step; they are saved with the model. A call returns a new
`StreamState`. If it fails, the old one is unchanged, or includes the batches before the failure.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse

from .. import arrays, training
from ..arrays import Device
from ..errors import DivergenceError, ShallowsError
from ..training.steps import Kept
from ..utils import checks
from ..utils.checks import warn_user
from .machine import Options

Batch = tuple[Any, ...]
"""Parts with the same number of rows, such as (X, y, sample_weight); None is a missing part."""

Check = Callable[[Batch, Any], tuple[Batch, Any]]
"""Checks a batch and what is known of the targets (None for the first rows); returns both."""

Begin = Callable[[Batch, int], tuple[Any, training.Run | None]]
"""Fits a model to rows and returns it with its training; the number counts the rows of the previous model.

With too few rows it returns the previous model (or None) and no training."""

FIRST_ROWS = 2560
"""Rows up to which a model is fitted again, if its estimator sets no other number; they are enough to choose every
parameter."""

LEAST_MEMORY = 2**26
"""Bytes that the smallest fit needs."""

GROWTH = 1.25
"""A model is fitted again to all rows if their number has grown by this factor. A stream that begins with one row has
about thirty fits, which cost five times as much as the last of them."""


def stopping_rules(settings: Any, n: int, batch_size: int, usual: int, max_seconds: float | None) -> training.Stopping:
    """When a fit to n rows ends: at the user's limits, else after a usual number of steps."""
    n_iter = settings.n_iter
    if n_iter is None and settings.max_epochs is None:
        n_iter = usual
    epochs = settings.max_epochs or math.ceil(n_iter / math.ceil(n / batch_size))
    # No tolerance: the monitored number may grow or be negative.
    return training.Stopping(epochs, n_iter, max_seconds, tolerance=-math.inf)


def check_finite(state: Any, step_size: float | None) -> None:
    """Raise a DivergenceError if the functions of a state are not finite."""
    if not state.is_finite():
        said = "" if step_size is None else f" with step_size={step_size:.3g}"
        raise DivergenceError(
            f"Training diverged{said}. Give the solver a smaller step_size, or step_size=None to let it choose."
        )


def next_beginning(n_begun: int, enough: int) -> int:
    """The number of rows, at most ``enough``, for the next fit after a fit to ``n_begun`` rows."""
    return min(enough, max(n_begun + 1, math.ceil(GROWTH * n_begun)))


def n_rows(batches: Sequence[Batch]) -> int:
    """The number of rows of several batches."""
    return sum(batch[0].shape[0] for batch in batches)


def copy_batch(batch: Batch) -> Batch:
    """A copy of a batch, since the user may fill the arrays with the next rows."""
    return tuple(None if part is None else part.copy() for part in batch)


def join_batches(batches: Sequence[Batch]) -> Batch:
    """Several batches as one; a part that only some of them have, such as weights, is filled with ones."""
    if len(batches) == 1:
        return batches[0]
    return tuple(_join_parts(parts, batches) for parts in zip(*batches, strict=True))


def _join_parts(parts: Sequence[Any], batches: Sequence[Batch]) -> Any:
    if all(part is None for part in parts):
        return None
    if any(scipy.sparse.issparse(part) for part in parts):
        return scipy.sparse.vstack([scipy.sparse.csr_array(part) for part in parts], format="csr")
    return np.concatenate(
        [np.ones(batch[0].shape[0]) if part is None else part for part, batch in zip(parts, batches, strict=True)]
    )


@dataclass(frozen=True)
class StreamState:
    """The state of a training on a stream."""

    # Fitted to the rows so far. It has ``state``, ``plan`` with stepper and problem, and ``rows_of_step``
    model: Any
    # All batches while the model is fitted again; later the batches that are too few for a step
    waiting: tuple[Batch, ...] = ()
    n_begun: int = 0  # rows of the last fit
    n_batches: int = 0  # batches so far
    begins: bool = True  # whether the model is fitted again when more rows come

    @property
    def n_waiting(self) -> int:
        """Rows that the model does not include yet."""
        return n_rows(self.waiting) - (self.n_begun if self.begins else 0)

    def on(self, device: Device) -> Self:
        """The stream with its model on a device."""
        return replace(self, model=self.model.on(device))

    def on_host(self) -> Self:
        """The stream with its model on the host, for a file."""
        return replace(self, model=self.model.on_host())


class StreamCall(NamedTuple):
    """Limits, observers and checkpoint of a call of ``partial_fit``."""

    n_iter: int | None
    max_seconds: float | None
    observers: Sequence[training.Observer]
    checkpoint: training.Checkpoint | None


@dataclass(frozen=True)
class Continued:
    """The result of a call on a stream."""

    stream: StreamState
    run: training.Run | None  # the training, if there was one
    preparation: float  # seconds without the training
    failure: BaseException | None  # ended the call; the stream then includes the batches before it


def continue_stream(
    stream: StreamState | None,
    source: Iterator[Batch],
    *,
    is_whole: bool,
    check: Check,
    begin: Begin,
    call: StreamCall,
    options: Options,
    may_shrink: bool,
    first_rows: int,
) -> Continued:
    """Train on the batches of a call.

    ``first_rows``: up to which a model is fitted again.
    ``is_whole``: it uses all batches or none. They are slices of an array, and a user could not know which were used.
    """
    started, n_iter = time.perf_counter(), call.n_iter
    if not (n_iter is None or checks.is_whole(n_iter)):
        raise ShallowsError(f"n_iter must be a whole number of at least 1 or None, got {n_iter!r}.")
    if not (call.max_seconds is None or checks.is_positive(call.max_seconds)):
        raise ShallowsError(f"max_seconds must be a positive number or None, got {call.max_seconds!r}.")
    before = StreamState(None) if stream is None else stream
    reader = Reader(itertools.islice(source, n_iter), before, check, is_whole)
    now, run, failure = before, None, None
    if before.begins:
        now, run, failure = fit_first_rows(before, reader, begin, first_rows)
    if not now.begins and failure is None:
        now, later, failure = take_steps(now, reader, call, options, may_shrink)
        run = run if later is None else later
    n_taken = now.n_batches - before.n_batches
    if failure is not None:
        if is_whole or not n_taken:
            raise failure
        return Continued(now, run, 0.0, failure)
    if not n_taken:
        raise ShallowsError("The stream ended before its first batch.")
    timed_out = run is not None and run.stopped_by == "max_seconds"
    ended_early = n_iter is not None and n_taken < n_iter
    if ended_early and not timed_out:
        warn_user(f"The stream ended after {n_taken} of the {n_iter} batches of n_iter; the model includes these.")
    if run is not None and not timed_out:
        run.stopped_by = "end of the stream" if n_iter is None or ended_early else "n_iter"
    seconds = 0.0 if run is None else run.seconds
    return Continued(now, run, max(0.0, time.perf_counter() - started - seconds), None)


class Reader:
    """Reads and checks batches. Unused batches are ``waiting``; ``n_batches`` includes batches of earlier calls."""

    def __init__(self, source: Iterator[Batch], stream: StreamState, check: Check, is_whole: bool):
        self._source, self._check, self.is_whole = source, check, is_whole
        self._targets = None if stream.model is None else stream.model.plan.targets
        self.waiting, self.n_batches = stream.waiting, stream.n_batches

    def read(self, model: Any) -> bool:
        """Check the next batch and keep it; False at the end. A batch that waits for a step must fit to the model."""
        batch = next(self._source, None)
        if batch is None:
            return False
        number = self.n_batches + 1
        with name_batch_in_errors(number, self.is_whole):
            batch, self._targets = self._check(batch, self._targets)
            if self.waiting and batch[1] is not None and batch[1].ndim != self.waiting[0][1].ndim:
                raise ShallowsError(
                    f"y has the shape {batch[1].shape} where earlier batches had {self.waiting[0][1].shape}."
                )
            if model is not None and batch[0].shape[0] < model.rows_of_step:
                model.examples(batch, Device("cpu"))  # It will wait, but errors are reported now.
        self.waiting, self.n_batches = (*self.waiting, copy_batch(batch)), number
        return True


def fit_first_rows(
    stream: StreamState, reader: Reader, begin: Begin, enough: int
) -> tuple[StreamState, training.Run | None, BaseException | None]:
    """Keep the first rows, and fit a model to them if there are enough more than at the last fit."""
    n_begun, n_parts, failure = stream.n_begun, 0, None
    try:
        while (n := n_rows(reader.waiting)) < enough and reader.read(None):
            n = n_rows(reader.waiting)
            if n >= next_beginning(n_begun, enough):
                n_begun, n_parts = n, len(reader.waiting)
    except BaseException as error:
        failure = error  # The batches before it count, unless the call uses all or none.
        if reader.is_whole:
            raise
    now = replace(stream, waiting=reader.waiting, n_batches=reader.n_batches)
    if not n_parts:
        return now, None, failure
    model, run = begin(join_batches(reader.waiting[:n_parts]), stream.n_begun)
    if n_begun >= enough:
        reader.waiting = ()
    now = StreamState(model, reader.waiting, n_begun, reader.n_batches, begins=n_begun < enough)
    return now, run, failure


def take_steps(
    stream: StreamState, reader: Reader, call: StreamCall, options: Options, may_shrink: bool
) -> tuple[StreamState, training.Run | None, BaseException | None]:
    """Train the model by a step whenever enough rows wait."""
    device = arrays.resolve_device(options.device)
    model = stream.model.on(device)
    steps, failure, run = Steps(reader, model, device), None, None
    try:
        with device.active():
            first = next(steps, None)
            if first is not None:
                run = training.train(
                    model.plan.stepper,
                    model.plan.problem,
                    training.Stream(itertools.chain([first], steps)),
                    training.Stopping(1, None, call.max_seconds, tolerance=-math.inf),
                    # `steps` keeps the state. It comes before observers that may fail.
                    observers=[steps, *call.observers],
                    checkpoint=call.checkpoint,
                    snapshot=lambda state, epoch: model.snapshot(state, epoch, options, device),
                    may_shrink=may_shrink,
                    # A copy, because the steps change it in place.
                    state=model.state.to(device),
                )
    except BaseException as error:
        if reader.is_whole:
            raise
        failure, run = error, steps.run_until_failure()
    reached = steps.reached
    now = replace(stream, waiting=reached.waiting, n_batches=reached.n_batches)
    if run is not None:
        with device.active():
            now = replace(now, model=model.finish(run.state, reached.sample))
    return now, run, failure


@dataclass(frozen=True)
class Reached:
    """The state of a stream after whole batches and steps: waiting rows, batches, and the model's sample and state."""

    waiting: tuple[Batch, ...]
    n_batches: int
    sample: Any
    kept: Kept | None


class Steps(training.Observer):
    """The batches of the steps, made of waiting rows. It records what the last whole step has reached.

    If a failed call keeps some of its steps, the state is copied after each of them, because the next step changes it.
    """

    def __init__(self, reader: Reader, model: Any, device: Device):
        self._reader, self._model, self._device = reader, model, device
        self.reached = Reached(reader.waiting, reader.n_batches, model.sample, None)
        self._sample, self._n_steps = model.sample, 0
        self._run: training.Run | None = None

    def __iter__(self) -> Steps:
        return self

    def __next__(self) -> Any:
        reader, model = self._reader, self._model
        while reader.read(model):
            if n_rows(reader.waiting) < model.rows_of_step:
                self.reached = replace(self.reached, waiting=reader.waiting, n_batches=reader.n_batches)
                continue
            rows, reader.waiting = join_batches(reader.waiting), ()
            with name_batch_in_errors(reader.n_batches, reader.is_whole):
                examples = model.examples(rows, self._device)
            self._sample = model.add_to_sample(self.reached.sample, examples, reader.n_batches)
            return examples
        raise StopIteration

    def on_start(self, run: training.Run) -> None:
        """Keep the first state."""
        self._run = run
        self.reached = replace(self.reached, kept=self._copied_state())

    def on_batch(self, run: training.Run) -> None:
        """Keep the state after a step."""
        kept = self._copied_state()
        # One statement, so that Ctrl-C cannot separate its parts.
        self.reached, self._n_steps = Reached((), self._reader.n_batches, self._sample, kept), self._n_steps + 1

    def _copied_state(self) -> Kept | None:
        return None if self._reader.is_whole or self._run is None else self._run.state.remember()

    def run_until_failure(self) -> training.Run | None:
        """The training with the state after the last whole step, if there was one."""
        if self._run is None or self.reached.kept is None or not self._n_steps:
            return None
        self._run.state.recall(*self.reached.kept)
        return self._run


@contextlib.contextmanager
def name_batch_in_errors(number: int, is_whole: bool) -> Iterator[None]:
    """Add to an error the number of its batch, unless it is the first, and which model there is now."""
    try:
        yield
    except (ValueError, ShallowsError) as error:
        if number == 1:
            raise
        kept = "is unchanged" if is_whole else f"includes the {number - 1} batches before it"
        raise type(error)(f"Batch {number} cannot be used, and the model {kept}: {error}") from error
