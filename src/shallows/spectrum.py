"""Top eigensystems from a subsample; preconditioners made of them.

The preconditioner of EigenPro (Ma and Belkin 2017, section 3) flattens the top of the spectrum of the kernel operator:

    P = I − Σᵢ (1 − τ λ_{q+1}/λᵢ) ψᵢ ⊗ ψᵢ,   i = 1..q,

with the eigenpairs (λᵢ, ψᵢ) of the operator on a subsample of M points. For eigenvectors eᵢ of the M × M kernel matrix
with eigenvalues σᵢ, ψᵢ = σᵢ^(−1/2) Σⱼ eᵢⱼ k(xⱼ, ·), so applying P to a combination of kernel functions changes only the
coefficients of the subsample's points.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from . import arrays, gram, kernels, streams
from .arrays import Array
from .errors import ShallowsError
from .kernels import RadialKernel

# ------------------------------------------------------------------------------------------- eigensystems


def top_eigensystem(
    multiply: Callable[[Array], Array],
    n: int,
    k: int,
    *,
    like: Array,
    seed: int = 0,
    tolerance: float = 0.0,
    n_iterations: int = 3,
    oversampling: float | None = None,
) -> tuple[Array, Array]:
    """The k largest eigenvalues of a symmetric positive semi-definite matrix, with their eigenvectors.

    Block subspace iteration with a Rayleigh-Ritz step at the end (Halko, Martinsson and Tropp 2011), which needs
    nothing of the matrix but products with it.

    Parameters
    ----------
    multiply : callable
        The matrix times an (n, b) array.
    n : int
        Rows of the matrix.
    k : int
        How many pairs; with ``k`` near ``n`` a full decomposition is cheaper, see `eigensystem`.
    like : array
        Tells library, device and precision.
    seed : int
        Of the start.
    tolerance : float
        Relative accuracy of the eigenvalues: iterate until none changes by a twentieth of it in one product (they
        approach their limit geometrically, so the change is smaller than what is left); 0 makes ``n_iterations`` and
        stops.
    n_iterations : int
        Products before the first Rayleigh-Ritz step, one at least.
    oversampling : float, optional
        Width of the block beyond ``k``, as a share of ``k``: a tenth, or as wide again where a tolerance is asked for,
        since the last of the k pairs converges with the square of λ_{width}/λ_k.

    Returns
    -------
    values : array, shape (k,), descending
    vectors : array, shape (n, k), orthonormal columns
    """
    xp = arrays.namespace(like)
    share = (1.0 if tolerance else 0.1) if oversampling is None else oversampling
    width = min(n, k + max(10, math.ceil(share * k)))
    basis = streams.normal(seed, "subspace iteration", 0, (n, width), like=like, dtype=like.dtype)
    for _ in range(max(1, n_iterations)):
        basis = _orthonormal(multiply(basis))
    previous = None
    for _ in range(100):
        image = multiply(basis)
        small = basis.T @ image
        values, rotation = xp.linalg.eigh((small + small.T) / 2)
        values, rotation = xp.flip(values)[:k], xp.flip(rotation, axis=1)[:, :k]
        if tolerance == 0.0:
            break
        if previous is not None:
            floor = xp.finfo(like.dtype).eps * values[0]
            if bool(xp.all(xp.abs(values - previous) <= 0.05 * tolerance * xp.abs(values) + floor)):
                break
        previous = values
        basis = _orthonormal(image)
    return xp.clip(values, 0.0, None), basis @ rotation


def _orthonormal(y: Array) -> Array:
    """An orthonormal basis of the columns: Cholesky factors of the small Gram matrix, twice; QR where that breaks."""
    xp = arrays.namespace(y)
    q = y
    try:
        for _ in range(2):
            factor = xp.linalg.cholesky(q.T @ q)
            if not bool(xp.all(xp.isfinite(factor))):
                raise np.linalg.LinAlgError
            q = arrays.solve_triangular(factor, q.T).T
        return q
    except np.linalg.LinAlgError:
        return xp.linalg.qr(y)[0]


FULL_BELOW = 1500
"""Up to this size a full decomposition costs no more than the truncated one (measured for ranks of a tenth and up)."""


FULL_BELOW_EXACT = 4000
"""The same where the eigenvalues are wanted to an accuracy, which takes more products."""


def eigensystem(matrix: Array, k: int, *, seed: int = 0, tolerance: float = 0.0) -> tuple[Array, Array]:
    """The k largest eigenpairs of a symmetric positive semi-definite matrix, by whichever way is faster.

    Parameters are those of `top_eigensystem`, with the matrix itself, shape (n, n).
    """
    xp = arrays.namespace(matrix)
    n = matrix.shape[0]
    if n <= (FULL_BELOW_EXACT if tolerance else FULL_BELOW) or k > n // 3:
        with arrays.one_blas_thread() if n <= FULL_BELOW else contextlib.nullcontext():
            values, vectors = xp.linalg.eigh(matrix)
        values, vectors = xp.flip(values)[:k], xp.flip(vectors, axis=1)[:, :k]
        return xp.clip(values, 0.0, None), vectors
    return top_eigensystem(lambda a: matrix @ a, n, k, like=matrix, seed=seed, tolerance=tolerance)


# ----------------------------------------------------------------------------------------- preconditioner


@dataclass(frozen=True)
class Preconditioner:
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
    damping : float
        τ: the top q eigenvalues are brought to τ λ_{q+1}.
    top_eigenvalue : float
        λ: the largest eigenvalue of the preconditioned operator, estimated on points outside the subsample.
    largest_diagonal : float
        β: the largest value of the preconditioned kernel's diagonal on such points.
    kernel : RadialKernel
    seconds : float
        What it cost.
    """

    indices: np.ndarray
    eigenvalues: Array
    vectors: Array
    damping: float
    top_eigenvalue: float
    largest_diagonal: float
    kernel: RadialKernel
    seconds: float = field(default=0.0, compare=False)

    @property
    def rank(self) -> int:
        """q, the number of flattened directions."""
        return self.vectors.shape[1]

    @property
    def n_subsample(self) -> int:
        """M, the number of points of the subsample."""
        return len(self.indices)

    @property
    def scale(self) -> Array:
        """(1 − τ λ_{q+1}/λᵢ) / σᵢ with σᵢ = M λᵢ, shape (q,): the diagonal of D in SPEC 10.3."""
        top = self.eigenvalues[: self.rank]
        return (1.0 - self.damping * self.eigenvalues[self.rank] / top) / (self.n_subsample * top)

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
        columns = columns if isinstance(columns, gram.Columns) else gram.Columns.of(columns)
        xp = arrays.namespace(gradient)
        left, spans = arrays.contiguous(gradient.T), columns.spans
        large = columns.shape[1] * (columns.shape[0] + 2 * self.rank) > 2**18
        n_workers = min(arrays.workers_for(gradient), len(spans)) if large else 1

        # Few columns to the left of a large matrix: see `Rows.dot` for why.
        def project(worker: int) -> Array:
            parts = [columns.product(left, span) @ self.vectors[span, :] for span in spans[worker::n_workers]]
            return arrays.sum_in_order(parts)

        projected = arrays.sum_in_order(arrays.in_threads(project, n_workers)) * self.scale[None, :]
        out = xp.empty((gradient.shape[1], columns.shape[1]), dtype=gradient.dtype)

        def expand(worker: int) -> None:
            for span in spans[worker::n_workers]:
                out[:, span] = projected @ self.vectors[span, :].T

        arrays.in_threads(expand, n_workers)
        return arrays.contiguous(out.T)

    def step_size(self, batch_size: int) -> float:
        """The step for a sum over a batch of m gradients: 2 / (β + (m − 1) λ).

        The largest eigenvalue of the preconditioned kernel matrix of a batch is, in the mean, at most about
        β + (m − 1) λ; both numbers are measured away from the subsample, where they are larger than on it.
        """
        return 2.0 / (self.largest_diagonal + (batch_size - 1) * self.top_eigenvalue)

    def critical_batch_size(self) -> float:
        """β/λ: up to about this size a batch costs no progress per epoch."""
        return self.largest_diagonal / max(self.top_eigenvalue, 1e-300)

    def to(self, device: arrays.Device, dtype: Any) -> Preconditioner:
        """The same on another device."""
        move = lambda x: arrays.to_device(x, device, dtype)  # noqa: E731
        return replace(self, eigenvalues=move(self.eigenvalues), vectors=move(self.vectors))

    def save(self, path: str | Path) -> None:
        """Write to an ``.npz`` file, which bears its name only when it is whole."""
        path = Path(path)
        partial = path.with_name(path.name + ".partial")
        try:
            with open(partial, "wb") as file:
                np.savez(
                    file,
                    format=np.int64(1),
                    indices=self.indices,
                    eigenvalues=arrays.to_numpy(self.eigenvalues),
                    vectors=arrays.to_numpy(self.vectors),
                    numbers=np.array(
                        [
                            self.damping,
                            self.top_eigenvalue,
                            self.largest_diagonal,
                            self.kernel.bandwidth,
                            self.seconds,
                        ]
                    ),
                    kernel=np.array(self.kernel.name),
                )
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def load_preconditioner(path: str | Path) -> Preconditioner:
    """Read what `Preconditioner.save` wrote.

    Raises
    ------
    ShallowsError
        If the file is not a preconditioner.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            damping, top, largest, bandwidth, seconds = file["numbers"].tolist()
            return Preconditioner(
                indices=file["indices"],
                eigenvalues=file["eigenvalues"],
                vectors=file["vectors"],
                damping=damping,
                top_eigenvalue=top,
                largest_diagonal=largest,
                kernel=kernels.make(str(file["kernel"]), bandwidth),
                seconds=seconds,
            )
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ShallowsError(f"{path} is not a preconditioner that this version can read: {error}") from error


STALLED = 20.0
"""A preconditioner is cut back where the operator keeps this many times the level that it was brought down to."""

N_FRESH = 4000
"""Points outside the subsample, at most, on which the step size is certified; three times the subsample is enough."""


def make_preconditioner(
    kernel: RadialKernel,
    points: Array,
    *,
    rank: int,
    n_subsample: int,
    seed: int = 0,
    damping: float = 1.0,
    weights: Array | None = None,
    tolerance: float = 0.0,
    smallest: float = 0.0,
    smallest_share: float = 0.0,
) -> Preconditioner:
    """The preconditioner of a kernel on points that are on a device already, in random order.

    The first M points are the subsample; the step is certified on those that follow.

    Parameters
    ----------
    kernel : RadialKernel
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
    weights : array, shape (n,), optional
        Sample weights of the loss.
    tolerance : float
        Of the eigenvalues, see `top_eigensystem`.
    smallest : float
        Directions with a smaller eigenvalue (of the matrix over M) are left as they are.
    smallest_share : float
        So are those below this share of the largest eigenvalue.

    Notes
    -----
    The points on which the step is certified are disjoint from the subsample where there are any left. Where the
    subsample is the whole training set, its own eigenvalues are the operator's and no more is needed.
    """
    started = time.perf_counter()
    xp = arrays.namespace(points)
    n = points.shape[0]
    m = min(n_subsample, n)
    n_fresh = min(N_FRESH, max(1000, 3 * m))
    sample, fresh = slice(0, m), slice(m, min(n, m + n_fresh))
    if fresh.stop - fresh.start < max(1, min(n, n_fresh) // 2):
        fresh = slice(0, n if m == n else min(n, n_fresh))
    sample_weights, fresh_weights = (None if weights is None else weights[which] for which in (sample, fresh))
    sample, fresh = points[sample, :], points[fresh, :]
    root = None if weights is None else xp.sqrt(sample_weights)[:, None]
    matrix = gram.set_unit_diagonal(kernels.values(kernel, sample, sample))
    if root is not None:
        matrix = matrix * root * root.T
    values, vectors = eigensystem(matrix, min(rank + 1, m), seed=seed, tolerance=tolerance)
    # Eigenvalues at the level of rounding carry no direction. The last one kept is the level the others come down to.
    floor = float(values[0]) * float(xp.finfo(points.dtype).eps) * m
    n_resolved = int(xp.sum(arrays.astype(values > floor, xp.int64)))
    level = max(smallest * m, smallest_share * float(values[0]))
    n_large = int(xp.sum(arrays.astype(values > level, xp.int64)))
    q = max(0, min(rank, values.shape[0] - 1, n_resolved - 1, n_large))
    vectors = vectors[:, :q] if root is None else vectors[:, :q] * root
    values, vectors = arrays.contiguous(values[: q + 1]), arrays.contiguous(vectors)
    # With a gap below λ_q the directions above it must not be flattened into the gap, where no step would move them.
    values[q] = max(float(values[q]), level)
    while True:
        made = Preconditioner(np.arange(m), values / m, vectors, damping, math.nan, math.nan, kernel)
        top, largest = _certificate(made, sample, fresh, fresh_weights, seed)
        if m == n:
            top = max(top, float(values[q]) * damping / m)
        level = top * m
        if q == 0 or level <= STALLED * float(values[q]):
            break
        # Off the subsample much more is left than the level says: the last eigenvectors are the subsample's alone. What
        # was flattened below that would hardly move any more.
        q = int(xp.sum(arrays.astype(values[:q] > level, xp.int64)))
        values, vectors = arrays.contiguous(values[: q + 1]), arrays.contiguous(vectors[:, :q])
        values[q] = max(float(values[q]), level)
    return replace(made, top_eigenvalue=top, largest_diagonal=largest, seconds=time.perf_counter() - started)


def _certificate(
    p: Preconditioner, sample: Array, points: Array, weights: Array | None, seed: int
) -> tuple[float, float]:
    """λ and β of the preconditioned kernel k_P(x, z) = k(x, z) − Σᵢ scaleᵢ vᵢ(x) vᵢ(z) on given points."""
    xp = arrays.namespace(points)
    reduced = kernels.values(p.kernel, points, sample) @ p.vectors * xp.sqrt(xp.clip(p.scale, 0.0, None))
    matrix = gram.set_unit_diagonal(kernels.values(p.kernel, points, points))
    for rows in arrays.blocks(matrix.shape[0], 1024):
        matrix[rows, :] -= reduced[rows, :] @ reduced.T
    if weights is not None:
        root = xp.sqrt(weights)[:, None]
        matrix = matrix * root * root.T
    n = matrix.shape[0]
    largest = float(xp.max(xp.linalg.diagonal(matrix) if hasattr(xp.linalg, "diagonal") else xp.diagonal(matrix)))
    block = streams.normal(seed, "certificate", 0, (n, min(8, n)), like=points, dtype=points.dtype)
    with arrays.one_blas_thread():
        for _ in range(6):
            for _ in range(5):
                block = matrix @ (block / xp.max(xp.abs(block)))
            block = xp.linalg.qr(block)[0]
    small = block.T @ (matrix @ block)
    top = float(xp.max(xp.linalg.eigvalsh((small + small.T) / 2)))
    tiny = float(xp.finfo(points.dtype).eps)
    return max(top, tiny) / n, max(largest, tiny)


# ------------------------------------------------------------------------------------- from the user's arrays


def fit_preconditioner(
    X: Any,
    kernel: str | RadialKernel = "gaussian",
    bandwidth: float | None = None,
    *,
    rank: int = 160,
    n_subsample: int = 4800,
    damping: float = 1.0,
    random_state: int = 0,
    device: str = "auto",
    dtype: str = "float32",
) -> Preconditioner:
    """The preconditioner of training data, to be saved or handed to an estimator.

    Parameters
    ----------
    X : array, shape (n, d)
        Training points; may be a memory map, of which only the rows that are needed are read.
    kernel, bandwidth
        As for `kernels.make`; ``bandwidth=None`` takes the median rule on the rows that are read.
    rank, n_subsample, damping
        q, M and τ; the defaults are those of the paper for its large data sets.
    random_state : int
        Which subsample.
    device, dtype
        Where and in which precision it is computed.
    """
    device = arrays.resolve_device(device)
    n = X.shape[0]
    order = streams.permutation(random_state, "preconditioner rows", 0, n)[: min(n, n_subsample + N_FRESH)]
    points = _points(X, order, device, dtype)
    made_kernel = kernel
    if not isinstance(kernel, RadialKernel):
        width = kernels.median_bandwidth(points[:, :-2], random_state) if bandwidth is None else bandwidth
        made_kernel = kernels.make(kernel, width)
    with device.active():
        made = make_preconditioner(
            made_kernel, points, rank=rank, n_subsample=n_subsample, seed=random_state, damping=damping
        )
    return replace(made, indices=order[made.indices])


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues, and what was decided on the way to them.

    Attributes
    ----------
    values : ndarray, shape (k,)
        Descending.
    effective : dict
        ``kernel``, ``bandwidth``, ``n_subsample``, ``kept_fraction`` of the matrix, ``device``, ``precision``.
    """

    values: np.ndarray
    effective: dict[str, Any]

    @property
    def index(self) -> list[int]:
        """1 to k."""
        return list(range(1, len(self.values) + 1))

    @property
    def curve(self) -> dict[str, np.ndarray]:
        """``eigenvalue`` λᵢ and ``eigenvalue_ratio`` λ₁/λᵢ, one number for each index."""
        tiny = np.finfo(np.float64).tiny
        return {"eigenvalue": self.values, "eigenvalue_ratio": self.values[0] / np.maximum(self.values, tiny)}


