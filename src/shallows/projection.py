"""The projection of functions onto the span of centres.

In the space of the kernel, the function of the span that is nearest to Σᵢ gᵢ k(xᵢ, ·) is Σⱼ θⱼ k(zⱼ, ·) with
K_ZZ θ = K_ZX g. So a projection is a solve with the kernel matrix of the centres, factored once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from . import arrays, kernels
from .arrays import Array
from .errors import ShallowsError
from .kernels import Kernel

EDGE = 256
"""Edge of the blocks of the triangular solves: their inverses are small, and the rest is products."""

_RETRIES = 4


@dataclass(frozen=True)
class Projection:
    """(K_ZZ + μ I)⁻¹ by Cholesky factors.

    Attributes
    ----------
    factor : array, shape (p, p)
        L in the lower triangle, with L Lᵀ = K_ZZ + μ I; what lies above the diagonal has no meaning.
    inverses : list of array
        Inverses of the blocks on the diagonal of L.
    jitter : float
        μ. It keeps the factors real where rounding makes K_ZZ indefinite. As part of a preconditioner it does not move
        the point that an iteration converges to; directions with eigenvalues below it are approached slowly.
    """

    factor: Array
    inverses: list[Array]
    jitter: float

    @property
    def p(self) -> int:
        """Number of centres."""
        return self.factor.shape[0]

    def whiten(self, rows: Array) -> Array:
        """``rows @ L⁻ᵀ``, shape (c, p): coordinates of functions that are given by their values at the centres."""
        n = rows.shape[0]
        parts = list(arrays.blocks(n, -(-n // max(1, min(arrays.workers_for(rows), n)))))

        def work(worker: int) -> Array:
            u = arrays.contiguous_copy(rows[parts[worker], :])
            for i, span in enumerate(self._spans()):
                here = u[:, span]
                if span.start:
                    here = here - u[:, : span.start] @ self.factor[span, : span.start].T
                u[:, span] = here @ self.inverses[i].T
            return u

        return arrays.namespace(rows).concat(arrays.in_threads(work, len(parts)))

    def solve(self, h: Array) -> Array:
        """``(K_ZZ + μ I)⁻¹ h`` for ``h`` of shape (p, c) with few columns.

        That is bound by reading the factor, so the workers share its columns and meet after each of its rows of blocks.
        """
        u = arrays.contiguous_copy(h)
        spans = self._spans()
        n_workers = arrays.workers_for(h) if self.p > 4 * EDGE else 1
        meet, parts = threading.Barrier(n_workers), [None] * n_workers

        def mine(worker: int, stop: int) -> list[slice]:
            """A worker's share of the columns before ``stop``, in pieces that a product of few columns reads fast."""
            share = -(-stop // n_workers)
            first, last = min(worker * share, stop), min((worker + 1) * share, stop)
            return [slice(first + s.start, first + s.stop) for s in arrays.blocks(last - first, 1024)]

        def substitute(worker: int) -> None:
            for i, span in enumerate(spans):
                rows = self.factor[span, :]
                products = [arrays.thin_product(rows[:, part], u[part, :]) for part in mine(worker, span.start)]
                parts[worker] = arrays.sum_in_order(products) if products else None
                meet.wait()
                if worker == 0:
                    known = [part for part in parts if part is not None]
                    here = u[span, :] - arrays.sum_in_order(known) if known else u[span, :]
                    u[span, :] = self.inverses[i] @ here
                meet.wait()
            for i, span in reversed(list(enumerate(spans))):
                if worker == 0:
                    u[span, :] = self.inverses[i].T @ u[span, :]
                meet.wait()
                # Rows of L are contiguous, columns are not.
                rows = self.factor[span, :]
                for part in mine(worker, span.start):
                    u[part, :] -= arrays.thin_product(rows[:, part].T, u[span, :])
                meet.wait()

        def work(worker: int) -> None:
            try:
                substitute(worker)
            except BaseException:
                meet.abort()
                raise

        arrays.in_threads(work, n_workers)
        return u

    def _spans(self) -> list[slice]:
        return list(arrays.blocks(self.p, EDGE))


def make_projection(kernel: Kernel, centres: Array, *, relative_jitter: float | None = None) -> Projection:
    """Factor the kernel matrix of centres.

    Parameters
    ----------
    kernel : Kernel
    centres : array, shape (p, d + 2)
        Augmented. Beside the factor, of p² numbers, nothing large is made (on a GPU another p² for a while).
    relative_jitter : float, optional
        μ as a share of the trace of K_ZZ. None takes the rounding of the factorisation, and ten times as much, up to
        four times, where that does not do.

    Raises
    ------
    ShallowsError
        If the matrix cannot be factored.
    """
    xp = arrays.namespace(centres)
    p = centres.shape[0]
    # The largest eigenvalue is below the trace, and above a hundredth of it for the bandwidths that generalise.
    share = 0.25 * float(xp.finfo(centres.dtype).eps) if relative_jitter is None else relative_jitter
    for _ in range(_RETRIES if relative_jitter is None else 1):
        factor = kernels.matrix(kernel, centres)
        diagonal = kernel.diagonal(centres[:, :-2])
        jitter = share * float(xp.sum(diagonal))
        kernels.add_to_diagonal(factor, jitter)
        try:
            factor = arrays.cholesky_in_place(factor)
        except np.linalg.LinAlgError:
            share *= 10.0
            continue
        inverses = []
        for span in arrays.blocks(p, EDGE):
            block = factor[span, span]
            eye = xp.eye(block.shape[0], dtype=block.dtype)
            inverses.append(arrays.contiguous(arrays.solve_triangular(xp.tril(block), eye)))
        return Projection(factor, inverses, jitter)
    raise ShallowsError(
        f"The kernel matrix of the {p} centres is singular to rounding; use dtype='float64', fewer centres or another "
        "bandwidth."
    )
