"""The state of a training on a stream after its last whole step, for when the next one fails."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ... import training
from ...training import states


class LastGoodState(training.Observer):
    """Copies the state after every batch, since a step changes it in place and may be broken off in the middle.

    A copy reads each coefficient once; the step before it read them once for every example.

    Attributes
    ----------
    run : Run or None
        The training, once it has started.
    n_batches : int
        Batches that it has taken in.
    n_repeated : int
        The first of them, which the model before the call had taken in already.
    """

    def __init__(self) -> None:
        self.run: training.Run | None = None
        self.n_batches = self.n_repeated = 0
        self._kept: states.Kept | None = None

    def on_start(self, run: training.Run) -> None:
        """Keep the state that the training starts from."""
        self.run, self._kept = run, states.keep(run.state)

    def on_batch(self, run: training.Run) -> None:
        """Keep the state that a batch has made."""
        self._kept = states.keep(run.state)
        self.n_batches += 1

    def put_back(self) -> Any:
        """Bring the state of the training to where it was kept last, and return it."""
        states.put_back(self.run.state, self._kept)
        return self.run.state


def steps_back_on_failure(partial_fit: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a training on a stream: if it raises, the model is that of the batches that it has taken in.

    If there are none, the estimator is as it was before the call. The method's last argument is the observer that keeps
    the state, which the decorator adds to what the caller gives.
    """

    @functools.wraps(partial_fit)
    def go_on_or_step_back(self: Any, *args: Any) -> Any:
        before, last_good = dict(vars(self)), LastGoodState()
        try:
            return partial_fit(self, *args, last_good)
        except BaseException:
            n_batches, n_repeated, run = last_good.n_batches, last_good.n_repeated, last_good.run
            if n_batches <= n_repeated:
                training.restore_attributes(self, before)
            if run is not None and hasattr(self, "_state") and (n_batches > n_repeated or n_repeated == 0):
                self._state = last_good.put_back()
                self._n_batches_seen = n_batches + (0 if n_repeated else before.get("_n_batches_seen", 0))
                if "_first_batches" in vars(self):
                    self._first_batches = self._first_batches[: self._n_batches_seen]
            if n_batches > n_repeated:
                self._finish_stream(self._state)
                self._set_fitted_attributes(run, {"preparation": 0.0}, run.seconds)
            raise

    return go_on_or_step_back
