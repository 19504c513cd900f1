"""A net in the middle of its training, as observers see it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .descent import NetState


class NetSnapshot:
    """A net in the middle of its training, as observers see it.

    Outputs are kept, so that several measures of the same points cost one evaluation.
    """

    def __init__(self, estimator: Any, state: NetState, epoch: int):
        self.estimator, self.state, self.epoch = estimator, state, epoch
        self._training_scores: np.ndarray | None = None
        self._last: tuple[Any, np.ndarray] | None = None

    def decision_function(self, X: Any) -> np.ndarray:
        """Outputs of the net, shape (m, c)."""
        if self._last is None or self._last[0] is not X:
            self._last = (X, self.estimator._raw_predict(np.asarray(X), self.state.weights))
        return self._last[1]

    def predict(self, X: Any) -> np.ndarray:
        """Labels or values in the user's coding."""
        return self.estimator._decode(self.decision_function(X))

    def training_decision_function(self) -> np.ndarray:
        """Outputs on the training rows, shape (n, c)."""
        if self._training_scores is None:
            self._training_scores = self.estimator._raw_predict(self.estimator._rows, self.state.weights)
        return self._training_scores

    def predict_training(self) -> np.ndarray:
        """`predict` on the training rows."""
        return self.estimator._decode(self.training_decision_function())

    def square_loss(self, X: Any, y: Any) -> float:
        """Mean over points and outputs of the squared error.

        Of classes, with targets −1 and +1 and 2 p − 1 for the function, p the estimated probability: what the square
        loss of a least-squares classifier compares with.
        """
        return self.estimator._square_loss(self.decision_function(X), np.asarray(y))

    def training_square_loss(self, y: Any) -> float:
        """`square_loss` on the training rows."""
        return self.estimator._square_loss(self.training_decision_function(), np.asarray(y))

    def mean_loss(self, X: Any, y: Any) -> float:
        """Mean over points of what is minimised: cross-entropy, or half the squared error in the targets' units."""
        return self.estimator._mean_loss(self.decision_function(X), np.asarray(y))

    def coefficient_norm(self) -> float:
        """Euclidean norm of all weights."""
        return math.sqrt(sum(float((value.detach().double() ** 2).sum()) for value in self.state.weights.values()))
