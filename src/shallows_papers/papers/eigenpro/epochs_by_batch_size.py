"""Epochs that EigenPro and SGD need to reach a training loss, by batch size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from shallows import arrays, streams

from ..results import AnalysisResult
from ..resumable import ResumableLoop
from ..samples import AnalysisSample, sample
from .eigenvalues import check_rank, eigenpairs


def epochs_by_batch_size(
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
    progress: ResumableLoop | None = None,
) -> AnalysisResult:
    """Compare the epochs of EigenPro and SGD by batch size, each with its best step.

    The preconditioner is exact. Epochs are counted to the level `share` of the training loss of the zero function;
    `steps` are the tried multiples of 2/(β + (m − 1) λ) for each method, and `progress` stores their numbers of epochs.

    Over m: ``epochs_sgd`` and ``epochs_eigenpro``, to the level, interpolated between epochs; ``acceleration``, their
    ratio. Numbers: ``eigenvalue_ratio`` λ₁/λ_{q+1} and its ``root``.
    """
    progress = progress or ResumableLoop()
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
        for method, operator, top in (
            ("sgd", matrix, float(values[0])),
            ("eigenpro", preconditioned, float(values[rank])),
        ):
            largest = float(xp.max(arrays.diagonal(operator)))
            certified = 2.0 / (largest + (m - 1) * top / n)
            epochs = partial(_epochs, part, operator, m, n_epochs=n_epochs, share=share, seed=random_state)
            lengths = [one * certified for one in steps]
            tried = progress.map(f"steps of {method} for batches of {m}", epochs, lengths)
            found[f"epochs_{method}"].append(min(tried))
    gains = [slow / fast for slow, fast in zip(found["epochs_sgd"], found["epochs_eigenpro"], strict=True)]
    ratio = float(values[0] / values[rank])
    return AnalysisResult(
        sizes,
        {**found, "acceleration": gains},
        {"eigenvalue_ratio": ratio, "root": math.sqrt(ratio)},
        {**part.effective, "rank": rank, "n_epochs": n_epochs, "share": share},
    )


def _epochs(part: AnalysisSample, operator: Any, m: int, step: float, n_epochs: int, share: float, seed: int) -> float:
    """Return the epochs until the training loss is a share of its start, or infinity if it is never reached."""
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
