"""The projection of functions onto the span of centres.

In the space of the kernel, the function of the span that is nearest to Σᵢ gᵢ k(xᵢ, ·) is Σⱼ θⱼ k(zⱼ, ·) with
K_ZZ θ = K_ZX g. So a projection is a solve with the kernel matrix of the centres, factored once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from ... import arrays, kernels
from ...arrays import Array
from ...errors import ShallowsError
from ...kernels import Kernel

EDGE = 1024
"""Rows of a strip. Inverses of larger blocks on the diagonal cost digits: for 6,000 centres of Covertype in float32 the
residual of a solve is twice that of substitution for blocks of 1,024 rows, and five times for one of all rows."""

TILE = 256
"""Edge of the tiles that a strip lies in on a CPU, each in one piece: both ways a product of a few columns reads them
at nearly the speed of memory, where rows of a matrix take half as long again on the way back."""

_RETRIES = 4


@dataclass(frozen=True)
class Projection:
    """(K_ZZ + μ I)⁻¹ by Cholesky factors, in a form that is applied by products alone.

    The i-th strip of ``u = L⁻¹ h`` is ``L_ii⁻¹ h_i − L_ii⁻¹ L_i,<i u_<i``. Both factors lie side by side, so that a
    solve is one product with each strip on the way there and one on the way back.
    """

    # ``[−L_ii⁻¹ L_i,<i, L_ii⁻¹]`` for each `EDGE` rows, with L Lᵀ = K_ZZ + μ I: together half of p² numbers. Of NumPy
    # they are in tiles: ``strip[j, r]`` is row r of the j-th `TILE` columns, and where p is no multiple of that,
    # zeros follow.
    strips: list[Array]
    # μ. It keeps the factors real where rounding makes K_ZZ indefinite. As part of a preconditioner it does not move
    # the point that an iteration converges to; directions with eigenvalues below it are approached slowly.
    jitter: float
    p: int  # Number of centres

    def whiten(self, rows: Array) -> Array:
        """``rows @ L⁻ᵀ``, shape (c, p): coordinates of functions that are given by their values at the centres."""
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
        """What reads the strips at the speed of memory: the workers share each, and meet after it.

        Every tile's products are the same whichever worker makes them, and few calls make many tiles: between calls
        threads wait for the interpreter's lock.
        """
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
    """A worker's numbers of a range, dealt back and forth, so that work that grows along it is shared evenly."""
    return [j for j in range(start, stop) if (j - start) % (2 * n_workers) in (worker, 2 * n_workers - 1 - worker)]


def make_projection(kernel: Kernel, centres: Array, *, relative_jitter: float | None = None) -> Projection:
    """Factor the kernel matrix of centres.

    Beside the strips, of p²/2 numbers, about one more is held meanwhile. ``relative_jitter``: μ as a share of the trace
    of K_ZZ; None takes the rounding of the factorisation, and ten times as much, up to four times, where that does not
    do.
    """
    xp = arrays.namespace(centres)
    p = centres.shape[0]
    # The largest eigenvalue is below the trace, and above a hundredth of it for the bandwidths that generalise.
    share = 0.25 * float(xp.finfo(centres.dtype).eps) if relative_jitter is None else relative_jitter
    trace = float(xp.sum(kernel.diagonal(centres[:, :-2])))
    for _ in range(_RETRIES if relative_jitter is None else 1):
        try:
            strips = _strips(kernel, centres, share * trace)
        except np.linalg.LinAlgError:
            share *= 10.0
            continue
        if arrays.uses_numpy(centres):
            # One by one, so that beside them one strip is held twice.
            for i in range(len(strips)):
                strips[i] = _in_tiles(strips[i])
        return Projection(strips, share * trace, p)
    raise ShallowsError(
        f"The kernel matrix of the {p} centres is singular to rounding; use dtype='float64', fewer centres or another "
        "bandwidth."
    )


def _strips(kernel: Kernel, centres: Array, jitter: float) -> list[Array]:
    """Rows of L strip by strip, by substitution, whose rounding the jitter covers; then each with its inverse block."""
    strips: list[Array] = []
    spans = list(arrays.blocks(centres.shape[0], EDGE))
    for span in spans:
        here = centres[span, :]
        strip = kernels.values(kernel, here, centres[: span.stop, :])
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
    """A strip of shape (m, k) as `Projection` has it, shape (tiles, m', TILE) with m' a multiple of TILE."""
    (m, k), whole = strip.shape, strip.shape[1] // TILE * TILE
    tiles = np.zeros((-(-k // TILE), -(-m // TILE) * TILE, TILE), dtype=strip.dtype)
    tiles[: whole // TILE, :m] = strip[:, :whole].reshape(m, -1, TILE).transpose(1, 0, 2)
    if whole < k:
        tiles[-1, :m, : k - whole] = strip[:, whole:]
    return tiles
