"""Distance of Pegasos, dual coordinate ascent, LASVM and exact solvers from the optimum over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shallows import arrays, kernels, streams
from shallows.errors import UnknownNameError
from shallows.gram.row_slab import KernelRowSlab
from shallows.kernels import Kernel
from shallows.solvers.support_vectors.decomposition import DecompositionStepper
from shallows.solvers.support_vectors.dual_problem import DualProblem, activate_all, intercept
from shallows.solvers.support_vectors.lasvm import ExampleProblem, LASVMStepper
from shallows.solvers.support_vectors.smo import SMOStepper
from shallows.utils.compilation import njit

from ..results import AnalysisResult
from ..timing import processor_seconds

MULTIPLES = (0.25, 0.5, 1.0, 2.0)  # tried bandwidths, as multiples of the median distance
TRIED = 2000  # training points for choosing the bandwidth; a fifth of them is held out
NEAR = 5.0  # a suboptimality, in percent, that counts as near the optimum
Function = tuple[np.ndarray, float]  # coefficients of the kernel functions, shape (n,), and the intercept


def course(
    data: Any,
    *,
    solver: str = "smo",
    C: float = 1.0,
    bandwidth: float | None = None,
    marks: Sequence[float] = (0.1, 0.2, 0.5, 1, 2, 5, 10),
    n_points: int | None = None,
    random_state: int = 0,
    memory: int | str | None = None,
) -> AnalysisResult:
    """Primal suboptimality and test error of a kernel machine in the course of its training.

    Time is processor time divided by the time of sequential minimal optimization for the whole solution on the same
    machine, with tolerance 10⁻³. Each training begins without kernel values and keeps all rows that fit into memory.

    "decomposition" is SVM-light's, with working sets of ten variables and a tolerance of 10⁻³. Pegasos and dual
    coordinate ascent have no intercept. Each solver is compared with the optimum of its own problem. λ is 1/(C n). The
    bandwidth, if not given, is chosen on a part of the training points.

    Over the marks, in percent: ``suboptimality``, P(f) − P* with P(f) = λ/2 ‖f‖² + (1/n) Σ max(0, 1 − yᵢf(xᵢ)), of P*;
    ``error`` on the test part. As numbers: ``test_error`` at the end; ``time_within``, the first mark at which the
    suboptimality is at most 5 %, infinite if there is none; ``seconds`` of the unit.
    """
    x, y, new, truth = two_classes(data, n_points, random_state)
    points = kernels.augmented(np.ascontiguousarray(x, dtype=np.float32))
    if bandwidth is None:
        bandwidth = chosen_bandwidth(points, y, C, random_state)
    kernel = kernels.Gaussian(float(bandwidth))
    n, budget = len(y), arrays.memory_budget(memory) // 3
    followed = {
        "pegasos": _follow_single,
        "sdca": _follow_single,
        "lasvm": _follow_lasvm,
        "smo": _follow_dual,
        "decomposition": _follow_dual,
    }
    UnknownNameError.check("solver", solver, followed)
    with arrays.one_blas_thread():
        # Compile, and use the kernel for the first time, before anything is timed.
        for name, follow in followed.items():
            few = slice(0, min(n, 200))
            follow(name, kernel, points[few], y[few], C, budget, random_state, Watch((0.0,), 1.0))
        whole = Watch((np.inf,), 1.0)
        _follow_dual("smo", kernel, points, y, C, budget, random_state, whole)
        watch = Watch(tuple(marks), whole.seconds)
        rows = followed[solver](solver, kernel, points, y, C, budget, random_state, watch)
        best = _optimum(solver in ("pegasos", "sdca"), rows, y, C, random_state)
        evaluate = Evaluation(kernel, rows, y, C, kernels.augmented(np.ascontiguousarray(new, dtype=np.float32)), truth)
        optimum = evaluate.primal(best)
        found = [evaluate(function) for function in watch.functions]
    behind = [100.0 * max(0.0, value / optimum - 1.0) for value, _ in found]
    curve = {"suboptimality": behind, "error": [error for _, error in found]}
    within = next((mark for mark, share in zip(marks, behind, strict=True) if share <= NEAR), math.inf)
    numbers = {"test_error": found[-1][1], "time_within": float(within), "seconds": whole.seconds}
    return AnalysisResult(list(marks), curve, numbers, {"bandwidth": bandwidth, "C": C, "n_points": n})


def two_classes(data: Any, n_points: int | None, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return at most `n_points` training points with signs in a random order, and the test points with signs."""
    order = streams.permutation(seed, "points of machines", 0, data.x_train.shape[0])[:n_points]
    rows = np.sort(order)
    back = np.argsort(np.argsort(order))
    x, new = (
        part.toarray() if hasattr(part, "toarray") else np.asarray(part) for part in (data.x_train[rows], data.x_test)
    )
    x, y = x[back], np.asarray(data.y_train)[rows][back]
    classes = np.unique(np.asarray(data.y_train))
    signs = (np.where(np.ravel(one) == classes[-1], 1.0, -1.0) for one in (y, data.y_test))
    y, truth = signs
    return x, y, new, truth


