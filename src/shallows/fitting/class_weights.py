"""Weights of the classes, as factors of the sample weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ShallowsError
from .label_checks import single_column
from .parameter_checks import is_positive


def check(class_weight: Any, classes: np.ndarray) -> None:
    """Refuse weights of classes that there are not.

    Parameters
    ----------
    class_weight : mapping, "balanced" or None
    classes : ndarray, shape (n_classes,)

    Raises
    ------
    ShallowsError
    """
    if not isinstance(class_weight, Mapping):
        return
    known = set(classes.tolist())
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ShallowsError(
            f"class_weight names {unknown[0]!r}, which is no class of the training labels; these are "
            f"{', '.join(map(repr, classes.tolist()[:20]))}{', ...' if len(classes) > 20 else ''}."
        )


def refuse_balanced(class_weight: Any) -> None:
    """Refuse weights that are to be taken from the number of rows of each class, where these are not known."""
    if isinstance(class_weight, str):
        raise ShallowsError(
            "class_weight='balanced' takes its weights from all labels, and a stream shows them batch by batch. Give "
            "the weights as a dict, or as sample_weight."
        )


def weighted(class_weight: Any, y: Any, weights: np.ndarray | None) -> np.ndarray | None:
    """Sample weights times the weights of the rows' classes.

    Parameters
    ----------
    class_weight : mapping, "balanced" or None
        A mapping has 1 for the classes that it leaves out; "balanced" is n/(k nⱼ) for the nⱼ rows of a class, of n
        rows and k classes, a row being counted as often as its weight says.
    y : ndarray, shape (n_samples,)
    weights : ndarray of float64, shape (n_samples,), optional

    Returns
    -------
    ndarray of float64, shape (n_samples,), or None without any weights

    Raises
    ------
    ShallowsError
        If it is none of these, or a weight is not positive, or a row has several labels.
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
            "class_weight weights whole rows, and a row of several labels is of no one class. Use sample_weight."
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
