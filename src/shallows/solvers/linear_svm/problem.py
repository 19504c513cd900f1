"""The objective of a linear support vector machine, and what the states of its solvers have in common."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...utils.compilation import njit
from ..array_state import ArrayState
from .rows import Rows, combination, products

HINGE, SQUARED_HINGE = 0, 1
LOSSES = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE}
"""The losses by name: max(0, 1 − z) and ½ max(0, 1 − z)² of the margin z = yᵢ wᵀxᵢ."""


@njit(cache=True, nogil=True)
def slope(loss: int, margin: float) -> float:
    """−ℓ' of a margin: 1 or 0 for the hinge, how far the margin is missed for the squared hinge."""
    if margin >= 1.0:
        return 0.0
    return 1.0 if loss == HINGE else 1.0 - margin


@dataclass(frozen=True)
class LinearSVMProblem:
    """Minimise P(w) = λ/2 ‖w‖² + (1/n) Σᵢ cᵢ ℓ(yᵢ wᵀxᵢ)."""

    rows: Rows  # The points xᵢ
    n_features: int
    signs: np.ndarray  # (n,): yᵢ, −1 or 1
    regularisation: float  # λ > 0; a support vector machine's C is 1/(λn)
    loss: int = HINGE  # `HINGE` or `SQUARED_HINGE`
    weights: np.ndarray | None = None  # (n,): cᵢ, of mean one; None stands for ones
    all_weights: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        weights = np.ones(self.n) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        object.__setattr__(self, "all_weights", weights)

    @property
    def n(self) -> int:
        """Number of examples."""
        return len(self.signs)

    @property
    def compiled(self) -> tuple[Rows, np.ndarray, np.ndarray, int, float]:
        """Rows, signs, weights, loss and λ, as compiled steps take them."""
        return self.rows, self.signs, self.all_weights, self.loss, self.regularisation

    def margins(self, w: np.ndarray) -> np.ndarray:
        """yᵢ wᵀxᵢ, shape (n,)."""
        return self.signs * products(self.rows, w)

    def risk(self, margins: np.ndarray) -> float:
        """(1/n) Σ cᵢ ℓ of given margins."""
        missed = np.maximum(0.0, 1.0 - margins)
        each = missed if self.loss == HINGE else 0.5 * missed * missed
        return float(self.all_weights @ each) / self.n

    def slopes(self, margins: np.ndarray) -> np.ndarray:
        """−cᵢ ℓ' of given margins, shape (n,)."""
        missed = np.maximum(0.0, 1.0 - margins)
        return self.all_weights * (missed > 0 if self.loss == HINGE else missed)

    def curvatures(self, margins: np.ndarray) -> np.ndarray:
        """cᵢ ℓ'' of given margins, shape (n,), for the squared hinge."""
        return self.all_weights * (margins < 1.0)

    def risk_gradient(self, margins: np.ndarray) -> np.ndarray:
        """The (sub)gradient of the risk at given margins, shape (d,)."""
        return combination(self.rows, -self.slopes(margins) * self.signs / self.n, self.n_features)

    def objective(self, w: np.ndarray) -> float:
        """P(w)."""
        return 0.5 * self.regularisation * float(w @ w) + self.risk(self.margins(w))


def dual_objective(problem: LinearSVMProblem, dual: np.ndarray) -> float:
    """D(a) = (1/n) Σ (aᵢ − [squared hinge] aᵢ²/(2cᵢ)) − λ/2 ‖w_a‖² with w_a = (1/(λn)) Σ aᵢ yᵢ xᵢ.

    At most the minimum of P for 0 ≤ aᵢ (≤ cᵢ with the hinge), and equal to it at the solution.
    """
    w = combination(problem.rows, dual * problem.signs / (problem.regularisation * problem.n), problem.n_features)
    conjugate = 0.0 if problem.loss == HINGE else 0.5 * dual * dual / problem.all_weights
    return float(np.mean(dual - conjugate)) - 0.5 * problem.regularisation * float(w @ w)


@dataclass
class LinearState(ArrayState):
    """Where a solver of a linear support vector machine stands."""

    coefficients: np.ndarray  # (d,): w of the model
    n_steps: int = 0  # Iterations so far, in the solver's own unit
    exhausted: bool = False  # Whether the solver has come to the accuracy that was asked for
