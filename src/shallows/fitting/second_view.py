"""How the second view of examples becomes numbers: columns as they are, or the targets of a supervised reduction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class NotCoded:
    """There is no second view, or it is not known yet how it is coded."""

    def encode(self, Y: Any) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Columns:
    """A second view of points, taken as it is.

    Attributes
    ----------
    n_features : int
    """

    n_features: int

    def encode(self, Y: Any) -> np.ndarray:
        """The view as floats with a row for each example."""
        Y = np.asarray(Y)
        Y = Y.reshape(len(Y), -1)
        if Y.shape[1] != self.n_features:
            raise ValueError(
                f"The second view has {Y.shape[1]} features, and the model was begun with {self.n_features}."
            )
        return Y


@dataclass(frozen=True)
class Values:
    """Targets that are numbers, each column divided by its deviation.

    Attributes
    ----------
    scale : ndarray, shape (c,)
    """

    scale: np.ndarray

    def encode(self, Y: Any) -> np.ndarray:
        """Scaled targets, shape (n, c)."""
        Y = np.asarray(Y)
        Y = Y.reshape(len(Y), -1)
        if Y.shape[1] != len(self.scale):
            raise ValueError(f"y has {Y.shape[1]} columns, and the model was begun with {len(self.scale)}.")
        return Y / self.scale


@dataclass(frozen=True)
class Labels:
    """Targets that are labels, as ones and zeros.

    Attributes
    ----------
    classes : ndarray, shape (k,)
    """

    classes: np.ndarray

    def encode(self, Y: Any) -> np.ndarray:
        """A column for each class, shape (n, k)."""
        y = np.asarray(Y).ravel()
        unknown = np.setdiff1d(y, self.classes)
        if len(unknown):
            raise ValueError(f"y holds the label {str(unknown[0])!r}, which is none of {self.classes.tolist()}.")
        return (y[:, None] == self.classes).astype(np.float64)
