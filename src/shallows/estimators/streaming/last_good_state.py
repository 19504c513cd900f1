"""The state of a training on a stream after its last whole step, for when the next one fails."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ... import training
from ...training import states


class LastGoodState(training.Observer):
    """Copies the state after every batch, since a step changes it in place and may be broken off in the middle.

    A copy reads each coefficient once; the step before it read them once for every example. A call that keeps all of
    its steps or none needs only a copy of the state before the first.

    Attributes
    ----------
    run : Run or None
        The training, once it has started.
    n_steps : int
        Steps that it has taken.
    n_in_step : int
        Batches of the user that the step at work is made of; 0 while batches are read.
    attributes : dict
        Of the estimator, to go back to where the first step fails.
    is_whole : bool
        Whether the call keeps all of its steps or none: its rows are an array, of which the user cannot know which
        slices are in the model.
    """

    def __init__(self, estimator: Any) -> None:
        self.run: training.Run | None = None
        self.n_steps = self.n_in_step = 0
        self.attributes = dict(vars(estimator))
        self.is_whole = True
        self._before = dict(self.attributes)
        self._kept: states.Kept | None = None
        self._first: tuple[Any, states.Kept] | None = None

    def keep_first(self, state: Any) -> None:
        """Keep the state before the first step, which the steps change in place."""
        self._first = state, states.keep(state)

    def on_start(self, run: training.Run) -> None:
        """Keep the state that the training starts from."""
        if not self.is_whole:
            self.run, self._kept = run, states.keep(run.state)

    def on_batch(self, run: training.Run) -> None:
        """Keep the state that a batch has made."""
        if self.is_whole:
            return
        kept = states.keep(run.state)
        # In one statement, between whose parts Ctrl-C cannot come.
        self._kept, self.n_steps, self.n_in_step = kept, self.n_steps + 1, 0

    def put_all_back(self, estimator: Any) -> None:
        """Bring the estimator to where it was before the call."""
        if self._first is not None:
            states.put_back(*self._first)
        training.restore_attributes(estimator, self._before)

    def put_back(self) -> Any:
        """Bring the state of the training to where it was kept last, and return it."""
        states.put_back(self.run.state, self._kept)
        return self.run.state


def steps_back_on_failure(partial_fit: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a training on a stream, for when it raises.

    - If its rows are an array, the estimator is as it was before the call.
    - If they are an iterable of batches, the model is that of the batches that it has taken in. If there are none, the
      estimator is as it was before the call.

    The method's last argument is the observer that keeps the state, which the decorator adds to what the caller gives.
    """

    @functools.wraps(partial_fit)
    def go_on_or_step_back(self: Any, *args: Any) -> Any:
        last_good = LastGoodState(self)
        before = last_good.attributes
        try:
            return partial_fit(self, *args, last_good)
        except BaseException:
            if last_good.is_whole:
                last_good.put_all_back(self)
                raise
            taken = getattr(self, "_n_batches_seen", 0) - before.get("_n_batches_seen", 0)
            if not last_good.n_steps and (last_good.n_in_step or not taken):
                training.restore_attributes(self, last_good.attributes)
            if last_good.run is not None:
                self._state = last_good.put_back()
            if last_good.n_steps:
                self._n_batches_seen -= last_good.n_in_step
                self._finish_stream(self._state)
                self._set_fitted_attributes(last_good.run, {"preparation": 0.0}, last_good.run.seconds)
            raise

    return go_on_or_step_back
