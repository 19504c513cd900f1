"""The base class of kernels, and the operations on blocks of points for their products."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from .. import arrays
from ..arrays import Array
from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers

_SMALLEST = 1e-150
"""The squares of smaller numbers, and of numbers above its reciprocal, under- or overflow."""


class Kernel:
    """A positive semi-definite kernel. Subclasses are frozen dataclasses of their parameters.

    A kernel gets *augmented* points [x, ‖x‖², 1] (see `augmented`), because most kernels are a product of matrices and
    one pass over its result. What depends only on the left points is computed once by `left_factor` and used for many
    blocks. A subclass defines ``name``, `fill` and `diagonal`, and sets the attributes that apply; `kernels.heat` is a
    short example. Arrays are NumPy's, CuPy's or of another library: a kernel uses the array API
    (``arrays.namespace(x)``), in-place operators, `arrays.apply_in_place` and `in_strips`.

    Attributes
    ----------
    name : str
        The name in `shallows.kernels.make` and in configurations.
    takes_bandwidth : bool
        Whether its first parameter is a bandwidth σ, which the median rule may choose.
    shift_invariant : bool
        Whether moving all points by the same vector changes nothing. Then fits center the data: leave it False if the
        origin or the sign of a feature matters, as in a histogram.
    of_distance : bool
        Whether it is a function of ‖x − z‖², so that constant features may be removed.
    takes_sparse_points : bool
        Whether points may be `arrays.SparsePoints`: for kernels of inner products and Euclidean distances.
    product_bound : float, optional
        κ + φ, with |k(x, z)| ≤ κ and |φ(x)φ(z)| ≤ φ for the features of `random_features`; None without such bounds.
    matrix_bytes : int
        Bytes of the matrix of a precomputed kernel in a fit, else 0.
    pair_distances : method, optional
        ``pair_distances(points)`` of a kernel with its own distance: that of the pairs i < j of points on the host,
        shape (n, d), in the units of σ; shape (n (n − 1)/2,). The rule "median" takes their median, and "auto"
        searches around it. None: Euclidean distances.
    """

    name: ClassVar[str]
    takes_bandwidth: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False
    of_distance: ClassVar[bool] = False
    takes_sparse_points: ClassVar[bool] = False
    bandwidth: float | None = None
    product_bound: float | None = None
    matrix_bytes: int = 0
    pair_distances: ClassVar[Callable[..., np.ndarray] | None] = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters except the bandwidth: with name and bandwidth they determine the kernel."""
        return {name: getattr(self, name) for name in self.parameter_names()}

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """Names of the parameters of the constructor except the bandwidth."""
        # The parameters of a user's class that is not a dataclass are unknown.
        return tuple(f.name for f in fields(cls) if f.init and f.name != "bandwidth") if is_dataclass(cls) else ()

    @classmethod
    def defines(cls, *methods: str) -> bool:
        """Whether the kernel has at least one of these optional methods, such as "frequencies"."""
        return any(getattr(cls, name) is not getattr(Kernel, name) for name in methods)

    def check_complete(self, *more: str) -> None:
        """Raise a `ShallowsError` if the class lacks a method that its kind of kernel needs, or one of ``more``."""
        cls = type(self)
        abstract = [name for name in dir(cls) if getattr(getattr(cls, name), "__isabstractmethod__", False)]
        missing = [] if hasattr(self, "name") else ["name"]
        missing += [*abstract, *(name for name in more if not cls.defines(name))]
        if missing:
            base = next(one for one in cls.__mro__[1:] if one.__module__.partition(".")[0] == "shallows")
            place = f"{'shallows.kernels' if base is Kernel else base.__module__}.{base.__name__}"
            advice = f"help({place}) describes each of them."
            if "fill" in missing and cls.defines("random_features"):
                advice += (
                    " A kernel that is known only by its random functions derives from "
                    "shallows.kernels.random_functions.RandomFunctionKernel, which estimates its values."
                )
            raise ShallowsError(f"The kernel class {cls.__name__} must also define {', '.join(missing)}. {advice}")

    @property
    def is_open(self) -> bool:
        """Whether the kernel has no bandwidth yet, so that an estimator chooses it."""
        return self.takes_bandwidth and self.bandwidth is None

    def with_bandwidth(self, bandwidth: float | None) -> Self:
        """The same kernel with a bandwidth; with None itself."""
        return self if bandwidth is None else replace(self, bandwidth=bandwidth)  # type: ignore[type-var]

    @property
    def has_frequencies(self) -> bool:
        """Whether `frequencies` is defined."""
        return self.defines("frequencies")

    @classmethod
    def check_inputs(cls, n_features: int) -> None:
        """Raise a `ShallowsError` if the kernel is not defined for this number of features."""

    def left_factor(self, points: Array) -> Array:
        """What `fill` needs of the left points, with one row for each. By default the augmented points.

        It gets the points of every training and every prediction. So a kernel that is not defined for all points
        refuses the others here, with a `ShallowsError`.
        """
        return points

    @abstractmethod
    def fill(self, left: Array, others: Array, out: Array) -> Array:
        """Write the values of left points (from `left_factor`) and augmented points into ``out``."""
        raise NotImplementedError

    @abstractmethod
    def diagonal(self, x: Array) -> Array:
        """k(xᵢ, xᵢ) for points, shape (n, d); shape (n,)."""
        raise NotImplementedError

    def frequencies(
        self,
        seed: int,
        purpose: str,
        counter: int,
        n: int,
        d: int,
        *,
        like: Array | None = None,
        dtype: Any = None,
    ) -> Array:
        """Random frequencies ω with k(x, z) = E cos ωᵀ(x − z), shape (n, d), a function of (seed, purpose, counter)."""
        raise ShallowsError(
            f"The kernel {self.name!r} has no frequencies, so it has no random Fourier features; take a kernel of the "
            "difference x − z with k(x, x) = 1, such as 'gaussian' or 'matern'."
        )

    def random_features(
        self,
        seed: int,
        counter: int,
        n: int,
        x: Array,
        mean_square: float,
        kept: Callable[[str, Callable[[], Array]], Array],
    ) -> Array:
        """N random features φ(x) of a kernel without frequencies, shape (m, n), as a function of (seed, counter).

        k(x, z) is the mean of φ(x)φ(z). The distribution may depend on the ``mean_square`` of ‖x‖ in the data.
        ``kept(purpose, make)`` returns ``make()`` in the precision of x, perhaps from a cache.
        """
        raise ShallowsError(f"The kernel {self.name!r} draws no random features.")

    def drawn_numbers(self, d: int, mean_square: float) -> float:
        """Random numbers of a feature of d inputs, from which the memory is planned."""
        return d

    def relative_moment(self, mean_square: float) -> float:
        """E (φ(x)φ(x))² / k(x, x)² of a random feature at a point with ‖x‖² = ``mean_square``, or a bound of it."""
        raise ShallowsError(f"The kernel {self.name!r} draws no random features.")

    def check_values(self, points: Array) -> None:
        """Raise a `ShallowsError` if the values at augmented training points overflow or are lost in rounding."""
        with np.errstate(over="ignore", invalid="ignore"):
            largest = float(self.diagonal(points[:, :-2]).max())
        if not 0 < largest < math.inf:
            raise ShallowsError(
                f"The largest value of the kernel {self.name!r} on the training points is {largest:g}; it must be "
                "positive and finite. Scale X, or take other parameters of the kernel."
            )

    def __call__(self, x: Array, z: Array) -> Array:
        """The matrix of values k(xᵢ, zⱼ), shape (len(x), len(z)); for blocks that fit in memory."""
        if self.is_open:
            raise ShallowsError(f"The kernel {self!r} needs a bandwidth, such as {type(self).__name__}(bandwidth=1.0).")
        self.check_inputs(x.shape[1])
        return values(self, augmented(x), augmented(z))


