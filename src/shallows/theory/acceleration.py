"""What flattening the top of a spectrum gains: direction by direction with full batches, and with small ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import arrays, streams
from ..gram import Gram
from ..solvers import EigenPro, Richardson
from ..solvers.base import KernelProblem
from ..spectrum import make_preconditioner
from .findings import Findings, Sample, check_rank, diagonal, eigenpairs, sample


def directions(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    rank: int = 40,
    n_iterations: int = 3,
    n_directions: int = 200,
    n_points: int = 1000,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> Findings:
    """Full-batch EigenPro and gradient descent, run with the solvers, seen in the eigenvectors of the kernel matrix.

    Steps are 1/λ_{q+1} and 1/λ₁; the preconditioner is exact.

    Parameters
    ----------
    data
        Has ``x_train`` and ``y_train``.
    kernel, bandwidth
        As for `kernels.make`.
    rank : int
        q.
    n_iterations : int
        t; after a few the residuals next to q + 1 are lost in rounding.
    n_directions : int
        How many directions are looked at.
    n_points : int
        Of a random part.

    Returns
    -------
    Findings
        Over i: ``residual_descent`` and ``residual_eigenpro``, the share of the residual in the direction i that is
        left after t steps (root mean square over outputs); ``predicted_descent`` and ``predicted_eigenpro``,
        (1 − λᵢ/λ₁)ᵗ and (1 − λᵢ/λ_{q+1})ᵗ (0 up to q + 1); beyond q + 1 ``acceleration``, the ratio of the iterations
        that the two need for the same residual by the measured shares, and ``acceleration_predicted``. Numbers:
        ``eigenvalue_ratio`` λ₁/λ_{q+1}, ``solved`` the largest share left of the first q + 1 directions after one
        step, ``difference`` the largest between measured and predicted shares.
    """
    part = sample(data, kernel, bandwidth, n_points=n_points, random_state=random_state, device=device)
    matrix = part.matrix
    n = matrix.shape[0]
    check_rank(rank, n)
    values, vectors = (arrays.to_numpy(one) for one in eigenpairs(matrix))
    # Without a tolerance the eigenvectors of many points would be those of a few products.
    preconditioner = make_preconditioner(
        part.kernel, part.points, rank=rank, n_subsample=n, seed=random_state, tolerance=1e-12
    )
    budget = arrays.memory_budget(memory, arrays.resolve_device(device))
    problem = KernelProblem(Gram(part.kernel, part.points, budget=budget), part.targets, None, preconditioner)
    k = min(n_directions, n)
    start = vectors[:, :k].T @ arrays.to_numpy(part.targets)

    def left(solver: Any, steps: int) -> np.ndarray:
        state = solver.init(problem)
        for _ in range(steps):
            state = solver.step(problem, state, slice(0, n))
        residual = arrays.to_numpy(part.targets) - arrays.to_numpy(matrix @ state.coefficients)
        return np.linalg.norm(vectors[:, :k].T @ residual, axis=1) / np.linalg.norm(start, axis=1)

    q = preconditioner.rank
    descent, eigenpro = Richardson(1.0 / values[0]), EigenPro(1.0 / values[q])
    measured = {"descent": left(descent, n_iterations), "eigenpro": left(eigenpro, n_iterations)}
    flat = np.where(np.arange(k) <= q, values[q], values[:k])
    predicted = {
        "descent": np.abs(1.0 - values[:k] / values[0]) ** n_iterations,
        "eigenpro": np.abs(1.0 - flat / values[q]) ** n_iterations,
    }
    gain, gain_predicted = (np.full(k, math.nan) for _ in range(2))
    beyond = slice(q + 1, k)
    gain[beyond] = np.log(measured["eigenpro"][beyond]) / np.log(measured["descent"][beyond])
    gain_predicted[beyond] = np.log1p(-values[beyond] / values[q]) / np.log1p(-values[beyond] / values[0])
    difference = max(float(np.max(np.abs(measured[name] - predicted[name]))) for name in measured)
    return Findings(
        list(range(1, k + 1)),
        {
            **{f"residual_{name}": one for name, one in measured.items()},
            **{f"predicted_{name}": one for name, one in predicted.items()},
            "acceleration": gain,
            "acceleration_predicted": gain_predicted,
        },
        {
            "eigenvalue_ratio": float(values[0] / values[q]),
            "solved": float(left(eigenpro, 1)[: q + 1].max()),
            "difference": difference,
        },
        {**part.effective, "rank": q, "n_iterations": n_iterations},
    )


def batches(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    rank: int = 40,
    n_points: int = 1000,
    batch_sizes: Sequence[int] = (4, 16, 64, 256),
    n_epochs: int = 200,
    share: float = 0.01,
    steps: Sequence[float] = (0.125, 0.25, 0.5, 1.0, 2.0),
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> Findings:
    """How many times fewer epochs EigenPro needs than SGD, by the size of the batch, each at its best step.

    Parameters
    ----------
    data, kernel, bandwidth, rank, n_points
        As for `directions`; the preconditioner is exact.
    batch_sizes : sequence of int
        m.
    n_epochs : int
        Where a run ends.
    share : float
        Of the training loss at zero: the level that is to be reached.
    steps : sequence of float
        Multiples of 2/(β + (m − 1) λ) that are tried for each method.

    Returns
    -------
    Findings
        Over m: ``epochs_sgd`` and ``epochs_eigenpro``, to the level, interpolated between epochs; ``acceleration``,
        their ratio. Numbers: ``eigenvalue_ratio`` λ₁/λ_{q+1} and its ``root``.
    """
    part = sample(data, kernel, bandwidth, n_points=n_points, random_state=random_state, device=device)
    n = part.inputs.shape[0]
    check_rank(rank, n)
    matrix = part.matrix
    values, vectors = eigenpairs(matrix)
    # The preconditioned iteration in function values: f ← f − η K_P[:, S] (f_S − y_S) with K_P = P K.
    xp = arrays.namespace(matrix)
    brought = xp.concat([xp.full(rank, float(values[rank]), dtype=values.dtype), values[rank:]])
    preconditioned = (vectors * brought[None, :]) @ vectors.T
    found: dict[str, list[float]] = {"epochs_sgd": [], "epochs_eigenpro": []}
    sizes = [min(m, n) for m in batch_sizes]
    for m in sizes:
        for name, operator, top in (
            ("epochs_sgd", matrix, float(values[0])),
            ("epochs_eigenpro", preconditioned, float(values[rank])),
        ):
            largest = float(xp.max(diagonal(operator)))
            certified = 2.0 / (largest + (m - 1) * top / n)
            tried = [_epochs(part, operator, m, one * certified, n_epochs, share, random_state) for one in steps]
            found[name].append(min(tried))
    gains = [slow / fast for slow, fast in zip(found["epochs_sgd"], found["epochs_eigenpro"], strict=True)]
    ratio = float(values[0] / values[rank])
    return Findings(
        sizes,
        {**found, "acceleration": gains},
        {"eigenvalue_ratio": ratio, "root": math.sqrt(ratio)},
        {**part.effective, "rank": rank, "n_epochs": n_epochs, "share": share},
    )


def _epochs(part: Sample, operator: Any, m: int, step: float, n_epochs: int, share: float, seed: int) -> float:
    """Epochs until the training loss is a share of its start; infinite where that does not come about."""
    xp = arrays.namespace(operator)
    n = operator.shape[0]
    residual = -part.targets
    start = before = float(xp.sum(residual**2))
    for epoch in range(n_epochs):
        order = streams.permutation(seed, "epoch", epoch, n)
        for rows in (order[at : at + m] for at in range(0, n, m)):
            residual = residual - step * operator[:, rows] @ arrays.take_rows(residual, rows)
        loss = float(xp.sum(residual**2))
        if not loss < 1e3 * start:
            return math.inf
        if loss <= share * start:
            if not loss > 0:
                return epoch + 1.0
            return epoch + math.log(before / (share * start)) / math.log(before / loss)
        before = loss
    return math.inf
