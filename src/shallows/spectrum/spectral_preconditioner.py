"""What preconditioners in any space share: the flattened top of the spectrum."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from .. import arrays
from ..arrays import Array
from .certificates import N_RITZ, Certificate, certify

STALLED = 20.0
"""The rank of a preconditioner is lowered if the operator's largest eigenvalue exceeds its level by this factor."""

RANKED = 1e-3
"""If the remainder of the operator's trace is below this share, the other directions are ignored."""


@dataclass(frozen=True, kw_only=True)
class SpectralPreconditioner(Certificate):
    """A preconditioner P = I − Σᵢ (1 − τ (λ_{q+1}/λᵢ)^a) ψᵢ ⊗ ψᵢ, with the certificate of its step size.

    The level is λ_{q+1}, or the smallest relevant eigenvalue if the spectrum falls below it. Subclasses have
    ``n_subsample`` (M), ``n_places`` (an upper bound of the number of functions) and ``tail_constant`` (the factor of
    the dimension in the logarithm of their bound).
    """

    eigenvalues: Array  # (q + 1,): descending; the last one is the level to which the others are lowered
    vectors: Array  # (M, q) or (D, q)
    damping: float  # τ: the top q eigenvalues become τ λ_{q+1}^a λᵢ^(1−a)
    power: float = 1.0  # a
    subsample_diagonal: float = math.nan  # κ less the smallest leverage of a point of the subsample
    seconds: float = field(default=0.0, compare=False)

    @property
    def rank(self) -> int:
        """q, the number of flattened directions."""
        return self.vectors.shape[1]

    @property
    def n_functions(self) -> float:
        """Number of functions that the model combines: infinite unless most points are copies or the rank is low."""
        return min(self.n_places, self.rank + N_RITZ if self.remainder < RANKED else math.inf)

    @property
    def shrink(self) -> Array:
        """1 − τ (λ_{q+1}/λᵢ)^a, shape (q,): the share of each direction that is removed."""
        return shrinkage(self.eigenvalues, self.damping, self.power)

    @property
    def flattened_top(self) -> float:
        """The largest eigenvalue of the preconditioned operator on the subsample."""
        return flattened_top(self.eigenvalues, self.damping, self.power)

    @property
    def usual_diagonal(self) -> float:
        """The β that the steps of an epoch use."""
        return self.largest_diagonal

    def step_size(self, batch_size: int) -> float:
        """The step for a sum over a batch of m gradients: 2 / (β + (m − 1) λ).

        The largest eigenvalue of the preconditioned kernel matrix of a batch is, in the mean, at most about
        β + (m − 1) λ. Both numbers are measured outside of the subsample, where they are larger.
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
    """How many directions are flattened, at most ``rank``: those above the level and the share ``rounding``."""
    values = arrays.to_numpy(eigenvalues)
    n_resolved, n_above = (int(np.sum(values > limit)) for limit in (float(values[0]) * rounding, level))
    return max(0, min(rank, len(values) - 1, n_resolved - 1, n_above))


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
    """The eigenvalues λ₁ to λ_{q+1} that a preconditioner can use, and its certificate.

    ``functions`` (n, q): values ψᵢ(x) of the eigenfunctions, which have norm one, at the points of the certificate.
    ``make_matrix`` returns a new kernel matrix of these points. ``whole``: the eigenvalues are those of all points.
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
        # The operator has a much larger eigenvalue outside of the subsample, so the last eigenvectors belong to the
        # subsample only. Directions that were flattened below that eigenvalue would hardly move.
        xp = arrays.namespace(eigenvalues)
        q = int(xp.sum(arrays.astype(eigenvalues[:q] > level, xp.int64)))


_WORK_IN_THREADS = 2**25
"""Number of multiplications above which it is worth starting threads; reading a number counts as eight."""


def filtered(vectors: Array, scale: Array, gradient: Array) -> Array:
    """``V diag(scale) Vᵀ g``, which a preconditioner removes from a gradient.

    ``vectors`` (D, q), ``scale`` (q,), ``gradient`` and result (D, c). The vectors are read twice, which is most of the
    cost: 160 MB for a thousand vectors of 20,000 numbers of float32.
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
