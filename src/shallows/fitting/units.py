"""The unit in which targets are learned, where they are so large or so small that their squares are not numbers."""

from __future__ import annotations

import numpy as np

USUAL = 1e100
"""Targets between its reciprocal and it have squares that are numbers in float64."""


def unit_of_targets(y: np.ndarray) -> np.ndarray:
    """What targets are divided by so that their squares neither over- nor underflow: 1 for usual ones.

    Parameters
    ----------
    y : ndarray of float64, shape (n, c)

    Returns
    -------
    ndarray, shape (c,)
        Powers of two, so that the division does not round.
    """
    largest = np.abs(y).max(axis=0)
    usual = (largest == 0) | ((largest > 1.0 / USUAL) & (largest < USUAL))
    return np.where(usual, 1.0, np.exp2(np.floor(np.log2(np.where(usual, 1.0, largest)))))