@takes_numpy_integers
@dataclass(frozen=True)
class DifferenceKernel(Kernel):
    """A function of (x − z)/σ, with k(x, x) = 1.

    Parameters
    ----------
    bandwidth : float, optional
        σ, in the units of the features. None: an estimator chooses it.
    """

    bandwidth: float | None = None
    takes_bandwidth = True
    shift_invariant = True

    def __post_init__(self) -> None:
        check_bandwidth(self.bandwidth)

    def diagonal(self, x: Array) -> Array:
        """k(xᵢ, xᵢ) = 1, shape (len(x),)."""
        return arrays.namespace(x).ones(x.shape[0], dtype=x.dtype)


def augmented(x: Array) -> Array:
    """Points with two more columns, [x, ‖x‖², 1], so that one product gives squared distances; shape (n, d + 2)."""
    xp = arrays.namespace(x)
    return xp.concat([x, arrays.row_norms_squared(x)[:, None], xp.ones((x.shape[0], 1), dtype=x.dtype)], axis=1)


def values(kernel: Kernel, points: Array, others: Array, out: Array | None = None) -> Array:
    """Kernel values of two sets of augmented points, shape (m, n), written into ``out`` if it is given."""
    if out is None:
        out = arrays.namespace(points).empty((points.shape[0], others.shape[0]), dtype=points.dtype)
    return kernel.fill(kernel.left_factor(points), others, out)


