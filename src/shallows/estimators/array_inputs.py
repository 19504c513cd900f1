"""Arrays of other libraries, brought to the host at the door and returned where scikit-learn dispatches.

CuPy's arrays, and those of any library that follows the Python array API standard, are brought to the host, checked,
and from there to the device of the fit, like any input. Predictions come as NumPy arrays; with
``sklearn.set_config(array_api_dispatch=True)`` they come in the library and on the device of X, as scikit-learn's own
do. Fitted attributes are NumPy arrays, so that a model is saved, and predicts, where there is no such library; it takes
new points of any. (The tag ``array_api_support`` of scikit-learn promises the opposite, and is not set.)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sklearn
from sklearn.utils._array_api import _convert_to_numpy, get_namespace_and_device

from .. import arrays

OTHER_LIBRARIES = ("cupy", "torch")
"""Libraries whose arrays do not name their namespace themselves, or not in every version."""


def is_of_another_library(x: Any) -> bool:
    """Whether ``x`` is an array, and none of NumPy's."""
    if isinstance(x, (np.ndarray, np.generic)):
        return False
    return hasattr(x, "__array_namespace__") or type(x).__module__.partition(".")[0] in OTHER_LIBRARIES


def on_host(x: Any) -> Any:
    """An array of another library as NumPy's, a column of pandas that may have gaps too; all else as it is.

    scikit-learn would bring the column into floating point, where whole numbers above 2⁵³ are no longer told apart.
    """
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


def refuse_text(X: Any, name: str) -> None:
    """Refuse a table with columns that hold text, dates or times, and name these columns.

    Parameters
    ----------
    X : any
        Data frames, and NumPy arrays of objects or of text, are checked; all else passes.
    name : str
        What the message calls the table.

    Raises
    ------
    ValueError
    """
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
    """The columns of a table that have no type of numbers, with their names, or their places from 0 on."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUSmM":
        yield from ((str(place), X[:, place]) for place in range(X.shape[1]))
    elif hasattr(X, "columns") and hasattr(X, "dtypes") and not isinstance(X, np.ndarray):
        for place, (label, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
            if getattr(dtype, "kind", "O") not in "biufc":
                values = np.asarray(X.iloc[:, place] if hasattr(X, "iloc") else X[:, place])
                if values.dtype.kind not in "biufc":
                    yield repr(label), values


def canonical_rows(X: Any) -> Any:
    """Sparse rows in canonical CSR form, columns ascending and each once, without stored zeros; X stays as it is.

    Parameters
    ----------
    X : sparse matrix or array, shape (n, d)
        In any format of SciPy.

    Raises
    ------
    ValueError
        Row pointers or column numbers that do not fit the shape; compiled loops would read beyond their arrays.
    """
    if X.ndim != 2:
        return X  # The check of the shape says what is wrong.
    if X.format in ("csr", "csc", "bsr"):
        try:
            # An object of its own over the same numbers: flags of the given one may be out of date.
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
    """Decorate a method of X, so that its result is in the library of X where scikit-learn dispatches.

    Class labels that are texts stay in a NumPy array: the standard has no texts.
    """

    @functools.wraps(method)
    def method_of_any_array(self: Any, X: Any) -> Any:
        made = method(self, X)
        dispatches = sklearn.get_config()["array_api_dispatch"]
        if not (dispatches and is_of_another_library(X) and made.dtype.kind in "biuf"):
            return made
        xp, _, device = get_namespace_and_device(X)
        return xp.asarray(made, device=device)

    return method_of_any_array
