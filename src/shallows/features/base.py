"""The base class of feature maps, the protocols of users' maps and streams, and operations on features.

Linear models accept any `ExplicitMap`. Functions that grow by a block of features at a time accept a `FeatureStream`.
For Fourier features (`FourierStream`) they use projections, and compute the cosines of several blocks together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import scipy.sparse

from .. import arrays
from ..arrays import Array, Device
from ..errors import ShallowsError
from ..kernels import Kernel


@runtime_checkable
class ExplicitMap(Protocol):
    """A fixed number of features."""

    n_features: int

    def map(self, x: Array) -> Any:
        """φ(x), shape (m, n_features): an array of the library of ``x``, or a sparse matrix of SciPy."""


@runtime_checkable
class SparseFeatureMap(ExplicitMap, Protocol):
    """Features that are mostly zero: `map` returns a sparse matrix of SciPy, for points on the CPU."""

    n_nonzeros: int
    """The largest number of non-zeros in a row, from which the memory is planned."""


@runtime_checkable
class FeatureStream(Protocol):
    """Endless random features in blocks. A block is a function of its number."""

    @property
    def n_inputs(self) -> int:
        """Columns of the points."""

    @property
    def block_size(self) -> int:
        """F. The products of the features of a block, divided by F, have the kernel as their mean over blocks."""

    @property
    def width(self) -> int:
        """Columns of a block."""

    def block(self, i: int, x: Array) -> Any:
        """Unnormalized features of block i, shape (m, width); may be sparse like the result of `ExplicitMap.map`."""


class Projector(Protocol):
    """x ↦ xΩᵀ for the frequencies Ω of one or several blocks."""

    n_frequencies: int

    def project(self, x: Array, out: Array | None = None) -> Array:
        """The angles xωᵀ, shape (m, n_frequencies), written into ``out`` if it is given."""


@runtime_checkable
class FourierStream(FeatureStream, Protocol):
    """Cosines and sines, or cosines with phases, of projections."""

    form: str

    def projector(self, i: int, like: Array) -> Projector:
        """The projection of block i, in the library, on the device and in the precision of ``like``."""

    def phases(self, i: int, like: Array) -> Array:
        """Phases of block i, shape (F,), for the form with phases."""


@dataclass(frozen=True)
class MapRequest:
    """Which map an estimator trains on; the arguments of `shallows.features.in_blocks` that do not depend on data."""

    features: Any  # A key of `shallows.features.FEATURE_MAPS`, a map of the user, or None: no explicit features
    kernel: Kernel
    searches_bandwidth: bool
    n_features: int | None = None  # None: the estimator decides
    parameters: Mapping[str, Any] = field(default_factory=dict)  # Further arguments of the function that makes the map
    grows: bool = False  # Whether more rows get more features
    near_kernel: bool = False  # Whether λ is chosen with the kernel, which products of features approximate


class FeatureMap:
    """A map φ of points to explicit features, so that f(x) = φ(x)ᵀa, with a property ``n_features`` and a method
    ``map(x)``.

    A ``streamed`` map computes its features block by block, and also has ``width`` and ``columns(k, x, n_columns,
    n_features)`` (see `FourierMap`).
    """

    streamed: ClassVar[bool] = False
    of_kernel_values: ClassVar[bool] = False
    """Whether features are kernel values, so that eigenvalues of their products are squares of the kernel's."""

    def map(self, x: Array) -> Array:
        """φ(x) for points of shape (m, d), shape (m, n_features)."""
        raise NotImplementedError

    def to(self, device: Device) -> Self:
        """The same map with its arrays on a device."""
        return self


def check_inputs(x: Any, n_inputs: int) -> None:
    """Refuse points that do not have the number of inputs of the map."""
    if x.ndim != 2 or x.shape[1] != n_inputs:
        raise ShallowsError(f"These features take {n_inputs} inputs, got points of shape {tuple(x.shape)}.")


def check_is_polynomial(kernel: Any, what: str) -> None:
    """Refuse every kernel except the polynomial one."""
    name = getattr(kernel, "name", kernel)
    if name != "polynomial":
        raise ShallowsError(f"A {what} needs the kernel 'polynomial', got {name!r}. Use 'nystrom' for it.")


def inner_products(block: Any, other: Any) -> Array:
    """``block @ other.T`` of features, which may be sparse, as an array, shape (m, n)."""
    products = block @ other.T
    return products.toarray() if scipy.sparse.issparse(products) else products


def scaled(block: Any, factors: Array) -> Any:
    """Each row of features, which may be sparse, times its factor; ``factors`` of shape (m, 1)."""
    return block.multiply(factors).tocsr() if scipy.sparse.issparse(block) else block * factors


def sum_of_squares(block: Any) -> float:
    """The sum of the squares of features, which may be sparse."""
    if scipy.sparse.issparse(block):
        return float((block.data**2).sum())
    return float(arrays.namespace(block).sum(block**2))