def matrix(kernel: Kernel, points: Array) -> Array:
    """The kernel matrix of augmented points with an exact diagonal, shape (n, n)."""
    return set_diagonal(kernel, values(kernel, points, points), points)


def set_diagonal(kernel: Kernel, block: Array, points: Array, first_column: int = 0) -> Array:
    """Set k(x, x) of the points of the rows, in column ``first_column + r`` of row r, where rounding changed it."""
    xp = arrays.namespace(block)
    # The diagonal of a kernel of distances is constant.
    exact = 1.0 if kernel.of_distance else kernel.diagonal(points[:, :-2])
    r = xp.arange(block.shape[0])
    if arrays.supports_out(block):
        block[r, first_column + r] = exact
    else:
        on_diagonal = xp.arange(block.shape[1])[None, :] == first_column + r[:, None]
        exact = xp.asarray(exact, dtype=block.dtype)
        block[...] = xp.where(on_diagonal, exact if exact.ndim == 0 else exact[:, None], block)
    return block


def add_to_diagonal(matrix: Array, number: float) -> Array:
    """Add a number to the diagonal of a square matrix in place."""
    xp = arrays.namespace(matrix)
    for rows in arrays.blocks(matrix.shape[0], 1024):
        n = rows.stop - rows.start
        matrix[rows, rows] += number * xp.eye(n, dtype=matrix.dtype)
    return matrix


_STRIP_BYTES = 2**19
"""Bytes of a strip of an elementwise pass, which should stay in the cache for the next operation."""


def in_strips(out: Array, work: Callable[[slice], Any]) -> Array:
    """Call ``work`` with slices of rows that cover ``out``: strips that stay in the cache, or all rows on a GPU."""
    if arrays.is_numpy(out):
        rows = max(1, _STRIP_BYTES // max(1, out.shape[1] * out.itemsize))
        for strip in arrays.blocks(out.shape[0], rows):
            work(strip)
    else:
        work(slice(0, out.shape[0]))
    return out


def check_semidefinite(kernel: Kernel, points: Array, what: str) -> None:
    """Refuse a user's kernel whose matrix on 100 augmented points has a negative eigenvalue."""
    some = points[:100, :]
    K = arrays.to_numpy(values(kernel, some, some)).astype(np.float64)
    rounding = 1e-3 if points.dtype == np.float32 else 1e-6
    if not np.isfinite(K).all() or np.abs(K - K.T).max() > rounding * np.abs(K).max():
        raise ShallowsError(f"The {what} is not symmetric: k(x, z) must equal k(z, x).")
    eigenvalues = np.linalg.eigvalsh((K + K.T) / 2)
    if eigenvalues[0] < -rounding * eigenvalues[-1]:
        raise ShallowsError(
            f"The {what} is not positive semi-definite: its matrix on {len(K)} "
            f"training points has the eigenvalue {eigenvalues[0]:.3g}."
        )


def check_bandwidth(value: Any) -> None:
    """Raise a `ShallowsError` if a bandwidth is neither None nor a positive, finite number."""
    if value is not None:
        check_positive("bandwidth", value)


def check_positive(name: str, value: Any) -> None:
    """Raise a `ShallowsError` if a parameter is not a positive, finite number."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (good and math.isfinite(value) and value > 0):
        raise ShallowsError(f"{name} must be a positive number, got {value!r}.")
    if not _SMALLEST < value < 1.0 / _SMALLEST:
        raise ShallowsError(f"{name} must lie between {_SMALLEST:g} and {1.0 / _SMALLEST:g}, got {value!r}.")
