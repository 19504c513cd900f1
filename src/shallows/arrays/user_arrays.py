"""Checks of the inputs: arrays of other libraries, text in tables, sparse rows, and columns in different units.

Arrays of CuPy and of other array API libraries are copied to the host and checked. Predictions are NumPy arrays. With
``sklearn.set_config(array_api_dispatch=True)`` they are arrays of the library and device of X, as in scikit-learn.
Fitted attributes are always NumPy arrays, so a saved model works where the other library is missing. For that reason
the tag ``array_api_support``, which promises the opposite, is not set.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse
import sklearn
from sklearn.utils._array_api import _convert_to_numpy, get_namespace_and_device

from .. import arrays

OTHER_LIBRARIES = ("cupy", "torch")
"""Libraries whose arrays do not name their namespace in every version."""

LARGE = 1e3
"""Largest ratio of a column's spread to the median spread. Raw MNIST: 2.4; scikit-learn's breast cancer data: 7,800."""

LEAST_ROWS = 10
"""Rows that are needed to estimate a column's spread."""

MOST_ROWS, FEW_ROWS, MOST_NUMBERS = 10_000, 30, 2**18
"""Most rows and numbers that spreads are computed on (few megabytes of a memory map), but at least `FEW_ROWS` rows."""


def is_of_another_library(x: Any) -> bool:
    """Whether ``x`` is an array of a library other than NumPy."""
    if isinstance(x, (np.ndarray, np.generic)):
        return False
    return hasattr(x, "__array_namespace__") or type(x).__module__.partition(".")[0] in OTHER_LIBRARIES


def to_host(x: Any) -> Any:
    """An array of another library, or a pandas column of a nullable type without gaps, as a NumPy array.

    scikit-learn would convert the column to floating point, which merges whole numbers above 2⁵³.
    """
    if x is None or isinstance(x, np.ndarray):
        return x
    if hasattr(getattr(x, "dtype", None), "numpy_dtype") and not x.isna().any():
        return x.to_numpy()
    if not is_of_another_library(x):
        return x
    library = type(x).__module__.partition(".")[0]
    if library == "torch":
        return x.detach().cpu().numpy()
    if library == "cupy":
        return arrays.to_numpy(x)
    return _convert_to_numpy(x, x.__array_namespace__())


def read_points(X: Any, name: str | None = "X") -> Any:
    """Points on the host in native byte order, or canonical CSR rows; text is refused unless ``name`` is None."""
    X = to_host(X)
    dtype = getattr(X, "dtype", None)
    if name is not None and not (isinstance(dtype, np.dtype) and dtype.kind in "biuf"):
        refuse_text(X, name)
    if scipy.sparse.issparse(X):
        return canonical_rows(X)
    foreign = isinstance(dtype, np.dtype) and dtype.kind == "f" and not dtype.isnative
    return X.astype(dtype.newbyteorder("=")) if foreign else X


def refuse_text(X: Any, name: str) -> None:
    """Raise ValueError if columns of a data frame or array ``name`` hold text, dates or times, with their names."""
    of_text, of_times, example = [], [], ""
    for label, values in _columns_without_numbers(X):
        if values.dtype.kind in "mM":
            of_times.append(label)
            continue
        try:
            values.astype(np.float64)
        except (TypeError, ValueError):
            texts = [str(value) for value in values if isinstance(value, str)]
            if texts:
                of_text.append(label)
                example = example or f", such as {texts[0]!r}"
    for found, what, remedy in (
        (of_text, f"text{example}", "Encode it with sklearn.preprocessing.OneHotEncoder, or leave it out."),
        (of_times, "dates or times", "Turn them into numbers, such as days since the first one, or leave them out."),
    ):
        if found:
            shown = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
            columns, hold = ("Column", "holds") if len(found) == 1 else ("Columns", "hold")
            raise ValueError(f"{columns} {shown} of {name} {hold} {what}, and numbers are expected. {remedy}")