def eigenspectrum(
    X: Any,
    kernel: str | RadialKernel = "gaussian",
    bandwidth: float | None = None,
    *,
    n_subsample: int = 2000,
    n_eigenvalues: int = 200,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
    dtype: str = "float32",
    tolerance: float = 1e-3,
) -> Spectrum:
    """The largest eigenvalues of the kernel matrix of a random subsample, divided by its size.

    Parameters
    ----------
    X : array, shape (n, d)
    kernel, bandwidth
        As for `kernels.make`; ``bandwidth=None`` takes the median rule.
    n_subsample : int
        N, at most n.
    n_eigenvalues : int
        How many.
    random_state : int
        Which subsample; a larger one contains a smaller one of the same seed.
    device, dtype
        Where and in which precision.
    memory : int or str, optional
        Bytes. Where the matrix does not fit, the part that does is kept and the rest made again for every product.
    tolerance : float
        Relative accuracy of the eigenvalues.
    """
    device = arrays.resolve_device(device)
    budget = arrays.memory_budget(memory, device)
    order = streams.permutation(random_state, "eigenspectrum", 0, X.shape[0])[:n_subsample]
    points = _points(X, order, device, dtype)
    n = len(order)
    k = min(n_eigenvalues, n)
    with device.active():
        if not isinstance(kernel, RadialKernel):
            width = kernels.median_bandwidth(points[:, :-2], random_state) if bandwidth is None else bandwidth
            kernel = kernels.make(kernel, width)
        kept = 1.0
        if 3 * n * n * arrays.itemsize(points) <= budget:
            matrix = gram.set_unit_diagonal(kernels.values(kernel, points, points))
            values, _ = eigensystem(matrix, k, seed=random_state, tolerance=tolerance)
        else:
            blocks = 8 * n * (k + max(10, k // 10)) * arrays.itemsize(points)
            matrix = gram.Gram(kernel, points, budget=budget - points.nbytes - blocks)
            kept = matrix.kept_fraction
            values, _ = top_eigensystem(matrix.dot, n, k, like=points, seed=random_state, tolerance=tolerance)
    effective = {
        "kernel": kernel.name,
        "bandwidth": kernel.bandwidth,
        "n_subsample": n,
        "kept_fraction": kept,
        "device": str(device),
        "precision": dtype,
    }
    return Spectrum(arrays.to_numpy(values).astype(np.float64) / n, effective)


def _points(X: Any, rows: np.ndarray, device: arrays.Device, dtype: Any) -> Array:
    """Chosen rows, centred and augmented, on the device."""
    # Sorted, so that a memory map is read from front to back.
    ascending = np.argsort(rows, kind="stable")
    block = np.empty((len(rows), X.shape[1]), dtype=np.float64)
    block[ascending] = X[rows[ascending]]
    if not np.isfinite(block).all():
        raise ShallowsError("X holds NaN or infinity.")
    block -= block.mean(axis=0)
    with device.active():
        return kernels.augmented(arrays.to_device(block, device, dtype))
