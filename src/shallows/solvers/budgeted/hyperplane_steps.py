"""Compiled steps of the multi-hyperplane machine: one example, and the pruning of hyperplanes.

The weights lie in columns, so that sums over a sparse row run along the hyperplanes. The last row of ``columns`` has
what the constant is multiplied with.
"""

from __future__ import annotations

import numpy as np

from ...utils.compilation import njit

UNSEEN = -1  # the assignment of a row that was not visited yet


@njit(cache=True)
def prune(n_weights, columns, classes, names, threshold):
    """Take out the smallest hyperplanes, up to a sum of squared norms; the largest of each class stays.

    Returns how many are left, and the sum of the squared norms of those taken out.
    """
    norms = np.zeros(n_weights)
    for k in range(columns.shape[0]):
        for j in range(n_weights):
            norms[j] += columns[k, j] * columns[k, j]
    stays, summed = np.ones(n_weights, dtype=np.bool_), np.zeros(n_weights, dtype=np.bool_)
    lost = 0.0
    total = 0.0
    n_classes = 0
    for j in range(n_weights):
        n_classes = max(n_classes, classes[j] + 1)
    largest = np.full(n_classes, -1)
    for j in range(n_weights):
        if largest[classes[j]] < 0 or norms[j] > norms[largest[classes[j]]]:
            largest[classes[j]] = j
    # From the smallest on; few are taken, so that looking for the next one costs less than an order of all.
    for _ in range(n_weights):
        j = -1
        for other in range(n_weights):
            if not summed[other] and (j < 0 or norms[other] < norms[j]):
                j = other
        summed[j] = True
        total += norms[j]
        if total > threshold:
            break
        if largest[classes[j]] != j:
            stays[j] = False
            lost += norms[j]
    left = 0
    for j in range(n_weights):
        if stays[j]:
            for k in range(columns.shape[0]):
                columns[k, left] = columns[k, j]
            classes[left], names[left] = classes[j], names[j]
            left += 1
    return left, lost


@njit(cache=True)
def go_through(rows, problem, columns, classes, names, assigned, counts, numbers, settings):
    """Visit rows one by one.

    ``problem`` is `SparseRows.arrays`; each hyperplane has its class and a name that no other ever has. ``assigned``
    has the name for each row, or length 0 where a row takes the best one at each visit. Changed are ``counts``
    (hyperplanes, steps, violations, names given) and ``numbers`` (scale, loss, loss of the zero function, squared norm
    of what was pruned). ``settings`` are λ, hyperplanes of a class at most, steps from one pruning to the next, c, the
    constant, the value below which the scale is multiplied in, and whether other classes have a zero vector in reserve
    as well.
    """
    indptr, indices, values, labels, weights = problem
    regularisation, most, prune_every, aggressiveness, constant, fold_below, reserve = settings
    d, capacity = columns.shape[0] - 1, columns.shape[1]
    scores = np.empty(capacity)
    for row in rows:
        n_weights, scale, label = counts[0], numbers[0], labels[row]
        for j in range(n_weights):
            scores[j] = constant * columns[d, j]
        for place in range(indptr[row], indptr[row + 1]):
            value, of_weights = values[place], columns[indices[place]]
            for j in range(n_weights):
                scores[j] += value * of_weights[j]

        own = best = other = -1
        n_own = 0
        for j in range(n_weights):
            if classes[j] == label:
                n_own += 1
                if best < 0 or scores[j] > scores[best]:
                    best = j
                if assigned.shape[0] and names[j] == assigned[row]:
                    own = j
            elif other < 0 or scores[j] > scores[other]:
                other = j
        if own < 0:
            own = best
        if assigned.shape[0]:
            assigned[row] = names[best]
        own_score, other_score = scale * scores[own], scale * scores[other]
        is_zero = False
        if reserve and own == best and n_own < most:
            own_score = max(0.0, own_score)
        if reserve and other_score < 0.0:
            n_other = 0
            for j in range(n_weights):
                n_other += classes[j] == classes[other]
            if n_other < most:
                is_zero, other_score = True, 0.0
        loss = max(0.0, 1.0 + other_score - own_score)
        numbers[1] += weights[row] * loss
        numbers[2] += weights[row]
        counts[1] += 1

        scale *= 1.0 - 1.0 / counts[1]
        if scale < fold_below:
            for k in range(d + 1):
                for j in range(n_weights):
                    columns[k, j] *= scale
            scale = 1.0
        if loss > 0.0:
            counts[2] += 1
            change = weights[row] / (regularisation * counts[1] * scale)
            if own_score <= 0.0 and own == best and n_own < most:
                # The zero vector is no worse: it becomes a hyperplane of the class.
                own = n_weights
                for k in range(d + 1):
                    columns[k, own] = 0.0
                classes[own], names[own] = label, counts[3]
                if assigned.shape[0]:
                    assigned[row] = counts[3]
                counts[3] += 1
                n_weights += 1
            if is_zero:
                for k in range(d + 1):
                    columns[k, n_weights] = 0.0
                classes[n_weights], names[n_weights] = classes[other], counts[3]
                other = n_weights
                counts[3] += 1
                n_weights += 1
            for place in range(indptr[row], indptr[row + 1]):
                move = change * values[place]
                columns[indices[place], own] += move
                columns[indices[place], other] -= move
            columns[d, own] += change * constant
            columns[d, other] -= change * constant
        if counts[1] % prune_every == 0:
            threshold = aggressiveness / (counts[1] * regularisation * scale)
            n_weights, lost = prune(n_weights, columns, classes, names, threshold * threshold)
            numbers[3] += lost * scale * scale
        counts[0], numbers[0] = n_weights, scale
