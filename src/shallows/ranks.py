"""The processes that share a fit, as a value: one alone here, and those of an MPI program in `distributed.mpi`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from .arrays import Array

Value = TypeVar("Value")


class Alone:
    """One process, which does all of the work. `shallows.distributed.mpi.Mpi` are several.

    Attributes
    ----------
    rank, size : int
        Which of the processes this one is, and how many there are.
    on_this_node : int
        How many of them run on this machine.
    """

    rank, size, on_this_node = 0, 1, 1

    # ------------------------------------------------------------------------------------- shares of rows

    def own(self, n: int) -> slice:
        """Which of n rows belong to this process: those whose number is its rank modulo the number of processes."""
        return slice(self.rank, n, self.size)

    def local(self, rows: slice) -> slice:
        """Where those of some consecutive rows that belong to this process stand among all that do."""
        return slice(*(max(0, -(-(edge - self.rank) // self.size)) for edge in (rows.start, rows.stop)))

    def piece(self, rows: slice) -> slice:
        """The piece of some consecutive rows that this process computes for all, where they are dealt in pieces."""
        n = rows.stop - rows.start
        return slice(*(rows.start + n * rank // self.size for rank in (self.rank, self.rank + 1)))

    def divide(self, solver: Any) -> Any:
        """The form of a solver (its settings or its stepper) that all processes run together."""
        return solver

    def count(self, n_values: int) -> None:
        """Note that this process has computed so many kernel or feature values."""

    # ---------------------------------------------------------------------------------------- messages

    def sum(self, x: Array) -> Array:
        """The sum of an array of every process, to the same bits in all of them."""
        return x

    def sum_with_row(self, x: Array, row: Any) -> tuple[Array, Any]:
        """`sum` of an array of shape (p, c), and of a row of numbers, shape (1, c), or one number for all columns."""
        return x, row

    def gathered(self, x: Array, n: int) -> Array:
        """All n rows of an array of which each process has its `own`."""
        return x

    def from_first(self, value: Value) -> Value:
        """What the process of rank 0 gave, any object that can be pickled."""
        return value

    def on_first(self, work: Callable[[], Value]) -> Value:
        """Do something in the process of rank 0 alone; all get its result, or raise its error."""
        return work()

    def any(self, value: bool) -> bool:
        """Whether it is so in at least one process."""
        return bool(value)

    def least(self, value: int) -> int:
        """The smallest number of all processes."""
        return value

    def share_of(self, budget: int, given: Any) -> int:
        """Bytes that each process may use; ``given`` is a budget that the user has given."""
        return budget

    def total(self, value: int) -> int:
        """The sum of the numbers of all processes."""
        return value

    def same(self, value: Hashable, what: str) -> None:
        """Make sure that a value is the same in all processes; ``what`` says it in the plural, for the message."""


ALONE = Alone()
"""The default: one process."""
