"""Long compiled loops in pieces: between two pieces Python handles signals such as Ctrl-C."""

from collections.abc import Iterable

from .. import arrays

OPERATIONS = 1e8  # multiplications and additions of a piece: some tenths of a second


def steps_of_a_piece(operations: float) -> int:
    """The steps of a piece, if each step has this number of operations."""
    return max(1, int(OPERATIONS / max(1.0, operations)))


def pieces(n: int, operations: float) -> Iterable[slice]:
    """Consecutive slices of n steps with this number of operations each."""
    return arrays.blocks(n, steps_of_a_piece(operations))
