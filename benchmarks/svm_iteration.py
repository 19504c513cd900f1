"""The cost of an iteration of the methods for support vector machines over that of its bare products.

``python benchmarks/svm_iteration.py [--only METHOD ...] [--rounds N]`` takes an iteration (or a pass) of each method
and its bare products in turns, in one process on one thread, and prints the median of the ratios of neighbouring times
in processor seconds. The target is at most 1.3. Labels are random, so that nearly every example is on the wrong side
and no product is saved. Bare products are

- of mini-batches of Pegasos and FOLOS: xᵢᵀw of each example and the sum of those with a loss, in the same order;
- of a round of SARAH: a product with X and one with its transpose, and for each inner step two inner products with a
  row and two additions of it;
- of Newton's method and L-BFGS on linear machines: a product with X, and one with its transpose, for each that the
  solver counts or needs;
- of Newton's method and interior points on kernels: the factorisation and solutions of the system, and K β;
- of budgeted stochastic gradients: the kernel values of an example with the budget's points and their sum (a step
  without a loss, since making room for a point is no product);
- of random features: the product with the frequencies, and its cosines and sines.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import scipy.linalg
import scipy.sparse

from shallows import Options, arrays, kernels
from shallows.kernel_approximation import FourierFeatures
from shallows.solvers.budgeted.budgeted_sgd import BudgetedSGDStepper
from shallows.solvers.budgeted.sparse_rows import sparse_rows
from shallows.solvers.linear_svm.lbfgs import LBFGSStepper
from shallows.solvers.linear_svm.newton import PrimalNewtonStepper
from shallows.solvers.linear_svm.problem import HINGE, SQUARED_HINGE, LinearSVMProblem
from shallows.solvers.linear_svm.rows import CompiledRows, add, as_rows, combination, dot, permutation, products
from shallows.solvers.linear_svm.sarah import SARAHStepper
from shallows.solvers.linear_svm.subgradients import FOLOSStepper, LinearPegasosStepper
from shallows.solvers.support_vectors.dense_problem import DenseProblem
from shallows.solvers.support_vectors.interior_point import InteriorPointStepper
from shallows.solvers.support_vectors.primal_newton import KernelNewtonStepper

MOST = 1.3
BATCH = 256

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def main() -> int:
    """Measure what was asked for and print it; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), metavar="METHOD")
    parser.add_argument("--rounds", type=int, default=11)
    asked = parser.parse_args()
    missed = 0
    with arrays.one_blas_thread():
        for name in asked.only:
            for what, pair in CASES[name]():
                ratio, ours, bare = compared(pair, asked.rounds)
                missed += ratio > MOST
                verdict = "met" if ratio <= MOST else "MISSED"
                note = f"{1e3 * ours:.2f} ms against {1e3 * bare:.2f} ms"
                print(f"| {name} | {what} | {ratio:.2f} | at most {MOST} | {verdict} | {note} |", flush=True)
    return int(missed > 0)


def compared(pair: Pair, rounds: int) -> tuple[float, float, float]:
    """The median ratio of neighbouring times, and both median times; the first round compiles and warms up."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds + 1):
        for which in (0, 1) if turn % 2 else (1, 0):
            started = time.process_time()
            pair[which]()
            times[which].append(time.process_time() - started)
    ours, bare = times[0][1:], times[1][1:]
    return (
        statistics.median(a / b for a, b in zip(ours, bare, strict=True)),
        statistics.median(ours),
        statistics.median(bare),
    )


# --------------------------------------------------------------------------------------------- linear machines


def linear_problems(loss: int) -> Iterator[tuple[str, LinearSVMProblem]]:
    """A dense and a sparse problem with random labels."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 20_000)
    dense = rng.standard_normal((20_000, 300)) / math.sqrt(300)
    yield "20,000 dense rows, d = 300", LinearSVMProblem(as_rows(dense), 300, y, 1e-3, loss)
    sparse = scipy.sparse.random_array((20_000, 5000), density=0.02, rng=rng, format="csr")
    yield "20,000 rows of 100 values, d = 5,000", LinearSVMProblem(as_rows(sparse), 5000, y, 1e-3, loss)


