"""The adaptive multi-hyperplane machine: a linear machine with several hyperplanes for each class.

The weights are columns of a matrix, whose last row is multiplied with the constant.
"""

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...utils.compilation import njit
from ..array_state import ArrayState
from ..pieces import pieces
from ..settings import Settings, at_least_zero, choice, count, flag, setting
from .sparse_rows import FOLD_BELOW, SparseRows

UNSEEN = -1  # the assignment of a row that was not visited yet


@dataclass
class HyperplaneState(ArrayState):
    """Hyperplanes of classes, their counts, and the hyperplane that each row is assigned to."""

    # (capacity, d + 1): the first ``n_weights`` are in use, without the common factor; the last column belongs to the
    # constant
    weights: np.ndarray
    classes: np.ndarray  # (capacity,): the class of each hyperplane
    names: np.ndarray  # (capacity,): a number of each hyperplane that is never used again
    # (n,): the name of the hyperplane of each row; (0,) if rows use the best one at each visit
    assigned: np.ndarray
    scale: float = 1.0  # the common factor
    n_weights: int = 0
    n_steps: int = 0
    n_violations: int = 0
    n_names: int = 0
    loss: float = 0.0  # sum over the last batch, each before its own step
    zero_loss: float = 0.0  # the same for the zero function
    pruned: float = 0.0  # sum of the squared norms of the hyperplanes that were pruned

    @property
    def coefficients(self) -> np.ndarray:
        """The weights with the common factor, shape (n_weights, d + 1)."""
        return self.weights[: self.n_weights] * self.scale

    def monitored(self) -> tuple[float, float]:
        """The loss of the last batch, without a limit: the first steps are long by design."""
        return self.loss, float("nan")


@njit(cache=True)
def prune(n_weights: int, columns: Array, classes: Array, names: Array, threshold: float) -> tuple[int, float]:
    """Remove the smallest hyperplanes, up to a sum of squared norms, which it returns after the number that is left."""
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
    # From the smallest on. Few are removed, so searching for the next one costs less than sorting all.
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
    # type: (Array, tuple[Array, ...], Array, Array, Array, Array, Array, Array, tuple[float, ...]) -> None
    """Visit rows one by one; ``problem`` is `SparseRows.arrays`.

    ``assigned`` has a name for each row, or length 0. ``counts`` (hyperplanes, steps, violations, names) and
    ``numbers`` (scale, loss, loss of the zero function, squared norm of what was pruned) are changed. ``settings`` are
    λ, the most hyperplanes of a class, steps between prunings, c, the constant, the lower limit of the scale, and
    ``reserve``.
    """
    indptr, indices, values, labels, weights = problem
    regularization, most, prune_every, aggressiveness, constant, fold_below, reserve = settings
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
            change = weights[row] / (regularization * counts[1] * scale)
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
            threshold = aggressiveness / (counts[1] * regularization * scale)
            n_weights, lost = prune(n_weights, columns, classes, names, threshold * threshold)
            numbers[3] += lost * scale * scale
        counts[0], numbers[0] = n_weights, scale


@dataclass(frozen=True)
class MultiHyperplaneStepper:
    """Subgradient steps on λ/2 ‖W‖² + (1/n) Σ wᵢ max(0, 1 + max_{c≠y} g(c, xᵢ) − w_{y,z}ᵀxᵢ).

    g(c, x) = max_j w_{c,j}ᵀx is the score of a class; z is the hyperplane of its class that an example is assigned to.
    Step t shrinks all weights by 1 − 1/t; with a positive loss it adds wᵢxᵢ/(λt) to w_{y,z}, or to a new hyperplane if
    the class has room and no positive score, and subtracts it from the violating hyperplane. Pruning removes the
    smallest hyperplanes whose squared norms sum up to at most (c/(λt))². Sources: Z. Wang, N. Djuric, K. Crammer and S.
    Vucetic (2011), KDD; N. Djuric, L. Lan, S. Vucetic and Z. Wang (2013), JMLR 14.
    """

    regularization: float  # λ
    n_hyperplanes: int = 20  # limit for each class
    batch: bool = True  # z is the best hyperplane of the epoch before, as in the paper's alternation; else at the visit
    prune_every: int = 10000  # steps
    aggressiveness: float = 10.0  # c; 0 prunes only zeros
    constant: float = 1.0  # a further feature, for the offsets of the hyperplanes; 0 for none
    # Whether g(c, x) is at least 0 for every class with room, and subtracting from a zero vector makes a new
    # hyperplane, as in the paper. The authors' toolbox does so only for the example's class.
    reserve: bool = False

    def init(self, problem: SparseRows) -> HyperplaneState:
        capacity, n_classes = self.n_hyperplanes * problem.n_classes, problem.n_classes
        return HyperplaneState(
            np.zeros((capacity, problem.n_inputs + 1), order="F"),
            np.arange(capacity, dtype=np.int64) % n_classes,
            np.arange(capacity, dtype=np.int64),
            np.full(len(problem.labels) if self.batch else 0, UNSEEN, dtype=np.int64),
            n_weights=n_classes,
            n_names=n_classes,
        )

    def step(self, problem: SparseRows, state: HyperplaneState, batch: np.ndarray) -> HyperplaneState:
        counts = np.array([state.n_weights, state.n_steps, state.n_violations, state.n_names])
        numbers = np.array([state.scale, 0.0, 0.0, state.pruned])
        limits = self.n_hyperplanes, self.prune_every, float(self.aggressiveness), float(self.constant)
        settings = float(self.regularization), *limits, FOLD_BELOW, bool(self.reserve)
        rows, examples, columns = np.asarray(batch, dtype=np.int64), problem.arrays, state.weights.T
        per_row = 2.0 * len(state.weights) * problem.points.nnz / max(1, problem.points.shape[0])
        for piece in pieces(len(rows), per_row):
            go_through(
                rows[piece], examples, columns, state.classes, state.names, state.assigned, counts, numbers, settings
            )
        state.n_weights, state.n_steps, state.n_violations, state.n_names = (int(count) for count in counts)
        state.scale, state.loss, state.zero_loss, state.pruned = (float(number) for number in numbers)
        return state


@dataclass(frozen=True, kw_only=True)
class MultiHyperplane(Settings):
    """Subgradient steps on several hyperplanes for each class, with parameters of `AMMClassifier`."""

    method: str = setting(choice("batch", "online"))
    n_hyperplanes: int = setting(count(default=20))
    prune_every: int = setting(count(default=10000))
    pruning: float = setting(at_least_zero(10.0))
    constant: float = setting(at_least_zero(1.0))
    reserve: bool = setting(flag())
    max_epochs: int = setting(count(default=10))

    def build(self, regularization: float) -> MultiHyperplaneStepper:
        batch, pruning, constant = self.method == "batch", float(self.pruning), float(self.constant)
        return MultiHyperplaneStepper(
            regularization, self.n_hyperplanes, batch, self.prune_every, pruning, constant, bool(self.reserve)
        )
