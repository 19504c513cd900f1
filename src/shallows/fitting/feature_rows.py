"""The features of a fitted transformer in blocks of rows, and what fits on them leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..errors import ShallowsError
from ..models.functions import BLOCK_NUMBERS, TransformedFunction
from .square_targets import SquareTargets


@dataclass(frozen=True)
class FittedOnFeatures:
    """What a fit of a linear function of features leaves.

    Attributes
    ----------
    model : TransformedFunction
    targets : SquareTargets
    n_iter : int
        Of the solver.
    report : dict
        What was chosen where a parameter left it open.
    seconds : dict
        Of each phase.
    """

    model: TransformedFunction
    targets: SquareTargets
    n_iter: int
    report: dict[str, Any]
    seconds: dict[str, float]


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
        "Take fewer features, or give more memory.",
    )


def check_finite(coefficients: np.ndarray) -> None:
    """Refuse coefficients that are not numbers."""
    if not np.isfinite(coefficients).all():
        raise ShallowsError("The coefficients are not finite: features or targets are too large. Scale X and y.")