def chosen_bandwidth(points: np.ndarray, y: np.ndarray, C: float, seed: int) -> float:
    """Return the multiple of the median distance with the smallest error on a held-out fifth; on ties, the larger."""
    n = min(TRIED, len(y))
    fitted = n - n // 5
    median, errors = kernels.median_bandwidth(points[:, :-2], seed), {}
    for multiple in MULTIPLES:
        kernel = kernels.Gaussian(float(multiple * median))
        rows = KernelRowSlab(kernel, points[:fitted], budget=2**30)
        problem = DualProblem.of_classes(rows, y[:fitted], np.full(fitted, C))
        state = SMOStepper(1e-2).init(problem)
        while not state.exhausted:
            SMOStepper(1e-2).step(problem, state, 10_000)
        values = kernels.values(kernel, points[fitted:n], points[:fitted])
        scores = values @ state.coefficients + intercept(problem, state)
        errors[multiple * median] = float(np.mean(np.where(scores > 0, 1.0, -1.0) != y[fitted:n]))
    return min(errors, key=lambda sigma: (errors[sigma], -sigma))


class Watch:
    """Times the pieces of a training, and stores the current function when a mark is passed.

    Marks are ascending, in units of `unit` seconds.
    """

    def __init__(self, marks: tuple[float, ...], unit: float):
        self.marks, self.unit, self.seconds = marks, unit, 0.0
        self.functions: list[Function] = []
        self._before: Function | None = None

    @property
    def over(self) -> bool:
        """Whether all marks are passed."""
        return len(self.functions) == len(self.marks)

    def piece(self, work: Callable[[], None], function: Callable[[], Function]) -> None:
        """Run a piece of work. A mark in it gets the function before it, or after it in the first piece."""
        self.seconds += processor_seconds(work)
        after = function()
        while not self.over and self.seconds > self.marks[len(self.functions)] * self.unit:
            self.functions.append(self._before or after)
        self._before = after

    def end(self) -> None:
        """Use the last function for all remaining marks."""
        self.functions += [self._before] * (len(self.marks) - len(self.functions))


