"""Training on a stream: a model begins as a fit to the first rows, and goes on by steps with the rows that follow.

While there are fewer than `FIRST_ROWS` rows all of them are kept, and the model is the one of a fit to as many as
there were when it was begun anew last, see `waiting_rows.GROWTH`. Then rows are kept until they are enough for a step.
What is kept goes into files, so that a stream goes on from one as if it had not been saved.

Nothing is changed in place: a call returns a new `Stream`, and one that fails leaves the old one as it was. Where the
rows are an iterable of batches, it returns what the batches before the failure made, with the error.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from .. import arrays, training
from ..arrays import Device
from ..errors import ShallowsError
from ..training import states
from .checks import is_positive, is_whole, warn_user
from .machine import Options
from .waiting_rows import Batch, joined, n_rows, next_beginning, owned

FIRST_ROWS = 2560
"""Rows up to which a model is fitted anew; it then has seen enough of each parameter's choice to go on by steps."""


@dataclass(frozen=True)
class Stream:
    """Where the training on a stream stands.

    Attributes
    ----------
    model
        What the rows so far have made, with its ``state``, its plan (``plan.stepper``, ``plan.problem``) and
        ``rows_of_step``, the rows that a step has at least.
    waiting : tuple of tuples
        Batches that are kept: all so far while the model is begun anew with them, else those too few for a step.
    n_begun, n_batches : int
        Rows that the model was begun with last, and batches that have come.
    begins : bool
        Whether the model is still begun anew when more rows come.
    """

    model: Any
    waiting: tuple[Batch, ...] = ()
    n_begun: int = 0
    n_batches: int = 0
    begins: bool = True

    @property
    def n_waiting(self) -> int:
        """Rows that are not in the model yet."""
        return n_rows(self.waiting) - (self.n_begun if self.begins else 0)

    def on(self, device: Device) -> Self:
        """The same with the model on a device."""
        return replace(self, model=self.model.on(device))

    def kept(self) -> Self:
        """The same with the model on the host, as a file holds it."""
        return replace(self, model=self.model.kept())


@dataclass(frozen=True)
class Continued:
    """What a call on a stream has made.

    Attributes
    ----------
    stream : Stream
    run : Run or None
        The training, if there was one.
    preparation : float
        Seconds beside the training.
    failure : BaseException or None
        What ended it; the stream is then that of the batches before.
    """

    stream: Stream
    run: training.Run | None
    preparation: float
    failure: BaseException | None


Check = Callable[[Batch, Any], tuple[Batch, Any]]
"""Checks a batch, with what is known of the targets (None for the first rows); returns both."""

Begin = Callable[[Batch, int], tuple[Any, training.Run | None]]
"""Fits a model to rows, where the last one was begun with so many; returns it and its training.

Where the rows are too few for any, it returns the model before, or None, and no training."""


def continue_stream(
    stream: Stream | None,
    source: Iterator[Batch],
    *,
    is_whole: bool,
    check: Check,
    begin: Begin,
    n_iter: int | None,
    max_seconds: float | None,
    options: Options,
    may_shrink: bool,
    observers: Sequence[training.Observer],
    checkpoint: training.Checkpoint | None,
) -> Continued:
    """Take in the batches of a call.

    Parameters
    ----------
    is_whole : bool
        Whether the call keeps all of its batches or none: they are slices of an array, of which the user cannot know
        which are in the model.

    Raises
    ------
    ShallowsError
        For limits that are no numbers, and a stream that ends before its first batch.
    """
    started = time.perf_counter()
    check_limits(n_iter, max_seconds)
    before = Stream(None) if stream is None else stream
    reader = Reader(itertools.islice(source, n_iter), before, check, is_whole)
    now, run, failure = before, None, None
    if before.begins:
        now, run, failure = begin_anew(before, reader, begin)
    if not now.begins and failure is None:
        now, later, failure = go_on(now, reader, max_seconds, options, may_shrink, observers, checkpoint)
        run = run if later is None else later
    taken = now.n_batches - before.n_batches
    if failure is not None:
        if is_whole or not taken:
            raise failure
        return Continued(now, run, 0.0, failure)
    if not taken:
        raise ShallowsError("The stream ended before its first batch.")
    timed_out = run is not None and run.stopped_by == "max_seconds"
    if n_iter is not None and taken < n_iter and not timed_out:
        warn_user(
            f"The stream ended after {taken} of the {n_iter} batches that were asked for; the model is what those "
            "made.",
        )
    if run is not None and not timed_out:
        run.stopped_by = "end of the stream" if n_iter is None or taken < n_iter else "n_iter"
    seconds = 0.0 if run is None else run.seconds
    return Continued(now, run, max(0.0, time.perf_counter() - started - seconds), None)


