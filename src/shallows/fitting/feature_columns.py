"""The features of a fitted transformer in blocks of columns, for solvers that take one block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import arrays
from ..errors import ShallowsError

STRIP_NUMBERS = 2**22
"""Numbers of features of a strip."""


class MadeColumns:
    """Features of a fitted transformer in blocks of columns: from a matrix that is kept whole, or made for each use.

    Parameters
    ----------
    transformer : FeatureMapTransformer
    X : array or CSR matrix, shape (n, d)
    roots : ndarray, shape (n,), optional
        Factors of the rows.
    block_size : int
    budget : int
        Bytes. Where the whole matrix fits half of them it is kept.
    """

    def __init__(self, transformer: Any, X: Any, roots: np.ndarray | None, block_size: int, budget: int):
        self._transformer, self._X, self._roots = transformer, X, roots
        made, width = transformer._blocks.spans, transformer._blocks.n_features
        needed = X.shape[0] * width * np.dtype(transformer._dtype).itemsize
        self._kept = None
        if needed <= budget // 2:
            self._kept = transformer.transform(X)
        elif len(made) == 1 and block_size < width:
            raise ShallowsError(
                f"These features are made all at once, and for {X.shape[0]:,} rows take {needed / 1e9:.3g} GB, more "
                "than half of the budget. Give more memory, or take fewer, or 'fourier', which are made in blocks."
            )
        # Of a map that is made in blocks no block is cut; several are taken together.
        self._parts: list[list[int]] = [[]]
        self.spans = list(arrays.blocks(width, block_size))
        if self._kept is None:
            for k, span in enumerate(made):
                begun = self._parts[-1]
                if begun and span.stop - made[begun[0]].start > block_size:
                    self._parts.append([])
                self._parts[-1].append(k)
            self.spans = [slice(made[part[0]].start, made[part[-1]].stop) for part in self._parts]

    def strips(self, k: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows, and these rows of block k."""
        span, n = self.spans[k], self._X.shape[0]
        for rows in arrays.blocks(n, max(1, STRIP_NUMBERS // (span.stop - span.start))):
            made = self._made(rows, k) if self._kept is None else self._kept[rows, span]
            yield rows, made if self._roots is None else self._roots[rows, None] * made

    def _made(self, rows: slice, k: int) -> np.ndarray:
        one = self._transformer
        device, parts = arrays.resolve_device(one.device), []
        blocks = one._blocks.to(device)
        with device.active():
            for _, x, _ in one._centring.new_points(self._X[rows], device, one._dtype):
                parts.append(np.hstack([arrays.to_numpy(blocks.block(x, b)) for b in self._parts[k]]))
        return np.vstack(parts)
