"""The processes of a fit as a value: `Alone` for one process. `distributed.mpi.Mpi` is for several."""

from collections.abc import Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from .arrays import Array
from .errors import ShallowsError

Value = TypeVar("Value")


class Alone:
    """One process, and the interface of `shallows.distributed.mpi.Mpi` for several processes.

    ``rank, size``: number of this process, and number of processes. ``on_this_node``: processes on this machine.
    """

    rank, size, on_this_node = 0, 1, 1

    # ------------------------------------------------------------------------------------- shares of rows

    def own_rows(self, n: int) -> slice:
        """The rows of this process among n rows: row i belongs to process i modulo the number of processes."""
        return slice(self.rank, n, self.size)

    def local(self, rows: slice) -> slice:
        """The positions, among all rows of this process, of those of its rows that are in a slice of all rows."""
        return slice(*(max(0, -(-(edge - self.rank) // self.size)) for edge in (rows.start, rows.stop)))

    def piece(self, rows: slice) -> slice:
        """The piece of consecutive rows that this process computes, if each process computes one piece."""
        n = rows.stop - rows.start
        return slice(*(rows.start + n * rank // self.size for rank in (self.rank, self.rank + 1)))

    def divide(self, solver: Any) -> Any:
        """The form of a solver (its settings or its stepper) for several processes."""
        return solver

    def count(self, n_values: int) -> None:
        """Count kernel or feature values that this process has computed."""

    def fit_together(self, estimator: Any, data: tuple[Any, ...], checkpoint: Any) -> AbstractContextManager[Any]:
        """A block in which all processes fit an estimator to the same data; its value is their checkpoint."""
        return nullcontext(checkpoint)

    # ---------------------------------------------------------------------------------------- messages

    def sum(self, x: Array) -> Array:
        """The sum of the arrays of all processes, with the same bits in all of them."""
        return x

    def sum_with_row(self, x: Array, row: Any) -> tuple[Array, Any]:
        """`sum` of an array of shape (p, c), and of a row of shape (1, c) or a number."""
        return x, row

    def gather(self, x: Array, n: int) -> Array:
        """All n rows of an array of which each process has its `own_rows` rows."""
        return x

    def from_first(self, value: Value) -> Value:
        """The value of rank 0, any object that can be pickled."""
        return value

    def share_of(self, budget: int, given: Any) -> int:
        """Bytes that each process may use, the same in all. ``given``: the budget of the user, or None."""
        return budget

    def check_same(self, value: Hashable, what: str) -> None:
        """Raise an error if a value differs between processes; ``what``: its name in the plural, for the message."""


ALONE = Alone()
"""The default: one process."""


def checked(ranks: Any) -> Alone:
    """The processes that a user gives to ``fit``."""
    if not isinstance(ranks, Alone):
        raise ShallowsError(
            f"ranks must be shallows.distributed.Mpi(), the processes of an MPI program, got {ranks!r}. Leave it out "
            "for one process, which uses all threads of the BLAS."
        )
    return ranks
