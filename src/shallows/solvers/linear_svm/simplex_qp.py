"""A concave quadratic on the simplex, by steps between pairs of its corners or by active sets."""

from __future__ import annotations

import numba
import numpy as np

from ... import arrays

PATIENCE = 10
"""Newton steps in a row without a gain, after which no more are taken: the gradients are those of rounding."""

RIDGE = 1e-13
"""Added to the diagonal of Q where a system with it is solved, as a share of its trace: Q may be singular."""


@numba.njit(cache=True, nogil=True)
def maximise_on_simplex(Q: np.ndarray, b: np.ndarray, a: np.ndarray, tolerance: float, most_steps: int):
    """Maximise bᵀa − ½ aᵀQa over a ≥ 0, Σ a = 1, from a given start, which is overwritten.

    Weight goes to the corner of the largest gradient from the corner at which the pair gains most.

    ``Q`` (p, p): positive semidefinite. ``b, a`` (p,). ``tolerance``: the end is where no weight can gain a gradient
    more than this. Returns ``value``: the maximum that was reached; ``ended``: whether it is within the tolerance.
    """
    p = len(b)
    gradient, ended = b - Q @ a, False
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
            ended = True
            break
        curvature = max(Q[to, to] + Q[source, source] - 2.0 * Q[to, source], 1e-300)
        moved = min((gradient[to] - gradient[source]) / curvature, a[source])
        a[source] = 0.0 if moved == a[source] else a[source] - moved
        a[to] += moved
        for j in range(p):
            gradient[j] -= moved * (Q[j, to] - Q[j, source])
    return 0.5 * (float(b @ a) + float(gradient @ a)), ended


def maximise_by_active_sets(Q: np.ndarray, b: np.ndarray, a: np.ndarray, tolerance: float) -> None:
    """As `maximise_on_simplex`, by Newton steps on the corners that have weight, for Q of any condition.

    A step goes to the maximum on these corners, or to where the first of them loses its weight. Where none did, the
    corner of the largest gradient joins them. With few corners of weight this costs little whatever their number is.
    """
    used, best, waited = a > 0.0, -np.inf, 0
    while waited < PATIENCE:
        gradient = b - Q[:, used] @ a[used]
        here = gradient[used]
        if gradient.max() - here.min() <= tolerance:
            return
        value = 0.5 * float(b @ a + gradient @ a)
        waited = 0 if value > best + tolerance else waited + 1
        best = max(best, value)
        # Against the corner of the most weight, whose change is minus the sum of the others'.
        corners = np.flatnonzero(used)
        k = int(np.argmax(a[corners]))
        others = np.delete(np.arange(len(corners)), k)
        to_it = Q[corners[others], corners[k]]
        matrix = Q[np.ix_(corners[others], corners[others])] - to_it[:, None] - to_it + Q[corners[k], corners[k]]
        change = np.zeros(len(corners))
        change[others] = arrays.solve_damped(matrix, here[others] - here[k], RIDGE * float(np.trace(matrix)))
        change[k] = -change.sum()
        old = a[used]
        falls = change < 0.0
        longest = np.min(old[falls] / -change[falls], initial=np.inf)
        new = old + min(1.0, longest) * change
        if longest <= 1.0:
            new[np.argmin(np.where(falls, old / np.where(falls, -change, 1.0), np.inf))] = 0.0
        a[used] = np.maximum(new, 0.0)
        a /= a.sum()
        used = a > 0.0
        if longest > 1.0:
            used[np.argmax(b - Q[:, used] @ a[used])] = True
