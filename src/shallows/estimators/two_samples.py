"""The kernel two-sample test: whether two samples, or two streams, have one law."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_array

from .. import arrays, streams
from ..errors import ShallowsError
from ..fitting.checks import is_whole
from ..utils.plain_numbers import takes_numpy_integers
from .feature_maps.fourier import FourierFeatures
from .input_checks import refuse_text, to_host

__all__ = ["TwoSampleResult", "two_sample_test"]

MOST_BLOCKS = 2048
"""Blocks of rows of a sample, whose sums of features are kept: 16 MB for 1,000 features. Up to so many rows a block is
one row; when there are more, blocks are joined in pairs."""

LEAST_BLOCKS, MOST_RATIO = 16, 64
"""Blocks of the smaller sample where blocks of one size are permuted; its last rows, which fill no block, are left out.
Of arrays, so many times the rows of the smaller one are enough of the larger; the others would tell 1.6 % more."""

PART_NUMBERS, DRAWS_AT_A_TIME = 2**22, 1000
"""Numbers of features, and draws, that are made at a time."""


@dataclass(frozen=True)
class TwoSampleResult:
    """What `two_sample_test` found.

    Attributes
    ----------
    statistic : float
        The squared maximum mean discrepancy, ‖mean z(x) − mean z(y)‖² for the features z.
    pvalue : float
        The share of the null distribution, with the statistic among it, that is not below the statistic.
    null_distribution : ndarray, shape (n_draws,)
        Left out of the printed form.
    null : {"permutations", "signs"}
        How it was drawn: by other divisions of blocks of rows among the samples, or by random signs of the blocks.
    n_rows : tuple of int
        Rows of each sample that the statistic is of.
    bandwidth : float
    """

    statistic: float
    pvalue: float
    null_distribution: np.ndarray = field(repr=False)
    null: str
    n_rows: tuple[int, int]
    bandwidth: float


@takes_numpy_integers
def two_sample_test(
    X: Any,
    Y: Any,
    kernel: Any = "gaussian",
    *,
    bandwidth: float | str | None = None,
    kernel_params: Mapping[str, Any] | None = None,
    n_features: int = 1000,
    n_draws: int = 1000,
    random_state: Any = None,
    device: str = "auto",
    memory: int | str | None = None,
    dtype: str = "auto",
) -> TwoSampleResult:
    """Test whether two samples have one law, by the distance of their mean features: the maximum mean discrepancy.

    Each row is seen once, and kept only as a part of the sum of a block of rows. If all rows are independent and of one
    law, every division of equal blocks among the samples is as likely as the given one, so that the level is kept
    exactly. To that end, of the larger of two arrays no more than 2,048 rows, or 64 times those of the smaller one, are
    taken. Where the smaller of two streams is fewer than 16 blocks, the null distribution is that of the blocks of both
    with random signs, which is right for many rows, and with fewer than a hundred rejects a little too often.

    Parameters
    ----------
    X, Y : array-like or CSR matrix, shape (n_samples, n_features), or iterable of such batches
        Of a stream the rows have to come in no order. Those of large arrays are put into a random one.
    kernel : str or Kernel, default="gaussian"
        A shift-invariant kernel of `shallows.kernels`: "gaussian", "laplace", "cauchy", "matern", "laplace_product",
        "cauchy_product".
    bandwidth : float, "median" or None, optional
        σ, in the units of the inputs. None and "median" take the median distance between points of both samples (of
        their first batches).
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``.
    n_features : int, default=1000
        Random Fourier features.
    n_draws : int, default=1000
        Draws of the null distribution. The smallest p-value is 1/(n_draws + 1).
    random_state : int, RandomState or None, default=None
        Decides the features and the draws.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the features are computed.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the features; "auto" means that of the rows.

    Returns
    -------
    TwoSampleResult

    Raises
    ------
    ValueError
        NaN or infinity, or no table of numbers.
    ShallowsError
        Fewer than two rows of a sample, different numbers of columns, or a parameter out of its range.

    References
    ----------
    A. Gretton, K. Borgwardt, M. Rasch, B. Schölkopf and A. Smola (2012), "A kernel two-sample test", JMLR 13. J. Zhao
    and D. Meng (2015), "FastMMD: ensemble of circular discrepancy for efficient two-sample test", Neural Computation
    27.

    Examples
    --------
    >>> import numpy as np
    >>> from shallows import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(2000, 2)), rng.laplace(size=(2000, 2), scale=0.5**0.5)
    >>> bool(two_sample_test(X, Y, random_state=0).pvalue < 0.01)
    True
    """
    if not is_whole(n_draws):
        raise ShallowsError(f"n_draws must be a whole number of at least 1, got {n_draws!r}.")
    features = FourierFeatures(kernel, bandwidth=bandwidth, kernel_params=kernel_params, n_features=n_features)
    features.set_params(random_state=random_state, device=device, memory=memory, dtype=dtype)
    features._check_parameters()
    seed = features._seed()
    given = [to_host(one) for one in (X, Y)]
    given = [np.asarray(one) if isinstance(one, (list, tuple)) else one for one in given]
    lengths = [one.shape[0] for one in given if getattr(one, "shape", ())]
    most = max(MOST_BLOCKS, MOST_RATIO * min(lengths)) if len(lengths) == 2 else None
    batches = [_batches(one, name, seed, most) for one, name in zip(given, "XY", strict=True)]
    first = [next(one, None) for one in batches]
    for name, batch in zip("XY", first, strict=True):
        if batch is None:
            raise ShallowsError(f"A two-sample test needs two rows of each sample; {name} is an empty stream.")
    if first[0].shape[1] != first[1].shape[1]:
        raise ShallowsError(f"X has {first[0].shape[1]} columns, and Y has {first[1].shape[1]}.")
    stack = scipy.sparse.vstack if any(map(scipy.sparse.issparse, first)) else np.vstack
    features.set_params(random_state=seed).fit(stack(first))
    sums = [
        BlockSums.of(itertools.chain([begun], rest), name, features)
        for name, begun, rest in zip("XY", first, batches, strict=True)
    ]
    return _test(*sums, n_draws, seed, features.bandwidth_)


def _batches(given: Any, name: str, seed: int, most: int | None) -> Iterator[Any]:
    """Checked batches of a sample; of an array at most so many rows."""
    options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "input_name": name}
    if not hasattr(given, "shape"):
        if not isinstance(given, Iterable):
            raise ShallowsError(f"{name} must be an array or an iterable of batches, got {type(given).__name__}.")
        for batch in given:
            refuse_text(batch, name)
            yield check_array(to_host(batch), **options)
        return
    refuse_text(given, name)
    rows = check_array(given, **options)
    order = streams.permutation(seed, f"rows of {name}", 0, rows.shape[0])[:most]
    yield from (rows[order[part]] for part in arrays.blocks(len(order), MOST_BLOCKS))


class BlockSums:
    """Sums of the features of at most `MOST_BLOCKS` blocks, each of ``size`` rows; the last one may have fewer."""

    def __init__(self, n_features: int):
        self.rows, self.size, self._sums = 0, 1, np.zeros((MOST_BLOCKS, n_features))

    @classmethod
    def of(cls, batches: Iterable[Any], name: str, features: FourierFeatures) -> BlockSums:
        """The sums of a sample."""
        made = cls(features._n_features_out)
        for batch in batches:
            if batch.shape[1] != features.n_features_in_:
                raise ShallowsError(f"A batch of {name} has {batch.shape[1]} columns, not {features.n_features_in_}.")
            for part in arrays.blocks(batch.shape[0], max(1, PART_NUMBERS // features._n_features_out)):
                made.add(features.transform(batch[part]))
        if made.rows < 2:
            raise ShallowsError(f"A two-sample test needs two rows of each sample; {name} has {made.rows}.")
        return made

    def add(self, Z: np.ndarray) -> None:
        """Add the features of further rows."""
        while self.rows + len(Z) > MOST_BLOCKS * self.size:
            self.join_pairs()
        blocks = (self.rows + np.arange(len(Z))) // self.size
        starts = np.flatnonzero(np.diff(blocks, prepend=-1))
        self._sums[blocks[starts]] += np.add.reduceat(Z, starts, axis=0, dtype=np.float64)
        self.rows += len(Z)

    def join_pairs(self) -> None:
        """Make each two blocks one."""
        self._sums[: MOST_BLOCKS // 2] = self._sums[::2] + self._sums[1::2]
        self._sums[MOST_BLOCKS // 2 :] = 0.0
        self.size *= 2

    def blocks(self, *, whole: bool) -> tuple[np.ndarray, np.ndarray]:
        """The sums of all blocks, or of the whole ones only, and how many rows each has."""
        n = self.rows // self.size if whole else -(-self.rows // self.size)
        return self._sums[:n], np.minimum(self.size, self.rows - self.size * np.arange(n))


def _test(x: BlockSums, y: BlockSums, n_draws: int, seed: int, bandwidth: float) -> TwoSampleResult:
    size = max(x.size, y.size)
    exact = size == 1 or min(x.rows, y.rows) // size >= LEAST_BLOCKS
    for one in (x, y):
        while exact and one.size < size:
            one.join_pairs()
    (of_x, in_x), (of_y, in_y) = (one.blocks(whole=exact) for one in (x, y))
    n, m, sums = int(in_x.sum()), int(in_y.sum()), np.concatenate([of_x, of_y])
    statistic = float(np.sum((of_x.sum(axis=0) / n - of_y.sum(axis=0) / m) ** 2))
    if not exact:
        # The variances of a row are those of all blocks about one mean, which takes a degree of freedom.
        sums = sums - np.concatenate([in_x, in_y])[:, None] * (sums.sum(axis=0) / (n + m))
        sums *= np.sqrt((1.0 / n + 1.0 / m) / (n + m) * len(sums) / (len(sums) - 1))
    null = np.empty(n_draws)
    for k, part in enumerate(arrays.blocks(n_draws, DRAWS_AT_A_TIME)):
        drawn = streams.uniform(seed, "null distribution", k, (part.stop - part.start, len(sums)))
        # The blocks with the smallest numbers are the first sample.
        first = drawn.argsort(axis=1).argsort(axis=1) < len(of_x) if exact else drawn < 0.5
        null[part] = np.sum((np.where(first, *((1.0 / n, -1.0 / m) if exact else (1.0, -1.0))) @ sums) ** 2, axis=1)
    above = int(np.sum(null >= statistic * (1.0 - 1e-9) - 1e-15))  # Equal divisions are equal up to rounding.
    kind = "permutations" if exact else "signs"
    return TwoSampleResult(statistic, (1 + above) / (1 + n_draws), null, kind, (n, m), bandwidth)
