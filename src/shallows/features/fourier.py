"""Random Fourier features in blocks that are computed from a seed and a counter when they are needed."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .. import arrays, kernels, streams
from ..arrays import Array
from ..errors import ShallowsError
from ..gpu.fused_expressions import FusedExpression
from ..utils.checks import check_whole
from ..utils.plain_numbers import takes_numpy_integers
from .base import FeatureMap, Projector, check_inputs


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
    """Several projections next to each other."""

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


def join(parts: Sequence[Projector]) -> Projector:
    """One projection for several: a single product if all of them are products with a matrix."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, DenseProjector) for part in parts):
        xp = arrays.namespace(parts[0].transposed)
        return DenseProjector(xp.concat([part.transposed for part in parts], axis=1))
    return JoinedProjectors(parts)


COLUMNS_OF_FREQUENCY = {"pair": 2, "cosine": 1}
"""The forms, and the number of columns of a frequency in each."""

STRIP_BYTES = 2**18
"""Bytes of a strip of cosines, which should stay in the cache for the next operation."""

WORK_OF_A_THREAD = 2**16
"""Frequencies times points below which a thread costs more than it saves.

Above it our own threads run the product, not threads of the BLAS: on two shared cores, 256 points and four blocks of
1,024 frequencies take 13 ms instead of 48 on average (784 inputs)."""


class BlockCache:
    """Keeps the frequencies of blocks, up to a number of bytes.

    A training visits the blocks 0 to t of a model again and again, so a cache that drops the oldest entry would always
    miss. Therefore entries stay, and blocks that do not fit are drawn again at every visit.
    """

    def __init__(self, n_bytes: int):
        self.n_bytes = int(n_bytes)
        self._held: dict[Any, Array] = {}
        self._left = self.n_bytes
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[[], Array]) -> Array:
        """The block of a key, computed by ``make`` if it is not in the cache."""
        block = self._held.get(key)
        if block is None:
            block = make()
            size = math.prod(block.shape) * arrays.itemsize(block)
            with self._lock:
                if key not in self._held and size <= self._left:
                    self._held[key] = block
                    self._left -= size
        return block

    def __getstate__(self) -> int:
        return self.n_bytes

    def __setstate__(self, n_bytes: int) -> None:
        self.__init__(n_bytes)

    def __deepcopy__(self, memo: Any) -> BlockCache:
        return BlockCache(self.n_bytes)


