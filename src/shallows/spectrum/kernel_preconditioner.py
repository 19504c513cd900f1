"""The preconditioner of EigenPro in the space of a kernel."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .. import arrays, gram, kernels
from ..arrays import Array
from ..kernels import Kernel
from ..utils.plain_numbers import takes_numpy_integers
from .certificates import different, subsample_and_fresh
from .eigensystems import eigensystem
from .preconditioner_files import read, write
from .spectral_preconditioner import SpectralPreconditioner, choose_rank, flatten

EIGENSYSTEMS = ("subsample", "rsvd")
"""How the eigenvectors are computed: by `make_preconditioner` or `make_rsvd_preconditioner`."""


@dataclass(frozen=True, kw_only=True)
class Preconditioner(SpectralPreconditioner):
    """The EigenPro preconditioner of a kernel on a subsample, with the certificate of the step size.

    The eigenvalues belong to the kernel matrix of the subsample divided by M, weighted if there are sample weights. The
    vectors have shape (M, q) and are scaled by the square roots of the sample weights. `SpectralPreconditioner` and
    `Certificate` describe the other attributes.
    """

    indices: np.ndarray  # (M,): row numbers of the subsample
    kernel: Kernel
    n_places: float = math.inf  # Distinct training points, if they are at most half of all
    eigensystem: str = EIGENSYSTEMS[0]  # How the eigenvectors were computed
    tail_constant: ClassVar[float] = 8.0

    @property
    def n_subsample(self) -> int:
        """M, the number of points of the subsample."""
        return len(self.indices)

    @property
    def usual_diagonal(self) -> float:
        """β without its outliers: batches with an outlier have a smaller step, see `shallows.solvers.EigenPro`."""
        return self.upper_diagonal

    @cached_property
    def scale(self) -> Array:
        """(1 − τ (λ_{q+1}/λᵢ)^a) / σᵢ with σᵢ = M λᵢ, shape (q,)."""
        return self.shrink / (self.n_subsample * self.eigenvalues[: self.rank])

    def correction(self, columns: gram.Columns | Array, gradient: Array) -> Array:
        """``V diag(scale) Vᵀ columnsᵀ gradient``, shape (M, c), for kernel values of the batch."""
        return self.expand(self.project(columns, gradient))

    def project(self, columns: gram.Columns | Array, gradient: Array) -> Array:
        """``Vᵀ columnsᵀ gradient``, shape (q, c)."""
        columns = columns if isinstance(columns, gram.Columns) else gram.Columns.of(columns)
        left, spans = arrays.contiguous(gradient.T), columns.spans
        n_workers = self._workers(gradient, columns.shape[0] + 2 * self.rank, len(spans))

        def work(worker: int) -> Array:
            return arrays.sum_in_order(
                [
                    arrays.thin_product(self.vectors[span, :].T, columns.product(left, span).T)
                    for span in spans[worker::n_workers]
                ]
            )

        return arrays.sum_in_order(arrays.in_threads(work, n_workers))

    def expand(self, projected: Array) -> Array:
        """``V diag(scale)`` times the result of `project`, shape (M, c)."""
        m, c = self.n_subsample, projected.shape[1]
        scaled = self.scale[:, None] * projected
        if not arrays.is_numpy(projected):
            return self.vectors @ scaled
        out = arrays.namespace(projected).empty((m, c), dtype=projected.dtype)
        spans = list(arrays.blocks(m, gram.TILE))
        n_workers = self._workers(projected, 2 * self.rank, len(spans))

        def work(worker: int) -> None:
            for span in spans[worker::n_workers]:
                out[span, :] = arrays.thin_product(self.vectors[span, :], scaled)

        arrays.in_threads(work, n_workers)
        return out

    def energy(self, projected: Array) -> Array:
        """What P removes from ``gᵀ K_SS g`` for each column, shape (1, c), from the result of `project` for g."""
        return arrays.namespace(projected).sum(self.scale[:, None] * projected**2, axis=0)[None, :]

    def _workers(self, like: Array, width: int, n_parts: int) -> int:
        large = self.n_subsample * width > 2**18
        return min(arrays.workers_for(like), n_parts) if large else 1

    def to(self, device: arrays.Device, dtype: Any) -> Preconditioner:
        """The same on another device."""
        values, vectors = (arrays.to_device(part, device, dtype) for part in (self.eigenvalues, self.vectors))
        return replace(self, eigenvalues=values, vectors=vectors)

    def save(self, path: str | Path) -> None:
        """Write to an ``.npz`` file, completely or not at all."""
        write(self, path, indices=self.indices, n_places=self.n_places, eigensystem=self.eigensystem)


def load_preconditioner(path: str | os.PathLike) -> Preconditioner:
    """Read a file that `Preconditioner.save` wrote; a `ShallowsError` if it is not a preconditioner."""
    return read(Preconditioner, path, "indices", "n_places", "eigensystem")


@takes_numpy_integers
def make_preconditioner(
    kernel: Kernel,
    points: Array,
    *,
    rank: int,
    n_subsample: int,
    seed: int = 0,
    damping: float = 1.0,
    power: float = 1.0,
    weights: Array | None = None,
    tolerance: float = 0.0,
    smallest: float = 0.0,
    smallest_share: float = 0.0,
    known: tuple[Array, Array] | None = None,
    resolves_more: bool = False,
) -> Preconditioner:
    """The preconditioner of a kernel on augmented points, shape (n, d + 2), in random order.

    The first M = ``n_subsample`` points are the subsample. The step is certified on the points that follow, if there
    are enough. ``rank`` is the largest q, which is smaller if eigenvalues are rounding errors. ``damping`` and
    ``power`` are τ and a in (0, 1]: a = 1 lowers the top eigenvalues to the level of the next one; a = ½, as in the
    authors' first release, to the geometric mean of the two. ``tolerance`` is the tolerance of `top_eigensystem`.
    Directions with an eigenvalue (of the matrix over M) below ``smallest``, or with a share of the largest below
    ``smallest_share``, are not changed. ``known`` is the eigensystem of the subsample's matrix, K or W^½ K W^½,
    descending. ``resolves_more`` treats rounding errors as a random matrix, whose norm is some √M ε instead of M ε; the
    second eigenvalue of a wide kernel lies between.
    """
    started = time.perf_counter()
    xp = arrays.namespace(points)
    n = points.shape[0]
    m = min(n_subsample, n)
    sample, fresh = subsample_and_fresh(n, m)
    sample_weights, fresh_weights = (None if weights is None else weights[which] for which in (sample, fresh))
    sample, fresh = points[sample, :], points[fresh, :]
    root = None if weights is None else xp.sqrt(sample_weights)[:, None]
    if known is None:
        matrix = kernels.matrix(kernel, sample)
        matrix = matrix if root is None else matrix * root * root.T
        values, vectors = eigensystem(matrix, min(rank + 1, m), seed=seed, tolerance=tolerance)
        del matrix
    else:
        values, vectors = (arrays.like(part, points) for part in known)
        values, vectors = values[: rank + 1], vectors[:, : rank + 1]
    values = values / m
    level = max(smallest, smallest_share * float(values[0]))
    rounding = float(xp.finfo(points.dtype).eps) * (4.0 * math.sqrt(m) if resolves_more else m)
    q = choose_rank(values, rank=rank, level=level, rounding=rounding)
    leverage = float(xp.min(xp.sum(vectors[:, :q] ** 2, axis=1)))
    vectors = arrays.contiguous(vectors[:, :q] if root is None else vectors[:, :q] * root)
    functions = kernels.values(kernel, fresh, sample) @ vectors / xp.sqrt(values[:q] * m)[None, :]
    values, found = flatten(
        values,
        functions,
        lambda: kernels.matrix(kernel, fresh),
        q=q,
        level=level,
        damping=damping,
        power=power,
        weights=fresh_weights,
        seed=seed,
        whole=m == n,
    )
    n_places = different(points[:, :-2])
    return Preconditioner(
        indices=np.arange(m),
        eigenvalues=values,
        vectors=arrays.contiguous(vectors[:, : values.shape[0] - 1]),
        damping=damping,
        power=power,
        kernel=kernel,
        **vars(found),
        n_places=float(n_places) if 2 * n_places <= n else math.inf,
        subsample_diagonal=found.bound - leverage,
        seconds=time.perf_counter() - started,
    )
