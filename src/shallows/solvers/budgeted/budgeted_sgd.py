"""Budgeted stochastic gradient descent: Pegasos on a kernel with a bounded number of support vectors.

The points are columns of a matrix, whose last two rows are their squared norms and ones. Compiled functions copy entry
by entry: with an assignment to a slice numba would also compile its error message, which takes longer than a first fit.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import kernels
from ...arrays import Array
from ...errors import ShallowsError
from ...kernels.radial import Gaussian
from ...utils.compilation import njit
from ..pieces import pieces
from ..settings import Settings, choice, count, setting
from .sparse_rows import FOLD_BELOW, SparseRows

MAINTENANCE = ("removal", "projection", "merging")
"""The ways to make room for a point."""

REMOVAL, PROJECTION, MERGING = range(3)  # their numbers in compiled code
LINE_SEARCHES = ("auto", "golden_section", "lookup")  # how the place of a merged point is found
PRECISION = 1e-2  # of the share h at which two points are merged, while partners are compared
TABLE_SIZE = 400  # intervals of the table of losses in both directions
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
CONJUGATE_STEPS = 20
"""Limit of iterations of conjugate gradients for a projection; each improves it, so a few are enough."""


@dataclass
class BudgetedState:
    """f(x) = s Σⱼ bⱼ k(zⱼ, x) over the first ``n_points`` of at most ``capacity`` points zⱼ."""

    kernel: Gaussian
    points: np.ndarray  # (capacity, d + 2): augmented points, one column after the other
    buffer: np.ndarray  # (capacity, c): b
    gram: np.ndarray  # (capacity, capacity): kernel values of the points if points are projected, else (0, 0)
    n_points: int = 0
    scale: float = 1.0  # s, so that weight decay costs nothing
    n_steps: int = 0  # examples visited
    n_violations: int = 0  # visited examples with a loss
    loss: float = 0.0  # sum over the last batch, each before its own step
    zero_loss: float = 0.0  # the same for the zero function
    lost: float = 0.0  # sum of the squared norms of the changes of f by the budget

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients s b of the points, shape (n_points, c)."""
        return self.buffer[: self.n_points, :] * self.scale

    @property
    def centers(self) -> np.ndarray:
        """The points, shape (n_points, d)."""
        return self.points[: self.n_points, :-2]

    def fill(self, points: np.ndarray, buffer: np.ndarray) -> None:
        """Replace all points, shape (m, d + 2), and their b, shape (m, c)."""
        self.n_points = m = len(points)
        self.points[:m, :], self.buffer[:m, :] = points, buffer
        if self.gram.shape[0]:
            self.gram[:m, :m] = kernels.matrix(self.kernel, self.points[:m, :])

    def monitored(self) -> tuple[float, float]:
        """The loss of the last batch, without a limit: the first steps are long by design."""
        return self.loss, float("nan")

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        held = {name: getattr(self, name)[: self.n_points, :].copy() for name in ("points", "buffer")}
        return held, {name: value for name, value in vars(self).items() if isinstance(value, (int, float))}

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        vars(self).update(numbers)
        self.fill(**held)

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.coefficients).all())


@functools.cache
def table_of_losses() -> np.ndarray:
    """‖a k(z, ·) + b k(z', ·) − best single term‖² with a = 1 − b = i/`TABLE_SIZE` and k(z, z') = j/`TABLE_SIZE`."""
    grid = np.linspace(0.0, 1.0, TABLE_SIZE + 1)
    table = np.empty((TABLE_SIZE + 1, TABLE_SIZE + 1))
    for i, a in enumerate(grid):
        b = 1.0 - a
        table[i, 0] = min(a, b) ** 2
        for j, k in enumerate(grid[1:], start=1):
            _, kept = golden_section(np.log(k), a * a, b * b, a * b, 1e-6)
            table[i, j] = max(0.0, a * a + b * b + 2.0 * a * b * k - kept)
    return table


@njit(cache=True)
def kept_of_merging(h: float, log_k: float, a: float, b: float, g: float) -> float:
    """‖f‖² that is left if two points meet at h z + (1 − h) z'; a, b, g: squared norms and product of coefficients."""
    first, second = math.exp((1.0 - h) * (1.0 - h) * log_k), math.exp(h * h * log_k)
    return a * first * first + b * second * second + 2.0 * g * first * second


