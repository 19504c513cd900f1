"""Preconditioners of exact kernel ridge regression, by the products with the kernel matrix that they need.

``SHALLOWS_MIRROR=FOLDER python benchmarks/preconditioners.py --points 10000`` solves (K + λI) α = y to a relative
residual of 10⁻³ on the digits of MNIST (one output a class) or, with ``--data higgs``, on generated events like those
of HIGGS: momenta with long tails, angles, tags and the masses that follow from them. It prints, for each λ/n, the
products of every preconditioner at equal rank, and in brackets processor seconds of its making and of the whole.

``askotch`` is the method of the same name, block coordinate descent with approximate projections and acceleration,
written here from its description (Rathore, Frangella, Yang, Dereziński and Udell 2024, arXiv:2407.10070), with blocks
of 500 points and rank 100: a product is one pass over all rows. ``fourier`` is the preconditioner Z Zᵀ + λI of random
Fourier features Z (Avron, Clarkson and Woodruff 2017), which is not in the library.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.linalg
from growing_defaults import digits

from shallows import arrays, gram, kernels, spectrum, streams
from shallows.features.fourier import fourier_pairs
from shallows.solvers import ConjugateResiduals
from shallows.solvers.least_squares.conjugate_gradients import ConjugateGradientsStepper, LowRank
from shallows.solvers.least_squares.kernel_problem import KernelProblem

TARGET = 1e-3
BLOCK, BLOCK_RANK = 500, 100


def main() -> None:
    """Solve with every preconditioner and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=("digits", "higgs"), default="digits")
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--rank", type=int, default=400)
    parser.add_argument("--bandwidth", type=float, default=5.0)
    parser.add_argument("--ridges", type=float, nargs="+", default=[1e-4, 1e-6, 1e-8], help="λ/n")
    parser.add_argument("--memory", default="3GB", help="of the kept part of the kernel matrix")
    parser.add_argument("--most", type=int, default=400, help="products")
    parser.add_argument("--only", nargs="+", choices=RIVALS, default=list(RIVALS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the order of the rows and of all draws")
    asked = parser.parse_args()
    x, targets = (higgs if asked.data == "higgs" else classes)(asked.points)
    print(f"{asked.data}: {len(x):,} rows of {x.shape[1]}, {targets.shape[1]} outputs, rank {asked.rank}")
    print("| λ/n | " + " | ".join(asked.only) + " |\n|" + "---|" * (1 + len(asked.only)))
    for seed in asked.seeds:
        order = streams.permutation(seed, "rows", 0, len(x))
        points = kernels.augmented((x - x.mean(axis=0))[order].astype(np.float32))
        kernel = kernels.Gaussian(asked.bandwidth)
        matrix = gram.Gram(kernel, points, budget=arrays.parse_bytes(asked.memory))
        for share in asked.ridges:
            cells = []
            for name in asked.only:
                problem = KernelProblem(matrix, targets[order].astype(np.float32), regularization=share * len(x))
                cells.append(solved(RIVALS[name](problem, asked.rank, seed), asked.most, problem))
            print(f"| {share:g} | " + " | ".join(cells) + " |", flush=True)


def solved(residuals: Iterator[float], most: int, problem: KernelProblem) -> str:
    """The products until the residual is small enough, with the seconds before the first and in all."""
    whole, began, first = float(np.sum(problem.targets.astype(np.float64) ** 2)), time.process_time(), None
    for products, square in enumerate(residuals, start=1):
        now = time.process_time() - began
        first = now if first is None else first
        if square <= TARGET**2 * whole or products == most:
            each = (now - first) / max(1, products - 1)
            reached = f"{products}" if square <= TARGET**2 * whole else f"> {most}: {(square / whole) ** 0.5:.0e}"
            return f"{reached} ({max(0.0, first - each):.0f}, {now:.0f})"
    raise AssertionError


def gradients(name: str | None, oversampling: int = 3, factor: int = 1) -> Callable[..., Iterator[float]]:
    """Squared residuals of conjugate gradients, step by step."""

    def steps(problem: KernelProblem, rank: int, seed: int) -> Iterator[float]:
        named = {"rank": factor * rank, "n_subsample": oversampling * rank, "seed": seed, "preconditioner": name}
        given = named if name else {}
        solver = ConjugateGradientsStepper(problem.regularization, **given)
        state = solver.init(problem)
        while True:
            state = solver.step(problem, state, slice(0, problem.gram.n))
            yield state.loss

    return steps


class FourierGradients(ConjugateGradientsStepper):
    """Conjugate gradients preconditioned with Z Zᵀ + λI, of ``n_subsample`` random Fourier features Z."""

    def _begin(self, problem: KernelProblem, state: Any) -> None:
        super()._begin(problem, state)
        x = problem.gram.points[:, :-2]
        Z = fourier_pairs(problem.gram.kernel, x, self.n_subsample, self.seed).map(x).astype(np.float64)
        root = np.linalg.cholesky(Z.T @ Z + self.regularization * np.eye(Z.shape[1]))
        vectors = scipy.linalg.solve_triangular(root, Z.T, lower=True).T.astype(x.dtype)
        state.preconditioner = LowRank(vectors, np.ones(vectors.shape[1], dtype=x.dtype))
        state.direction = state.preconditioner.solve(state.residual)
        state.product = np.sum(state.residual * state.direction, axis=0, keepdims=True)


def fourier(factor: int) -> Callable[..., Iterator[float]]:
    """Squared residuals with ``factor`` times as many Fourier features as directions."""

    def steps(problem: KernelProblem, rank: int, seed: int) -> Iterator[float]:
        solver = FourierGradients(problem.regularization, n_subsample=factor * rank, seed=seed)
        state = solver.init(problem)
        while True:
            state = solver.step(problem, state, slice(0, problem.gram.n))
            yield state.loss

    return steps


def eigenpro(problem: KernelProblem, rank: int, seed: int) -> Iterator[float]:
    """Squared residuals of EigenPro in batches of all points, which are conjugate residuals with its preconditioner."""
    made = spectrum.make_preconditioner(
        problem.gram.kernel, problem.gram.points, rank=rank, n_subsample=3 * rank, seed=seed, resolves_more=True
    )
    problem = KernelProblem(problem.gram, problem.targets, None, made, problem.regularization)
    solver = ConjugateResiduals(made.step_size(problem.gram.n), 1)
    state = solver.init(problem)
    while True:
        state = solver.step(problem, state, slice(0, problem.gram.n))
        yield float(np.sum(state.residual.astype(np.float64) ** 2))


def askotch(problem: KernelProblem, rank: int, seed: int) -> Iterator[float]:
    """Squared residuals of ASkotch, pass by pass, as its parameters are advised: μ = λ and ν = n/b, with μν ≤ 1."""
    matrix, y, ridge = problem.gram, problem.targets, problem.regularization
    blocks = list(arrays.blocks(matrix.n, BLOCK))
    nu = len(blocks)
    mu = min(ridge, 1.0 / nu)
    beta, gamma = 1.0 - (mu / nu) ** 0.5, 1.0 / (mu * nu) ** 0.5
    alpha = 1.0 / (1.0 + gamma * nu)
    w, v, z = (np.zeros_like(y) for _ in range(3))
    rng = np.random.default_rng(seed)
    while True:
        for chosen in rng.integers(0, len(blocks), len(blocks)):
            rows = blocks[chosen]
            values, _ = matrix.rows_dot(rows, z)
            step = projected(matrix, rows, values + ridge * z[rows] - y[rows], ridge, rng)
            w = z.copy()
            w[rows] -= step
            v = np.float32(beta) * v + np.float32(1.0 - beta) * z
            v[rows] -= np.float32(gamma) * step
            z = np.float32(alpha) * v + np.float32(1.0 - alpha) * w
        residual = y - matrix.dot(w) - ridge * w
        yield float(np.sum(residual.astype(np.float64) ** 2))


def projected(matrix: gram.Gram, rows: slice, gradient: np.ndarray, ridge: float, rng: Any) -> np.ndarray:
    """(K̂ + ρI)⁻¹ g / L of a block with its Nyström approximation K̂, ρ = λ + λ_r(K̂), and the L of ten products."""
    K = kernels.matrix(matrix.kernel, matrix.points[rows].astype(np.float64))
    b, r = len(K), min(BLOCK_RANK, len(K) // 2)
    test = np.linalg.qr(rng.normal(size=(b, r)))[0]
    shift = np.finfo(np.float32).eps * np.trace(K)
    sketch = K @ test + shift * test
    lower = np.linalg.cholesky(test.T @ sketch)
    U, s, _ = np.linalg.svd(np.linalg.solve(lower, sketch.T).T, full_matrices=False)
    values = np.maximum(s**2 - shift, 0.0)
    rho = ridge + values[-1]

    def power(a: np.ndarray, exponent: float) -> np.ndarray:
        return U @ (((values + rho) ** exponent - rho**exponent)[:, None] * (U.T @ a)) + rho**exponent * a

    a = rng.normal(size=(b, 1))
    for _ in range(10):
        image = power(a, -0.5)
        image = power(K @ image + ridge * image, -0.5)
        largest = float(np.linalg.norm(image) / np.linalg.norm(a))
        a = image / np.linalg.norm(image)
    return (power(gradient, -1.0) / largest).astype(np.float32)


RIVALS = {
    "none": gradients(None),
    "eigenpro": eigenpro,
    "nystrom": gradients("nystrom"),
    "nystrom_same_columns": gradients("nystrom", oversampling=1),
    "pivoted": gradients("pivoted"),
    "randomly_pivoted": gradients("randomly_pivoted"),
    "randomly_pivoted_thrice_the_rank": gradients("randomly_pivoted", factor=3),
    "fourier": fourier(1),
    "fourier_thrice_the_features": fourier(3),
    "fourier_ten_times_the_features": fourier(10),
    "askotch": askotch,
}
"""Squared residuals after each product, by the name of what preconditions."""


def classes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Digits of MNIST, and ±1 for each class."""
    x, y, _, _ = digits()
    chosen = streams.permutation(0, "digits", 0, len(x))[:n]
    return x[chosen], np.where(y[chosen][:, None] == np.arange(10), 1.0, -1.0)


def higgs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Events of a lepton, missing energy and four jets: 28 standardised inputs, and ±1 for a resonance in two jets."""
    rng = np.random.default_rng(0)
    momenta = rng.lognormal(0.0, 0.5, size=(n, 6))
    rapidity, azimuth = rng.normal(size=(n, 6)), rng.uniform(-np.pi, np.pi, size=(n, 6))
    tags = rng.choice([0.0, 1.1, 2.2, 3.1], p=[0.5, 0.25, 0.15, 0.1], size=(n, 4))
    signal = rng.random(n) < 0.53
    # A resonance: the last jet lies where its mass with the third is near one.
    apart = np.arccosh(1.0 + 0.5 / (momenta[:, 4] * momenta[:, 5]))
    azimuth[signal, 5], rapidity[signal, 5] = azimuth[signal, 4], (rapidity[:, 4] + apart)[signal]

    def mass(*parts: int) -> np.ndarray:
        px, py, pz, energy = (
            sum(momenta[:, k] * one(k) for k in parts)
            for one in (
                lambda k: np.cos(azimuth[:, k]),
                lambda k: np.sin(azimuth[:, k]),
                lambda k: np.sinh(rapidity[:, k]),
                lambda k: np.cosh(rapidity[:, k]),
            )
        )
        return np.sqrt(np.maximum(energy**2 - px**2 - py**2 - pz**2, 0.0))

    masses = [
        mass(2, 3),
        mass(2, 3, 4),
        mass(0, 1),
        mass(0, 1, 2),
        mass(4, 5),
        mass(0, 1, 4, 5),
        mass(0, 1, 2, 3, 4, 5),
    ]
    x = np.column_stack([momenta, rapidity[:, [0, 2, 3, 4, 5]], azimuth, tags, *masses])
    return (x - x.mean(axis=0)) / x.std(axis=0), np.where(signal, 1.0, -1.0)[:, None]


if __name__ == "__main__":
    main()
