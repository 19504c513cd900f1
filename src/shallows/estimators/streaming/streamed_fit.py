"""Training on a stream: a model begins as a fit to its first rows, and goes on by steps with the rows that follow."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ... import arrays, training
from ...errors import DivergenceError, ShallowsError, TooFewDirectionsError
from ...fitting.parameter_checks import is_positive, is_whole
from ...fitting.stream_training import FIRST_ROWS
from ...fitting.user_warnings import warn_user
from ...fitting.waiting_rows import Batch, joined, n_rows, next_beginning, owned
from ...solvers.examples import Examples
from ...utils.plain_numbers import plain_numbers
from ..column_units import LEAST_ROWS
from ..fitting import Fit, TrainedEstimator
from .last_good_state import LastGoodState


@dataclass
class StreamableFit(Fit):
    """A fit with which a stream may begin.

    Attributes
    ----------
    max_seconds : float or None
        Of training, where the call on a stream named a limit.
    """

    max_seconds: float | None = None


class StreamedFit(TrainedEstimator):
    """Base of the estimators whose ``partial_fit`` begins as a fit and goes on by steps.

    While there are fewer than `FIRST_ROWS` rows all of them are kept, in ``_held``, and the model is the one of ``fit``
    to as many as there were when it was begun anew last, see `first_rows.GROWTH`. Then rows are kept until they are
    enough for a step. What is kept goes into files, so that a stream goes on from one as if it had not been saved.
    """

    _model_attributes = ("_state",)

    # ------------------------------------------------------------------- what a subclass must define

    def _default_steps(self, n: int, n_batches: int) -> int:
        """Steps of a fit to n rows where the user sets no limit."""
        raise NotImplementedError

    def _finish_fit(self, fit: StreamableFit, state: Any) -> None:
        """Compute what needs the whole training set, after the last step of a fit."""

    def _make_snapshot(self, state: Any, epoch: int) -> Any:
        """The model at a state of the solver, for observers of a stream."""
        raise NotImplementedError

    def _checked_batch(self, batch: Batch, *, first: bool) -> Batch:
        """Check a batch; ``first`` where no rows have come before."""
        raise NotImplementedError

    def _fit_rows(self, rows: Batch, seed: int, max_seconds: float | None) -> training.Run:
        """Fit the model to checked rows from the beginning, and set its state."""
        raise NotImplementedError

    def _examples(self, rows: Batch, device: arrays.Device) -> Examples:
        """Checked rows as the solver takes them."""
        raise NotImplementedError

    def _rows_of_step(self) -> int:
        """How many rows a step has at least."""
        raise NotImplementedError

    def _record_batch(self, batch: Examples) -> None:
        """Record what `_finish_stream` needs from a batch."""

    def _finish_stream(self, state: Any) -> None:
        """Compute what needs more than the last batch, after the last step of a call."""

    # ------------------------------------------------------------------------------------- the fit

    def _batches(self, fit: StreamableFit) -> training.Batches:
        return training.Batches(fit.n, self.batch_size_, fit.seed)

    def _stopping(self, fit: StreamableFit) -> training.Stopping:
        n_batches = math.ceil(fit.n / self.batch_size_)
        n_iter, max_epochs = self.n_iter, self.max_epochs
        if n_iter is None and max_epochs is None:
            n_iter = self._default_steps(fit.n, n_batches)
        max_epochs, max_seconds = max_epochs or math.ceil(n_iter / n_batches), fit.max_seconds or self.max_seconds
        # No tolerance: what is watched may grow or be negative.
        return training.Stopping(max_epochs, n_iter, max_seconds, tolerance=-math.inf)

    def _snapshot(self, fit: StreamableFit, state: Any, epoch: int) -> Any:
        return self._make_snapshot(state, epoch)

    def _keep_model(self, fit: StreamableFit, run: training.Run) -> None:
        if not run.state.is_finite():
            raise DivergenceError(
                f"Training diverged with step_size={self._solver.step_size:.3g}. Take a smaller step_size, or "
                "leave it to the program (step_size=None)."
            )
        self._finish_fit(fit, run.state)
        self._state = run.state

    def _describe(self, fit: StreamableFit, run: training.Run) -> None:
        self._set_fitted_attributes(run, fit.timings, run.seconds + fit.timings["evaluation"])

    # ------------------------------------------------------------------------------------- the model

    def _set_fitted_attributes(self, run: training.Run, timings: dict[str, float], spent: float) -> None:
        """Describe a training of ``spent`` seconds with its evaluations."""
        state = run.state
        self.n_iter_, self.n_epochs_, self.n_blocks_ = state.n_steps, run.epoch, state.n_blocks
        self.n_random_features_ = state.n_blocks * self.block_size_
        self.step_size_, self.losses_ = state.step_size, run.losses
        self.n_rollbacks_, self.n_resumes_ = run.n_rollbacks, run.n_resumes
        self.effective_params_ = self.effective_params_ | {
            "n_blocks": state.n_blocks,
            "n_random_features": self.n_random_features_,
            "n_steps": state.n_steps,
            "stopped_by": run.stopped_by,
        }
        self.timings_ = {**timings, "training": run.seconds, "evaluation": max(0.0, spent - run.seconds)}

    def _state_on(self, device: arrays.Device) -> Any:
        """The state of the model, on a device from now on."""
        if self._state.device != device:
            self._state = self._state.to(device)
        return self._state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    def __getstate__(self) -> dict[str, Any]:
        kept = dict(super().__getstate__())
        if "_state" in kept:
            # So a model that was trained on a GPU can be unpickled where there is none.
            state = kept["_state"].to(arrays.Device("cpu"))
            kept["_state"] = state.trimmed() if hasattr(state, "trimmed") else state
        return kept

    # ------------------------------------------------------------------------------------- the stream

    def _end_beginning(self, n: int) -> None:
        """Let a stream go on from a fit to n rows."""
        self._begins, self._held, self._n_begun, self._n_batches_seen = False, [], n, 0

    def _learn_stream(
        self,
        source: Iterator[Batch],
        n_iter: int | None,
        max_seconds: float | None,
        observers: Sequence[training.Observer],
        checkpoint: training.Checkpoint | None,
        last_good: LastGoodState,
    ) -> Self:
        """Take in the batches of a call of ``partial_fit``, which `steps_back_on_failure` decorates."""
        started = time.perf_counter()
        n_iter, max_seconds = plain_numbers(n_iter), plain_numbers(max_seconds)
        _check_limits(n_iter, max_seconds)
        if not hasattr(self, "_begins"):
            self._begins, self._held, self._n_begun, self._n_batches_seen = True, [], 0, 0
        n_before, run = self._n_batches_seen, None
        checked = self._checked(itertools.islice(source, n_iter), last_good)
        if self._begins:
            run = self._begin(checked, max_seconds, last_good)
        if not self._begins:
            device = arrays.resolve_device(self.device)
            steps = self._steps(checked, device, last_good)
            with device.active():
                first = next(steps, None)
                if first is not None:
                    last_good.keep_first(self._state_on(device))
                    run = training.train(
                        self._solver,
                        self._problem,
                        training.Stream(itertools.chain([first], steps)),
                        training.Stopping(1, None, max_seconds, tolerance=-math.inf),
                        # What keeps the state comes before what may fail.
                        observers=[last_good, *self._progress_observers(), *observers],
                        checkpoint=checkpoint,
                        snapshot=self._make_snapshot,
                        may_shrink=self.step_size is None,
                        state=self._state_on(device),
                    )
                    self._finish_stream(self._state)
        taken = self._n_batches_seen - n_before
        if not taken:
            raise ShallowsError("The stream ended before its first batch.")
        timed_out = run is not None and run.stopped_by == "max_seconds"
        if n_iter is not None and taken < n_iter and not timed_out:
            warn_user(
                f"The stream ended after {taken} of the {n_iter} batches that were asked for; the model is what those "
                "made.",
            )
        if run is not None:
            if not timed_out:
                run.stopped_by = "end of the stream" if n_iter is None or taken < n_iter else "n_iter"
            seconds = time.perf_counter() - started
            self._set_fitted_attributes(run, {"preparation": max(0.0, seconds - run.seconds)}, run.seconds)
        if hasattr(self, "_state"):
            self.effective_params_ = self.effective_params_ | {
                "n_rows_begun_with": self._n_begun,
                "n_rows_waiting": n_rows(self._held) - (self._n_begun if self._begins else 0),
            }
        return self

    def _checked(self, source: Iterator[Batch], last_good: LastGoodState) -> Iterator[None]:
        """Check the batches of a source and keep each in ``_held``."""
        for batch in source:
            begun, number = hasattr(self, "_state"), self._n_batches_seen + 1
            with _numbered(number, last_good.is_whole):
                batch = self._checked_batch(batch, first=not begun and not self._held)
                if not self._begins and batch[0].shape[0] < self._rows_of_step():
                    self._examples(batch, arrays.Device("cpu"))  # It will wait; what is wrong with it is told now.
            self._held, self._n_batches_seen = [*self._held, owned(batch)], number
            yield

    def _begin(
        self, checked: Iterator[None], max_seconds: float | None, last_good: LastGoodState
    ) -> training.Run | None:
        """Keep the first rows, and fit the model to them if they are enough more than when it was begun last."""
        n_begun, n_batches, failure = self._n_begun, 0, None
        try:
            for _ in itertools.chain([None] if self._held else [], checked):
                if (n := n_rows(self._held)) >= next_beginning(n_begun, FIRST_ROWS):
                    n_begun, n_batches = n, len(self._held)
                if n >= FIRST_ROWS:
                    break
        except BaseException as error:
            if last_good.is_whole:
                raise
            failure = error  # The batches before it count.
        run = None
        if n_batches and n_begun > self._n_begun:
            last_good.n_in_step, rows = n_batches, joined(self._held[:n_batches])
            if self._n_begun < LEAST_ROWS:
                self._warn_of_units(rows[0])
            run = self._fitted_to(rows, max_seconds, may_fail=n_begun < FIRST_ROWS)
            last_good.n_in_step, self._n_begun = 0, n_begun
            if n_begun >= FIRST_ROWS:
                self._begins, self._held = False, []
            last_good.attributes = dict(vars(self))
        if failure is not None:
            if run is not None:
                self._set_fitted_attributes(run, {"preparation": 0.0}, run.seconds)
                last_good.attributes = dict(vars(self))
            raise failure
        return run

    def _fitted_to(self, rows: Batch, max_seconds: float | None, *, may_fail: bool) -> training.Run | None:
        """A fit to the first rows; None where they are too few and more may come."""
        seed, n_seen = self._seed_ if hasattr(self, "_state") else self._seed(), self._n_batches_seen
        try:
            run = self._fit_rows(rows, seed, max_seconds)
        except TooFewDirectionsError:
            if not may_fail:
                raise
            return None
        self._n_batches_seen = n_seen
        return run

    def _steps(self, checked: Iterator[None], device: arrays.Device, last_good: LastGoodState) -> Iterator[Examples]:
        """Yield what is kept as soon as it is enough for a step."""
        for _ in checked:
            if n_rows(self._held) < self._rows_of_step():
                continue
            held, self._held = self._held, []
            with _numbered(self._n_batches_seen, last_good.is_whole):
                examples = self._examples(joined(held), device)
            self._record_batch(examples)
            last_good.n_in_step = len(held)
            yield examples


@contextlib.contextmanager
def _numbered(number: int, is_whole: bool) -> Iterator[None]:
    """Name the batch that an error is about, unless it is the first, and say which model there is now."""
    try:
        yield
    except (ValueError, ShallowsError) as error:
        if number == 1:
            raise
        now = "as it was before this call" if is_whole else f"still that of the {number - 1} before"
        raise type(error)(f"Batch {number} cannot be used, and the model is {now}: {error}") from error


def _check_limits(n_iter: Any, max_seconds: Any) -> None:
    """Refuse limits of a call that are no numbers."""
    if not (n_iter is None or is_whole(n_iter)):
        raise ShallowsError(f"n_iter must be a whole number of at least 1 or None, got {n_iter!r}.")
    if not (max_seconds is None or is_positive(max_seconds)):
        raise ShallowsError(f"max_seconds must be a positive number or None, got {max_seconds!r}.")
