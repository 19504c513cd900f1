"""The kernel two-sample test: whether two samples, or two streams, have the same distribution."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_array

from .. import arrays, streams
from ..arrays.user_arrays import refuse_text, to_host
from ..errors import ShallowsError
from ..fitting.machine import Options
from ..utils.checks import is_whole
from ..utils.plain_numbers import takes_numpy_integers
from .feature_maps.fourier import FourierFeatures
from .other_names import refuse_old_arguments

__all__ = ["TwoSampleResult", "two_sample_test"]

MOST_BLOCKS = 2048
"""Most blocks of rows of a sample (16 MB of sums for 1,000 features). A block is one row, or pairs are joined."""

LEAST_BLOCKS, MOST_RATIO = 16, 64
"""Least blocks of the smaller sample for permutations; largest ratio of the rows of two arrays. Using more rows
would lower the variance by only 1.6 %."""

PART_NUMBERS, DRAWS_AT_A_TIME = 2**22, 1000
"""Numbers of features, and draws of the null distribution, that are computed at a time."""


@dataclass(frozen=True)
class TwoSampleResult:
    """Result of `two_sample_test`.

    Attributes
    ----------
    statistic : float
        The squared maximum mean discrepancy, ‖mean z(x) − mean z(y)‖² for the features z.
    pvalue : float
        Share of the null distribution, including the statistic, that is at least the statistic.
    null_distribution : ndarray, shape (n_draws,)
        Not in the printed form.
    null : {"permutations", "signs"}
        Whether it comes from permutations of blocks of rows, or from random signs of the blocks.
    n_rows : tuple of int
        Rows of each sample in the statistic.
    bandwidth : float
    """

    statistic: float
    pvalue: float
    null_distribution: np.ndarray = field(repr=False)
    null: str
    n_rows: tuple[int, int]
    bandwidth: float


@refuse_old_arguments
@takes_numpy_integers
def two_sample_test(
    X: Any,
    Y: Any,
    kernel: Any = "gaussian",
    *,
    bandwidth: float | str = "median",
    n_features: int = 1000,
    n_draws: int = 1000,
    random_state: Any = None,
    options: Options | None = None,
) -> TwoSampleResult:
    """Test whether two samples have the same distribution, by the distance of their mean features.

    Each row is read once and kept only in the sum of a block of rows. If all rows are independent and have the same
    distribution, every division of equal blocks between the samples has the same probability, so the level is exact.
    If one array is much larger, only max(2,048, 64 × the smaller) of its rows are used. If the smaller stream has fewer
    than 16 blocks, the blocks have random signs instead; this rejects slightly too often for fewer than 100 rows.

    Parameters
    ----------
    X, Y : array-like or CSR matrix, shape (n_samples, n_features), or iterable of such batches
        Rows of a stream may have any order. Rows of large arrays are shuffled.
    kernel : str or Kernel, default="gaussian"
        A shift-invariant kernel of `shallows.kernels`, such as "gaussian", "laplace" or ``Matern(nu=2.5)``.
    bandwidth : float or "median", default="median"
        σ, in the units of X. "median": the median distance in both samples (of streams: in the first batches).
    n_features : int, default=1000
        Random Fourier features.
    n_draws : int, default=1000
        Draws of the null distribution. The smallest p-value is 1/(n_draws + 1).
    random_state : int, RandomState or None, default=None
    options : shallows.Options, optional
        Device, memory, and precision of the features ("auto": the dtype of the rows).

    Returns
    -------
    TwoSampleResult

    Raises
    ------
    ValueError, ShallowsError
        NaN or infinity, fewer than two rows, different numbers of columns, or a parameter out of its range.

    References
    ----------
    A. Gretton, K. Borgwardt, M. Rasch, B. Schölkopf and A. Smola (2012), "A kernel two-sample test", JMLR 13. J. Zhao
    and D. Meng (2015), "FastMMD: ensemble of circular discrepancy for efficient two-sample test", Neural Comput. 27.

    Examples
    --------
    >>> import numpy as np
    >>> from shallows.statistics import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(2000, 2)), rng.laplace(size=(2000, 2), scale=0.5**0.5)
    >>> bool(two_sample_test(X, Y, random_state=0).pvalue < 0.01)
    True
    """
    if not is_whole(n_draws):
        raise ShallowsError(f"n_draws must be a whole number of at least 1, got {n_draws!r}.")
    features = FourierFeatures(
        kernel, bandwidth=bandwidth, n_features=n_features, random_state=random_state, options=options
    )
    features._check_parameters()
    seed = features._seed()
    features = features._with_machine(seed, features._options())
    samples = [to_host(sample) for sample in (X, Y)]
    samples = [np.asarray(sample) if isinstance(sample, (list, tuple)) else sample for sample in samples]
    lengths = [sample.shape[0] for sample in samples if getattr(sample, "shape", ())]
    most = max(MOST_BLOCKS, MOST_RATIO * min(lengths)) if len(lengths) == 2 else None
    batches = [_batches(sample, name, seed, most) for sample, name in zip(samples, "XY", strict=True)]
    first: list[Any] = []
    for name, stream in zip("XY", batches, strict=True):
        begun = next(stream, None)
        if begun is None:
            raise ShallowsError(f"A two-sample test needs two rows of each sample; {name} is an empty stream.")
        first.append(begun)
    if first[0].shape[1] != first[1].shape[1]:
        raise ShallowsError(f"X has {first[0].shape[1]} columns, and Y has {first[1].shape[1]}.")
    stack = scipy.sparse.vstack if any(map(scipy.sparse.issparse, first)) else np.vstack
    features.fit(stack(first))
    x, y = (
        BlockSums.of(itertools.chain([begun], rest), name, features)
        for name, begun, rest in zip("XY", first, batches, strict=True)
    )
    return _test(x, y, n_draws, seed, features.bandwidth_)


def _batches(sample: Any, name: str, seed: int, most: int | None) -> Iterator[Any]:
    options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "input_name": name}
    if not hasattr(sample, "shape"):
        if not isinstance(sample, Iterable):
            raise ShallowsError(f"{name} must be an array or an iterable of batches, got {type(sample).__name__}.")
        for batch in sample:
            refuse_text(batch, name)
            yield check_array(to_host(batch), **options)
        return
    refuse_text(sample, name)
    rows = check_array(sample, **options)
    order = streams.permutation(seed, f"rows of {name}", 0, rows.shape[0])[:most]
    yield from (rows[order[part]] for part in arrays.blocks(len(order), MOST_BLOCKS))


class BlockSums:
    """Sums of the features of at most `MOST_BLOCKS` blocks of ``size`` rows; the last block may have fewer rows."""

    def __init__(self, n_features: int):
        self.rows, self.size, self._sums = 0, 1, np.zeros((MOST_BLOCKS, n_features))

    @classmethod
    def of(cls, batches: Iterable[Any], name: str, features: FourierFeatures) -> BlockSums:
        """The sums of a sample."""
        sums = cls(features._n_features_out)
        for batch in batches:
            if batch.shape[1] != features.n_features_in_:
                raise ShallowsError(f"A batch of {name} has {batch.shape[1]} columns, not {features.n_features_in_}.")
            for part in arrays.blocks(batch.shape[0], max(1, PART_NUMBERS // features._n_features_out)):
                sums.add(features.transform(batch[part]))
        if sums.rows < 2:
            raise ShallowsError(f"A two-sample test needs two rows of each sample; {name} has {sums.rows}.")
        return sums

    def add(self, Z: np.ndarray) -> None:
        """Add the features of more rows."""
        while self.rows + len(Z) > MOST_BLOCKS * self.size:
            self.join_pairs()
        blocks = (self.rows + np.arange(len(Z))) // self.size
        starts = np.flatnonzero(np.diff(blocks, prepend=-1))
        self._sums[blocks[starts]] += np.add.reduceat(Z, starts, axis=0, dtype=np.float64)
        self.rows += len(Z)

    def join_pairs(self) -> None:
        """Join each two blocks."""
        self._sums[: MOST_BLOCKS // 2] = self._sums[::2] + self._sums[1::2]
        self._sums[MOST_BLOCKS // 2 :] = 0.0
        self.size *= 2

    def blocks(self, *, whole: bool) -> tuple[np.ndarray, np.ndarray]:
        """The sums of all blocks, or only of full blocks, and their numbers of rows."""
        n = self.rows // self.size if whole else -(-self.rows // self.size)
        return self._sums[:n], np.minimum(self.size, self.rows - self.size * np.arange(n))


def _test(x: BlockSums, y: BlockSums, n_draws: int, seed: int, bandwidth: float) -> TwoSampleResult:
    size = max(x.size, y.size)
    exact = size == 1 or min(x.rows, y.rows) // size >= LEAST_BLOCKS
    for sample in (x, y):
        while exact and sample.size < size:
            sample.join_pairs()
    (of_x, in_x), (of_y, in_y) = (sample.blocks(whole=exact) for sample in (x, y))
    n, m, sums = int(in_x.sum()), int(in_y.sum()), np.concatenate([of_x, of_y])
    statistic = float(np.sum((of_x.sum(axis=0) / n - of_y.sum(axis=0) / m) ** 2))
    if not exact:
        # The variance of a row is estimated from all blocks around one mean, which uses one degree of freedom.
        sums = sums - np.concatenate([in_x, in_y])[:, None] * (sums.sum(axis=0) / (n + m))
        sums *= np.sqrt((1.0 / n + 1.0 / m) / (n + m) * len(sums) / (len(sums) - 1))
    null = np.empty(n_draws)
    for k, part in enumerate(arrays.blocks(n_draws, DRAWS_AT_A_TIME)):
        drawn = streams.uniform(seed, "null distribution", k, (part.stop - part.start, len(sums)))
        # The blocks with the smallest numbers form the first sample.
        first = drawn.argsort(axis=1).argsort(axis=1) < len(of_x) if exact else drawn < 0.5
        null[part] = np.sum((np.where(first, *((1.0 / n, -1.0 / m) if exact else (1.0, -1.0))) @ sums) ** 2, axis=1)
    above = int(np.sum(null >= statistic * (1.0 - 1e-9) - 1e-15))  # Equal divisions are equal up to rounding.
    kind = "permutations" if exact else "signs"
    return TwoSampleResult(statistic, (1 + above) / (1 + n_draws), null, kind, (n, m), bandwidth)
