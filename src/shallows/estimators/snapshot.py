"""A model in the middle of its training, as observers see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import arrays


class ModelSnapshot:
    """A model in the middle of its training, whatever it makes of points.

    Outputs are kept, so that several measures of the same points cost one evaluation.

    Attributes
    ----------
    estimator : Estimator
    state
        Of the solver, with ``coefficients``.
    epoch : int
    """

    def __init__(self, estimator: Any, state: Any, epoch: int):
        self.estimator, self.state, self.epoch = estimator, state, epoch
        self._last: tuple[Any, np.ndarray] | None = None

    def _once(self, X: Any, evaluate: Callable[[Any], np.ndarray]) -> np.ndarray:
        """``evaluate(X)``, or what the last call gave if it was for the same points."""
        if self._last is None or self._last[0] is not X:
            self._last = (X, evaluate(X))
        return self._last[1]

    def coefficient_norm(self) -> float:
        """‖α‖₂ over all kernel functions or features and outputs."""
        return float(np.linalg.norm(arrays.to_numpy(self.state.coefficients).astype(np.float64)))


class Snapshot(ModelSnapshot):
    """A model in the middle of its training that predicts."""

    def __init__(self, estimator: Any, state: Any, epoch: int):
        super().__init__(estimator, state, epoch)
        self._training_scores: np.ndarray | None = None

    # ---------------------------------------------------------------- what subclasses say

    def _scores(self, X: Any) -> np.ndarray:
        """Raw outputs for any points, shape (m, c)."""
        raise NotImplementedError

    def _scores_in_training(self) -> np.ndarray:
        """Raw outputs on the training rows in their own order, shape (n, c)."""
        raise NotImplementedError

    # ------------------------------------------------------------------------- measures

    def decision_function(self, X: Any) -> np.ndarray:
        """Raw outputs, shape (m, c)."""
        return self._once(X, self._scores)

    def training_decision_function(self) -> np.ndarray:
        """Raw outputs on the training rows in their own order, shape (n, c)."""
        if self._training_scores is None:
            self._training_scores = self._scores_in_training()
        return self._training_scores

    def predict(self, X: Any) -> np.ndarray:
        """Labels or values in the user's coding."""
        return self.estimator._decode(self.decision_function(X))

    def predict_training(self) -> np.ndarray:
        """`predict` on the training rows in their own order."""
        return self.estimator._decode(self.training_decision_function())

    def square_loss(self, X: Any, y: Any) -> float:
        """Mean over points and outputs of (f(x) − y)², with classes coded as f is aimed at them, mostly −1 and +1."""
        return _mean_square(self.decision_function(X), self.estimator._codes(np.asarray(y)))

    def training_square_loss(self, y: Any) -> float:
        """`square_loss` on the training rows, whose targets are given in their own order."""
        return _mean_square(self.training_decision_function(), self.estimator._codes(np.asarray(y)))


def _mean_square(scores: np.ndarray, codes: np.ndarray) -> float:
    return float(np.mean((scores.astype(np.float64) - codes) ** 2))
