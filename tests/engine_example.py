"""Small problems, naive references, and the list of what runs on any array library, for the tests of the engine."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace

import numpy as np

from shallows import arrays, gram, kernels, spectrum, streams, training
from shallows.solvers.least_squares.eigenpro import EigenProStepper
from shallows.solvers.least_squares.kernel_problem import KernelProblem
from shallows.solvers.least_squares.kernel_sgd import KernelSGDStepper

PLENTY = 2**30

EUCLIDEAN = ["gaussian", "laplace", "cauchy"]
"""The kernels of the EigenPro paper's experiments; `naive_kernel` has their formulas."""


def sample(n: int, d: int = 3, seed: int = 0, dtype=np.float64) -> np.ndarray:
    """Points without structure."""
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


def naive_kernel(name: str, bandwidth: float, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The formulas of the kernels, difference by difference."""
    r = np.sqrt(((x[:, None, :].astype(np.float64) - z[None, :, :].astype(np.float64)) ** 2).sum(axis=2))
    return {
        "gaussian": lambda: np.exp(-(r**2) / (2 * bandwidth**2)),
        "laplace": lambda: np.exp(-r / bandwidth),
        "cauchy": lambda: 1 / (1 + r**2 / bandwidth**2),
    }[name]()


def problem(
    n: int = 60,
    c: int = 2,
    *,
    kernel: str = "laplace",
    bandwidth: float = 2.0,
    rank: int | None = None,
    n_subsample: int | None = None,
    damping: float = 1.0,
    power: float = 1.0,
    weights: bool = False,
    seed: int = 0,
    tile: int | None = None,
    budget: int = PLENTY,
    xp=np,
    d: int = 3,
) -> SimpleNamespace:
    """A kernel least-squares problem in float64 with its preconditioner, the subsample laid out first.

    Laplace's spectrum falls slowly, so that all directions are resolved.
    """
    x, y = sample(n, d, seed), sample(n, c, seed + 1000)
    w = np.random.default_rng(seed).uniform(0.2, 1.0, size=n) if weights else None
    made = kernels.make(kernel, bandwidth)
    preconditioner, order = None, np.arange(n)
    if rank is not None:
        preconditioner = spectrum.make_preconditioner(
            made,
            kernels.augmented(xp.asarray(x)),
            rank=rank,
            n_subsample=n_subsample or n,
            seed=seed,
            damping=damping,
            power=power,
            weights=None if w is None else xp.asarray(w),
        )
        order = np.concatenate([preconditioner.indices, np.setdiff1d(order, preconditioner.indices)])
    x, w = x[order], None if w is None else w[order]
    matrix = gram.Gram(made, kernels.augmented(xp.asarray(x)), budget=budget, tile=tile)
    column = None if w is None else xp.asarray(w[:, None])
    return SimpleNamespace(
        x=x,
        y=y,
        w=w,
        K=naive_kernel(kernel, bandwidth, x, x),
        kernel=made,
        preconditioner=preconditioner,
        problem=KernelProblem(matrix, xp.asarray(y), column, preconditioner),
    )


def preconditioning_matrix(p: spectrum.Preconditioner, n: int) -> np.ndarray:
    """D = Σ (1 − τ (λ_{q+1}/λᵢ)^a) / (m λᵢ) eᵢ eᵢᵀ, shape (n, n), for a subsample that comes first."""
    D = np.zeros((n, n))
    D[: p.n_subsample, : p.n_subsample] = (p.vectors * p.scale) @ p.vectors.T
    return D


def least_squares(K: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Coefficients a that minimize Σ wᵢ (Ka − y)ᵢ²."""
    root = np.sqrt(w)[:, None]
    return np.linalg.lstsq(root * K, root * y, rcond=None)[0]


# --------------------------------------------------------------------- what runs on any array library
# Each case is a function of the array library that returns an array, or several. The tests run it on NumPy and on
# another library, and hold the results against one another.


def _kernel_values(name):
    def case(xp):
        kernel = kernels.make(name, 1.5)
        x, z = xp.asarray(sample(7)), xp.asarray(sample(5, seed=1))
        return kernel(x, z), kernel.diagonal(x)

    return case


def _frequencies(name):
    return lambda xp: kernels.make(name, 1.5).frequencies(3, "draws", 1, 9, 4, like=xp.ones(1), dtype=xp.float64)


def _gram(budget, tile=8):
    def case(xp):
        points, a = kernels.augmented(xp.asarray(sample(29))), xp.asarray(sample(29, 2, seed=1))
        matrix = gram.Gram(kernels.Gaussian(1.5), points, budget=budget, tile=tile)
        product, columns = matrix.rows_dot(slice(5, 21), a, head=11)
        return matrix.dot(a), product, columns.values(), matrix.rows_dot(slice(0, 29), a)[0]

    return case


def _cross_product(xp):
    points, a = kernels.augmented(xp.asarray(sample(33))), xp.asarray(sample(33, 2, seed=1))
    new, extra = xp.asarray(sample(40, seed=2)), xp.asarray(sample(40, 1, seed=3)[:, 0] ** 2)
    kernel = kernels.Laplace(1.5)
    return tuple(gram.cross_product(kernel, new, points, a, budget=5000, extra=e) for e in (None, extra))


def _top_eigensystem(tolerance):
    def case(xp):
        K = xp.asarray(naive_kernel("gaussian", 2.0, sample(60), sample(60)))
        values, vectors = spectrum.top_eigensystem(lambda a: K @ a, 60, 5, like=K, seed=1, tolerance=tolerance)
        return values, xp.abs(vectors)

    return case


def _eigensystem(xp):
    values, vectors = spectrum.eigensystem(xp.asarray(naive_kernel("laplace", 2.0, sample(20), sample(20))), 4)
    return values, xp.abs(vectors)


def _preconditioner(weights, n_subsample):
    def case(xp):
        p = problem(xp=xp, rank=5, n_subsample=n_subsample, weights=weights).preconditioner
        m = p.n_subsample
        columns, gradient = xp.asarray(sample(7, m)), xp.asarray(sample(7, 2))
        numbers = [p.top_eigenvalue, p.largest_diagonal, p.step_size(8), p.critical_batch_size()]
        return p.eigenvalues, p.scale, p.correction(columns, gradient), np.array(numbers), p.indices

    return case


def _training(make_solver, **changes):
    def case(xp):
        p = problem(xp=xp, rank=5, n_subsample=30, tile=16, **changes)
        batches, stopping = training.Batches(60, 8, seed=2), training.Stopping(max_epochs=3)
        run = training.train(make_solver(p.preconditioner.step_size(8)), p.problem, batches, stopping)
        return run.state.coefficients, np.array(run.losses)

    return case


def _rolled_back(xp):
    p = problem(xp=xp)
    stopping = training.Stopping(max_epochs=2)
    run = training.train(KernelSGDStepper(20.0), p.problem, training.Batches(60, 8, seed=2), stopping)
    assert run.n_rollbacks > 1
    return run.state.coefficients


NEUTRAL = {
    **{f"{name} kernel": _kernel_values(name) for name in EUCLIDEAN},
    **{f"{name} frequencies": _frequencies(name) for name in EUCLIDEAN},
    "median bandwidth": lambda xp: np.array(kernels.median_bandwidth(xp.asarray(sample(50)), seed=1, n_points=20)),
    "gram, kept": _gram(PLENTY),
    "gram, partly kept": _gram(9 * 8 * 8 * 8),
    "gram, not kept": _gram(0),
    "cross product": _cross_product,
    "subspace iteration, fixed": _top_eigensystem(0.0),
    "subspace iteration, to a tolerance": _top_eigensystem(1e-6),
    "eigensystem": _eigensystem,
    "preconditioner": _preconditioner(False, 30),
    "preconditioner of all points": _preconditioner(False, 60),
    "weighted preconditioner": _preconditioner(True, 30),
    "training with EigenPro": _training(EigenProStepper),
    "weighted training with EigenPro": _training(EigenProStepper, weights=True),
    "training with Richardson": _training(KernelSGDStepper),
    "training that rolls back": _rolled_back,
    "integers": lambda xp: streams.integers(5, "x", 2, 11, like=xp.ones(1)),
    "uniform numbers": lambda xp: streams.uniform(5, "x", 2, (3, 4), like=xp.ones(1), dtype=xp.float64),
    "normal numbers": lambda xp: streams.normal(5, "x", 2, (3, 4), like=xp.ones(1), dtype=xp.float64),
    "a permutation": lambda xp: streams.permutation(5, "x", 2, 20, like=xp.ones(1)),
}


def results(case, xp) -> list[np.ndarray]:
    """What a case gives on a library, as NumPy arrays."""
    made = case(xp)
    return [arrays.to_numpy(part) for part in (made if isinstance(made, tuple) else (made,)) if part is not None]


def traced_peak(work):
    """The bytes that a function takes at most."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
