"""The protocols of feature maps: a whole map, one whose rows are sparse, and a stream of blocks.

Linear models take any `ExplicitMap`, the user's own included; `base.FeatureMap` is the base of ours. Functions that
grow by a block of features at a time take a `FeatureStream`; where it is one of Fourier features, they ask it for
projections (`FourierStream`) and take the cosines themselves, several blocks at once.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ..arrays import Array


@runtime_checkable
class ExplicitMap(Protocol):
    """Features of a fixed number."""

    n_features: int

    def map(self, x: Array) -> Any:
        """φ(x), shape (m, n_features): an array of the library of ``x``, or a sparse matrix of SciPy."""


@runtime_checkable
class SparseFeatureMap(ExplicitMap, Protocol):
    """Features most of which are zero: `map` returns a sparse matrix of SciPy, for points on the CPU."""

    n_nonzeros: int
    """The most values of a row that are not zero, by which the memory for the rows is planned."""


@runtime_checkable
class FeatureStream(Protocol):
    """Endless random features in blocks that are functions of their number."""

    n_inputs: int
    block_size: int
    """F, what the products of a block's features are divided by: their mean over blocks over F tends to the kernel."""
    width: int
    """Columns of a block."""

    def block(self, i: int, x: Array) -> Any:
        """Unnormalised features of block i, shape (m, width); may be sparse like those of `ExplicitMap.map`."""


class Projector(Protocol):
    """x ↦ xΩᵀ for the frequencies Ω of one block or several, however it is computed."""

    n_frequencies: int

    def project(self, x: Array, out: Array | None = None) -> Array:
        """The angles xωᵀ, shape (m, n_frequencies), written into ``out`` if that is given."""


@runtime_checkable
class FourierStream(FeatureStream, Protocol):
    """Cosines and sines, or cosines with phases, of projections."""

    form: str

    def projector(self, i: int, like: Array) -> Projector:
        """The projection of block i, in the library, on the device and in the precision of ``like``."""

    def phases(self, i: int, like: Array) -> Array:
        """Phases of block i, shape (F,); for the form with phases."""
