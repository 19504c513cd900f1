"""The objective of a linear support vector machine, the base of solver states and settings, and several classes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...utils.compilation import njit
from ..array_state import ArrayState
from ..settings import Settings, at_least_zero, count, setting
from .rows import CompiledRows, combination, products

HINGE, SQUARED_HINGE = 0, 1
LOSSES = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE}
"""The losses by name: max(0, 1 − z) and ½ max(0, 1 − z)² of the margin z = yᵢ wᵀxᵢ."""

USUAL_EPOCHS = 20
"""Default limit of epochs of solvers without a tolerance, which `FEWEST_VISITS` increases for few rows."""

FEWEST_VISITS = 20_000
"""Smallest number of examples that a stochastic method visits by default: epochs over few rows are cheap."""


@njit(cache=True, nogil=True)
def slope(loss: int, margin: float) -> float:
    """−ℓ' at a margin: 1 or 0 for the hinge, max(0, 1 − z) for the squared hinge."""
    if margin >= 1.0:
        return 0.0
    return 1.0 if loss == HINGE else 1.0 - margin


CompiledProblem = tuple[CompiledRows, np.ndarray, np.ndarray, int, float]
"""Rows, signs, weights, loss and λ, for compiled steps."""


@dataclass(frozen=True)
class LinearSVMProblem:
    """Minimize P(w) = λ/2 ‖w‖² + (1/n) Σᵢ cᵢ ℓ(yᵢ wᵀxᵢ)."""

    rows: CompiledRows  # the points xᵢ
    n_features: int
    signs: np.ndarray  # (n,): yᵢ, −1 or 1
    regularization: float  # λ > 0; C of a support vector machine is 1/(λn)
    loss: int = HINGE  # `HINGE` or `SQUARED_HINGE`
    weights: np.ndarray | None = None  # (n,): cᵢ, with mean 1; None is ones
    all_weights: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        weights = np.ones(self.n) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        object.__setattr__(self, "all_weights", weights)

    @property
    def n(self) -> int:
        return len(self.signs)

    @property
    def compiled(self) -> CompiledProblem:
        return self.rows, self.signs, self.all_weights, self.loss, self.regularization

    def margins(self, w: np.ndarray) -> np.ndarray:
        """yᵢ wᵀxᵢ, shape (n,)."""
        return self.signs * products(self.rows, w)

    def risk(self, margins: np.ndarray) -> float:
        """(1/n) Σ cᵢ ℓ at the given margins."""
        missed = np.maximum(0.0, 1.0 - margins)
        each = missed if self.loss == HINGE else 0.5 * missed * missed
        return float(self.all_weights @ each) / self.n

    def slopes(self, margins: np.ndarray) -> np.ndarray:
        """−cᵢ ℓ' at the given margins, shape (n,)."""
        missed = np.maximum(0.0, 1.0 - margins)
        return self.all_weights * (missed > 0 if self.loss == HINGE else missed)

    def curvatures(self, margins: np.ndarray) -> np.ndarray:
        """cᵢ ℓ'' of the squared hinge at the given margins, shape (n,)."""
        return self.all_weights * (margins < 1.0)

    def risk_gradient(self, margins: np.ndarray) -> np.ndarray:
        """The (sub)gradient of the risk at the given margins, shape (d,)."""
        return combination(self.rows, -self.slopes(margins) * self.signs / self.n, self.n_features)

    def objective(self, w: np.ndarray) -> float:
        return 0.5 * self.regularization * float(w @ w) + self.risk(self.margins(w))


def dual_objective(problem: LinearSVMProblem, dual: np.ndarray) -> float:
    """D(a) = (1/n) Σ (aᵢ − [squared hinge] aᵢ²/(2cᵢ)) − λ/2 ‖w_a‖² ≤ min P, with w_a = (1/(λn)) Σ aᵢ yᵢ xᵢ."""
    w = combination(problem.rows, dual * problem.signs / (problem.regularization * problem.n), problem.n_features)
    conjugate = 0.0 if problem.loss == HINGE else 0.5 * dual * dual / problem.all_weights
    return float(np.mean(dual - conjugate)) - 0.5 * problem.regularization * float(w @ w)


@dataclass
class LinearState(ArrayState):
    """Base of the states of solvers of a linear support vector machine."""

    coefficients: np.ndarray  # (d,): w of the model
    n_steps: int = 0  # iterations, in the solver's unit
    exhausted: bool = False  # whether the tolerance is reached


@dataclass
class SideBySide:
    """The states of several machines."""

    states: list[LinearState]

    @property
    def coefficients(self) -> np.ndarray:
        """One column for each machine, shape (d, c)."""
        return np.column_stack([state.coefficients for state in self.states])

    @property
    def exhausted(self) -> bool:
        return all(state.exhausted for state in self.states)

    def is_finite(self) -> bool:
        return all(state.is_finite() for state in self.states)

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        kept = [state.remember() for state in self.states]
        held = {f"{k}.{name}": array for k, (arrays, _) in enumerate(kept) for name, array in arrays.items()}
        return held, {"machines": [numbers for _, numbers in kept]}

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        for k, state in enumerate(self.states):
            own = {name.partition(".")[2]: array for name, array in held.items() if name.startswith(f"{k}.")}
            state.recall(own, numbers["machines"][k])


@dataclass(frozen=True)
class OneVersusRest:
    """One machine for each class, all with the same solver; a step advances each machine that is not exhausted."""

    solver: Any

    def init(self, problems: Sequence[LinearSVMProblem]) -> SideBySide:
        return SideBySide([self.solver.init(problem) for problem in problems])

    def step(self, problems: Sequence[LinearSVMProblem], state: SideBySide, batch: int) -> SideBySide:
        for k, problem in enumerate(problems):
            if not state.states[k].exhausted:
                state.states[k] = self.solver.step(problem, state.states[k], batch)
        return state


@dataclass(frozen=True, kw_only=True)
class LinearSettings(Settings):
    """Base of the settings of solvers of linear machines."""

    max_epochs: int | None = setting(count())

    losses: ClassVar[tuple[str, ...]] = ("hinge", "squared_hinge")
    """The losses that the solver takes; loss="auto" means the first."""
    certain: ClassVar[bool] = False
    """Whether the solution is reliable for columns of any scale; otherwise the fit checks the model afterwards."""
    takes_outputs: ClassVar[bool] = False
    devices: ClassVar[tuple[str, ...]] = ("cpu",)

    def epochs(self, n: int) -> int:
        if self.max_epochs is not None:
            return int(self.max_epochs)
        return max(USUAL_EPOCHS, -(-FEWEST_VISITS // n))

    def build(self, seed: int) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ConvergingSettings(LinearSettings):
    """Base of the settings of solvers that stop at a tolerance."""

    max_epochs: int = setting(count(default=1000))
    tol: float = setting(at_least_zero(1e-3))
