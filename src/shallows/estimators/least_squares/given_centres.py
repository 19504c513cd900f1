"""Centres that the user gives in place of a number of training points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ShallowsError
from ..base import native
from ..parameter_checks import MOST, is_whole


def check(centres: Any) -> None:
    """Refuse what is neither a number of centres nor an array."""
    if np.ndim(centres) == 0 and not is_whole(centres):
        raise ShallowsError(
            f"centres must be a whole number from 1 to {MOST:,}, how many training points to take, or an array of "
            f"points; got {centres!r}."
        )


def as_points(centres: Any, d: int) -> np.ndarray:
    """Centres as points of d features, float32 or float64, shape (p, d).

    Raises
    ------
    ShallowsError
        If they are no such points, or not finite.
    """
    made = native(np.asarray(centres))
    if made.dtype.kind not in "fiub" or made.ndim != 2 or 0 in made.shape:
        raise ShallowsError(f"centres must be a number or an array of shape (p, {d}), got {made!r:.80}.")
    if made.shape[1] != d:
        raise ShallowsError(f"centres have {made.shape[1]} features and X has {d}.")
    made = made.astype(np.float32 if made.dtype == np.float32 else np.float64)
    if not np.isfinite(made).all():
        raise ShallowsError("centres hold NaN or infinity.")
    return made
