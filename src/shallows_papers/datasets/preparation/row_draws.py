"""Seeded draws of rows: which are drawn is a function of seed, purpose and row number alone."""

from __future__ import annotations

import numpy as np

from shallows import streams


def draw_rows(n_rows: int, n_drawn: int, seed: int, purpose: str, labels: np.ndarray | None = None) -> np.ndarray:
    """Draw rows without replacement, in equal proportions of every class when `labels` are given.

    Every row has a 64-bit key, the word of its number in the stream of (seed, purpose), and the rows with the
    smallest keys (of every class) are drawn. The draw is thus the same on every machine, and a smaller draw
    is a part of a larger one, up to the rounding of the class shares. Each class keeps its share to within one row, and
    at least one row where `n_drawn` allows it. Draws of one seed for two purposes are independent.
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
    """Draw one of several parts that have no row in common and are together all rows.

    Rows are sorted by class and then by their keys, see `draw_rows`, and dealt out to the parts in turn, which count
    from 1. The numbers of a class in two parts differ by one at most, as those of all rows do.
    """
    keys = streams.integers(seed, f"rows/{purpose}", 0, n_rows)
    order = np.argsort(keys, kind="stable") if labels is None else np.lexsort((keys, labels))
    return np.sort(order[fold - 1 :: n_folds])


def _shares(counts: np.ndarray, n_drawn: int) -> np.ndarray:
    """Divide `n_drawn` among classes of these sizes by largest remainders, none left empty if that can be."""
    exact = counts * (n_drawn / counts.sum())
    least = 1 if n_drawn >= len(counts) else 0
    taken = np.maximum(np.floor(exact).astype(np.int64), least)
    while taken.sum() > n_drawn:  # the lifted classes are paid for by the one that is most above its share
        taken[np.argmax(np.where(taken > least, taken - exact, -np.inf))] -= 1
    while taken.sum() < n_drawn:
        taken[np.argmax(np.where(taken < counts, exact - taken, -np.inf))] += 1
    return taken
