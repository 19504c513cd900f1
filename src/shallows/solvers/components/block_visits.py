"""Which block of features a step moves: a new one while the budget of features lasts, then the old ones in turn."""

from __future__ import annotations

from typing import Any

from ... import streams


def next_block(n_blocks: int, n_revisits: int, max_blocks: int | None, seed: int) -> int:
    """Return the number of the block for the next step; ``n_blocks`` itself is a new one.

    Old blocks are revisited in rounds, each round in a new random order, so that all of them are moved equally often.

    ``n_blocks``: blocks in use. ``n_revisits``: steps so far that moved an old block. ``max_blocks``: the budget; None
    is without end. ``seed``: of the orders.
    """
    if max_blocks is None or n_blocks < max_blocks:
        return n_blocks
    turn, place = divmod(n_revisits, n_blocks)
    return int(streams.permutation(seed, "revisited blocks", turn, n_blocks)[place])


def move(state: Any, block: int, change: Any) -> None:
    """Add a change to a block of an expansion, or make it its next block; shape (width, k)."""
    if block == state.n_blocks:
        state.grow(change)
    else:
        state.add(block, change)
        state.n_revisits += 1
