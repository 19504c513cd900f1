"""Checks of class labels, made before anything turns them into text or into numbers of classes."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from ..errors import ShallowsError


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
        flat = array.ravel()  # type: ignore[assignment]
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


def are_several(y: Any) -> bool:
    """Whether targets are several labels for each example: a column of 0 and 1 for each label, two at least."""
    return np.ndim(y) == 2 and np.shape(y)[1] > 1 and type_of_target(y) == "multilabel-indicator"


def check_takes_several(loss: Any) -> None:
    """Refuse several labels for a loss that is of all classes together, one of which is right."""
    if loss.coding == "indicator":
        raise ShallowsError(
            f"The loss {loss.name!r} is for examples of one class each, and y has several labels for an example. Take "
            "loss='logistic', 'hinge', 'squared_hinge' or 'square', which treat each label alone."
        )


def signs(y: Any, n_labels: int) -> np.ndarray:
    """Columns of 0 and 1 as −1 and +1, float64, shape (n_samples, n_labels).

    Raises
    ------
    ValueError
        If there are other numbers, or another number of columns.
    """
    y = np.asarray(y)
    if not are_several(y) or y.shape[1] != n_labels:
        raise ValueError(
            f"y must have a column of 0 and 1 for each of the {n_labels} labels of the model, got the shape {y.shape}."
        )
    return np.where(y > 0, 1.0, -1.0)


def _is_missing(label: Any) -> bool:
    # A missing time and pandas' own mark of a missing value are told by their names, so that pandas need not be there.
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, numbers.Real) and bool(label != label)
