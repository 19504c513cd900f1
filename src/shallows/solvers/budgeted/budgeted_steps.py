"""Compiled steps of budgeted stochastic gradient descent: one example, and room for one point.

The points lie in columns, so that sums over a sparse row run along the points. Row d of ``columns`` has their squared
norms.

Rows and columns are copied and added entry by entry: for an assignment to a part of an array numba also compiles the
text of the error about its shape, and a first fit would wait for that more than for the steps.
"""

from __future__ import annotations

import math

import numpy as np

from ...utils.compilation import njit

REMOVAL, PROJECTION, MERGING = 0, 1, 2  # the ways to make room
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
CONJUGATE_STEPS = 20
"""The most iterations of conjugate gradients of a projection; each brings it nearer, so that few do no harm."""


@njit(cache=True)
def kept_of_merging(h, log_k, a, b, g):
    """‖f‖² that is kept when two points meet at h z + (1 − h) z': A κ^{2(1−h)²} + B κ^{2h²} + 2G κ^{(1−h)²+h²}.

    a, b and g are the squared norms of both coefficients, and their product.
    """
    first, second = math.exp((1.0 - h) * (1.0 - h) * log_k), math.exp(h * h * log_k)
    return a * first * first + b * second * second + 2.0 * g * first * second


@njit(cache=True)
def golden_section(log_k, a, b, g, precision):
    """Where, and how much, the most is kept of two points: (h, kept).

    The search goes over the half next to the larger coefficients. With the same sign of both, the largest value lies
    there, and beyond κ = e⁻² another, lower peak in the other half.
    """
    low, high = (0.5, 1.0) if a >= b else (0.0, 0.5)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    of_left, of_right = kept_of_merging(left, log_k, a, b, g), kept_of_merging(right, log_k, a, b, g)
    while high - low > precision:
        if of_left >= of_right:
            high, right, of_right = right, left, of_left
            left = high - GOLDEN * (high - low)
            of_left = kept_of_merging(left, log_k, a, b, g)
        else:
            low, left, of_left = left, right, of_right
            right = low + GOLDEN * (high - low)
            of_right = kept_of_merging(right, log_k, a, b, g)
    h = 0.5 * (low + high)
    return h, kept_of_merging(h, log_k, a, b, g)


@njit(cache=True)
def interpolated(table, share, k):
    """Bilinear interpolation of a table over [0, 1]², its rows for the share and its columns for the kernel value."""
    size = table.shape[0] - 1
    x, y = share * size, k * size
    i, j = min(int(x), size - 1), min(int(y), size - 1)
    u, v = x - i, y - j
    upper = (1.0 - v) * table[i, j] + v * table[i, j + 1]
    lower = (1.0 - v) * table[i + 1, j] + v * table[i + 1, j + 1]
    return (1.0 - u) * upper + u * lower


@njit(cache=True)
def drop(j, n_points, columns, buffer, gram):
    """Take out a point; the last one gets its number. The number of points that are left."""
    last = n_points - 1
    for k in range(columns.shape[0]):
        columns[k, j] = columns[k, last]
    for c in range(buffer.shape[1]):
        buffer[j, c] = buffer[last, c]
    if gram.shape[0]:
        for m in range(n_points):
            gram[j, m] = gram[last, m]
        for m in range(n_points):
            gram[m, j] = gram[m, last]
        gram[j, j] = gram[last, last]
    return last


@njit(cache=True)
def smallest(n_points, buffer):
    """The point with the smallest coefficients, and their squared norm."""
    best, of_best = 0, math.inf
    for j in range(n_points):
        norm = 0.0
        for c in range(buffer.shape[1]):
            norm += buffer[j, c] * buffer[j, c]
        if norm < of_best:
            best, of_best = j, norm
    return best, of_best


@njit(cache=True)
def project(i, n_points, columns, buffer, gram):
    """Drop a point and put its projection onto the others in its place. The number of points, and ‖change of f‖²/s²."""
    own = buffer[i].copy()
    k = gram[i, :n_points].copy()
    n_points = drop(i, n_points, columns, buffer, gram)
    k[i] = k[n_points]  # the last point has its number now
    k = k[:n_points]
    # Conjugate gradients on K β = k.
    beta, residual, product = np.zeros(n_points), k.copy(), np.empty(n_points)
    direction, rest = residual.copy(), np.dot(residual, residual)
    aim = 1e-20 * rest
    for _ in range(CONJUGATE_STEPS):
        if rest <= aim:
            break
        for j in range(n_points):
            product[j] = np.dot(gram[j, :n_points], direction)
        curvature = np.dot(direction, product)
        if curvature <= 0.0:
            break
        step = rest / curvature
        for j in range(n_points):
            beta[j] += step * direction[j]
            residual[j] -= step * product[j]
        new = np.dot(residual, residual)
        for j in range(n_points):
            direction[j] = residual[j] + (new / rest) * direction[j]
        rest = new
    for j in range(n_points):
        for c in range(len(own)):
            buffer[j, c] += beta[j] * own[c]
    # ‖φ − Σ βφ‖² = 1 − βᵀk − βᵀ(k − Kβ)
    left = max(0.0, 1.0 - np.dot(beta, k) - np.dot(beta, residual))
    return n_points, left * np.dot(own, own)


