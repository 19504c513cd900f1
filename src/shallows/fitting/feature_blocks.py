"""Features of a fitted transformer in blocks of rows or of columns, and the result of fits on them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import ShallowsError
from ..models.functions import BLOCK_NUMBERS, TransformedFunction
from .square_targets import SquareTargets

STRIP_NUMBERS = 2**22
"""Entries of the features of a strip."""


@dataclass(frozen=True)
class FittedOnFeatures:
    """The result of a fit of a linear function of a transformer's features."""

    model: TransformedFunction
    targets: SquareTargets
    n_iter: int  # Of the solver
    report: dict[str, Any]  # The entries of ``report_``
    seconds: dict[str, float]  # Of each phase
    alpha: float | None = None  # λ for the user's weights, if there is one


def number_of_features(n: int, per_root: float, least: int, most: int) -> int:
    """The number of features for n rows: ``per_root`` times √n, between two limits."""
    return max(least, min(most, int(per_root * math.sqrt(n))))


def blocks_of_rows(
    transformer: Any, X: Any, targets: np.ndarray, root: np.ndarray | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Features and targets of blocks of rows, times the square roots of the weights if there are some."""
    for rows in arrays.blocks(X.shape[0], max(1, BLOCK_NUMBERS // transformer._n_features_out)):
        H, T = transformer.transform(X[rows]), targets[rows]
        yield (H, T) if root is None else (root[rows, None] * H, root[rows, None] * T)


def check_room_of_system(size: int, of: str, budget: int) -> None:
    """Refuse a system of equations that the memory has no room for."""
    arrays.check_room(
        f"A system of {size:,} equations, one for each of the {of}, takes",
        24 * size * size,
        budget,
        "Use fewer features, or give more memory.",
    )


def check_finite(coefficients: np.ndarray) -> None:
    """Refuse coefficients that are not numbers."""
    if not np.isfinite(coefficients).all():
        raise ShallowsError("The coefficients are not finite: features or targets are too large. Scale X and y.")


class FeatureColumns:
    """Features of a fitted transformer in blocks of columns, kept as a whole matrix or computed for each use.

    ``roots`` are factors of the rows. The whole matrix is kept if it fits into half of the ``budget`` in bytes.
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
                f"These features are computed all at once. For {X.shape[0]:,} rows they need {needed / 1e9:.3g} GB, "
                "more than half of the budget. Give more memory, or use fewer features or 'fourier', which has blocks."
            )
        # Blocks of the map are joined, but not divided.
        self._parts: list[list[int]] = [[]]
        self.spans = list(arrays.blocks(width, block_size))
        if self._kept is None:
            for k, span in enumerate(made):
                part = self._parts[-1]
                if part and span.stop - made[part[0]].start > block_size:
                    self._parts.append([])
                self._parts[-1].append(k)
            self.spans = [slice(made[part[0]].start, made[part[-1]].stop) for part in self._parts]

    def strips(self, k: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Strips of rows, and the entries of block k there."""
        span, n = self.spans[k], self._X.shape[0]
        for rows in arrays.blocks(n, max(1, STRIP_NUMBERS // (span.stop - span.start))):
            strip = self._computed(rows, k) if self._kept is None else self._kept[rows, span]
            yield rows, strip if self._roots is None else self._roots[rows, None] * strip

    def _computed(self, rows: slice, k: int) -> np.ndarray:
        transformer = self._transformer
        device, parts = arrays.resolve_device(transformer._options().device), []
        blocks = transformer._blocks.to(device)
        with device.active():
            for _, x, _ in transformer._centering.new_points(self._X[rows], device, transformer._dtype):
                parts.append(np.hstack([arrays.to_numpy(blocks.block(x, b)) for b in self._parts[k]]))
        return np.vstack(parts)
