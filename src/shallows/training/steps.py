"""What the loop gives a solver, and what it asks of it: the batches, a number to watch, and what to keep of the state.

Batches are shuffled in every epoch, as a stream comes, or chosen by the solver (`BatchSource`).

A solver has ``init`` and ``step`` (`Solver`). Its state reports in one of three ways how the training goes:

- It has a method ``monitored()`` (`MonitoredState`), which returns a number and its reference. Any number that grows
  when an iteration diverges will do: a loss, a duality gap, the norm of a batch's outputs.
- It has ``loss``, the squared residuals of the last batch, and the problem has ``targets`` and ``weights``
  (`LeastSquaresState`). The loop then computes the loss of the zero function.
- It has neither. The loop then asks ``is_finite()`` after every step.

For checkpoints and for going back, a state says what to keep (`KeptState`). If training diverges, the loop halves the
``step_size`` of the state; without one it raises an error. A state that sets ``exhausted`` has finished.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from .. import arrays, streams
from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers

GROWTH = 10.0
"""A batch has diverged if its loss exceeds this multiple of the loss of the zero function."""

EPOCH_GROWTH = 2.0
"""An epoch has diverged if its loss exceeds this multiple of the zero function's loss: slow growth, found early."""

Kept = tuple[dict[str, Any], dict[str, Any]]
"""What is kept of a state: arrays by name and numbers by name."""


# ---------------------------------------------------------------------------------------- batches


class BatchSource(Protocol):
    """The source of the batches of a training."""

    names_rows: ClassVar[bool]
    """Whether a batch names its rows. If the solver chooses them, the run ends once the solver is exhausted."""

    def __len__(self) -> int:
        """Batches of an epoch, 0 if unknown."""

    def of_epoch(self, epoch: int) -> list[Any] | Iterator[Any]:
        """The batches of an epoch, in their order."""


