"""Values of a growing function at the batches of a training set, kept from one visit of a batch to the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import arrays
from ...arrays import Array
from ...features import block_sums
from ...gpu.fused_expressions import FusedExpression

SMALLEST_FACTOR = 1e-200
"""What the values were multiplied with since they were noted may vanish in the smallest numbers; they are made anew."""


def _plain_brought_up(scale, known, factor, values):
    values *= scale
    values += known * factor


BROUGHT_UP = FusedExpression(
    "brought_up",
    ("scale", "known", "factor"),
    ("values",),
    "values = values * scale + known * factor",
    _plain_brought_up,
    ((), (5, 3), ()),
)
"""f from the sums over the new blocks and from what it was."""


class KnownValues:
    """What f was at each batch when it came last: the next time, only the blocks that are new since are summed.

    Between two visits a batch's values change with what multiplies the whole function, which is one number, and with
    the blocks that are new. So an epoch costs n values of every new block, where to sum all blocks for every batch
    costs n values of all blocks there are. A change of an old block makes the values that contain it unknown.

    ``n, c``: points of the set and outputs. ``like``: library, device and precision.
    """

    def __init__(self, n: int, c: int, like: Array):
        self.values = arrays.namespace(like).zeros((n, c), dtype=like.dtype)
        self.factor = 1.0
        self._noted: dict[int, tuple[int, float]] = {}  # Blocks and factor of a batch, by its first row.

    def at(self, state: Any, problem: Any, batch: slice) -> Array:
        """Values of f at a batch, shape (m, c)."""
        x = problem.points[batch, :]
        if batch.start not in self._noted:
            return state.values(problem, x)
        n_blocks, factor = self._noted[batch.start]
        new = state.buffer[n_blocks : state.n_blocks, :, :]
        values = block_sums.evaluate(problem.features, x, new, first=n_blocks, budget=problem.budget)
        BROUGHT_UP(state.scale, self.values[batch, :], self.factor / factor, into=(values,))
        return values

    def note(self, state: Any, batch: slice, values: Array) -> None:
        """Keep f at a batch."""
        self.values[batch, :] = values
        self._noted[batch.start] = (state.n_blocks, self.factor)

    def multiply(self, factor: float) -> None:
        """The function was multiplied with a factor."""
        self.factor *= factor
        if not abs(self.factor) > SMALLEST_FACTOR:
            self.factor = 1.0
            self._noted.clear()

    def changed(self, block: int) -> None:
        """The coefficients of a block have changed."""
        for start in [start for start, (n_blocks, _) in self._noted.items() if n_blocks > block]:
            del self._noted[start]

    def remember(self) -> dict[str, np.ndarray]:
        """Arrays on the host that `recall` takes up again, to the bit."""
        noted = [(start, *numbers) for start, numbers in self._noted.items()]
        return {
            "known_values": arrays.to_numpy(self.values).copy(),
            "known_at": np.array([(-1, -1, self.factor), *noted], dtype=np.float64),
        }

    def recall(self, held: dict[str, np.ndarray]) -> None:
        """Take up what `remember` gave."""
        self.values = arrays.like(held["known_values"].copy(), self.values)
        (_, _, self.factor), *noted = held["known_at"].tolist()
        self._noted = {int(start): (int(n_blocks), factor) for start, n_blocks, factor in noted}
