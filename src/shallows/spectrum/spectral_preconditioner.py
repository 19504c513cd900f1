"""What all preconditioners share, whatever space they work in: the top of the spectrum, flattened."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .. import arrays
from ..arrays import Array
from ..errors import ShallowsError
from .certificates import N_RITZ, Certificate, certify

POWERS = {"full": 1.0, "sqrt": 0.5}
"""Names of the exponents of λ_{q+1}/λᵢ in the preconditioner."""

STALLED = 20.0
"""A preconditioner is cut back where the operator keeps this many times the level that it was brought down to."""

RANKED = 1e-3
"""Where so small a share of the operator's trace is left beyond those, it is treated as having no others."""


class SpectralPreconditioner:
    """What follows from the eigenvalues and the certificate of a preconditioner, whatever space it works in.

    Those who inherit have ``eigenvalues`` (q + 1,), ``vectors`` (·, q), ``damping``, ``power``, ``n_subsample``, the
    numbers of a `Certificate`, and ``tail_constant``, the factor of the dimension in the logarithm of their bound.
    """

    @property
    def rank(self) -> int:
        """q, the number of flattened directions."""
        return self.vectors.shape[1]

    @property
    def n_functions(self) -> float:
        """How many functions the model is a combination of: a kernel has one for every point.

        Unless its matrix is as good as one of low rank: that of a very large bandwidth is a constant, and a linear
        kernel has as many as there are inputs.
        """
        return self.rank + N_RITZ if self.remainder < RANKED else math.inf

    @property
    def shrink(self) -> Array:
        """1 − τ (λ_{q+1}/λᵢ)^a, shape (q,): the share of each direction that is taken away."""
        return shrinkage(self.eigenvalues, self.damping, self.power)

    @property
    def flattened_top(self) -> float:
        """The largest eigenvalue of the preconditioned operator, as the subsample has it.

        Flattened directions have τ λ_{q+1}^a λᵢ^(1−a), the first of the others λ_{q+1}.
        """
        return flattened_top(self.eigenvalues, self.damping, self.power)

    @property
    def usual_diagonal(self) -> float:
        """β as the steps of an epoch take it."""
        return self.largest_diagonal

    def step_size(self, batch_size: int) -> float:
        """The step for a sum over a batch of m gradients: 2 / (β + (m − 1) λ).

        The largest eigenvalue of the preconditioned kernel matrix of a batch is, in the mean, at most about
        β + (m − 1) λ; both numbers are measured away from the subsample, where they are larger than on it.
        """
        return 2.0 / (self.largest_diagonal + (batch_size - 1) * self.top_eigenvalue)

    def critical_batch_size(self) -> float:
        """β/λ: up to about this size a batch costs no progress per epoch."""
        return self.largest_diagonal / max(self.top_eigenvalue, 1e-300)


def shrinkage(eigenvalues: Array, damping: float, power: float) -> Array:
    """1 − τ (λ_{q+1}/λᵢ)^a for eigenvalues λ₁ to λ_{q+1}, shape (q,)."""
    ratio = eigenvalues[-1] / eigenvalues[:-1]
    return 1.0 - damping * (ratio if power == 1.0 else ratio**power)


def flattened_top(eigenvalues: Array, damping: float, power: float) -> float:
    """The larger of λ_{q+1} and τ λ_{q+1}^a λ₁^(1−a)."""
    first, following = float(eigenvalues[0]), float(eigenvalues[-1])
    return max(following, damping * following**power * first ** (1.0 - power))


def choose_rank(eigenvalues: Array, *, rank: int, level: float, rounding: float) -> int:
    """How many directions are flattened, ``rank`` at most: those above the level, and above rounding.

    ``rounding`` is the share of the largest eigenvalue below which eigenvalues carry no direction.
    """
    values = arrays.to_numpy(eigenvalues)

    def count_above(limit: float) -> int:
        return int(np.sum(values > limit))

    n_resolved = count_above(float(values[0]) * rounding)
    return max(0, min(rank, eigenvalues.shape[0] - 1, n_resolved - 1, count_above(level)))


def flatten(
    eigenvalues: Array,
    functions: Array,
    make_matrix: Callable[[], Array],
    *,
    q: int,
    level: float,
    damping: float,
    power: float,
    weights: Array | None,
    seed: int,
    whole: bool,
) -> tuple[Array, Certificate]:
    """The eigenvalues λ₁ to λ_{q+1} that a preconditioner can be made with, and its certificate.

    ``functions`` (n, q): values ψᵢ(x) of the eigenfunctions, of norm one in the kernel's space, on the points of the
    certificate. ``make_matrix`` gives the kernel matrix of these points, to be written into. ``whole``: the eigenvalues
    are those of all training points.
    """
    while True:
        kept = arrays.contiguous(eigenvalues[: q + 1])
        # With a gap below λ_q the directions above it must not be flattened into the gap, where no step moves them.
        kept[q] = max(float(kept[q]), level)
        found = certify(make_matrix(), functions[:, :q], shrinkage(kept, damping, power), weights, seed)
        if whole:
            flattened = damping * float(kept[q]) ** power * float(kept[0]) ** (1.0 - power)
            top = max(found.top_eigenvalue, flattened)
            found = replace(found, top_eigenvalue=top, upper_diagonal=found.largest_diagonal)
        level = found.top_eigenvalue
        if q == 0 or level <= STALLED * flattened_top(kept, damping, power):
            return kept, found
        # Off the subsample much more is left than the level says: the last eigenvectors are the subsample's alone. What
        # was flattened below that would hardly move any more.
        xp = arrays.namespace(eigenvalues)
        q = int(xp.sum(arrays.astype(eigenvalues[:q] > level, xp.int64)))


def power_of(power: str | float) -> float:
    """The exponent of a preconditioner by name or number.

    Raises
    ------
    ShallowsError
        If it is neither a known name nor a number in (0, 1].
    """
    named = POWERS.get(power) if isinstance(power, str) else power
    if not (isinstance(named, numbers.Real) and not isinstance(named, bool) and 0 < named <= 1):
        raise ShallowsError(f"power must be 'full', 'sqrt' or a number in (0, 1], got {power!r}.")
    return float(named)


_WORK_IN_THREADS = 2**25
"""Multiplications above which threads of our own pay for their start; to read a number counts as eight."""


def filtered(vectors: Array, scale: Array, gradient: Array) -> Array:
    """``V diag(scale) Vᵀ g``: what a preconditioner takes off a gradient.

    The vectors are read twice, and that is what it costs: 160 MB for a thousand of 20,000 numbers of float32.

    Parameters
    ----------
    vectors : array, shape (D, q)
    scale : array, shape (q,)
    gradient : array, shape (D, c)

    Returns
    -------
    array, shape (D, c)
    """
    n, q = vectors.shape
    large = n * q * max(8, gradient.shape[1]) > _WORK_IN_THREADS
    n_workers = arrays.workers_for(vectors) if large else 1
    if n_workers == 1:
        return arrays.thin_product(vectors, scale[:, None] * arrays.thin_product(vectors.T, gradient))
    spans = list(arrays.blocks(n, -(-n // n_workers)))

    def project(k: int) -> Array:
        return arrays.thin_product(vectors[spans[k], :].T, gradient[spans[k], :])

    projected = scale[:, None] * arrays.sum_in_order(arrays.in_threads(project, len(spans)))
    out = arrays.namespace(gradient).empty((n, gradient.shape[1]), dtype=gradient.dtype)

    def expand(k: int) -> None:
        out[spans[k], :] = arrays.thin_product(vectors[spans[k], :], projected)

    arrays.in_threads(expand, len(spans))
    return out
