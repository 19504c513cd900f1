"""A concave quadratic on the simplex, by steps between pairs of its corners."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def maximise_on_simplex(Q: np.ndarray, b: np.ndarray, a: np.ndarray, tolerance: float, most_steps: int) -> float:
    """Maximise bᵀa − ½ aᵀQa over a ≥ 0, Σ a = 1, from a given start, which is overwritten.

    Weight goes to the corner of the largest gradient from the corner at which the pair gains most.

    Parameters
    ----------
    Q : ndarray, shape (p, p)
        Positive semidefinite.
    b, a : ndarrays, shape (p,)
    tolerance : float
        The end is where no weight can gain a gradient more than this.
    most_steps : int

    Returns
    -------
    float
        The maximum that was reached.
    """
    p = len(b)
    gradient = b - Q @ a
    for _ in range(most_steps):
        to = 0
        for j in range(1, p):
            if gradient[j] > gradient[to]:
                to = j
        best, source, gap = 0.0, -1, 0.0
        for j in range(p):
            difference = gradient[to] - gradient[j]
            if a[j] > 0.0 and difference > 0.0:
                gap = max(gap, difference)
                curvature = max(Q[to, to] + Q[j, j] - 2.0 * Q[to, j], 1e-300)
                moved = min(difference / curvature, a[j])
                gain = moved * (difference - 0.5 * moved * curvature)
                if gain > best:
                    best, source = gain, j
        if source < 0 or gap <= tolerance:
            break
        curvature = max(Q[to, to] + Q[source, source] - 2.0 * Q[to, source], 1e-300)
        moved = min((gradient[to] - gradient[source]) / curvature, a[source])
        a[source] = 0.0 if moved == a[source] else a[source] - moved
        a[to] += moved
        for j in range(p):
            gradient[j] -= moved * (Q[j, to] - Q[j, source])
    return 0.5 * (float(b @ a) + float(gradient @ a))