@numba.njit(cache=True)
def bare_batches(
    rows: CompiledRows, signs: np.ndarray, visited: np.ndarray, size: int, w: np.ndarray, v: np.ndarray
) -> None:
    """xᵢᵀw of each batch, and then the sum of the examples with a loss."""
    margins = np.empty(size)
    for first in range(0, len(visited), size):
        m = min(size, len(visited) - first)
        for j in range(m):
            margins[j] = signs[visited[first + j]] * dot(rows, visited[first + j], w)
        for j in range(m):
            if margins[j] < 1.0:
                add(rows, visited[first + j], 1e-9, v)


def mini_batches(solver: Any) -> Iterator[tuple[str, Pair]]:
    """A pass of a method of mini-batches."""
    for what, problem in linear_problems(HINGE):
        state = solver.init(problem)
        solver.step(problem, state, problem.n)
        order, v = permutation(0, 0, problem.n), np.zeros(problem.n_features)

        def bare(problem: Any = problem, state: Any = state, order: Any = order, v: Any = v) -> None:
            bare_batches(problem.rows, problem.signs, order, BATCH, state.coefficients, v)

        yield (
            f"{what}, batches of {BATCH}",
            (lambda problem=problem, state=state: solver.step(problem, state, problem.n), bare),
        )


@numba.njit(cache=True)
def bare_round(rows: CompiledRows, chosen: np.ndarray, u: np.ndarray, p: np.ndarray) -> float:
    """Two inner products with each chosen row, and two additions of it."""
    total = 0.0
    for i in chosen:
        total += dot(rows, i, p) + dot(rows, i, u)
        add(rows, i, 1e-9, p)
        add(rows, i, 1e-9, u)
    return total


def sarah() -> Iterator[tuple[str, Pair]]:
    """A round of SARAH."""
    for what, problem in linear_problems(SQUARED_HINGE):
        solver = SARAHStepper()
        state = solver.init(problem)
        solver.step(problem, state, 1)
        chosen = permutation(0, 0, problem.n)
        u, p, factors = np.zeros(problem.n_features), np.zeros(problem.n_features), np.ones(problem.n)

        def bare(problem: Any = problem, u: Any = u, p: Any = p, factors: Any = factors, chosen: Any = chosen) -> None:
            products(problem.rows, u)
            combination(problem.rows, factors, problem.n_features)
            bare_round(problem.rows, chosen, u, p)

        yield what, (lambda problem=problem, state=state, solver=solver: solver.step(problem, state, 1), bare)


def whole_products(solver: Any, iterations: int, count: Callable[[Any], int]) -> Iterator[tuple[str, Pair]]:
    """Iterations of a method of whole products from zero."""
    for what, problem in linear_problems(SQUARED_HINGE):
        needed = count(solver.step(problem, solver.init(problem), iterations))
        w, factors = np.zeros(problem.n_features), np.ones(problem.n)

        def bare(problem: Any = problem, w: Any = w, factors: Any = factors, needed: int = needed) -> None:
            for turn in range(needed):
                if turn % 2:
                    combination(problem.rows, factors, problem.n_features)
                else:
                    products(problem.rows, w)

        start = solver.init(problem)
        held = start.remember()

        def ours(problem: Any = problem, start: Any = start, held: Any = held) -> None:
            start.recall(*held)
            solver.step(problem, start, iterations)

        yield f"{what}, {needed} products", (ours, bare)


# --------------------------------------------------------------------------------------------- kernel machines


def dense_kernel(squared: bool) -> DenseProblem:
    """1,500 points with random labels."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1500, 10))
    squares = np.einsum("ij,ij->i", x, x)
    K = np.exp(-(squares[:, None] + squares - 2 * x @ x.T) / 20)
    return DenseProblem(K, rng.choice([-1.0, 1.0], 1500), np.ones(1500), squared)


def newton_on_kernels() -> Iterator[tuple[str, Pair]]:
    """The first iteration of Newton's method on all of the points, which all miss their margins."""
    problem, solver = dense_kernel(True), KernelNewtonStepper()
    state = solver.init(problem)
    state.n_used = 1500
    held = state.remember()
    inside = np.flatnonzero(problem.signs * state.values < 1.0)
    right = np.column_stack([problem.signs[inside], np.ones(len(inside))])

    def ours() -> None:
        state.recall(*held)
        solver.step(problem, state, 1)

    def bare() -> None:
        matrix = problem.matrix[np.ix_(inside, inside)] + np.eye(len(inside))
        factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        scipy.linalg.cho_solve(factor, right)
        problem.matrix @ state.coefficients

    yield f"1,500 points, {len(inside)} in the system", (ours, bare)


