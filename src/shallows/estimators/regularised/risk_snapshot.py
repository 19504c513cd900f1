"""A model of a regularised risk in the middle of its training, as observers see it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import arrays
from ...solvers.regularised.risk import RiskProblem, RiskState
from ..snapshot import Snapshot


class RiskSnapshot(Snapshot):
    """A model of a regularised risk in the middle of its training."""

    def __init__(self, estimator: Any, problem: RiskProblem, state: RiskState, epoch: int):
        super().__init__(estimator, state, epoch)
        self.problem = problem

    def _scores(self, X: Any) -> np.ndarray:
        model = self.estimator._model_of(self.problem, self.state, final=False)
        return self.estimator._raw_predict(X, model)

    def _scores_in_training(self) -> np.ndarray:
        span, state, order = self.problem.span, self.state, self.estimator._order
        scores = np.empty(self.problem.targets.shape, dtype=np.float64)
        for rows in arrays.blocks(span.n, 4096):
            scores[order[rows]] = arrays.to_numpy(span.scores(state.coefficients, rows, state.n_visited))
        scores, held_out = self.estimator._unscale(scores), self.estimator._held_out
        return scores if held_out is None else held_out.merged(scores, self._scores(held_out.X))

    def objective(self) -> float:
        """λ/2 ‖f‖² and the mean loss, in the units that they are minimised in."""
        return self.problem.objective(self.state.coefficients)

    def mean_loss(self, X: Any, y: Any) -> float:
        """Mean of the loss on any points, for losses of classes; without the regulariser."""
        scores = self.decision_function(X)
        targets = self.estimator._encode(np.asarray(y)).astype(scores.dtype)
        return float(np.mean(self.estimator._named_loss().value(scores, targets), dtype=np.float64))
