"""Checks of class labels, made before anything turns them into text or into numbers of classes."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d


def refuse_missing_labels(labels: Any, name: str = "y") -> None:
    """Raise an error if a label is NaN, None or another mark of a missing value.

    Among words NumPy would make the word "nan" of it, and the model a class.

    Parameters
    ----------
    labels : array-like
        As the user gave them.
    name : str
        What they are called in the error.

    Raises
    ------
    ValueError
    """
    if labels is None or scipy.sparse.issparse(labels):
        return
    if isinstance(labels, (list, tuple)):
        flat = [label for row in labels for label in (row if isinstance(row, (list, tuple)) else (row,))]
    else:
        array = labels.to_numpy() if hasattr(labels, "to_numpy") else np.asarray(labels)
        if array.dtype.kind not in "fO":
            return
        flat = array.ravel()
        if array.dtype.kind == "f":
            flat = flat[np.isnan(flat)][:1].tolist()
    for label in flat:
        if _is_missing(label):
            raise ValueError(
                f"{name} holds {label!r}, which is no class label (NaN or another missing value). "
                "Leave out the rows without a label, or give them a class of their own, such as 'unknown'."
            )


def check_two_classes(classes: np.ndarray) -> None:
    """Raise a ValueError that names the class if there is only one.

    Parameters
    ----------
    classes : ndarray, shape (n_classes,)
        Each class once; at least one.
    """
    if len(classes) < 2:
        raise ValueError(f"The training labels hold one class only ({classes.tolist()[0]!r}); two at least are needed.")


def single_column(y: Any) -> np.ndarray:
    """Class labels as one column, shape (n_samples,), for methods that learn one output.

    Raises
    ------
    ValueError
        If the labels are no classes, or stand in several columns.
    """
    check_classification_targets(y)
    if type_of_target(y).startswith("multi") and np.ndim(y) == 2 and np.shape(y)[1] > 1:
        raise ValueError("y has several columns; fit one classifier for each output.")
    return column_or_1d(y, warn=True)


def _is_missing(label: Any) -> bool:
    # A missing time and pandas' own mark of a missing value are told by their names, so that pandas need not be there.
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, numbers.Real) and bool(label != label)
