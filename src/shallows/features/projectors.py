"""Projections of points onto the frequencies of Fourier features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import arrays
from ..arrays import Array
from .protocol import Projector


@dataclass(frozen=True)
class DenseProjector:
    """A product with a matrix of frequencies."""

    transposed: Array  # (d, F): Ωᵀ

    @property
    def n_frequencies(self) -> int:
        """F."""
        return self.transposed.shape[1]

    def project(self, x: Array, out: Array | None = None) -> Array:
        """``x @ transposed``."""
        return x @ self.transposed if out is None else arrays.matmul_into(x, self.transposed, out)


@dataclass(frozen=True)
class JoinedProjectors:
    """Several projections side by side."""

    parts: Sequence[Projector]

    @property
    def n_frequencies(self) -> int:
        """Of all parts."""
        return sum(part.n_frequencies for part in self.parts)

    def project(self, x: Array, out: Array | None = None) -> Array:
        """The angles of the parts, one after another."""
        if out is None:
            return arrays.namespace(x).concat([part.project(x) for part in self.parts], axis=1)
        start = 0
        for part in self.parts:
            out[:, start : start + part.n_frequencies] = part.project(x)
            start += part.n_frequencies
        return out


def joined(parts: Sequence[Projector]) -> Projector:
    """One projection in place of several: a single product where all of them are products with a matrix."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, DenseProjector) for part in parts):
        xp = arrays.namespace(parts[0].transposed)
        return DenseProjector(xp.concat([part.transposed for part in parts], axis=1))
    return JoinedProjectors(parts)