@njit(cache=True)
def merge(n_points, columns, buffer, gram, gamma, table, precision):
    """Merge the point of the smallest coefficients with the one that loses least. Number of points, and the loss/s²."""
    d = columns.shape[0] - 2
    i, a = smallest(n_points, buffer)
    products = np.zeros(n_points)
    for k in range(d):
        value = columns[k, i]
        if value != 0.0:
            for j in range(n_points):
                products[j] += value * columns[k, j]
    best, least = i, math.inf
    for j in range(n_points):
        if j == i:
            continue
        b = g = 0.0
        for c in range(buffer.shape[1]):
            b += buffer[j, c] * buffer[j, c]
            g += buffer[j, c] * buffer[i, c]
        if g <= 0.0:
            continue
        log_k = -gamma * max(0.0, columns[d, i] + columns[d, j] - 2.0 * products[j])
        if table.shape[0]:
            root_a, root_b = math.sqrt(a), math.sqrt(b)
            total = root_a + root_b
            lost = total * total * interpolated(table, root_a / total, math.exp(log_k))
        else:
            _, kept = golden_section(log_k, a, b, g, precision)
            lost = a + b + 2.0 * g * math.exp(log_k) - kept
        if lost < least:
            best, least = j, lost
    if best == i or least >= a:
        # No other point has a like sign, or the loss of the point alone is less.
        return drop(i, n_points, columns, buffer, gram), a
    b = g = 0.0
    for c in range(buffer.shape[1]):
        b += buffer[best, c] * buffer[best, c]
        g += buffer[best, c] * buffer[i, c]
    log_k = -gamma * max(0.0, columns[d, i] + columns[d, best] - 2.0 * products[best])
    h_best, kept = golden_section(log_k, a, b, g, 1e-3 * precision)
    first, second = math.exp((1.0 - h_best) ** 2 * log_k), math.exp(h_best**2 * log_k)
    for c in range(buffer.shape[1]):
        buffer[i, c] = first * buffer[i, c] + second * buffer[best, c]
    norm = 0.0
    for k in range(d):
        value = h_best * columns[k, i] + (1.0 - h_best) * columns[k, best]
        columns[k, i] = value
        norm += value * value
    columns[d, i] = norm
    return drop(best, n_points, columns, buffer, gram), max(0.0, a + b + 2.0 * g * math.exp(log_k) - kept)


@njit(cache=True)
def go_through(rows, problem, columns, buffer, gram, counts, numbers, settings, table):
    """Visit rows one by one.

    ``problem`` is `SparseRows.arrays`; ``gram`` holds kernel values of the points for projections, ``table`` the losses
    of merging, each of shape (0, 0) where there is none. Changed are ``counts`` (points, steps, violations) and
    ``numbers`` (scale, loss, loss of the zero function, squared norm of what was lost). ``settings`` are the way to
    make room, γ, λ, the precision of the search, and the value below which the scale is multiplied in.
    """
    indptr, indices, values, labels, weights = problem
    way, gamma, regularisation, precision, fold_below = settings
    d, capacity, n_outputs = columns.shape[0] - 2, columns.shape[1], buffer.shape[1]
    k, f = np.empty(capacity), np.empty(n_outputs)
    for row in rows:
        n_points, scale = counts[0], numbers[0]
        norm = 0.0
        for j in range(n_points):
            k[j] = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            value = values[place]
            norm += value * value
            of_points = columns[indices[place]]
            for j in range(n_points):
                k[j] += value * of_points[j]
        for c in range(n_outputs):
            f[c] = 0.0
        for j in range(n_points):
            k[j] = math.exp(-gamma * max(0.0, norm + columns[d, j] - 2.0 * k[j]))
            for c in range(n_outputs):
                f[c] += buffer[j, c] * k[j]
        for c in range(n_outputs):
            f[c] *= scale

        label, other = labels[row], 0
        if n_outputs == 1:
            margin = f[0] if label == 1 else -f[0]
        else:
            other = 1 if label == 0 else 0
            for c in range(n_outputs):
                if c != label and f[c] > f[other]:
                    other = c
            margin = f[label] - f[other]
        numbers[1] += weights[row] * max(0.0, 1.0 - margin)
        numbers[2] += weights[row]
        counts[1] += 1
        step = 1.0 / (regularisation * counts[1])

        scale *= 1.0 - 1.0 / counts[1]
        if scale < fold_below:
            for j in range(n_points):
                for c in range(n_outputs):
                    buffer[j, c] *= scale
            scale = 1.0
        if margin < 1.0:
            counts[2] += 1
            change = weights[row] * step / scale
            new = n_points
            for m in range(d):
                columns[m, new] = 0.0
            for place in range(indptr[row], indptr[row + 1]):
                columns[indices[place], new] = values[place]
            columns[d, new], columns[d + 1, new] = norm, 1.0
            for c in range(n_outputs):
                buffer[new, c] = 0.0
            if n_outputs == 1:
                buffer[new, 0] = change if label == 1 else -change
            else:
                buffer[new, label] = change
                buffer[new, other] = -change
            if gram.shape[0]:
                for j in range(new):
                    gram[new, j] = gram[j, new] = k[j]
                gram[new, new] = 1.0
            n_points += 1
            if n_points == capacity:
                if way == MERGING:
                    n_points, lost = merge(n_points, columns, buffer, gram, gamma, table, precision)
                else:
                    i, lost = smallest(n_points, buffer)
                    if way == PROJECTION:
                        n_points, lost = project(i, n_points, columns, buffer, gram)
                    else:
                        n_points = drop(i, n_points, columns, buffer, gram)
                numbers[3] += lost * scale * scale
        counts[0], numbers[0] = n_points, scale