def interior_point() -> Iterator[tuple[str, Pair]]:
    """The second iteration of an interior point."""
    problem, solver = dense_kernel(False), InteriorPointStepper()
    state = solver.init(problem)
    solver.step(problem, state, 1)
    held = state.remember()

    def ours() -> None:
        state.recall(*held)
        solver.step(problem, state, 1)

    def bare() -> None:
        matrix = problem.matrix + np.eye(1500)
        factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        for _ in range(3):
            scipy.linalg.cho_solve(factor, problem.signs)
        problem.matrix @ problem.signs

    yield "1,500 points", (ours, bare)


@numba.njit(cache=True)
def bare_kernel_rows(visited: np.ndarray, indptr: Any, indices: Any, values: Any, columns: Any, a: Any) -> float:
    """Σⱼ aⱼ k(xᵢ, zⱼ) of rows with points that lie in columns, as the method has them."""
    m, total, k = columns.shape[1], 0.0, np.empty(columns.shape[1])
    for row in visited:
        k[:] = 0.0
        norm = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            norm += values[place] * values[place]
            of_points = columns[indices[place]]
            for j in range(m):
                k[j] += values[place] * of_points[j]
        for j in range(m):
            total += a[j] * math.exp(-0.05 * max(0.0, norm + 1.0 - 2.0 * k[j]))
    return total


def budgeted() -> Iterator[tuple[str, Pair]]:
    """Steps of budgeted stochastic gradients that find no loss."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 100)) / 10
    solver = BudgetedSGDStepper(kernels.make("gaussian", math.sqrt(10.0)), 500, 1e-3)
    problem = sparse_rows(x, np.zeros(2000, dtype=np.int64), None, 2)
    state = solver.init(problem)
    # A function that is far below zero everywhere, and steps so late that it stays so.
    state.add(x[:500], np.full((500, 1), -1e9))
    state.n_steps = 10**6
    order = np.arange(500, 2000)
    columns = np.ascontiguousarray(state.points.T[:-2, : state.n_points])
    a = np.ones(state.n_points)
    indptr, indices, values = problem.arrays[:3]
    yield (
        f"1,500 rows, {state.n_points} points, d = 100",
        (
            lambda: solver.step(problem, state, order),
            lambda: bare_kernel_rows(order, indptr, indices, values, columns, a),
        ),
    )


def fourier_features() -> Iterator[tuple[str, Pair]]:
    """The features of a block of points."""
    x = np.random.default_rng(0).standard_normal((2000, 784), dtype=np.float32)
    for n_features in (1024, 4096):
        made = FourierFeatures(
            n_features=n_features, bandwidth=28.0, random_state=0, options=Options(device="cpu")
        ).fit(x)
        w = np.random.default_rng(1).standard_normal((784, n_features // 2), dtype=np.float32) / 28

        def bare(w: np.ndarray = w, n_features: int = n_features) -> np.ndarray:
            out = np.empty((2000, n_features), dtype=np.float32)
            angles = x @ w
            np.cos(angles, out=out[:, : n_features // 2])
            np.sin(angles, out=out[:, n_features // 2 :])
            return out

        yield f"2,000 points, 784 inputs, {n_features} features", (lambda made=made: made.transform(x), bare)


CASES: dict[str, Callable[[], Iterator[tuple[str, Pair]]]] = {
    "pegasos": lambda: mini_batches(LinearPegasosStepper(batch_size=BATCH)),
    "folos": lambda: mini_batches(FOLOSStepper(batch_size=BATCH)),
    "sarah": sarah,
    "newton": lambda: whole_products(PrimalNewtonStepper(), 2, lambda state: state.n_products),
    "lbfgs": lambda: whole_products(LBFGSStepper(), 10, lambda state: 2 * state.n_steps),
    "newton_on_kernels": newton_on_kernels,
    "interior_point": interior_point,
    "budgeted": budgeted,
    "fourier_features": fourier_features,
}
"""The methods, and what is measured of each."""


if __name__ == "__main__":
    sys.exit(main())
