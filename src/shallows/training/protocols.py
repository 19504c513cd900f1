"""The protocols by which the loop deals with solvers, their states and batches.

A solver has `init` and `step` (`Solver`). Its state says in one of three ways how training goes:

- It has a method ``monitored()`` (`MonitoredState`), which gives a number and what it is held against. Any number
  that grows where an iteration diverges will do: a loss, a duality gap, the norm of a batch's outputs.
- It has a number ``loss``, the squared residuals of the last batch, and the problem has ``targets`` and ``weights``
  (`LeastSquaresState`). The loop then knows the loss of the zero function by itself.
- It has neither. The loop then asks ``is_finite()`` after every step, and no more.

What is kept of a state, for checkpoints and for going back, is its array ``coefficients``, unless it has the methods of
a `KeptState`. A state with a ``step_size`` is given half of it where training diverges; one without is not, and
divergence is an error. A state that sets ``exhausted`` has nothing left to do.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


class Solver(Protocol):
    """An algorithm: no loop, no clock, no printing, no files."""

    def init(self, problem: Any) -> Any:
        """The state before the first step."""

    def step(self, problem: Any, state: Any, batch: Any) -> Any:
        """The state after one batch."""


@runtime_checkable
class MonitoredState(Protocol):
    """A state that offers a number to watch."""

    def monitored(self) -> tuple[float, float] | None:
        """A number of the last step and its reference.

        Training has diverged where the number is not finite, or exceeds the reference many times. `Run.losses` has the
        sum over an epoch as a share of that of the references. A reference of NaN means that any finite number is
        good. None means that this step has no number: the state is asked whether it ``is_finite()``.
        """


@runtime_checkable
class LeastSquaresState(Protocol):
    """A state of least squares; its problem has ``targets`` (n, c), and ``weights`` (n, 1) or None."""

    loss: float
    """Σ wᵢ ‖f(xᵢ) − yᵢ‖² over the last batch, before the step that used it."""


@runtime_checkable
class KeptState(Protocol):
    """A state that says itself what is to be kept of it, such as one that grows."""

    def remember(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Copies of arrays by name, and numbers by name as JSON holds them."""

    def recall(self, held: dict[str, Any], numbers: dict[str, Any]) -> None:
        """Go back to what `remember` gave, to the bit; the arrays may have become NumPy's."""

    def is_finite(self) -> bool:
        """Whether the model is still made of numbers."""


class Order(Protocol):
    """The batches of an epoch."""

    ended: bool
    """Whether the last call of `at` was for a batch after the last."""

    def at(self, position: int) -> Any:
        """The batch of a position, or None after the last."""


class BatchSource(Protocol):
    """Where batches come from."""

    names_rows: bool
    """Whether a batch says which rows are used. Where the solver chooses them, the run ends once it is exhausted."""

    def __len__(self) -> int:
        """Batches of an epoch, 0 where that is not known."""

    def of_epoch(self, epoch: int) -> list[Any] | Order:
        """The batches of an epoch, in their order."""
