"""The plan of a fit of least squares, and its model in the middle of the training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import arrays
from ...errors import ShallowsError
from ...kernels import Kernel
from ...spectrum import Preconditioner
from ..snapshot import Snapshot


@dataclass
class Plan:
    """The choices of a fit, made before any large array is.

    Attributes
    ----------
    kernel : Kernel
    preconditioner : Preconditioner or None
    batch_size : int
    step_size : float
    top_eigenvalue, largest_diagonal : float
        λ and β of the preconditioned operator, see `Preconditioner.step_size`.
    """

    kernel: Kernel
    preconditioner: Preconditioner | None
    batch_size: int
    step_size: float
    top_eigenvalue: float
    largest_diagonal: float


class LeastSquaresSnapshot(Snapshot):
    """A model of least squares in the middle of its training."""

    def _scores(self, X: Any) -> np.ndarray:
        return self.estimator._raw_predict(X, self.state.coefficients[:, : self.estimator._n_outputs])

    def coefficient_norm(self) -> float:
        """‖α‖₂ of the model's outputs, without those that a calibration is learnt from."""
        coefficients = self.state.coefficients[:, : self.estimator._n_outputs]
        return float(np.linalg.norm(arrays.to_numpy(coefficients).astype(np.float64)))

    def _scores_in_training(self) -> np.ndarray:
        """From the kernel matrix of the fit."""
        estimator = self.estimator
        fitted = arrays.to_numpy(estimator._gram.dot(self.state.coefficients[:, : estimator._n_outputs]))
        held_out = estimator._held_out
        if held_out is None:
            scores = np.empty_like(fitted)
            scores[estimator._order] = fitted
            return estimator._unscale(scores)
        others = self._scores(held_out.X)
        scores = np.empty((len(fitted) + len(others), fitted.shape[1]), dtype=fitted.dtype)
        scores[held_out.training_rows[estimator._order]] = fitted
        scores = estimator._unscale(scores)
        scores[held_out.rows] = others
        return scores


def subsample_first(indices: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return an order that begins with ``indices``; the other rows follow as in ``order``."""
    if indices.max() >= len(order):
        raise ShallowsError(
            f"The preconditioner was made for at least {indices.max() + 1} training points, here are {len(order)}."
        )
    rest = np.ones(len(order), dtype=bool)
    rest[indices] = False
    return np.concatenate([indices, order[rest[order]]])