@takes_numpy_integers
@dataclass(frozen=True)
class Batches:
    """Contiguous batches of rows that were shuffled once, in a new order every epoch.

    Every row is seen once an epoch. The order is a function of the seed and the epoch, so that a run can continue from
    any place. With ``shuffle`` the rows of each batch are drawn again in every epoch, as row numbers in ascending
    order, and only the last batch of an epoch may be smaller. ``first_epoch``: epochs of the fits before this one.
    """

    n: int
    size: int
    seed: int
    shuffle: bool = False
    first_epoch: int = 0
    names_rows: ClassVar[bool] = True

    def __len__(self) -> int:
        return -(-self.n // self.size)

    def of_epoch(self, epoch: int) -> list[Any]:
        """The batches of an epoch, in their order."""
        slices, epoch = list(arrays.blocks(self.n, self.size)), self.first_epoch + epoch
        if self.shuffle:
            order = streams.permutation(self.seed, "rows", epoch, self.n)
            return [np.sort(order[rows]) for rows in slices]
        return [slices[i] for i in streams.permutation(self.seed, "batches", epoch, len(slices))]


class InOrderThenShuffled(Batches):
    """Batches that the first epoch visits in the order of the rows, which is random, and later epochs in a new one.

    So the first epoch computes only the columns of visited rows of a kernel matrix that is not kept.
    """

    def of_epoch(self, epoch: int) -> list[Any]:
        """The batches of an epoch, in their order."""
        first = self.first_epoch + epoch == 0
        return list(arrays.blocks(self.n, self.size)) if first else super().of_epoch(epoch)


class InOrderThenDrawn(InOrderThenShuffled):
    """Batches that the first epoch visits in order, and later epochs draw with replacement."""

    def of_epoch(self, epoch: int) -> list[Any]:
        """The batches of an epoch, in their order."""
        slices, epoch = list(arrays.blocks(self.n, self.size)), self.first_epoch + epoch
        if epoch == 0:
            return slices
        return [slices[int(i % len(slices))] for i in streams.integers(self.seed, "drawn batches", epoch, len(slices))]


@dataclass(frozen=True)
class OwnRows:
    """For a solver that chooses its own rows, like SMO: a batch is a number of steps.

    Observers are called between two batches. Training ends as soon as the state is ``exhausted``, also within an epoch.
    """

    n_steps: int
    n_batches: int = 1
    names_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.n_steps < 1 or self.n_batches < 1:
            raise ShallowsError(
                f"n_steps and n_batches must be at least 1, got {self.n_steps!r} and {self.n_batches!r}."
            )

    def __len__(self) -> int:
        return self.n_batches

    def of_epoch(self, epoch: int) -> list[int]:
        """The number of steps, once for every batch."""
        return [self.n_steps] * self.n_batches


class Stream:
    """Batches that are read once and in their order, from an iterable or a function that makes one; it may be endless.

    A resumed run reads the stream from its beginning and skips what it has seen.
    """

    names_rows: ClassVar[bool] = True

    def __init__(self, source: Iterable[Any] | Callable[[], Iterable[Any]]):
        self.source = source

    def __len__(self) -> int:
        """0: the number of batches is unknown."""
        return 0

    def of_epoch(self, epoch: int) -> Iterator[Any]:
        """The batches of a pass over the stream."""
        if epoch and not callable(self.source):
            return iter(())
        return iter(self.source() if callable(self.source) else self.source)


# ---------------------------------------------------------------------------------------- states


class Solver(Protocol):
    """An algorithm: no loop, no clock, no printing, no files."""

    def init(self, problem: Any) -> Any:
        """The state before the first step, a `KeptState`."""

    def step(self, problem: Any, state: Any, batch: Any) -> Any:
        """The state after one batch."""


@runtime_checkable
class MonitoredState(Protocol):
    """A state that offers a number to watch."""

    def monitored(self) -> tuple[float, float] | None:
        """A number of the last step and its reference.

        Training has diverged if the number is not finite or exceeds the reference many times. `Run.losses` has the sum
        over an epoch as a share of the sum of the references. With a reference of NaN any finite number is good. None
        means that this step has no number: the loop then asks ``is_finite()``.
        """


@runtime_checkable
class LeastSquaresState(Protocol):
    """A state of least squares; its problem has ``targets`` (n, c), and ``weights`` (n, 1) or None."""

    loss: float
    """Σ wᵢ ‖f(xᵢ) − yᵢ‖² over the last batch, before the step that used it."""


class KeptState(Protocol):
    """What the loop needs of every state."""

    def remember(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Copies of arrays by name, and numbers by name that JSON can store."""

    def recall(self, held: dict[str, Any], numbers: dict[str, Any]) -> None:
        """Go back to the result of `remember`, to the bit; the arrays may have become NumPy arrays."""

    def is_finite(self) -> bool:
        """Whether all numbers of the model are finite."""


def packed(kept: dict[str, Kept]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Several kept states by name as the arrays and the notes of a checkpoint."""
    parts = [(f"{place}.{name}", array) for place, (held, _) in kept.items() for name, array in held.items()]
    held = {name: arrays.to_numpy(array) for name, array in parts}
    return held, {"numbers": {place: numbers for place, (_, numbers) in kept.items()}}


def unpacked(place: str, held: dict[str, np.ndarray], notes: dict[str, Any]) -> Kept:
    """One of the kept states from a checkpoint."""
    parts = {name[len(place) + 1 :]: held[name] for name in held if name.startswith(f"{place}.")}
    return parts, notes["numbers"][place]


class Monitor:
    """Detects divergence and computes the loss of an epoch, from what a state offers.

    A problem's ``growth`` replaces `GROWTH`; it is infinite if long first steps are intended.
    """

    def __init__(self, problem: Any, state: Any):
        self._is_monitored = isinstance(state, MonitoredState)
        of_squares = not self._is_monitored and isinstance(state, LeastSquaresState)
        self._zero_losses, self._total = None, 0.0
        if of_squares:
            # Weighted square losses of the zero function at each row.
            targets = arrays.to_numpy(problem.targets).astype(np.float64, copy=False)
            self._zero_losses = np.einsum("ij,ij->i", targets, targets)
            if problem.weights is not None:
                self._zero_losses = self._zero_losses * arrays.to_numpy(problem.weights)[:, 0]
            self._total = float(self._zero_losses.sum())
        self.growth = getattr(problem, "growth", GROWTH)
        self.epoch_growth = EPOCH_GROWTH if math.isfinite(self.growth) else math.inf
        self._total_of_references, self._n_references = 0.0, 0
        self._sum = self._sum_of_references = self._sum_of_usual = 0.0

    def diverged(self, state: Any, batch: Any) -> bool:
        """Whether the last step has diverged; if not, it is added to the epoch."""
        earlier = 0.0
        if self._zero_losses is not None:
            value, reference = state.loss, 0.0
            here = self._zero_losses[batch]
            usual = float(here.sum()) + self._total * len(here) / len(self._zero_losses)
            diverged = not math.isfinite(value) or value > self.growth * usual + 1e-30
        else:
            offered = state.monitored() if self._is_monitored else None
            value, reference = offered or (math.nan, math.nan)
            # Earlier calls on a stream had their own monitors.
            earlier = getattr(state, "mean_zero_loss", 0.0)
            if offered is None:
                diverged = not state.is_finite()
            elif math.isnan(reference) or not math.isfinite(value):
                diverged = not math.isfinite(value)
            else:
                diverged = value > self.growth * max(self._usual(reference), earlier) + 1e-30
        if not diverged:
            self._sum += value
            self._sum_of_references += reference
            self._sum_of_usual += max(abs(reference), earlier)
        return diverged

    def _usual(self, reference: float) -> float:
        # A batch whose targets are all zero by chance has the reference 0. Then the mean of the batches so far counts;
        # if it is 0 too, nothing counts as divergence.
        here = abs(reference)
        self._total_of_references, self._n_references = self._total_of_references + here, self._n_references + 1
        return max(here, self._total_of_references / self._n_references) or math.inf

    def end_epoch(self) -> tuple[float, bool]:
        """The sum over the epoch as a share of its reference (NaN without one), and whether it has diverged."""
        reference = abs(self._total or self._sum_of_references)
        loss = self._sum / max(reference, 1e-300)
        diverged = self._sum > self.epoch_growth * max(reference, self._sum_of_usual) + 1e-30
        self._sum = self._sum_of_references = self._sum_of_usual = 0.0
        return loss, diverged

    def remember(self) -> list[float]:
        """What a checkpoint keeps."""
        total = [self._total_of_references, self._n_references]
        return [self._sum, self._sum_of_references, *total, self._sum_of_usual]

    def recall(self, numbers: list[float]) -> None:
        """Go back to the result of `remember`."""
        self._sum, self._sum_of_references, self._total_of_references, self._n_references, self._sum_of_usual = numbers
