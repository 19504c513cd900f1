"""Class labels: checks before they become text or numbers, class weights, and rows that contain every class."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from ..errors import ShallowsError
from .checks import is_positive

LEAST_OF_CLASS = 5
"""A class with this many rows in a part is never too rare there. Otherwise it needs its share of the part, and two rows
(half of its rows if it has fewer than four)."""


def refuse_missing_labels(labels: Any, name: str = "y") -> None:
    """Raise a ValueError if a label is NaN, None or another missing value; NumPy would make the word "nan" of it.

    ``labels`` are as the user gave them; ``name`` is their name in the error.
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
                "Remove the rows without a label, or give them their own class, such as 'unknown'."
            )


def _is_missing(label: Any) -> bool:
    # The missing values of pandas are recognized by name, because pandas may not be installed.
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, numbers.Real) and bool(label != label)


def check_classes(classes: np.ndarray, class_weight: Any) -> None:
    """Refuse a single class, and a weight for a class that the training labels do not have."""
    if len(classes) < 2:
        raise ValueError(f"The training labels hold one class only ({classes.tolist()[0]!r}); two at least are needed.")
    if not isinstance(class_weight, Mapping):
        return
    known = set(classes.tolist())
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ShallowsError(
            f"class_weight names {unknown[0]!r}, which is no class of the training labels; these are "
            f"{', '.join(map(repr, classes.tolist()[:20]))}{', ...' if len(classes) > 20 else ''}."
        )


def single_column(y: Any) -> np.ndarray:
    """Class labels as one column, shape (n,); raises a ValueError if they are not classes or have several columns."""
    check_classification_targets(y)
    if type_of_target(y).startswith("multi") and np.ndim(y) == 2 and np.shape(y)[1] > 1:
        raise ValueError("y has several columns; fit one classifier for each output.")
    return column_or_1d(y, warn=True)


def are_several(y: Any) -> bool:
    """Whether each example has several labels: y has a column of 0 and 1 for each label, and at least two."""
    return np.ndim(y) == 2 and np.shape(y)[1] > 1 and type_of_target(y) == "multilabel-indicator"


def check_takes_several(loss: Any) -> None:
    """Refuse several labels for a loss that assumes one right class for each example."""
    if loss.coding == "indicator":
        raise ShallowsError(
            f"The loss {loss.name!r} is for examples of one class each, and y has several labels for an example. Take "
            "loss='logistic', 'hinge', 'squared_hinge' or 'square', which treat each label alone."
        )


def signs(y: Any, n_labels: int) -> np.ndarray:
    """Columns of 0 and 1 as −1 and +1, float64, shape (n, n_labels); raises a ValueError for anything else."""
    y = np.asarray(y)
    if not are_several(y) or y.shape[1] != n_labels:
        raise ValueError(
            f"y must have a column of 0 and 1 for each of the {n_labels} labels of the model, got the shape {y.shape}."
        )
    return np.where(y > 0, 1.0, -1.0)


# ------------------------------------------------------------------------------------------------- class weights


def refuse_balanced(class_weight: Any) -> None:
    """Refuse "balanced" for a stream, because it needs the number of rows of each class."""
    if isinstance(class_weight, str):
        raise ShallowsError(
            "class_weight='balanced' takes its weights from all labels, and a stream shows them batch by batch. Give "
            "the weights as a dict, or as sample_weight."
        )


