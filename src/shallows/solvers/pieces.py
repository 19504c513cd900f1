"""Long compiled loops in pieces: between two of them Python hears signals, such as that of Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator

from .. import arrays

OPERATIONS = 1e8  # multiplications and additions of a piece: some tenths of a second


def steps_of_a_piece(operations: float) -> int:
    """How many steps of so many operations each make a piece."""
    return max(1, int(OPERATIONS / max(1.0, operations)))


def pieces(n: int, operations: float) -> Iterator[slice]:
    """Consecutive slices of n steps of so many operations each."""
    return arrays.blocks(n, steps_of_a_piece(operations))