def _follow_single(
    name: str, kernel: Kernel, points: np.ndarray, y: np.ndarray, C: float, budget: int, seed: int, watch: Watch
) -> KernelRowSlab:
    rows, n = KernelRowSlab(kernel, points, budget=budget), len(y)
    training = (
        KernelPegasos(rows, y, 1.0 / (C * n), seed) if name == "pegasos" else DualCoordinateAscent(rows, y, C, seed)
    )
    while not watch.over:
        watch.piece(lambda: training.advance(max(10, n // 50)), lambda: (training.coefficients.copy(), 0.0))
    return rows


def _follow_dual(
    name: str, kernel: Kernel, points: np.ndarray, y: np.ndarray, C: float, budget: int, seed: int, watch: Watch
) -> KernelRowSlab:
    rows, n = KernelRowSlab(kernel, points, budget=budget), len(y)
    problem = DualProblem.of_classes(rows, y, np.full(n, C))
    solver = SMOStepper() if name == "smo" else DecompositionStepper()
    # A working set of ten variables costs as much as five pairs.
    n_steps = max(10, n // 50) if name == "smo" else max(2, n // 250)
    state = solver.init(problem)

    def function() -> Function:
        return state.coefficients.copy(), intercept(problem, state)

    while not watch.over and not state.exhausted:
        watch.piece(lambda: solver.step(problem, state, n_steps), function)
    watch.end()
    return rows


def _follow_lasvm(
    name: str, kernel: Kernel, points: np.ndarray, y: np.ndarray, C: float, budget: int, seed: int, watch: Watch
) -> KernelRowSlab:
    """Follow one pass over the examples and the finishing steps."""
    n, solver = len(y), LASVMStepper()
    problem = ExampleProblem(kernel, points, y, np.full(n, C), np.arange(n), (y > 0).astype(np.int64))
    state = solver.init(problem)

    def function() -> Function:
        beta, slots = np.zeros(n), state.at_hand
        beta[state.numbers[slots]] = state.coefficients[slots]
        return beta, state.intercept

    for batch in arrays.blocks(n, 64):
        if not watch.over:
            watch.piece(lambda batch=batch: solver.step(problem, state, batch), function)
    while not watch.over and state.gap > solver.tolerance:
        watch.piece(lambda: solver.finish(state, max(10, n // 50)), function)
    watch.end()
    return KernelRowSlab(kernel, points, budget=budget)


def _optimum(without_intercept: bool, rows: KernelRowSlab, y: np.ndarray, C: float, seed: int) -> Function:
    """Return the optimum, with a thousandth of the error that is examined."""
    if without_intercept:
        exact, before = DualCoordinateAscent(rows, y, C, seed + 1), np.inf
        for _ in range(50):
            for _ in range(4):
                exact.advance(rows.n)
            change = float(np.abs(exact.coefficients - before).max())
            if change < 1e-4 * C:
                break
            before = exact.coefficients.copy()
        return exact.coefficients, 0.0
    problem = DualProblem.of_classes(rows, y, np.full(rows.n, C))
    solver = SMOStepper(1e-5)
    state = solver.init(problem)
    while not state.exhausted:
        solver.step(problem, state, 10_000)
    activate_all(problem, state)
    return state.coefficients, intercept(problem, state)


@dataclass(frozen=True)
class Evaluation:
    """The primal objective and the test error of functions on the same points."""

    kernel: Kernel
    rows: KernelRowSlab
    y: np.ndarray
    C: float
    new: np.ndarray
    truth: np.ndarray

    def __call__(self, function: Function) -> tuple[float, float]:
        """P(f), and the test error in percent."""
        beta, b = function
        support = np.flatnonzero(beta)
        scores = np.full(len(self.truth), b)
        for part in arrays.blocks(len(self.truth), 2048) if len(support) else ():
            scores[part] += kernels.values(self.kernel, self.new[part], self.rows.points[support]) @ beta[support]
        return self.primal(function), 100.0 * float(np.mean(np.where(scores > 0, 1.0, -1.0) != self.truth))

    def primal(self, function: Function) -> float:
        """P(f) = λ/2 ‖f‖² + (1/n) Σ max(0, 1 − yᵢ(f(xᵢ) + b))."""
        beta, b = function
        scores = self.rows.product(beta)
        losses = np.maximum(0.0, 1.0 - self.y * (scores + b))
        return float(0.5 * beta @ scores / (self.C * len(self.y)) + losses.mean())


@njit(cache=True)
def _pegasos(order, start, t, regularisation, counts, signs, rows, slot_of, used, clock):
    """Run steps on examples in order from `start` while their rows are available; return the next place and t."""
    for place in range(start, len(order)):
        i = order[place]
        slot = slot_of[i]
        if slot < 0:
            return place, t
        clock[0] += 1
        used[slot] = clock[0]
        score = 0.0
        for j in range(len(counts)):
            score += counts[j] * signs[j] * rows[slot, j]
        # f at step t is the mean of t - 1 directions divided by λ; the first is zero.
        if t == 1 or signs[i] * score < regularisation * (t - 1):
            counts[i] += 1.0
        t += 1
    return len(order), t


@njit(cache=True)
def _coordinates(order, start, beta, signs, C, diagonal, rows, slot_of, used, clock):
    """Optimize single dual variables while their rows are available; return the next place."""
    for place in range(start, len(order)):
        i = order[place]
        slot = slot_of[i]
        if slot < 0:
            return place
        clock[0] += 1
        used[slot] = clock[0]
        score = 0.0
        for j in range(len(beta)):
            score += beta[j] * rows[slot, j]
        alpha = signs[i] * (beta[i] + (signs[i] - score) / diagonal[i])
        beta[i] = signs[i] * min(C, max(0.0, alpha))
    return len(order)


@dataclass
class KernelPegasos:
    """Pegasos for kernels as in the lecture: f = 1/(λT) Σ cⱼ yⱼ k(xⱼ, ·), where cⱼ counts j's violations.

    At step t an example i is drawn; if yᵢ f(xᵢ) < 1 for f after the previous t − 1 steps, or at the first step, cᵢ
    grows by one. There is no projection and no average.
    """

    rows: KernelRowSlab
    signs: np.ndarray
    regularisation: float
    seed: int

    def __post_init__(self) -> None:
        self.counts, self.t, self.n_chunks = np.zeros(self.rows.n), 1, 0

    def advance(self, n_steps: int) -> None:
        """Run `n_steps` steps on uniformly drawn examples."""
        raw = streams.integers(self.seed, "pegasos", self.n_chunks, n_steps)
        order, place = (raw % np.uint64(self.rows.n)).astype(np.int64), 0
        self.n_chunks += 1
        slab = self.rows
        while place < n_steps:
            slab.fetch(order[place])
            place, self.t = _pegasos(
                order, place, self.t, self.regularisation, self.counts, self.signs, *slab.compiled[1:]
            )

    @property
    def coefficients(self) -> np.ndarray:
        """The coefficients of the kernel functions, shape (n,)."""
        return self.counts * self.signs / (self.regularisation * max(1, self.t - 1))


@dataclass
class DualCoordinateAscent:
    """Stochastic dual coordinate ascent with the hinge loss and no intercept; each step optimizes one αᵢ.

    αᵢ ← clip(αᵢ + (1 − yᵢ f(xᵢ))/k(xᵢ, xᵢ), 0, C) with f = Σ αⱼ yⱼ k(xⱼ, ·), each epoch in a new order.
    """

    rows: KernelRowSlab
    signs: np.ndarray
    C: float
    seed: int

    def __post_init__(self) -> None:
        self.coefficients, self.order, self.place, self.n_epochs = np.zeros(self.rows.n), np.empty(0, np.int64), 0, 0

    def advance(self, n_steps: int) -> None:
        """Run `n_steps` steps."""
        slab = self.rows
        while n_steps > 0:
            if self.place == len(self.order):
                self.order, self.place = streams.permutation(self.seed, "order", self.n_epochs, slab.n), 0
                self.n_epochs += 1
            end = min(len(self.order), self.place + n_steps)
            n_steps -= end - self.place
            while self.place < end:
                slab.fetch(self.order[self.place])
                self.place = _coordinates(
                    self.order[:end], self.place, self.coefficients, self.signs, self.C, *slab.compiled
                )


def scaling(
    data: Any,
    *,
    sizes: Sequence[int] = (500, 1000, 2000, 4000),
    C: float = 1.0,
    bandwidth: float | None = None,
    few: int = 100,
    rounds: int = 2,
    random_state: int = 0,
) -> AnalysisResult:
    """Steps, kernel evaluations and time of a kernel machine with the Gaussian kernel, by training points.

    The bandwidth defaults to the median distance. A small cache has `few` rows of the kernel matrix.

    Over n, for sequential minimal optimization: ``work``, steps times n, the cost with a known kernel matrix; ``kept``,
    ``few`` and ``none``, kernel evaluations over n² if all rows are stored, only the rows of a small cache, or only the
    two rows of the current step. ``time``, processor seconds of LIBSVM (scikit-learn's ``SVC``) with a cache for all
    rows, divided by the time for the fewest points.
    """
    from sklearn.svm import SVC

    x, y, _, _ = two_classes(data, max(sizes), random_state)
    sizes = sorted({min(n, len(y)) for n in sizes})
    x = np.ascontiguousarray(x, dtype=np.float32)
    sigma = kernels.median_bandwidth(x, random_state) if bandwidth is None else bandwidth
    kernel, solver = kernels.Gaussian(float(sigma)), SMOStepper()
    found: dict[str, list[float]] = {name: [] for name in ("work", "kept", "few", "none", "time")}
    seconds = []
    with arrays.one_blas_thread():
        for n in sizes:
            points = kernels.augmented(x[:n])
            for name, held in (("kept", n), ("few", few), ("none", 2)):
                rows = KernelRowSlab(kernel, points, budget=4 * n * held)
                problem = DualProblem.of_classes(rows, y[:n], np.full(n, C))
                state = solver.init(problem)
                while not state.exhausted:
                    solver.step(problem, state, 10_000)
                found[name].append(rows.n_made / n)
            found["work"].append(float(state.n_steps) * n)
            machine = SVC(C=C, gamma=1.0 / (2.0 * sigma**2), cache_size=4 * n * n / 2**20 + 10)
            seconds.append(min(processor_seconds(machine.fit, x[:n], y[:n]) for _ in range(rounds)))
    found["time"] = [one / seconds[0] for one in seconds]
    return AnalysisResult(sizes, found, {}, {"bandwidth": sigma, "C": C})
