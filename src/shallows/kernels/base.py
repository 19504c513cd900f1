"""What every kernel can do, and the operations on blocks of points that products are made of."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

import numpy as np

from .. import arrays
from ..arrays import Array
from ..errors import ShallowsError

_SMALLEST = 1e-150
"""Beyond it and its reciprocal, squares leave the numbers."""


class Kernel:
    """A positive semi-definite kernel. Subclasses are frozen dataclasses of their parameters.

    Points come to a kernel *augmented* (see `augmented`), since most kernels are a product of matrices and one pass
    over its result. What depends on the left points alone is made once by `left_factor` and used for many blocks.

    Attributes
    ----------
    name : str
        What `shallows.kernels.make` and configurations call it.
    takes_bandwidth : bool
        Whether its first parameter is a bandwidth σ, which the median rule may choose.
    shift_invariant : bool
        Whether moving all points by the same vector changes nothing, so that data may be centred.
    of_distance : bool
        Whether ‖x − z‖² is all that counts, so that constant features may be left out.
    takes_sparse_points : bool
        Whether points may be `arrays.SparsePoints`: for kernels of inner products and Euclidean distances.
    product_bound : float, optional
        κ + φ, with |k(x, z)| ≤ κ and |φ(x)φ(z)| ≤ φ for the features of `random_features`; None without such bounds.
    matrix_bytes : int
        Bytes of the matrix of a precomputed kernel in a fit, else 0.
    """

    name: ClassVar[str]
    takes_bandwidth: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False
    of_distance: ClassVar[bool] = False
    takes_sparse_points: ClassVar[bool] = False
    bandwidth: float | None = None
    product_bound: float | None = None
    matrix_bytes: int = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters but for the bandwidth: with name and bandwidth they make the kernel again."""
        return {name: getattr(self, name) for name in self.parameter_names()}

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """Names of the parameters that the constructor takes beside the bandwidth."""
        # A user's class that is not a dataclass has parameters that are not known here.
        return tuple(f.name for f in fields(cls) if f.name != "bandwidth") if is_dataclass(cls) else ()

    @classmethod
    def defines(cls, *methods: str) -> bool:
        """Whether the kernel has one of some methods that not every kernel has, such as "frequencies"."""
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
            raise ShallowsError(
                f"The kernel class {cls.__name__} must also define {', '.join(missing)}. "
                f"help({place}) describes each of them."
            )

    @property
    def has_frequencies(self) -> bool:
        """Whether `frequencies` has a law to draw from."""
        return self.defines("frequencies")

    @classmethod
    def check_inputs(cls, n_features: int) -> None:
        """Raise a `ShallowsError` if the kernel has no meaning for so many features."""

    def left_factor(self, points: Array) -> Array:
        """What `fill` takes of the left points, one row for each; the augmented points themselves if nothing else."""
        return points

    @abstractmethod
    def fill(self, left: Array, others: Array, out: Array) -> Array:
        """Write the values of left points (as `left_factor` made them) and augmented points into ``out``."""
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
        """Draws from the frequency law, shape (n, d), as a function of (seed, purpose, counter).

        Raises
        ------
        ShallowsError
            If the kernel is not of the form k(x, z) = E cos ωᵀ(x − z).
        """
        raise ShallowsError(
            f"The kernel {self.name!r} has no frequency law, so there are no random Fourier features of it; "
            "take a kernel of the difference x − z with k(x, x) = 1, such as 'gaussian' or 'matern'."
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
        """Random features of a kernel that has no frequencies, as a function of (seed, counter).

        Parameters
        ----------
        seed, counter : int
        n : int
            How many features.
        x : array, shape (m, d)
        mean_square : float
            The mean of ‖x‖² over the data, for laws that may depend on it; positive.
        kept : callable
            ``kept(purpose, make)`` is what ``make()`` draws for a purpose, in the precision of x, and may have kept it.

        Returns
        -------
        array, shape (m, n)
            φ(x), with k(x, z) the expectation of the mean over the n features of φ(x)φ(z).
        """
        raise ShallowsError(f"The kernel {self.name!r} draws no random features.")

    def drawn_numbers(self, d: int, mean_square: float) -> float:
        """How many numbers a random feature of d inputs is made of, for the plan of the memory."""
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
        self.check_inputs(x.shape[1])
        return values(self, augmented(x), augmented(z))


def augmented(x: Array) -> Array:
    """Points with two columns more, [x, ‖x‖², 1], so that one product gives squared distances; shape (n, d + 2)."""
    xp = arrays.namespace(x)
    return xp.concat([x, arrays.row_norms_squared(x)[:, None], xp.ones((x.shape[0], 1), dtype=x.dtype)], axis=1)


def values(kernel: Kernel, points: Array, others: Array, out: Array | None = None) -> Array:
    """Kernel values of two sets of augmented points.

    Parameters
    ----------
    kernel : Kernel
    points, others : arrays, shapes (m, d + 2) and (n, d + 2)
        What `augmented` returns.
    out : array, shape (m, n), optional
        Where the values are written.
    """
    if out is None:
        out = arrays.namespace(points).empty((points.shape[0], others.shape[0]), dtype=points.dtype)
    return kernel.fill(kernel.left_factor(points), others, out)


def matrix(kernel: Kernel, points: Array) -> Array:
    """The kernel matrix of augmented points with an exact diagonal, shape (n, n)."""
    return set_diagonal(kernel, values(kernel, points, points), points)


def set_diagonal(kernel: Kernel, block: Array, points: Array, first_column: int = 0) -> Array:
    """k(x, x) in place, whatever rounding made of it.

    Parameters
    ----------
    kernel : Kernel
    block : array, shape (m, n)
    points : array, shape (m, d + 2)
        The augmented points of the rows; row r meets itself in column ``first_column + r``.
    first_column : int
    """
    xp = arrays.namespace(block)
    # The diagonal of a kernel of distances is a number, and to know it takes no look at the points.
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
"""The elementwise pass goes in strips that are still in the cache when the next operation reads them."""


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
    """Refuse a kernel of the user whose matrix on 100 augmented points has a negative eigenvalue."""
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


def check_positive(name: str, value: Any) -> None:
    """Raise a `ShallowsError` if a parameter is not a positive, finite number."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (good and math.isfinite(value) and value > 0):
        raise ShallowsError(f"{name} must be a positive number, got {value!r}.")
    if not _SMALLEST < value < 1.0 / _SMALLEST:
        raise ShallowsError(f"{name} must lie between {_SMALLEST:g} and {1.0 / _SMALLEST:g}, got {value!r}.")
