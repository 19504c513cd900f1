"""Steps of the dual problem on two variables, compiled: they choose the pair, move it and update the gradient."""

from __future__ import annotations

import numpy as np

from ...utils.compilation import njit

SPENT, OPTIMAL, MISSING, INDEFINITE = 0, 1, 2, 3
"""Why steps end: all are taken; the gap is within the tolerance; a row is to be made; a pair of negative curvature."""

SMALLEST_CURVATURE = 1e-12  # what takes the place of k(x, x) + k(z, z) − 2k(x, z) where rounding makes nothing of it


@njit(cache=True)
def largest_to_grow(beta, gradient, upper, active):
    """The place in ``active`` of the row with the largest gradient whose βᵢ may grow, or −1."""
    place, largest = -1, -np.inf
    for a in range(len(active)):
        t = active[a]
        if gradient[t] > largest and beta[t] < upper[t]:
            place, largest = a, gradient[t]
    return place


@njit(cache=True)
def best_partner(i, beta, gradient, lower, active, diagonal, row):
    """The row that may fall with which row i gains most to second order, or −1; and the smallest gradient of all such.

    The gain of a step without bounds is (gᵢ − gⱼ)² / (2 (Kᵢᵢ + Kⱼⱼ − 2 Kᵢⱼ)).
    """
    best, most, smallest = -1, -np.inf, np.inf
    g, own = gradient[i], diagonal[i]
    for a in range(len(active)):
        t = active[a]
        if beta[t] > lower[t]:
            if gradient[t] < smallest:
                smallest = gradient[t]
            difference = g - gradient[t]
            if difference > 0:
                curvature = own + diagonal[t] - 2.0 * row[t]
                gain = difference * difference / max(curvature, SMALLEST_CURVATURE)
                if gain > most:
                    best, most = t, gain
    return best, smallest


@njit(cache=True)
def move_pair(i, j, step, beta, gradient, lower, upper, active, row_i, row_j):
    """β ← β + s (eᵢ − eⱼ), s the step or what the bounds allow, and the gradient of the active rows."""
    room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
    step = min(step, room_i, room_j)
    # A bound is met to the digit, so that comparisons find it.
    beta[i] = upper[i] if step == room_i else beta[i] + step
    beta[j] = lower[j] if step == room_j else beta[j] - step
    if len(active) == len(gradient):
        for t in range(len(gradient)):
            gradient[t] -= step * (row_i[t] - row_j[t])
    else:
        for a in range(len(active)):
            t = active[a]
            gradient[t] -= step * (row_i[t] - row_j[t])


@njit(cache=True)
def take_steps(
    n_steps, tolerance, rounding, beta, gradient, lower, upper, active, diagonal, rows, slot_of, used, clock
):
    """Take steps while rows are at hand, each on the pair of second order (Fan, Chen and Lin 2005).

    Returns how many were taken, why they ended, i and j, and the gap. With `MISSING` row i is to be made; with
    `INDEFINITE` i and j are the pair.
    """
    gap = np.inf
    for taken in range(n_steps):
        place = largest_to_grow(beta, gradient, upper, active)
        if place < 0:
            return taken, OPTIMAL, -1, -1, 0.0
        i = active[place]
        if slot_of[i] < 0:
            return taken, MISSING, i, -1, gap
        clock[0] += 1
        used[slot_of[i]] = clock[0]
        row_i = rows[slot_of[i]]
        j, smallest = best_partner(i, beta, gradient, lower, active, diagonal, row_i)
        gap = max(gradient[i] - smallest, 0.0)
        if j < 0 or gap <= tolerance:
            return taken, OPTIMAL, i, j, gap
        if slot_of[j] < 0:
            return taken, MISSING, j, i, gap
        clock[0] += 1
        used[slot_of[j]] = clock[0]
        curvature = diagonal[i] + diagonal[j] - 2.0 * row_i[j]
        if curvature < -rounding * (diagonal[i] + diagonal[j]):
            return taken, INDEFINITE, i, j, gap
        step = (gradient[i] - gradient[j]) / max(curvature, SMALLEST_CURVATURE)
        move_pair(i, j, step, beta, gradient, lower, upper, active, row_i, rows[slot_of[j]])
    return n_steps, SPENT, -1, -1, gap