def _columns_without_numbers(X: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Columns of a table whose type is not numeric, with their names, or their positions from 0."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUSmM":
        yield from ((str(place), X[:, place]) for place in range(X.shape[1]))
    elif hasattr(X, "columns") and hasattr(X, "dtypes") and not isinstance(X, np.ndarray):
        for place, (label, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
            if getattr(dtype, "kind", "O") not in "biufc":
                values = np.asarray(X.iloc[:, place] if hasattr(X, "iloc") else X[:, place])
                if values.dtype.kind not in "biufc":
                    yield repr(label), values


def canonical_rows(X: Any) -> Any:
    """Sparse X of any SciPy format as canonical CSR rows: columns ascend and occur once, no stored zeros.

    X stays as it is. Row pointers or column numbers that do not fit the shape raise ValueError, because compiled loops
    would read beyond their arrays.
    """
    if X.ndim != 2:
        return X  # scikit-learn's check of the shape reports it.
    if X.format in ("csr", "csc", "bsr"):
        try:
            # A new object over the same numbers, because flags of the given one may be out of date.
            X = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
            X.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"X is no valid sparse matrix: {error}.") from error
    rows = X.tocsr()
    if rows.has_canonical_format and np.count_nonzero(rows.data) == rows.nnz:
        return rows
    rows = rows.copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def follows_input(method: Callable[[Any, Any], np.ndarray]) -> Callable[[Any, Any], Any]:
    """Decorate a method of X: its result is in the library of X if scikit-learn dispatches. Texts stay in NumPy."""

    @functools.wraps(method)
    def method_of_any_array(self: Any, X: Any) -> Any:
        return like_input(method(self, X), X)

    return method_of_any_array


def like_input(result: np.ndarray, X: Any) -> Any:
    """A result in the library of X if scikit-learn dispatches. Texts stay in NumPy."""
    dispatches = sklearn.get_config()["array_api_dispatch"]
    if not (dispatches and is_of_another_library(X) and result.dtype.kind in "biuf"):
        return result
    xp, _, device = get_namespace_and_device(X)
    return xp.asarray(result, device=device)


def largest_unit(X: Any) -> tuple[int, float, float] | None:
    """The column of X with the largest spread, this spread, and the median one; None if their ratio is usual."""
    if X.shape[0] < LEAST_ROWS:
        return None
    with np.errstate(all="ignore"):  # Numbers too large for the kernel are refused elsewhere.
        spreads = column_spreads(X)
        varying = np.sort(spreads[spreads > 0])
        if len(varying) < 2:
            return None
        # The lower of two middle ones, so that one of two columns can be too large.
        median = varying[(len(varying) - 1) // 2]
        if not varying[-1] > LARGE * median:
            return None
    return int(spreads.argmax()), float(varying[-1]), float(median)


def column_spreads(X: Any) -> np.ndarray:
    """Standard deviation of each column over the root of its share of nonzeros, which suits rare words; 0 for
    constants.
    """
    sparse, (n, d) = scipy.sparse.issparse(X), X.shape
    per_row = max(1, X.nnz // n) if sparse else d
    rows = min(n, MOST_ROWS, max(FEW_ROWS, MOST_NUMBERS // per_row))
    some = X[:: -(-n // rows)]
    if not sparse:
        some = np.asarray(some, dtype=np.float64)
        scale, filled = np.abs(some).max(axis=0), np.count_nonzero(some, axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        deviation = (some / scale).std(axis=0)
        deviation[some.max(axis=0) == some.min(axis=0)] = 0.0
    else:
        columns, values, m = some.indices, some.data.astype(np.float64), some.shape[0]
        scale, filled = np.zeros(d), np.bincount(columns, minlength=d)
        np.maximum.at(scale, columns, np.abs(values))
        scale = np.where(scale > 0, scale, 1.0)
        values = values / scale[columns]
        mean = np.bincount(columns, values, d) / m
        squares = np.bincount(columns, (values - mean[columns]) ** 2, d) + (m - filled) * mean**2
        deviation = np.sqrt(squares / m)
        deviation[deviation < 1e-14] = 0.0  # A constant column, up to rounding.
    return scale * deviation / np.sqrt(np.maximum(filled, 1) / some.shape[0])