class Reader:
    """Reads and checks batches, and keeps them until they are taken.

    Attributes
    ----------
    waiting : tuple of tuples
    n_batches : int
        That have come, in this call and before.
    """

    def __init__(self, source: Iterator[Batch], stream: Stream, check: Check, is_whole: bool):
        self._source, self._check, self.is_whole = source, check, is_whole
        self._targets = None if stream.model is None else stream.model.plan.targets
        self.waiting, self.n_batches = stream.waiting, stream.n_batches

    def read(self, model: Any) -> bool:
        """Check the next batch and keep it; False at the end. A batch that waits for a step of a model fits to it."""
        batch = next(self._source, None)
        if batch is None:
            return False
        number = self.n_batches + 1
        with numbered(number, self.is_whole):
            batch, self._targets = self._check(batch, self._targets)
            if self.waiting and batch[1] is not None and batch[1].ndim != self.waiting[0][1].ndim:
                raise ShallowsError(
                    f"y has the shape {batch[1].shape} where earlier batches had {self.waiting[0][1].shape}."
                )
            if model is not None and batch[0].shape[0] < model.rows_of_step:
                model.examples(batch, Device("cpu"))  # It will wait; what is wrong with it is told now.
        self.waiting, self.n_batches = (*self.waiting, owned(batch)), number
        return True


def begin_anew(
    stream: Stream, reader: Reader, begin: Begin
) -> tuple[Stream, training.Run | None, BaseException | None]:
    """Keep the first rows, and fit a model to them if they are enough more than when it was begun last."""
    n_begun, n_parts, failure = stream.n_begun, 0, None
    try:
        while (n := n_rows(reader.waiting)) < FIRST_ROWS and reader.read(None):
            n = n_rows(reader.waiting)
            if n >= next_beginning(n_begun, FIRST_ROWS):
                n_begun, n_parts = n, len(reader.waiting)
    except BaseException as error:
        failure = error  # The batches before it count, unless the call is a whole.
        if reader.is_whole:
            raise
    now = replace(stream, waiting=reader.waiting, n_batches=reader.n_batches)
    if not n_parts:
        return now, None, failure
    model, run = begin(joined(reader.waiting[:n_parts]), stream.n_begun)
    if n_begun >= FIRST_ROWS:
        reader.waiting = ()
    now = Stream(model, reader.waiting, n_begun, reader.n_batches, begins=n_begun < FIRST_ROWS)
    return now, run, failure


def go_on(
    stream: Stream,
    reader: Reader,
    max_seconds: float | None,
    options: Options,
    may_shrink: bool,
    observers: Sequence[training.Observer],
    checkpoint: training.Checkpoint | None,
) -> tuple[Stream, training.Run | None, BaseException | None]:
    """Take a step whenever the rows that wait are enough."""
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
                    training.Stopping(1, None, max_seconds, tolerance=-math.inf),
                    # What keeps the state comes before what may fail.
                    observers=[steps, *observers],
                    checkpoint=checkpoint,
                    snapshot=lambda state, epoch: model.snapshot(state, epoch, options, device),
                    may_shrink=may_shrink,
                    # A copy, which the steps change in place.
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
            now = replace(now, model=model.settled(run.state, reached.sample))
    return now, run, failure


@dataclass(frozen=True)
class Reached:
    """Where a stream stands after whole batches and steps: the rows that wait, the batches, the model's sample."""

    waiting: tuple[Batch, ...]
    n_batches: int
    sample: Any
    kept: states.Kept | None


class Steps(training.Observer):
    """The batches of steps, made of rows that waited; it knows what the last whole step has reached.

    Of a call that may keep some of its steps the state is copied after every one, since the next changes it in place
    and may be broken off in the middle. A copy reads each coefficient once; the step before read them once for every
    example.
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
            rows, reader.waiting = joined(reader.waiting), ()
            with numbered(reader.n_batches, reader.is_whole):
                examples = model.examples(rows, self._device)
            self._sample = model.sampled(self.reached.sample, examples, reader.n_batches)
            return examples
        raise StopIteration

    def on_start(self, run: training.Run) -> None:
        """Keep the state that the training starts from."""
        self._run = run
        self._keep(run, 0)

    def on_batch(self, run: training.Run) -> None:
        """Keep the state that a step has made."""
        self._keep(run, 1)

    def _keep(self, run: training.Run, n: int) -> None:
        reader = self._reader
        kept = None if reader.is_whole else states.keep(run.state)
        if n:
            # In one statement, between whose parts Ctrl-C cannot come.
            self.reached, self._n_steps = Reached((), reader.n_batches, self._sample, kept), self._n_steps + n
        else:
            self.reached = replace(self.reached, kept=kept)

    def run_until_failure(self) -> training.Run | None:
        """The training with the state after the last whole step, if there was one."""
        if not self._n_steps:
            return None
        states.put_back(self._run.state, self.reached.kept)
        return self._run


@contextlib.contextmanager
def numbered(number: int, is_whole: bool) -> Iterator[None]:
    """Name the batch that an error is about, unless it is the first, and say which model there is now."""
    try:
        yield
    except (ValueError, ShallowsError) as error:
        if number == 1:
            raise
        now = "as it was before this call" if is_whole else f"still that of the {number - 1} before"
        raise type(error)(f"Batch {number} cannot be used, and the model is {now}: {error}") from error


def check_limits(n_iter: Any, max_seconds: Any) -> None:
    """Refuse limits of a call that are no numbers."""
    if not (n_iter is None or is_whole(n_iter)):
        raise ShallowsError(f"n_iter must be a whole number of at least 1 or None, got {n_iter!r}.")
    if not (max_seconds is None or is_positive(max_seconds)):
        raise ShallowsError(f"max_seconds must be a positive number or None, got {max_seconds!r}.")
