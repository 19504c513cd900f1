"""A small solver that chooses its own rows: sequential minimal optimisation on the dual of a support vector machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shallows.gram.row_slab import KernelRowSlab


@dataclass(frozen=True)
class DualProblem:
    """Maximise Σ aᵢ − ½ Σ aᵢ aⱼ yᵢ yⱼ k(xᵢ, xⱼ) for 0 ≤ aᵢ ≤ C and Σ aᵢ yᵢ = 0."""

    rows: KernelRowSlab
    labels: np.ndarray
    C: float


@dataclass
class SMOState:
    """No step size. The gap of the optimality conditions is watched, held against that at the start, which is 2."""

    coefficients: np.ndarray
    """aᵢ yᵢ, shape (n, 1)."""
    scores: np.ndarray
    """Σⱼ aⱼ yⱼ k(xⱼ, xᵢ), without the intercept."""
    gap: float = 2.0
    intercept: float = 0.0
    n_steps: int = 0
    exhausted: bool = False

    def monitored(self):
        return self.gap, 2.0

    def remember(self):
        held = {"coefficients": self.coefficients.copy(), "scores": self.scores.copy()}
        numbers = {name: getattr(self, name) for name in ("gap", "intercept", "n_steps", "exhausted")}
        return held, numbers

    def recall(self, held, numbers):
        self.coefficients, self.scores = held["coefficients"].copy(), held["scores"].copy()
        for name, value in numbers.items():
            setattr(self, name, value)

    def is_finite(self):
        return bool(np.isfinite(self.scores).all())


@dataclass(frozen=True)
class SMO:
    """The pair of rows that violates the conditions most is set to its best values (Keerthi et al. 2001)."""

    tolerance: float = 1e-6

    def init(self, problem: DualProblem) -> SMOState:
        n = len(problem.labels)
        return SMOState(np.zeros((n, 1)), np.zeros(n))

    def step(self, problem: DualProblem, state: SMOState, batch: int) -> SMOState:
        y, C, diagonal = problem.labels, problem.C, problem.rows.diagonal
        for _ in range(batch):
            beta = state.coefficients[:, 0]
            up, down = beta < np.where(y > 0, C, 0.0), beta > np.where(y > 0, 0.0, -C)
            errors = y - state.scores
            i, j = np.argmax(np.where(up, errors, -np.inf)), np.argmin(np.where(down, errors, np.inf))
            state.gap, state.intercept = float(errors[i] - errors[j]), float(errors[i] + errors[j]) / 2
            if state.gap <= self.tolerance:
                state.exhausted = True
                break
            K_i = problem.rows.fetch(i).copy()  # a row is valid until the next call
            K_j = problem.rows.fetch(j)
            room = min((C if y[i] > 0 else 0.0) - beta[i], beta[j] - (0.0 if y[j] > 0 else -C))
            t = min(room, state.gap / max(diagonal[i] + diagonal[j] - 2 * K_i[j], 1e-12))
            beta[i] += t
            beta[j] -= t
            state.scores += t * (K_i - K_j)
            state.n_steps += 1
        return state
