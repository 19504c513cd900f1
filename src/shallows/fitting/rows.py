"""The training rows of a fit: their labels and weights, their order, and the rows that early stopping holds out."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from .. import streams
from ..errors import ShallowsError
from ..utils.checks import is_number, is_positive, is_whole

LEAST_OF_CLASS = 5
"""A class with this many rows in a part is never too rare there. Otherwise it needs its share of the part, and two rows
(half of its rows if it has fewer than four)."""


class TrainingSet(NamedTuple):
    """Checked training data in the user's order, without the rows of weight zero.

    With ``kernel="precomputed"``, ``matrix`` is the kernel matrix, and ``X`` has the numbers of its rows, shape (n, 1).
    ``rows`` are the numbers of the rows among those that the user gave.
    """

    X: Any
    y: Any  # None without targets
    weights: np.ndarray | None
    rows: np.ndarray
    matrix: Any = None

    def take(self, rows: np.ndarray) -> TrainingSet:
        """Some of the rows."""
        y, weights = (None if part is None else part[rows] for part in (self.y, self.weights))
        return TrainingSet(self.X[rows], y, weights, self.rows[rows], self.matrix)


@dataclass(frozen=True)
class HeldOut:
    """The validation rows of a fit, their numbers among all rows, and the numbers of the other rows."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    rows: np.ndarray
    training_rows: np.ndarray
    of_labels: bool

    def error(self, snapshot: Any) -> float:
        """The validation error: one minus the accuracy, or one minus R², with the weights of the rows."""
        predicted = snapshot.predict(self.X)
        if self.of_labels:
            wrong = predicted != self.y
            return float(np.average(wrong if wrong.ndim == 1 else wrong.any(axis=1), weights=self.weights))
        y = np.asarray(self.y, dtype=np.float64).reshape(len(self.y), -1)
        # In the unit of the targets, so that their squares neither over- nor underflow.
        mean = np.average(y, axis=0, weights=self.weights)
        unit = np.abs(y - mean).max(axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        squares = ((predicted.reshape(y.shape) - y) / unit) ** 2
        spread = np.average(((y - mean) / unit) ** 2, axis=0, weights=self.weights)
        missed = np.average(squares, axis=0, weights=self.weights)
        return float(np.mean(missed / np.where(spread > 0, spread, 1.0)))

    def merged(self, training_scores: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Outputs at the training rows and at these, in the order of all rows that the user gave, shape (n, c)."""
        merged = np.empty((len(self.rows) + len(self.training_rows), scores.shape[1]), dtype=training_scores.dtype)
        merged[self.training_rows], merged[self.rows] = training_scores, scores
        return merged


@dataclass(frozen=True)
class EarlyStopping:
    """Hold out rows, stop when their score stops improving, and keep the model of the best epoch.

    Parameters
    ----------
    fraction : float
        Share of the training rows that are held out, between 0 and 1.
    patience : int
        Epochs without a better score after which the training stops.
    """

    fraction: float = 0.1
    patience: int = 3

    @classmethod
    def of(cls, value: Any) -> EarlyStopping | None:
        """The object of a parameter that is True, False or an object; None if no rows are held out."""
        if isinstance(value, bool | np.bool_):
            return cls() if value else None
        if not isinstance(value, cls):
            raise ShallowsError(f"early_stopping must be True, False or EarlyStopping(...), got {value!r}.")
        if not (is_number(value.fraction) and 0 < value.fraction < 1):
            raise ShallowsError(f"fraction of early stopping must lie between 0 and 1, got {value.fraction!r}.")
        if not is_whole(value.patience):
            raise ShallowsError(
                f"patience of early stopping must be a whole number of at least 1, got {value.patience!r}."
            )
        return value


def split_rows(
    rows: TrainingSet,
    early_stopping: EarlyStopping | None,
    seed: int,
    *,
    of_labels: bool,
    of_every_class: bool = False,
) -> tuple[TrainingSet, HeldOut | None]:
    """The rows to train on, and the rows that early stopping holds out, which depend on the seed and the labels only.

    Each class has the same share, and every class keeps a training row. ``of_every_class`` holds out a row of each
    class that has two, even if the share is less.
    """
    if early_stopping is None:
        return rows, None
    fraction = early_stopping.fraction
    n, by_class = rows.X.shape[0], of_labels and rows.y.ndim == 1
    order = streams.permutation(seed, "validation rows", 0, n)
    taken = np.zeros(n, dtype=bool)
    if by_class:
        _, label = np.unique(rows.y, return_inverse=True)
        # The rows of each class in random order. Shares are rounded so that their sum is right.
        counts = np.bincount(label)
        wanted = fraction * counts
        share = np.floor(wanted).astype(int)
        missing = max(0, min(round(fraction * n), n) - int(share.sum()))
        share[np.argsort(share - wanted, kind="stable")[:missing]] += 1
        share = np.maximum(share, 1) if of_every_class and share.any() else share
        share, most = np.minimum(share, counts - 1), n - len(counts)
        for of_class, k in enumerate(share):
            taken[order[label[order] == of_class][:k]] = True
    else:
        most = n - 1
        taken[order[: min(most, math.ceil(fraction * n))]] = True
    if most == 0:
        raise ShallowsError(
            f"early_stopping=True needs validation rows, and {'one row of every class' if by_class else 'one row'} for "
            f"the training, but only {n} rows were given. Give more rows, or set early_stopping=False."
        )
    if not taken.any():
        raise ShallowsError(
            f"early_stopping with the fraction {fraction:g} gives no validation row of {n} rows. Use a larger "
            "fraction, such as early_stopping=EarlyStopping(fraction=0.5), give more rows, or set early_stopping=False."
        )
    held_out, training_rows = np.flatnonzero(taken), np.flatnonzero(~taken)
    apart = rows.take(held_out)
    validation = HeldOut(apart.X, apart.y, apart.weights, held_out, training_rows, of_labels)
    return rows.take(training_rows), validation


def order_rows(seed: int, codes: np.ndarray, targets: Any, choosing: slice, left_out: Sequence[slice]) -> np.ndarray:
    """The order of the rows in a fit: shuffled once, so that batches and a subsample are contiguous parts.

    Every class is among the rows that parameters are chosen with, and among those that are ``left_out``.
    """
    order = streams.permutation(seed, "order", 0, len(codes))
    if not targets.of_classes:
        return order
    return with_every_class(order, class_labels(codes, multilabel=targets.several), choosing, left_out)


# ------------------------------------------------------------------------------------------------- labels


def refuse_missing_labels(labels: Any, name: str = "y") -> None:
    """Raise a ValueError if a label is NaN, None or another missing value; NumPy would make the word "nan" of it."""
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


def check_classes(classes: np.ndarray, class_weight: Any = None) -> None:
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


def apply_class_weight(class_weight: Any, y: Any, weights: np.ndarray | None, *, whole: bool) -> np.ndarray:
    """Sample weights times class weights, shape (n,). Missing classes have weight 1.

    "balanced" is n/(k nⱼ) for a class with nⱼ of the n rows, of k classes; n and nⱼ are sums of sample weights.
    ``whole``: whether ``y`` has all classes that a mapping may name.
    """
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
        if whole:
            check_classes(classes, class_weight)
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

    ``choosing``: places of the rows that parameters are chosen with. ``parts``: places that each of several fits leaves
    out; the rows that remain need every class as well.
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
