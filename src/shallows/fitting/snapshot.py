"""A function, or components, in the middle of a training, as observers see them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from .early_stopping import HeldOut
from .machine import Options


def prediction_budget(options: Options, device: arrays.Device, *, share: int = 4) -> int:
    """Bytes that a prediction takes at a time, at most one in ``share`` of those that it may use."""
    return min(options.budget(device) // share, 2**28 if device.kind == "cpu" else 2**32)


class FunctionSnapshot:
    """A function at a state of its solver. Its outputs are kept, so several measures of the same points cost one pass.

    Attributes
    ----------
    model
        The function, with ``scores``.
    targets
        How its outputs become labels or values.
    problem, state
        The solver's; ``problem.training_scores(state)`` gives the outputs at the points of the fit.
    order : ndarray of int
        Which of the training rows stands at each of these points.
    held_out : HeldOut or None
        Rows for early stopping.
    epoch : int
    """

    def __init__(
        self,
        model: Any,
        targets: Any,
        problem: Any,
        state: Any,
        epoch: int,
        order: np.ndarray,
        held_out: HeldOut | None,
        options: Options,
        device: arrays.Device,
    ):
        self.model, self.targets, self.problem, self.state, self.epoch = model, targets, problem, state, epoch
        self.order, self.held_out, self._options, self._device = order, held_out, options, device
        self._last: tuple[Any, np.ndarray] | None = None
        self._in_training: np.ndarray | None = None

    def decision_function(self, X: Any) -> np.ndarray:
        """Outputs at any points in the units of the targets, shape (m, c)."""
        if self._last is None or self._last[0] is not X:
            raw = self.model.scores(X, self._device, self._budget())
            self._last = (X, self.targets.unscale(raw))
        return self._last[1]

    def training_decision_function(self) -> np.ndarray:
        """The same at the training rows in their own order, shape (n, c)."""
        if self._in_training is None:
            fitted = self._fitted_scores()
            scores = np.empty_like(fitted)
            scores[self.order] = fitted
            scores, held_out = self.targets.unscale(scores), self.held_out
            if held_out is not None:
                scores = held_out.merged(scores, self.decision_function(held_out.X))
            self._in_training = scores
        return self._in_training

    def _fitted_scores(self) -> np.ndarray:
        """Outputs of the function at the points of the fit."""
        return self.problem.training_scores(self.state)

    def _budget(self) -> int:
        return prediction_budget(self._options, self._device)

    def predict(self, X: Any) -> np.ndarray:
        """Labels or values in the user's coding."""
        return self.targets.decode(self.decision_function(X))

    def predict_training(self) -> np.ndarray:
        """`predict` on the training rows in their own order."""
        return self.targets.decode(self.training_decision_function())

    def square_loss(self, X: Any, y: Any) -> float:
        """Mean over points and outputs of (f(x) − y)², with classes coded as f is aimed at them, mostly −1 and +1."""
        return self._square_loss(self.decision_function(X), y)

    def training_square_loss(self, y: Any) -> float:
        """`square_loss` on the training rows, whose targets are given in their own order."""
        return self._square_loss(self.training_decision_function(), y)

    def _square_loss(self, scores: np.ndarray, y: Any) -> float:
        return float(np.mean((scores.astype(np.float64) - self.targets.aims(np.asarray(y))) ** 2))

    def coefficient_norm(self) -> float:
        """‖α‖₂ over all kernel functions or features and outputs."""
        # The columns after those of the model are of functions that a calibration is learned on.
        own = self.state.coefficients[:, : self.model.coefficients.shape[1]]
        return float(np.linalg.norm(arrays.to_numpy(own).astype(np.float64)))


class RiskSnapshot(FunctionSnapshot):
    """A function that minimizes a regularized risk, at a state of its solver."""

    def objective(self) -> float:
        """What the training minimizes, in the units that it is minimized in."""
        return self.problem.objective(self.state.coefficients)

    def mean_loss(self, X: Any, y: Any) -> float:
        """Mean of the loss on any points, for losses of classes; without the regularizer."""
        scores = self.decision_function(X)
        codes = self.targets.encode(np.asarray(y)).astype(scores.dtype)
        return float(np.mean(self.targets.loss.value(scores, codes), dtype=np.float64))


class LeastSquaresSnapshot(FunctionSnapshot):
    """A sum of kernel functions of least squares, whose state may have further columns for a calibration."""

    def _fitted_scores(self) -> np.ndarray:
        return arrays.to_numpy(self.problem.gram.dot(self.model.coefficients))

    def _budget(self) -> int:
        return prediction_budget(self._options, self._device, share=2)

    def coefficient_norm(self) -> float:
        """‖α‖₂ of the model's outputs."""
        return float(np.linalg.norm(arrays.to_numpy(self.model.coefficients).astype(np.float64)))


class ComponentSnapshot:
    """Components at a state of their solver. Their values are kept, so several measures of points cost one pass.

    Attributes
    ----------
    model
        The components, with ``transform``.
    state
        Of the solver.
    epoch : int
    """

    def __init__(self, model: Any, state: Any, epoch: int, device: arrays.Device):
        self.model, self.state, self.epoch, self._device = model, state, epoch, device
        self._last: tuple[Any, np.ndarray] | None = None

    def transform(self, X: Any) -> np.ndarray:
        """Values of the components, shape (m, k)."""
        if self._last is None or self._last[0] is not X:
            self._last = (X, self.model.transform(np.asarray(X), self._device))
        return self._last[1]

    def coefficient_norm(self) -> float:
        """‖α‖₂ over all features and components."""
        return float(np.linalg.norm(arrays.to_numpy(self.state.coefficients).astype(np.float64)))

    @property
    def n_random_features(self) -> int | None:
        """Frequencies in use, in a view; None where features do not grow."""
        return getattr(self.model, "n_random_features", None)


class TwoViewSnapshot(ComponentSnapshot):
    """Functions of two views at a state of their solver.

    Attributes
    ----------
    coding
        How the second view becomes numbers, see `shallows.fitting.components`.
    """

    def __init__(self, model: Any, coding: Any, state: Any, epoch: int, device: arrays.Device):
        super().__init__(model, state, epoch, device)
        self.coding = coding

    def transform(self, X: Any, Y: Any = None) -> Any:
        """Values of the functions of the first view, shape (m, k), or of both."""
        first = super().transform(X)
        return first if Y is None else (first, self.model.transform_second(self.coding.encode(Y), self._device))