def apply_class_weight(class_weight: Any, y: Any, weights: np.ndarray | None) -> np.ndarray | None:
    """Sample weights times class weights, shape (n,); None if there are neither.

    Parameters
    ----------
    class_weight : mapping, "balanced" or None
        Classes that a mapping does not name have weight 1. "balanced" is n/(k nⱼ) for a class with nⱼ of the n rows,
        of k classes; n and nⱼ are sums of sample weights.
    """
    if class_weight is None:
        return weights
    balanced = isinstance(class_weight, str) and class_weight == "balanced"
    if not (balanced or isinstance(class_weight, Mapping)):
        raise ShallowsError(
            f"class_weight must be a dict of weights by class, 'balanced' or None, got {class_weight!r}."
        )
    if np.ndim(y) == 2 and np.shape(y)[1] > 1:
        raise ShallowsError(
            "class_weight weights whole rows, and a row of several labels has several classes. Use sample_weight."
        )
    classes, places = np.unique(single_column(y), return_inverse=True)
    if balanced:
        counts = np.bincount(places, weights)
        of_class = counts.sum() / (len(classes) * counts)
    else:
        for label, weight in class_weight.items():
            if not is_positive(weight):
                raise ShallowsError(f"class_weight must hold positive numbers, got {weight!r} for {label!r}.")
        of_class = np.array([class_weight.get(label, 1.0) for label in classes.tolist()], dtype=np.float64)
    return of_class[places] if weights is None else of_class[places] * weights


# ------------------------------------------------------------------------------- parts of the rows with every class


def class_labels(codes: np.ndarray, *, multilabel: bool = False) -> np.ndarray:
    """The class number of each row, shape (n,); for several labels, the number of the rarest value in the row."""
    if not multilabel:
        return (codes[:, 0] > 0).astype(int) if codes.shape[1] == 1 else codes.argmax(axis=1)
    values = np.hstack([codes > 0, codes <= 0])
    counts = values.sum(axis=0)
    rarest = np.argsort(counts, kind="stable")
    return rarest[values[:, rarest].argmax(axis=1)]


def with_every_class(order: np.ndarray, labels: np.ndarray, choosing: slice, parts: Sequence[slice] = ()) -> np.ndarray:
    """A random order of rows, changed where a class is too rare in a part of it.

    Parameters
    ----------
    order : ndarray, shape (n,)
        The row at each place.
    labels : ndarray, shape (n,)
        The class of each row, from `class_labels`.
    choosing : slice
        Places of the rows that parameters are chosen with.
    parts : sequence of slice
        Places of the rows that each of several fits leaves out. The rows that remain need every class as well.
    """
    counts, order, labels = np.bincount(labels), order.copy(), labels[order]
    held_out, chooses = np.zeros(len(order), dtype=bool), np.zeros(len(order), dtype=bool)
    chooses[choosing] = True
    for part in parts:
        held_out[part] = True
    rare = np.flatnonzero(counts // 2 <= LEAST_OF_CLASS)
    for part in parts:
        in_part = np.zeros(len(order), dtype=bool)
        in_part[part] = True
        for label in rare:
            for place in np.flatnonzero(in_part & (labels == label))[counts[label] // 2 :]:
                _exchange_for_commonest(order, labels, place, ~(held_out | chooses))
    for span, others in ((held_out, chooses), (chooses, held_out)):
        if not span.any() or span.all():
            continue
        # Move rows of too rare classes into the span, if necessary from the other span if it has enough of them.
        share = (counts * span.mean()).astype(int)
        wanted = np.clip(share, np.minimum(2, counts // 2), np.minimum(LEAST_OF_CLASS, counts // 2))
        here = np.bincount(labels[span], minlength=len(wanted))
        if np.maximum(wanted - here, 0).sum() > span.sum() // 2:
            wanted = np.minimum(wanted, 1)
        for label in np.flatnonzero(here < wanted):
            free = np.flatnonzero((labels == label) & ~span & ~others)
            spare = np.flatnonzero((labels == label) & others & ~span)[wanted[label] :]
            for place in np.concatenate([free, spare])[: wanted[label] - here[label]]:
                among = span & ~others if (span & ~others).any() else span
                _exchange_for_commonest(order, labels, place, among)
    return order


def _exchange_for_commonest(order: np.ndarray, labels: np.ndarray, place: int, among: np.ndarray) -> None:
    """Exchange the row of a place for the last row of the commonest class among others, if there is one."""
    here = np.bincount(labels[among])
    if not here.any() or here.argmax() == labels[place]:
        return
    other = np.flatnonzero(among & (labels == here.argmax()))[-1]
    for of_places in (order, labels):
        of_places[[place, other]] = of_places[[other, place]]
