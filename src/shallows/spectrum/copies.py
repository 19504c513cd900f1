"""Repeated rows, each as one row with the sum of their weights, as leave-one-out errors need them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import arrays


@dataclass(frozen=True)
class Joined:
    """Rows with copies of a point made one, of the sum of their weights and the mean of their targets.

    A copy of a point that is left out would tell its target, whatever the bandwidth; and a row that is there twice has
    to count as one of twice the weight. A sum of squares over the rows and that over the points differ by a constant.
    """

    first: np.ndarray  # (k,): the row of each point; in the order of the rows if all are distinct
    targets: np.ndarray  # (k, c)
    weights: np.ndarray | None  # (k,)
    group: np.ndarray  # (m,): the place of each row among the points
    all_distinct: bool


def join_copies(points: np.ndarray, targets: np.ndarray, weights: np.ndarray | None) -> Joined:
    """Join the rows with equal points; weights are positive."""
    m = len(points)
    first, group = distinct_rows(points)
    if len(first) == m:
        return Joined(np.arange(m), targets, weights, np.arange(m), True)
    group = group.reshape(-1)
    weights = np.ones(m) if weights is None else weights
    total = np.bincount(group, weights)
    means = np.stack([np.bincount(group, weights * column) / total for column in targets.T], axis=1)
    return Joined(first, means, total, group, False)


def distinct_rows(points: arrays.Array) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each distinct point, and which of these points each row is."""
    if arrays.is_sparse(points):
        return np.unique(points.groups(), return_index=True, return_inverse=True)[1:]
    return np.unique(points, axis=0, return_index=True, return_inverse=True)[1:]
