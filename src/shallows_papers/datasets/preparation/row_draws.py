"""Seeded draws of rows. Whether a row is drawn depends only on the seed, the purpose and the row numbers."""

from __future__ import annotations

import numpy as np

from shallows import streams


def draw_rows(n_rows: int, n_drawn: int, seed: int, purpose: str, labels: np.ndarray | None = None) -> np.ndarray:
    """Draw rows without replacement. With `labels`, every class keeps its proportion.

    Every row has a 64-bit key from the stream of (seed, purpose) at its row number. The rows with the smallest keys are
    drawn, separately in each class with `labels`. So the draw is the same on every machine, and a smaller draw is a
    subset of a larger one, up to the rounding of the class shares. Each class keeps its share to within one row, and at
    least one row if `n_drawn` allows it. Draws with the same seed and different purposes are independent.
    """
    if not 0 <= n_drawn <= n_rows:
        raise ValueError(f"{n_drawn} rows cannot be drawn out of {n_rows}")
    keys = streams.integers(seed, f"rows/{purpose}", 0, n_rows)
    if labels is None:
        return np.sort(np.argsort(keys, kind="stable")[:n_drawn])
    _, classes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    by_class_then_key = np.lexsort((keys, classes))
    starts = np.cumsum(counts) - counts
    taken = _shares(counts, n_drawn)
    chosen = [by_class_then_key[start : start + take] for start, take in zip(starts, taken, strict=True)]
    return np.sort(np.concatenate(chosen))


def draw_fold(
    n_rows: int, fold: int, n_folds: int, seed: int, purpose: str, labels: np.ndarray | None = None
) -> np.ndarray:
    """Return the rows of one of several disjoint parts that together contain all rows.

    Rows are sorted by class and then by their keys (see `draw_rows`) and assigned to the parts in turn. Parts count
    from 1. The sizes of two parts differ by at most one row, in every class and in total.
    """
    keys = streams.integers(seed, f"rows/{purpose}", 0, n_rows)
    order = np.argsort(keys, kind="stable") if labels is None else np.lexsort((keys, labels))
    return np.sort(order[fold - 1 :: n_folds])


def _shares(counts: np.ndarray, n_drawn: int) -> np.ndarray:
    """Divide `n_drawn` among classes of these sizes by largest remainders; leave no class empty if possible."""
    exact = counts * (n_drawn / counts.sum())
    least = 1 if n_drawn >= len(counts) else 0
    taken = np.maximum(np.floor(exact).astype(np.int64), least)
    while taken.sum() > n_drawn:  # take rows back from the class that is most above its share
        taken[np.argmax(np.where(taken > least, taken - exact, -np.inf))] -= 1
    while taken.sum() < n_drawn:
        taken[np.argmax(np.where(taken < counts, exact - taken, -np.inf))] += 1
    return taken
