"""The preconditioner of EigenPro in the space of a kernel."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .. import arrays, gram, kernels
from ..arrays import Array
from ..errors import ShallowsError
from ..kernels import Kernel
from ..utils import atomic
from ..utils.plain_numbers import takes_numpy_integers
from .certificates import different, subsample_and_fresh
from .eigensystems import eigensystem
from .spectral_preconditioner import SpectralPreconditioner, choose_rank, flatten


@dataclass(frozen=True)
class Preconditioner(SpectralPreconditioner):
    """The EigenPro preconditioner of a kernel on a subsample, with the certificate of the step size.

    Attributes
    ----------
    indices : array of int, shape (M,)
        Which training points the subsample is.
    eigenvalues : array, shape (q + 1,)
        Of the kernel matrix of the subsample divided by M (weighted where there are sample weights), descending. The
        last is the level that the others are brought down to: λ_{q+1}, or what was asked for as the smallest that
        matters where the spectrum falls below it.
    vectors : array, shape (M, q)
        Eigenvectors, scaled by the square roots of the sample weights.
    damping, power : float
        τ and a: the top q eigenvalues become τ λ_{q+1}^a λᵢ^(1−a).
    top_eigenvalue : float
        λ: the largest eigenvalue of the preconditioned operator, estimated on points outside the subsample.
    largest_diagonal : float
        β: the largest value of the preconditioned kernel's diagonal on such points.
    kernel : Kernel
    upper_diagonal : float
        The mean of the largest fiftieth of it, see `Certificate`.
    mean_diagonal : float
        μ: the mean of that diagonal.
    bound : float
        κ: the largest value of the kernel's diagonal.
    dimension : float
        Intrinsic dimension of the operator's variance, see `Certificate`.
    remainder : float
        What the spectrum has beyond its first directions, see `Certificate`.
    n_places : float
        How many training points are different, if at most half of them are; else infinite.
    subsample_diagonal : float
        κ less the smallest leverage Σᵢ eᵢⱼ² of a point of the subsample.
    seconds : float
        How long it took to compute.
    """

    indices: np.ndarray
    eigenvalues: Array
    vectors: Array
    damping: float
    top_eigenvalue: float
    largest_diagonal: float
    kernel: Kernel
    power: float = 1.0
    upper_diagonal: float = math.nan
    mean_diagonal: float = math.nan
    bound: float = math.nan
    dimension: float = math.nan
    remainder: float = math.nan
    n_places: float = math.inf
    subsample_diagonal: float = math.nan
    seconds: float = field(default=0.0, compare=False)
    tail_constant: ClassVar[float] = 8.0

    @property
    def n_subsample(self) -> int:
        """M, the number of points of the subsample."""
        return len(self.indices)

    @property
    def n_functions(self) -> float:
        """As many as there are points, see `SpectralPreconditioner`, unless most of them are copies of others."""
        return min(self.n_places, super().n_functions)

    @property
    def usual_diagonal(self) -> float:
        """β without its outliers: a batch that holds one has a step of its own, see `shallows.solvers.EigenPro`."""
        return self.upper_diagonal

    @cached_property
    def scale(self) -> Array:
        """(1 − τ (λ_{q+1}/λᵢ)^a) / σᵢ with σᵢ = M λᵢ, shape (q,)."""
        return self.shrink / (self.n_subsample * self.eigenvalues[: self.rank])

    def correction(self, columns: gram.Columns | Array, gradient: Array) -> Array:
        """What the coefficients of the subsample gain for each unit of step.

        Parameters
        ----------
        columns : Columns or array, shape (m, M)
            Kernel values of the batch with the subsample.
        gradient : array, shape (m, c)

        Returns
        -------
        array, shape (M, c)
            ``V diag(scale) Vᵀ columnsᵀ gradient``.
        """
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
        """``V diag(scale)`` times what `project` gave, shape (M, c)."""
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
        """What P takes off ``gᵀ K_SS g`` of each column, shape (1, c), from what `project` gave for g."""
        return arrays.namespace(projected).sum(self.scale[:, None] * projected**2, axis=0)[None, :]

    def _workers(self, like: Array, width: int, n_parts: int) -> int:
        large = self.n_subsample * width > 2**18
        return min(arrays.workers_for(like), n_parts) if large else 1

    def to(self, device: arrays.Device, dtype: Any) -> Preconditioner:
        """The same on another device."""
        move = lambda x: arrays.to_device(x, device, dtype)  # noqa: E731
        return replace(self, eigenvalues=move(self.eigenvalues), vectors=move(self.vectors))

    def save(self, path: str | Path) -> None:
        """Write to an ``.npz`` file, which bears its name only when it is whole."""
        with atomic.replacing(Path(path)) as partial, open(partial, "wb") as file:
            np.savez(
                file,
                format=np.int64(4),
                indices=self.indices,
                eigenvalues=arrays.to_numpy(self.eigenvalues),
                vectors=arrays.to_numpy(self.vectors),
                numbers=np.array([getattr(self, name) for name in _NUMBERS]),
                kernel=np.array(kernels.described(self.kernel)),
            )


_NUMBERS = (
    "damping",
    "power",
    "top_eigenvalue",
    "largest_diagonal",
    "upper_diagonal",
    "mean_diagonal",
    "bound",
    "dimension",
    "remainder",
    "n_places",
    "subsample_diagonal",
    "seconds",
)


def load_preconditioner(path: str | Path) -> Preconditioner:
    """Read what `Preconditioner.save` wrote.

    Raises
    ------
    ShallowsError
        If the file is not a preconditioner.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            return Preconditioner(
                indices=file["indices"],
                eigenvalues=file["eigenvalues"],
                vectors=file["vectors"],
                kernel=kernels.from_description(str(file["kernel"])),
                **dict(zip(_NUMBERS, file["numbers"].tolist(), strict=True)),
            )
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ShallowsError(f"{path} is not a preconditioner that this version can read: {error}") from error


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
    """The preconditioner of a kernel on points that are on a device already, in random order.

    The first M points are the subsample; the step is certified on those that follow.

    Parameters
    ----------
    kernel : Kernel
    points : array, shape (n, d + 2)
        Augmented training points, shuffled.
    rank : int
        q at most; directions whose eigenvalue drowns in rounding, or that turn out to be the subsample's own, are left
        out, so it may come out smaller.
    n_subsample : int
        M, at most n.
    seed : int
        Of the start of iterations.
    damping : float
        τ in (0, 1].
    power : float
        a in (0, 1]: 1 brings the top eigenvalues down to the level of the next one; ½, the form of the authors' first
        release, to the geometric mean of the two.
    weights : array, shape (n,), optional
        Sample weights of the loss.
    tolerance : float
        Of the eigenvalues, see `top_eigensystem`.
    smallest : float
        Directions with a smaller eigenvalue (of the matrix over M) are left as they are.
    smallest_share : float
        So are those below this share of the largest eigenvalue.
    known : tuple of arrays, optional
        The whole eigensystem of the subsample's matrix, K or W^½ K W^½, in descending order, if it is known already.
    resolves_more : bool
        Rounding of the entries is taken for the random matrix that it is, whose norm is some √M ε, and not for M ε, the
        most that it can be: a wide kernel's eigenvalues behind the first lie between the two.

    Notes
    -----
    The points on which the step is certified are disjoint from the subsample where there are any left. Where the
    subsample is the whole training set, its own eigenvalues are the operator's and no more is needed.
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
