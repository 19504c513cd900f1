"""Time of an iteration and of an eigensystem, as ratios within one process.

Times go with the machine and with what else it does, so nothing here is a number of seconds. What is compared runs in
turn, round after round, and of each the fastest round is taken. On a processor the time is that of the process, not of
the clock, with one thread in BLAS: other work on the machine then hardly matters (by the clock, ratios near 1 came out
anywhere between 0.6 and 2 on a loaded machine), and work that runs in parallel counts as if it did not. On a graphics
processor it is that of the clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .. import arrays, kernels
from ..arrays import Array
from ..errors import ShallowsError
from ..gram import Gram
from ..solvers import EigenPro, Richardson
from ..solvers.base import KernelProblem
from ..solvers.cycles import Cycle
from ..spectrum import Preconditioner, eigensystem, make_preconditioner, top_eigensystem
from .findings import Findings, check_rank, sample

AVERAGED = Cycle(1, (), (1.0,), memory=100.0)
"""A step as noisy batches have it: bounded by its own batch, and its iterate taken into an average."""


def medians(
    work: Mapping[Any, Callable[[], Any]], rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[Any, np.ndarray]:
    """Seconds of each piece of work in each of some rounds, to take a median of or a minimum.

    In a round all of them run in turn, and every second round goes backwards, so that no piece always follows the same
    other one. A first round is thrown away.
    """
    names = list(work)
    seconds: dict[Any, list[float]] = {name: [] for name in names}
    with arrays.one_blas_thread():
        for turn in range(rounds + 1):
            for name in names if turn % 2 else reversed(names):
                started = clock()
                work[name]()
                if turn:
                    seconds[name].append(clock() - started)
    return {name: np.array(values) for name, values in seconds.items()}


def fastest(work: Mapping[Any, Callable[[], Any]], rounds: int, like: Array) -> dict[Any, float]:
    """Seconds of the fastest round of each piece of work, by the clock that suits the device of an array."""
    clock = time.process_time if arrays.is_numpy(like) else time.perf_counter
    return {name: float(values.min()) for name, values in medians(work, rounds, clock).items()}


def overhead(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    ranks: Sequence[int] = (10, 20, 40, 80, 160, 320),
    n_subsample: int = 1000,
    batch_size: int = 256,
    n_points: int | None = None,
    rounds: int = 15,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> Findings:
    """Time of an EigenPro iteration over that of plain kernel SGD, by the rank; the kernel is computed every time.

    The iteration has the bound and the average that the certified rule takes for noisy batches.

    Parameters
    ----------
    data
        Has ``x_train`` and ``y_train``.
    kernel, bandwidth
        As for `kernels.make`.
    ranks : sequence of int
        q.
    n_subsample, batch_size : int
        M and m.
    n_points : int, optional
        Centres: all training points where nothing is said.
    rounds : int
        Of which the fastest counts.

    Returns
    -------
    Findings
        Over q: ``overhead`` in percent; ``correction``, the time of the correction alone in units of that of the first
        rank; ``extra_operations`` in percent by counting multiplications, those of the
        correction over those of an iteration; ``extra_numbers``, what the preconditioner keeps over q M.
    """
    x, targets, made = _inputs(data, kernel, bandwidth, n_points, random_state, device)
    n, d = x.shape[0], x.shape[1] - 2
    m, size = min(n_subsample, n), min(batch_size, n)
    check_rank(max(ranks), m)
    whole = make_preconditioner(made, x, rank=max(ranks), n_subsample=m, seed=random_state)
    if whole.rank < max(ranks):
        raise ShallowsError(f"Only {whole.rank} directions of the subsample are resolved; ask for ranks up to that.")
    matrix = Gram(made, x, budget=0)
    c = targets.shape[1]

    work: dict[Any, Callable[[], Any]] = {0: _repeated_step(Richardson(1e-6), KernelProblem(matrix, targets), size)}
    parts = {q: truncated(whole, q) for q in ranks}
    for q, one in parts.items():
        work[q] = _repeated_step(EigenPro(1e-6, AVERAGED), KernelProblem(matrix, targets, None, one), size)
    columns, gradient = kernels.values(made, x[:size, :], x[:m, :]), arrays.contiguous(targets[:size, :])

    def correct(one: Preconditioner) -> None:
        arrays.synchronise(one.correction(columns, gradient))

    work |= {("correction", q): partial(correct, one) for q, one in parts.items()}
    seconds = fastest(work, rounds, targets)
    plain = size * n * (d + c)
    return Findings(
        list(ranks),
        {
            "overhead": [100.0 * (seconds[q] / seconds[0] - 1.0) for q in ranks],
            "correction": [seconds["correction", q] / seconds["correction", ranks[0]] for q in ranks],
            "extra_operations": [100.0 * (size * m * c + 2.0 * q * m * c) / plain for q in ranks],
            "extra_numbers": [parts[q].vectors.size / (q * m) for q in ranks],
        },
        effective={"n_points": n, "n_features": d, "n_subsample": m, "batch_size": size, "rounds": rounds},
    )


def truncated(preconditioner: Preconditioner, rank: int) -> Preconditioner:
    """The same with fewer directions; its certificate is that of the larger one."""
    vectors = arrays.contiguous(preconditioner.vectors[:, :rank])
    return replace(preconditioner, eigenvalues=preconditioner.eigenvalues[: rank + 1], vectors=vectors)


def per_iteration(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    along: str = "n_points",
    sizes: Sequence[int] = (500, 1000, 2000, 4000),
    batch_size: int = 256,
    rounds: int = 15,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> Findings:
    """Time of an iteration of plain kernel SGD against the number of centres or the size of the batch.

    Parameters
    ----------
    along : {"n_points", "batch_size"}
        What is varied.
    sizes : sequence of int
        Its values.
    rounds : int
        Of which the fastest counts.

    Returns
    -------
    Findings
        Over the sizes: ``time``, in units of that of the first.
    """
    if along not in ("n_points", "batch_size"):
        raise ShallowsError(f"along is 'n_points' or 'batch_size', not {along!r}.")
    x, targets, made = _inputs(data, kernel, bandwidth, None, random_state, device)
    n = x.shape[0]
    sizes = sorted({min(size, n) for size in sizes})
    work = {}
    for size in sizes:
        rows, m = (size, min(batch_size, size)) if along == "n_points" else (n, size)
        problem = KernelProblem(Gram(made, arrays.contiguous(x[:rows, :]), budget=0), targets[:rows, :])
        work[size] = _repeated_step(Richardson(1e-6), problem, m)
    seconds = fastest(work, rounds, targets)
    times = [seconds[size] / seconds[sizes[0]] for size in sizes]
    return Findings(sizes, {"time": times}, effective={"along": along, "n_features": x.shape[1] - 2, "rounds": rounds})


def _repeated_step(solver: Any, problem: KernelProblem, m: int) -> Callable[[], None]:
    """A step on the first batch that can be made again and again; its size is too small to matter."""
    state = solver.init(problem)

    def step() -> None:
        arrays.synchronise(solver.step(problem, state, slice(0, m)).coefficients)

    return step


def _inputs(
    data: Any, kernel: str, bandwidth: float | None, n_points: int | None, seed: int, device: str
) -> tuple[Array, Array, Any]:
    """Points in float32, as a training has them, their targets and the kernel."""
    part = sample(data, kernel, bandwidth, n_points=n_points, random_state=seed, device=device)
    xp = arrays.namespace(part.inputs)
    return (
        kernels.augmented(arrays.astype(part.inputs, xp.float32)),
        arrays.astype(part.targets, xp.float32),
        part.kernel,
    )


# Eigensystems ---------------------------------------------------------------------------------------------------------


def eigensystems(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    rank: int = 40,
    subsamples: Sequence[int] = (250, 500, 1000),
    n_points: int = 2000,
    rounds: int = 3,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> Findings:
    """RSVD and NSVD of Appendix A on a kernel matrix: their time and their error, by the size of the subsample.

    Parameters
    ----------
    data
        Has ``x_train`` and ``y_train``.
    kernel, bandwidth
        As for `kernels.make`.
    rank : int
        q.
    subsamples : sequence of int
        M.
    n_points : int
        n: the matrix is n × n. The time includes its rows (RSVD: M × n) or its block (NSVD: M × M) and, for NSVD, the
        n × M block by which the eigenvectors are extended.
    rounds : int
        Of which the fastest counts.

    Returns
    -------
    Findings
        Over M: ``time_rsvd`` and ``time_nsvd``, in units of RSVD's first; ``time_ratio``, NSVD over RSVD;
        ``error_rsvd`` and ``error_nsvd``, the root mean square of the sines between the exact eigenvectors and the
        space found; ``values_rsvd`` and ``values_nsvd``, the mean relative error of the eigenvalues; ``top_rsvd`` and
        ``top_nsvd``, the largest eigenvalue of the preconditioned matrix over the exact λ_{q+1}, by which the number of
        iterations goes.
    """
    part = sample(data, kernel, bandwidth, n_points=n_points, random_state=random_state, device=device)
    n = part.inputs.shape[0]
    subsamples = [size for size in subsamples if size <= n]
    check_rank(rank, min(subsamples))
    points, matrix = part.points, part.matrix
    xp = arrays.namespace(matrix)
    values, vectors = eigensystem(matrix, rank + 1, seed=random_state, tolerance=1e-4)

    def rows(m: int) -> Array:
        return kernels.values(part.kernel, points[:m, :], points)

    found: dict[str, list[float]] = {}
    methods = {"rsvd": lambda m: rsvd(rows(m), rank + 1, random_state), "nsvd": lambda m: nsvd(rows(m), m, rank + 1)}
    for m in subsamples:
        for name, method in methods.items():
            estimates, space = method(m)
            inside = space[:, :rank].T @ vectors[:, :rank]
            lost = 1.0 - float(xp.sum(inside**2)) / rank
            top = _preconditioned_top(matrix, estimates, space, rank) / float(values[rank])
            wrong = xp.abs(estimates[:rank] - values[:rank]) / values[:rank]
            for key, value in (
                ("error", math.sqrt(max(lost, 0.0))),
                ("values", float(xp.mean(wrong))),
                ("top", top),
            ):
                found.setdefault(f"{key}_{name}", []).append(value)
    work = {(name, m): partial(method, m) for name, method in methods.items() for m in subsamples}
    seconds = fastest(work, rounds, matrix)
    first = seconds["rsvd", subsamples[0]]
    for name in methods:
        found[f"time_{name}"] = [seconds[name, m] / first for m in subsamples]
    found["time_ratio"] = [seconds["nsvd", m] / seconds["rsvd", m] for m in subsamples]
    return Findings(subsamples, found, effective={**part.effective, "rank": rank, "rounds": rounds})


def rsvd(rows: Array, k: int, seed: int) -> tuple[Array, Array]:
    """√(n/M) σᵢ and the right singular vectors of M rows of a symmetric matrix, by a randomised decomposition.

    Parameters
    ----------
    rows : array, shape (M, n)
    k : int
    seed : int

    Returns
    -------
    values : array, shape (k,)
        Estimates of the matrix' eigenvalues.
    vectors : array, shape (n, k)
    """
    xp = arrays.namespace(rows)
    m, n = rows.shape
    squares, vectors = top_eigensystem(
        lambda a: rows.T @ (rows @ a), n, min(k, m), like=rows, seed=seed, n_iterations=2
    )
    return xp.sqrt(xp.clip(squares, 0.0, None) * (n / m)), vectors


def nsvd(rows: Array, m: int, k: int) -> tuple[Array, Array]:
    """(n/M) σᵢ of the M × M block of a kernel matrix, and its eigenvectors extended to all points, orthonormal.

    Parameters
    ----------
    rows : array, shape (M, n)
        Of the matrix; its first M columns are the block.
    m, k : int

    Returns
    -------
    values : array, shape (k,)
    vectors : array, shape (n, k)
    """
    xp = arrays.namespace(rows)
    values, own = eigensystem(rows[:, :m], min(k, m))
    return values * (rows.shape[1] / m), xp.linalg.qr(rows.T @ own)[0]


def _preconditioned_top(matrix: Array, values: Array, vectors: Array, rank: int) -> float:
    """The largest eigenvalue of P^½ K P^½ with P = I − Σ (1 − λ_{q+1}/λᵢ) eᵢ eᵢᵀ from approximate eigenpairs."""
    xp = arrays.namespace(matrix)
    own, less = vectors[:, :rank], 1.0 - xp.sqrt(values[rank] / values[:rank])
    half = matrix - (own * less[None, :]) @ (own.T @ matrix)
    both = half - (half @ own) @ (own * less[None, :]).T
    both = (both + both.T) / 2.0
    return float(top_eigensystem(lambda a: both @ a, both.shape[0], 1, like=both, tolerance=1e-3)[0][0])
