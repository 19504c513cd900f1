"""Sequential minimal optimisation: the dual of a support vector machine, two variables at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...arrays import Array
from ...errors import ShallowsError
from ...kernels import Kernel
from ..pieces import steps_of_a_piece
from ..settings import setting
from ..solver_parameters import flag, size
from .dual_problem import DualProblem, DualState, activate_all, refuse_indefinite
from .dual_settings import DualSettings, most_pair_steps
from .pair_steps import INDEFINITE, MISSING, OPTIMAL, take_steps

SHRINKING_INTERVAL = 1000  # steps between two times at which rows are taken out, of LIBSVM
UNSHRINK_FACTOR = 10.0
"""At a gap of so many tolerances all rows come back once: those that were taken out far from the end may be wrong."""

MOST_RECONSTRUCTIONS = 10
"""After so many nothing is taken out any more: in float32 the gap may be one of rounding alone."""


@dataclass(frozen=True)
class SMOStepper:
    """β ← β + s (eᵢ − eⱼ) on the pair that gains most to second order, s the best within the bounds.

    With g = t − Kβ: i has the largest gᵢ of the βᵢ that may grow, j the largest (gᵢ − gⱼ)²/(Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ) of the βⱼ
    that may fall, and s = (gᵢ − gⱼ)/(Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ). It ends where no gᵢ of the first kind exceeds one of the second
    by more than the tolerance.

    Parameters
    ----------
    tolerance : float
        Of the gap, in units of the targets ±1.
    shrinking : bool
        Leave out of the search the rows that are at a bound and whose gradients hold them there. At the end their
        gradients are made anew, and the search goes on over all rows if one of them was left out wrongly.

    References
    ----------
    J. Platt (1999), "Fast training of support vector machines using sequential minimal optimization". R.-E. Fan,
    P.-H. Chen and C.-J. Lin (2005), "Working set selection using second order information for training support vector
    machines", JMLR 6. C.-C. Chang and C.-J. Lin (2011), "LIBSVM: a library for support vector machines", ACM TIST 2
    (shrinking).
    """

    tolerance: float = 1e-3
    shrinking: bool = True

    def init(self, problem: DualProblem) -> DualState:
        """The start of the problem, all rows active."""
        state = DualState.start(problem)
        state.until_shrinking = min(problem.rows.n, SHRINKING_INTERVAL)
        return state

    def step(self, problem: DualProblem, state: DualState, batch: int) -> DualState:
        """Up to ``batch`` pairs."""
        rows = problem.rows
        rounding = 1e-3 if rows.dtype == np.float32 else 1e-6
        left = int(batch)
        while left > 0 and not state.exhausted:
            # A step goes through the active rows about four times.
            most = min(left, steps_of_a_piece(4 * len(state.active)))
            most = min(most, state.until_shrinking) if self.shrinking else most
            variables = state.coefficients, state.gradient, problem.lower, problem.upper, state.active
            taken, status, i, j, gap = take_steps(most, self.tolerance, rounding, *variables, *rows.compiled)
            left -= taken
            state.n_steps += taken
            state.until_shrinking -= taken
            state.gap = gap if np.isfinite(gap) else state.gap
            if status == MISSING:
                rows.fetch(i)
            elif status == INDEFINITE:
                raise ShallowsError(
                    f"The kernel {rows.kernel.name!r} is not positive semi-definite: k(x, x) + k(z, z) − 2k(x, z) is "
                    f"{rows.diagonal[i] + rows.diagonal[j] - 2.0 * float(rows.fetch(i)[j]):.3g} for two training "
                    "points, which is the squared distance of their images and cannot be negative."
                )
            elif status == OPTIMAL and len(state.active) == rows.n:
                refuse_indefinite(problem, state)
                state.gap, state.exhausted = gap, True
            elif status == OPTIMAL:
                activate_all(problem, state)
                state.until_shrinking = 1
            elif self.shrinking and state.until_shrinking == 0:
                self._shrink(problem, state)
                state.until_shrinking = min(rows.n, SHRINKING_INTERVAL)
        return state

    def _shrink(self, problem: DualProblem, state: DualState) -> None:
        """Take out the rows that are at a bound and that no pair could move away from it."""
        if state.n_reconstructions >= MOST_RECONSTRUCTIONS:
            return
        beta, g = state.coefficients[state.active], state.gradient[state.active]
        may_grow, may_fall = beta < problem.upper[state.active], beta > problem.lower[state.active]
        largest, smallest = g[may_grow].max(initial=-np.inf), g[may_fall].min(initial=np.inf)
        near = largest - smallest <= UNSHRINK_FACTOR * self.tolerance
        if near and state.n_reconstructions == 0 and len(state.active) < problem.rows.n:
            activate_all(problem, state)
            self._shrink(problem, state)
            return
        settled = (~may_grow & (g > largest)) | (~may_fall & (g < smallest))
        state.active = state.active[~settled]


@dataclass(frozen=True, kw_only=True)
class SMO(DualSettings):
    """Sequential minimal optimization: two dual variables at a time.

    Parameters
    ----------
    cache : int or str, optional
        Bytes of the rows of the kernel matrix that are kept at a time; the rows of a step are always kept.
    shrinking : bool
        Whether rows that stay at a bound are left out of the search for a while.
    """

    cache: int | str | None = setting(size("500MB"))
    shrinking: bool = setting(flag(True))

    steps_of_a_call: ClassVar[int] = 10_000

    def most_steps(self, n: int) -> int:  # noqa: D102
        return most_pair_steps(self.max_iterations, n)

    def build_problem(  # noqa: D102
        self, kernel: Kernel, points: Array, signs: np.ndarray, C: np.ndarray, squared: bool, budget: int, seed: int
    ) -> DualProblem:
        return DualProblem.of_points(kernel, points, signs, C, squared, budget, cache=self.cache)

    def build(self, seed: int) -> SMOStepper:  # noqa: D102
        return SMOStepper(float(self.tol), bool(self.shrinking))
