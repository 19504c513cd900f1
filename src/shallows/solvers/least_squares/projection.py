"""The projection of functions onto the span of centers, a solve with their kernel matrix, which is factored once.

The nearest function to Σᵢ gᵢ k(xᵢ, ·) in the span is Σⱼ θⱼ k(zⱼ, ·) with K_ZZ θ = K_ZX g.
"""

import threading
from dataclasses import dataclass

import numpy as np

from ... import arrays, kernels
from ...arrays import Array
from ...errors import ShallowsError
from ...kernels import Kernel

EDGE = 1024
"""Rows of a strip. Inverses of larger blocks on the diagonal lose digits: for 6,000 centers of Covertype in float32 the
residual of a solve is twice the residual of substitution, and five times with a single block."""

TILE = 256
"""Edge of the contiguous tiles of a strip on a CPU. Products of a few columns read tiles at nearly the speed of memory
in both directions; with the rows of a matrix the way back takes 1.5 times as long."""

_RETRIES = 4


@dataclass(frozen=True)
class Projection:
    """(K_ZZ + μ I)⁻¹ by Cholesky factors, in a form that needs only products.

    The i-th strip of ``u = L⁻¹ h`` is ``L_ii⁻¹ h_i − L_ii⁻¹ L_i,<i u_<i``, so that a solve is two products with each
    strip.
    """

    # ``[−L_ii⁻¹ L_i,<i, L_ii⁻¹]`` for each `EDGE` rows, with L Lᵀ = K_ZZ + μ I: together p²/2 numbers. NumPy strips are
    # in tiles, padded with zeros: ``strip[j, r]`` is row r of the j-th `TILE` columns.
    strips: list[Array]
    # μ, for real factors in spite of rounding. It does not change the limit of an iteration, but directions with
    # smaller eigenvalues are approached slowly.
    jitter: float
    p: int  # Number of centers

    def whiten(self, rows: Array) -> Array:
        """``rows @ L⁻ᵀ``, shape (c, p): coordinates of functions from their values at the centers."""
        u = arrays.contiguous_copy(rows)
        for strip, span in zip(self.strips, self._spans(), strict=True):
            if strip.ndim == 3:
                strip = strip.transpose(1, 0, 2).reshape(strip.shape[1], -1)[: span.stop - span.start, : span.stop]
            u[:, span] = u[:, : span.stop] @ strip.T
        return u

    def solve(self, h: Array) -> Array:
        """``(K_ZZ + μ I)⁻¹ h`` for ``h`` of shape (p, c) with few columns."""
        if self.strips[0].ndim == 3:
            return self._solve_in_tiles(h)
        u, pairs = arrays.contiguous_copy(h), list(zip(self.strips, self._spans(), strict=True))
        for strip, span in pairs:
            u[span, :] = strip @ u[: span.stop, :]
        for strip, span in reversed(pairs):
            product = strip.T @ u[span, :]
            u[span, :] = product[span.start :, :]
            if span.start:
                u[: span.start, :] += product[: span.start, :]
        return u

    def _solve_in_tiles(self, h: Array) -> Array:
        """A solve at the speed of memory: the workers share each strip and wait for each other after it."""
        n_tiles, c = -(-self.p // TILE), h.shape[1]
        right = np.zeros((n_tiles, TILE, c), dtype=h.dtype)
        right.reshape(-1, c)[: self.p] = h
        u, theta = np.empty_like(right), np.empty_like(right)
        n_workers = min(arrays.workers_for(h), EDGE // TILE) if len(self.strips) > 1 else 1
        meet = threading.Barrier(n_workers)

        def substitute(worker: int) -> None:
            for i, strip in enumerate(self.strips):
                first = i * EDGE // TILE
                for j in _share(first, len(strip), worker, n_workers):
                    rows = slice((j - first) * TILE, (j - first + 1) * TILE)
                    # Tiles above the diagonal are zero.
                    product = (strip[first : j + 1, rows] @ right[first : j + 1]).sum(axis=0)
                    u[j] = product + (strip[:first, rows] @ u[:first]).sum(axis=0) if first else product
                meet.wait()
            for i, strip in reversed(list(enumerate(self.strips))):
                first = i * EDGE // TILE
                tiles = strip.reshape(len(strip), -1, TILE, TILE).transpose(0, 1, 3, 2)
                known = slice(first * worker // n_workers, first * (worker + 1) // n_workers)
                u[known] += (tiles[known] @ u[first : len(strip)]).sum(axis=1)
                for j in _share(first, len(strip), worker, n_workers):
                    theta[j] = (tiles[j, j - first :] @ u[j : len(strip)]).sum(axis=0)
                meet.wait()

        def work(worker: int) -> None:
            try:
                substitute(worker)
            except BaseException:
                meet.abort()
                raise

        with arrays.one_blas_thread():
            arrays.in_threads(work, n_workers)
        return theta.reshape(-1, c)[: self.p]

    def _spans(self) -> list[slice]:
        return list(arrays.blocks(self.p, EDGE))


def _share(start: int, stop: int, worker: int, n_workers: int) -> list[int]:
    """A worker's share of a range, dealt back and forth, so that growing work is divided evenly."""
    return [j for j in range(start, stop) if (j - start) % (2 * n_workers) in (worker, 2 * n_workers - 1 - worker)]


def make_projection(kernel: Kernel, centers: Array) -> Projection:
    """Factor the kernel matrix of centers.

    The jitter μ starts with the rounding of the factorization, and is multiplied by ten, up to three times, until the
    matrix is positive definite.
    """
    xp = arrays.namespace(centers)
    p = centers.shape[0]
    # The largest eigenvalue is between a hundredth of the trace and the trace, for bandwidths that generalize.
    share = 0.25 * float(xp.finfo(centers.dtype).eps)
    trace = float(xp.sum(kernel.diagonal(centers[:, :-2])))
    for _ in range(_RETRIES):
        try:
            strips = _strips(kernel, centers, share * trace)
        except np.linalg.LinAlgError:
            share *= 10.0
            continue
        if arrays.uses_numpy(centers):
            # One by one, so that only one strip is in memory twice.
            for i in range(len(strips)):
                strips[i] = _in_tiles(strips[i])
        return Projection(strips, share * trace, p)
    raise ShallowsError(
        f"The kernel matrix of the {p} centers is singular to rounding; use dtype='float64', fewer centers or another "
        "bandwidth."
    )


def _strips(kernel: Kernel, centers: Array, jitter: float) -> list[Array]:
    """Rows of L strip by strip, by substitution, then each with its inverse block."""
    strips: list[Array] = []
    spans = list(arrays.blocks(centers.shape[0], EDGE))
    for span in spans:
        here = centers[span, :]
        strip = kernels.values(kernel, here, centers[: span.stop, :])
        block = kernels.set_diagonal(kernel, arrays.contiguous(strip[:, span.start :]), here)
        kernels.add_to_diagonal(block, jitter)
        left = strip[:, : span.start]
        for before, known in zip(strips, spans, strict=False):
            rest = left[:, known] - left[:, : known.start] @ before[:, : known.start].T
            left[:, known] = arrays.solve_triangular(before[:, known], arrays.contiguous(rest.T)).T
        if span.start:
            block -= left @ left.T
        with arrays.one_blas_thread():
            strip[:, span.start :] = arrays.namespace(block).tril(arrays.cholesky_in_place(block))
        strips.append(strip)
    for strip, span in zip(strips, spans, strict=True):
        factor, left = arrays.contiguous(strip[:, span.start :]), strip[:, : span.start]
        eye = arrays.namespace(factor).eye(factor.shape[0], dtype=factor.dtype)
        with arrays.one_blas_thread():
            inverse = arrays.solve_triangular(factor, eye)
        strip[:, span.start :] = inverse
        for known in arrays.blocks(span.start, EDGE):
            left[:, known] = -inverse @ left[:, known]
    return strips


def _in_tiles(strip: np.ndarray) -> np.ndarray:
    """A strip of shape (m, k) in tiles, shape (tiles, m', TILE), with m' a multiple of TILE."""
    (m, k), whole = strip.shape, strip.shape[1] // TILE * TILE
    tiles = np.zeros((-(-k // TILE), -(-m // TILE) * TILE, TILE), dtype=strip.dtype)
    tiles[: whole // TILE, :m] = strip[:, :whole].reshape(m, -1, TILE).transpose(1, 0, 2)
    if whole < k:
        tiles[-1, :m, : k - whole] = strip[:, whole:]
    return tiles