@njit(cache=True)
def golden_section(log_k: float, a: float, b: float, g: float, precision: float) -> tuple[float, float]:
    """The h for which most of two points is left, and how much is left.

    The search is in the half next to the larger coefficients; for κ < e⁻² the other half has a second, lower peak.
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
def interpolate(table: Array, share: float, k: float) -> float:
    """Bilinear interpolation of a table over [0, 1]², its rows for the share and its columns for the kernel value."""
    size = table.shape[0] - 1
    x, y = share * size, k * size
    i, j = min(int(x), size - 1), min(int(y), size - 1)
    u, v = x - i, y - j
    upper = (1.0 - v) * table[i, j] + v * table[i, j + 1]
    lower = (1.0 - v) * table[i + 1, j] + v * table[i + 1, j + 1]
    return (1.0 - u) * upper + u * lower


@njit(cache=True)
def drop(j: int, n_points: int, columns: Array, buffer: Array, gram: Array) -> int:
    """Remove a point, whose number the last point gets; returns the number of points."""
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
def smallest_point(n_points: int, buffer: Array) -> tuple[int, float]:
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
def project(i: int, n_points: int, columns: Array, buffer: Array, gram: Array) -> tuple[int, float]:
    """Replace a point by its projection onto the others; returns the number of points, and ‖change of f‖²/s²."""
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
def merge(
    n_points: int, columns: Array, buffer: Array, gram: Array, gamma: float, table: Array, precision: float
) -> tuple[int, float]:
    """Merge the point of the smallest coefficients with the best partner; returns the number of points and loss/s²."""
    d = columns.shape[0] - 2
    i, a = smallest_point(n_points, buffer)
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
            lost = total * total * interpolate(table, root_a / total, math.exp(log_k))
        else:
            _, kept = golden_section(log_k, a, b, g, precision)
            lost = a + b + 2.0 * g * math.exp(log_k) - kept
        if lost < least:
            best, least = j, lost
    if best == i or least >= a:
        # No other point has the same sign, or dropping the point loses less.
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
    # type: (Array, tuple[Array, ...], Array, Array, Array, Array, Array, tuple[float, ...], Array) -> None
    """Visit rows one by one; ``problem`` is `SparseRows.arrays`.

    ``gram`` has the kernel values of the points, for projections, and ``table`` the losses of merging, or the shape (0,
    0). ``counts`` (points, steps, violations) and ``numbers`` (scale, loss, loss of the zero function, squared norm of
    what was lost) are changed. ``settings`` are the maintenance, γ, λ, the precision of the search, and the lower limit
    of the scale.
    """
    indptr, indices, values, labels, weights = problem
    way, gamma, regularization, precision, fold_below = settings
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
        step = 1.0 / (regularization * counts[1])

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
                    i, lost = smallest_point(n_points, buffer)
                    if way == PROJECTION:
                        n_points, lost = project(i, n_points, columns, buffer, gram)
                    else:
                        n_points = drop(i, n_points, columns, buffer, gram)
                numbers[3] += lost * scale * scale
        counts[0], numbers[0] = n_points, scale


@dataclass(frozen=True)
class BudgetedSGDStepper:
    """f ← (1 − 1/t) f + (wᵢ/(λt)) k(xᵢ, ·) (e_y − e_r) if 1 + f_r(xᵢ) − f_y(xᵢ) > 0; then room is made.

    r is the best class other than y; two classes have one output. Beyond the budget, the point of the smallest
    coefficients is dropped ("removal"), replaced by its projection onto the others ("projection"), or merged with the
    point for which f changes least ("merging"), to h z + (1 − h) z'. Sources: Z. Wang, K. Crammer and S. Vucetic
    (2012), JMLR 13; T. Glasmachers and S. Qaadan (2018) (the table).
    """

    kernel: Gaussian
    budget: int  # points
    regularization: float  # λ
    maintenance: str = "merging"  # one of `MAINTENANCE`
    # How the losses of merging are found: by a search for each pair, or from a table, which only two classes have;
    # "auto" uses the table if it can
    line_search: str = "auto"

    def init(self, problem: SparseRows) -> BudgetedState:
        n_outputs = 1 if problem.n_classes == 2 else problem.n_classes
        if self.line_search == "lookup" and n_outputs > 1:
            raise ShallowsError("The table of losses is for two classes. Use line_search='golden_section'.")
        capacity = self.budget + 1
        size = capacity if self.maintenance == "projection" else 0
        points = np.zeros((capacity, problem.n_inputs + 2), order="F")
        return BudgetedState(self.kernel, points, np.zeros((capacity, n_outputs)), np.zeros((size, size)))

    def step(self, problem: SparseRows, state: BudgetedState, batch: np.ndarray) -> BudgetedState:
        by_table = self.maintenance == "merging" and self.line_search != "golden_section" and state.buffer.shape[1] == 1
        table = table_of_losses() if by_table else np.zeros((0, 0))
        counts = np.array([state.n_points, state.n_steps, state.n_violations])
        numbers = np.array([state.scale, 0.0, 0.0, state.lost])
        assert self.kernel.bandwidth is not None  # The fit has chosen it.
        way, gamma = MAINTENANCE.index(self.maintenance), 0.5 / self.kernel.bandwidth**2
        settings = way, gamma, float(self.regularization), PRECISION, FOLD_BELOW
        # Kernel values and room for one point; the exponentials and searches of a point count as a hundred operations.
        operations = state.points.shape[0] * (2 * problem.n_inputs + 100)
        if self.maintenance == "projection":
            operations += CONJUGATE_STEPS * state.points.shape[0] ** 2
        rows, examples, columns = np.asarray(batch, dtype=np.int64), problem.arrays, state.points.T
        for piece in pieces(len(rows), operations):
            go_through(rows[piece], examples, columns, state.buffer, state.gram, counts, numbers, settings, table)
        state.n_points, state.n_steps, state.n_violations = (int(count) for count in counts)
        state.scale, state.loss, state.zero_loss, state.lost = (float(number) for number in numbers)
        return state


@dataclass(frozen=True, kw_only=True)
class BudgetedSGD(Settings):
    """Pegasos on a kernel with a budget of support vectors, with parameters of `BudgetedSVMClassifier`."""

    budget: int | None = setting(count())
    maintenance: str = setting(choice("merging", "projection", "removal"))
    line_search: str = setting(choice(*LINE_SEARCHES))
    max_epochs: int = setting(count(default=5))

    def build(self, kernel: Gaussian, budget: int, regularization: float) -> BudgetedSGDStepper:
        return BudgetedSGDStepper(kernel, budget, regularization, self.maintenance, self.line_search)
