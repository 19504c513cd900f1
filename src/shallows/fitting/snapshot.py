"""A model during its training: snapshots for observers, and kernel values that they reuse."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .. import arrays
from ..gram import Blocks
from .machine import Options
from .rows import HeldOut

MOST_SEEN_ONCE = 4
"""Sets of points seen once that are remembered, so that a second visit is recognized."""


@dataclass(eq=False)
class FunctionSnapshot:
    """A function at a state of its solver. Its outputs are kept, so several measures of the same points cost one pass.

    Observers read ``model, targets, problem, state, epoch`` and ``held_out``. ``problem.training_scores(state)`` are
    the outputs at the points of the fit, unless these points are given; ``order`` has the training row of each.
    """

    model: Any
    targets: Any
    problem: Any
    state: Any
    epoch: int
    order: np.ndarray
    held_out: HeldOut | None
    options: Options
    device: arrays.Device
    training_points: Any = None
    _last: tuple[Any, np.ndarray] | None = None
    _in_training: np.ndarray | None = None
    budget_share: ClassVar[int] = 4

    def decision_function(self, X: Any) -> np.ndarray:
        """Outputs at any points in the units of the targets, shape (m, c)."""
        if self._last is None or self._last[0] is not X:
            budget = self.options.prediction_budget(self.device, share=self.budget_share)
            raw = self.model.scores(X, self.device, budget)
            self._last = (X, self.targets.unscale(raw))
        return self._last[1]

    def training_decision_function(self) -> np.ndarray:
        """Outputs at the training rows in the user's order, shape (n, c)."""
        if self.training_points is not None:
            return self.decision_function(self.training_points)
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

    def predict(self, X: Any) -> np.ndarray:
        """Labels or values in the user's coding."""
        return self.targets.decode(self.decision_function(X))

    def predict_training(self) -> np.ndarray:
        """`predict` at the training rows in the user's order."""
        return self.targets.decode(self.training_decision_function())

    def square_loss(self, X: Any, y: Any) -> float:
        """Mean over points and outputs of (f(x) − y)², where classes are coded as f learns them, mostly −1 and +1."""
        return self._square_loss(self.decision_function(X), y)

    def training_square_loss(self, y: Any) -> float:
        """`square_loss` at the training rows; ``y`` are their targets in the user's order."""
        return self._square_loss(self.training_decision_function(), y)

    def _square_loss(self, scores: np.ndarray, y: Any) -> float:
        return float(np.mean((scores.astype(np.float64) - self.targets.aims(np.asarray(y))) ** 2))

    def coefficient_norm(self) -> float:
        """‖α‖₂ over all kernel functions or features and outputs."""
        # Further columns are functions that a calibration is learned on.
        own = self.state.coefficients[:, : self.model.coefficients.shape[1]]
        return float(np.linalg.norm(arrays.to_numpy(own).astype(np.float64)))


class RiskSnapshot(FunctionSnapshot):
    """A function that minimizes a regularized risk, at a state of its solver."""

    def objective(self) -> float:
        """The objective that the training minimizes, in its units."""
        return self.problem.objective(self.state.coefficients)

    def mean_loss(self, X: Any, y: Any) -> float:
        """Mean loss of classes at any points, without the regularizer."""
        scores = self.decision_function(X)
        codes = self.targets.encode(np.asarray(y)).astype(scores.dtype)
        return float(np.mean(self.targets.loss.value(scores, codes), dtype=np.float64))


class LeastSquaresSnapshot(FunctionSnapshot):
    """A function of least squares. Its state may have further columns, which a calibration is learned on."""

    budget_share = 2

    def _fitted_scores(self) -> np.ndarray:
        return arrays.to_numpy(self.problem.gram.dot(self.model.coefficients))


class ComponentSnapshot:
    """Components at a state of their solver. Their values are kept, so several measures of points cost one pass."""

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
    """Functions of two views at a state of their solver; ``coding`` makes numbers of the second view."""

    def __init__(self, model: Any, coding: Any, state: Any, epoch: int, device: arrays.Device):
        super().__init__(model, state, epoch, device)
        self.coding = coding

    def transform(self, X: Any, Y: Any = None) -> Any:
        """Values of the functions of the first view, shape (m, k), or of both."""
        first = super().transform(X)
        return first if Y is None else (first, self.model.transform_second(self.coding.encode(Y), self._device))


@dataclass
class CachedKernelValues:
    """Kernel values between the points of an evaluation and the training points."""

    points: np.ndarray  # (m, d): a copy
    budget: int = 0  # Bytes of a block of a product, which determine how the values are cut into blocks
    blocks: dict[int, Blocks] | None = None  # By the first row of each block; None until the points come again


@dataclass
class EvaluationCache:
    """Kernel values of points that are scored more than once during a fit, such as a test set after every epoch.

    Values are kept from the second time on, as far as the memory allows. Points are recognized by their values.
    """

    n: int  # Training points
    itemsize: int  # Bytes of a kernel value
    left: int  # Bytes that may still be kept
    known: list[CachedKernelValues] = field(default_factory=list)

    def entry_for(self, X: Any, budget: int) -> CachedKernelValues | None:
        """The entry of the points ``X``, to be filled or read.

        None if they come for the first time, are sparse, or need more memory than is left.
        """
        if not isinstance(X, np.ndarray):
            return None
        for known in self.known:
            if known.points.dtype == X.dtype and np.array_equal(known.points, X):
                needed = X.shape[0] * self.n * self.itemsize
                if known.blocks is None and needed <= self.left:
                    self.left -= needed
                    known.budget, known.blocks = budget, {}
                return known if known.blocks is not None else None
        once = [known for known in self.known if known.blocks is None]
        if len(once) == MOST_SEEN_ONCE:
            self.known = [known for known in self.known if known is not once[0]]
            self.left += once[0].points.nbytes
        if X.nbytes <= self.left:
            self.left -= X.nbytes
            self.known.append(CachedKernelValues(np.array(X)))
        return None
