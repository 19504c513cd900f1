"""A model trained by doubly stochastic gradients, in the middle of its training."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import arrays
from ..snapshot import Snapshot


class ExpansionSnapshot(Snapshot):
    """What observers see of a random feature expansion in the middle of its training."""

    @property
    def n_blocks(self) -> int:
        """Blocks of features in use."""
        return self.state.n_blocks

    @property
    def n_random_features(self) -> int:
        """Frequencies in use."""
        return self.state.n_blocks * self.estimator._features.block_size

    def _scores(self, X: Any) -> np.ndarray:
        return self.estimator._raw_predict(X, self.state)

    def _scores_in_training(self) -> np.ndarray:
        problem, order = self.estimator._problem, self.estimator._order
        fitted = arrays.to_numpy(self.state.shifted_values(problem, problem.points))
        scores = np.empty_like(fitted)
        scores[order] = fitted
        return self.estimator._unscale(scores)

    def objective(self) -> float:
        """Mean training loss, E ℓ(f(x), y), in the units that it is minimised in; without the regulariser."""
        problem = self.estimator._problem
        scores = self.state.shifted_values(problem, problem.points)
        targets = self.state.targets_for(problem, problem.take(slice(0, scores.shape[0])), scores)
        values = problem.loss.value(scores, targets)
        w = problem.weights
        return float(arrays.namespace(scores).mean(values if w is None else values * w[:, 0]))

    def mean_loss(self, X: Any, y: Any) -> float:
        """Mean of the loss on any points, for losses of classes; without the regulariser."""
        loss, scores = self.estimator._problem.loss, self.decision_function(X)
        targets = self.estimator._encode(np.asarray(y)).astype(scores.dtype)
        return float(np.mean(loss.value(scores, targets), dtype=np.float64))