@takes_numpy_integers
@dataclass(frozen=True)
class FourierMap(FeatureMap):
    """Blocks of random Fourier features of a shift-invariant kernel, k(x − z) = E cos ωᵀ(x − z).

    Block i is a function of (seed, i): the same in training and in prediction, in any order, for any batch and on any
    device. Its frequencies are drawn in float64 and then rounded to the precision of the points.
    `shallows.kernel_approximation.FourierFeatures` has the sources.
    """

    kernel: Any
    n_inputs: int  # d
    block_size: int  # F, the frequencies of a block
    seed: int = 0
    form: str = "pair"  # "pair": cos ωᵀx and sin ωᵀx; "cosine": √2 cos(ωᵀx + b)
    orthogonal: bool = False  # Each d frequencies of a block, for kernels of ‖x − z‖₂; lengths do not change
    n_blocks: int = 1  # Of `map`, unless its argument is given
    cache_bytes: int = 2**28  # Of frequencies that are kept; the others are drawn again
    streamed: ClassVar[bool] = True
    relative_moment: ClassVar[float] = 1.0  # of a pair: E (φ_ω(x)ᵀφ_ω(x))² over k(x, x)²
    _cache: BlockCache = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_whole(self, "n_inputs", "block_size", "n_blocks")
        if self.form not in COLUMNS_OF_FREQUENCY:
            raise ShallowsError(f"form must be one of {', '.join(map(repr, COLUMNS_OF_FREQUENCY))}, got {self.form!r}.")
        if not getattr(self.kernel, "has_frequencies", False):
            raise ShallowsError(_without_frequencies(self.kernel))
        if self.orthogonal and not self.kernel.of_distance:
            raise ShallowsError(
                f"Orthogonal frequencies need a kernel of ‖x − z‖₂ alone; {self.kernel.name!r} is not one. "
                "Use orthogonal=False."
            )
        object.__setattr__(self, "_cache", BlockCache(self.cache_bytes))

    @property
    def width(self) -> int:
        """Columns of a block: F in the cosine form, 2F in the pair form."""
        return self.columns_of_frequency * self.block_size

    @property
    def drawn_numbers(self) -> int:
        """Random numbers of a frequency: d."""
        return self.n_inputs

    @property
    def product_bound(self) -> float:
        """κ + φ, with |k(x, z)| ≤ κ and |φ_ω(x)ᵀφ_ω(z)| ≤ φ for the columns of a frequency."""
        return 2.0 if self.form == "pair" else 3.0

    @property
    def columns_of_frequency(self) -> int:
        """Columns of a frequency: a cosine, or a cosine and a sine."""
        return COLUMNS_OF_FREQUENCY[self.form]

    @property
    def n_features(self) -> int:
        """Columns of `map`."""
        return self.n_blocks * self.width

    def projector(self, i: int, like: Array) -> Projector:
        """The projection x ↦ xωᵀ of block i, like ``like``. A map whose frequencies need no matrix overrides it."""
        return DenseProjector(self.frequencies(i, like).T)

    def frequencies(self, i: int, like: Array) -> Array:
        """ω of block i, shape (F, d), in the library, on the device and in the precision of ``like``."""
        return self._cache.get(("frequencies", int(i), *kind_of_array(like)), lambda: self._draw(int(i), like))

    def phases(self, i: int, like: Array) -> Array:
        """Phases b of block i, uniform in [0, 2π), shape (F,); for the cosine form."""
        if self.form != "cosine":
            raise ShallowsError("The pair form has no phases.")
        return self._cache.get(("phases", int(i), *kind_of_array(like)), lambda: self._draw_phases(int(i), like))

    def block(self, i: int, x: Array) -> Array:
        """Unnormalized features of block i, ``[cos xωᵀ, sin xωᵀ]`` or ``√2 cos(xωᵀ + b)``, shape (m, width).

        The mean over blocks of ``block(i, x) @ block(i, z).T / F`` tends to k(x, z).
        """
        m, F = x.shape[0], self.block_size
        check_inputs(x, self.n_inputs)
        out = arrays.namespace(x).empty((m, self.width), dtype=x.dtype)
        projector = self.projector(i, x)
        phases = self.phases(i, x) if self.form == "cosine" else None
        if not arrays.is_numpy(x):
            waves(x, projector, phases, out, m)
            return out
        n_workers = max(1, min(arrays.workers_for(x), m * F // WORK_OF_A_THREAD))
        strip = max(1, STRIP_BYTES // (F * x.itemsize))
        share = -(-m // n_workers)

        def work(worker: int) -> None:
            rows = slice(worker * share, min(m, (worker + 1) * share))
            if rows.start < rows.stop:
                waves(x[rows], projector, phases, out[rows], strip)

        arrays.in_threads(work, n_workers)
        return out

    def columns(self, i: int, x: Array, n_columns: int, n_features: int) -> Array:
        """The first ``n_columns`` columns of block i, normalized as part of a map with ``n_features`` columns."""
        block = self.block(i, x)
        if n_columns < self.width:
            used = n_columns // self.columns_of_frequency
            parts = [block[:, start : start + used] for start in range(0, self.width, self.block_size)]
            block = arrays.namespace(x).concat(parts, axis=1)
        block *= 1.0 / math.sqrt(n_features // self.columns_of_frequency)
        return block

    def map(self, x: Array, n_blocks: int | None = None) -> Array:
        """Normalized features of blocks 0 to n_blocks − 1, shape (m, n_blocks · width); z(x)ᵀz(y) → k(x, y)."""
        n_blocks = n_blocks or self.n_blocks
        parts = [self.columns(i, x, self.width, n_blocks * self.width) for i in range(n_blocks)]
        return parts[0] if n_blocks == 1 else arrays.namespace(x).concat(parts, axis=1)

    def _draw(self, i: int, like: Array) -> Array:
        F, d = self.block_size, self.n_inputs
        omega = self.kernel.frequencies(self.seed, "frequencies", i, F, d, like=like)
        if self.orthogonal:
            omega = _at_right_angles(omega, self.seed, i)
        # Products read the rows, and the kernel may return a view of a wider draw.
        return arrays.contiguous(arrays.astype(omega, like.dtype))

    def _draw_phases(self, i: int, like: Array) -> Array:
        turns = streams.uniform(self.seed, "phases", i, (self.block_size,), like=like)
        return arrays.astype(turns * (2.0 * math.pi), like.dtype)


MOST_FREQUENCIES = 1024
"""Frequencies of a block if a budget is given: enough for fast products, few enough for batches of thousands."""


def fourier_pairs(kernel, x, n_features, seed=0, budget=None, form="pair", orthogonal=False, cls=None) -> FourierMap:
    """The map "fourier", or another class: cosines and sines of random frequencies."""
    if not getattr(kernel, "has_frequencies", False):
        raise ShallowsError(
            f"{_without_frequencies(kernel)} Every kernel has landmarks: features='nystrom', or NystroemFeatures."
        )
    # A cosine without its sine would not be unbiased: an odd number of columns becomes the next even one.
    n = -(-n_features // COLUMNS_OF_FREQUENCY[form])
    block = {"block_size": n}
    if budget is not None:
        block = {"block_size": min(MOST_FREQUENCIES, n), "cache_bytes": max(2**20, budget // 8)}
    return (cls or FourierMap)(kernel, x.shape[1], seed=seed, form=form, orthogonal=orthogonal, **block)


fourier_cosines = functools.partial(fourier_pairs, form="cosine")
orthogonal_pairs = functools.partial(fourier_pairs, orthogonal=True)


def _without_frequencies(kernel: Any) -> str:
    """The message for a kernel that has no random Fourier features."""
    return (
        f"The kernel {getattr(kernel, 'name', kernel)!r} has no frequencies, so it has no random Fourier features. "
        f"Kernels that have them: {kernels.names_that_define('frequencies')}."
    )


def kind_of_array(x: Array) -> tuple[Any, ...]:
    """Library, precision and device of an array, as a part of keys; cheap, because each visit of a block needs it."""
    if arrays.is_numpy(x):
        return "numpy", x.dtype
    return arrays.namespace(x).__name__, str(x.dtype), str(arrays.device_of(x))


def _plain_waves(angle: Array, cosine: Array, sine: Array) -> None:
    xp = arrays.namespace(angle)
    cosine[...] = xp.cos(angle)
    sine[...] = xp.sin(angle)


WAVES = FusedExpression(
    "waves", ("angle",), ("cosine", "sine"), "cosine = cos(angle); sine = sin(angle)", _plain_waves, ((5, 3),)
)
"""Both columns of a frequency, from one pass over the angles."""


def waves(x: Array, projector: Projector, phases: Array | None, out: Array, strip: int) -> None:
    """Write cosines and sines of projections into ``out``, strip by strip after one projection."""
    F = projector.n_frequencies
    if phases is not None:
        projector.project(x, out)
        for rows in arrays.blocks(out.shape[0], strip):
            part = out[rows, :]
            part += phases
            arrays.apply_in_place("cos", part)
            part *= math.sqrt(2.0)
        return
    if not arrays.is_numpy(x):
        WAVES(projector.project(x), into=(out[:, :F], out[:, F:]))
        return
    left, right = out[:, :F], out[:, F:]
    projector.project(x, left)
    for rows in arrays.blocks(out.shape[0], strip):
        np.sin(left[rows], out=right[rows])
        np.cos(left[rows], out=left[rows])


def _at_right_angles(omega: Array, seed: int, i: int) -> Array:
    """Vectors of the same lengths along the rows of Haar-distributed orthogonal matrices, d rows at a time."""
    xp = arrays.namespace(omega)
    n, d = omega.shape
    lengths = xp.sqrt(arrays.row_norms_squared(omega))
    gaussian = streams.normal(seed, "directions", i, (-(-n // d), d, d), like=omega, dtype=omega.dtype)
    with arrays.one_blas_thread():
        Q, R = xp.linalg.qr(gaussian)
    # With the signs of R's diagonal the factorization is unique and Q is Haar-distributed.
    on_diagonal = arrays.astype(xp.arange(d)[:, None] == xp.arange(d)[None, :], R.dtype)
    Q = Q * xp.sign(xp.sum(R * on_diagonal, axis=1))[:, None, :]
    directions = xp.reshape(xp.permute_dims(Q, (0, 2, 1)), (-1, d))[:n, :]
    return directions * lengths[:, None]
