"""The preconditioner of EigenPro's first release: eigenvectors of length n, from rows of the kernel matrix."""

import time

import numpy as np

from .. import arrays, kernels, streams
from ..arrays import Array
from ..kernels import Kernel
from ..utils.plain_numbers import takes_numpy_integers
from .kernel_preconditioner import Preconditioner
from .spectral_preconditioner import choose_rank, flattened_top

BLOCK = 4096
"""Columns of the kernel matrix, and rows of the sketch, in a block."""


def rsvd_of_rows(kernel: Kernel, points: Array, m: int, k: int, seed: int) -> tuple[Array, Array]:
    """Estimates of the k largest eigenpairs of the kernel matrix of n augmented points from its first M rows X.

    RSVD of Ma and Belkin (2017, Appendix A) without power iterations: with a Gaussian matrix G of 2k columns and an
    orthonormal basis Q of X G, the singular values s of Qᵀ X and its right singular vectors. The eigenvalues of the
    kernel matrix are about √(n/M) s. Such a small sketch underestimates the later ones by a fifth. There are fewer
    pairs than k if M is smaller.
    """
    xp, n = arrays.namespace(points), points.shape[0]
    width = min(2 * k, m)
    rows, spans = points[:m, :], list(arrays.blocks(n, BLOCK))
    sketch = xp.zeros((m, width), dtype=points.dtype)
    for i, span in enumerate(spans):
        shape = (span.stop - span.start, width)
        drawn = streams.normal(seed, "sketch of rows", i, shape, like=points, dtype=points.dtype)
        sketch += kernels.values(kernel, rows, points[span, :]) @ drawn
    basis = xp.linalg.qr(sketch)[0]
    projected = xp.concat([basis.T @ kernels.values(kernel, rows, points[span, :]) for span in spans], axis=1)
    _, singular, vectors = xp.linalg.svd(projected, full_matrices=False)
    return singular[:k] * (n / m) ** 0.5, arrays.contiguous(vectors[:k, :].T)


@takes_numpy_integers
def make_rsvd_preconditioner(
    kernel: Kernel, points: Array, *, rank: int, n_rows: int, seed: int = 0, damping: float = 1.0, power: float = 0.5
) -> Preconditioner:
    """The preconditioner with the eigenvectors of `rsvd_of_rows`, which changes the coefficients of all points.

    ``n_rows`` is M. The other parameters are described in `make_preconditioner`; the authors' first release has a = ½.
    The eigenvalues are estimates for the step size of `step_rules.Release2017`. Nothing certifies them.
    """
    started = time.perf_counter()
    xp, n = arrays.namespace(points), points.shape[0]
    values, vectors = rsvd_of_rows(kernel, points, min(n_rows, n), rank + 1, seed)
    values = values / n
    # Rounding errors of the entries are a random matrix, whose norm is some √n ε.
    q = choose_rank(values, rank=rank, level=0.0, rounding=4.0 * n**0.5 * float(xp.finfo(points.dtype).eps))
    values = values[: q + 1]
    bound = float(np.max(arrays.to_numpy(kernel.diagonal(points[:, :-2]))))
    return Preconditioner(
        indices=np.arange(n),
        eigenvalues=values,
        vectors=arrays.contiguous(vectors[:, :q]),
        damping=damping,
        power=power,
        top_eigenvalue=flattened_top(values, damping, power),
        largest_diagonal=bound,
        kernel=kernel,
        bound=bound,
        eigensystem="rsvd",
        seconds=time.perf_counter() - started,
    )
