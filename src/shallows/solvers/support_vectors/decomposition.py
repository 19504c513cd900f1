"""Decomposition of the dual problem into working sets of several variables: SVM-light's method."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ShallowsError
from ..pieces import steps_of_a_piece
from ..solver_parameters import Parameter, flag, size
from .dual_problem import DualProblem, DualState, activate_all, refuse_indefinite
from .dual_solver import DualSolver
from .pair_steps import INDEFINITE, MISSING, OPTIMAL
from .working_set_steps import take_working_sets

MOST_RECONSTRUCTIONS = 10
"""After so many nothing is taken out any more: in float32 the gap may be one of rounding alone."""


@dataclass
class DecompositionState(DualState):
    """The state of a decomposition; ``n_steps`` counts working sets."""

    # (n,): For how many working sets running each variable has been at a bound, held there by its gradient
    settled: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True)
class Decomposition:
    """Maximise the dual objective over q variables at a time, the others held.

    With g = t − Kβ: the working set B are the variables of the steepest feasible direction with q entries of 1 or −1
    whose sum is 0, that is the q/2 largest gᵢ of the βᵢ that may grow and the q/2 smallest of the βᵢ that may fall.
    The problem over β_B is solved to a tenth of the tolerance, and g ← g − K_{·B} Δβ_B. It ends where no gᵢ of the
    first kind exceeds one of the second by more than the tolerance.

    Parameters
    ----------
    tolerance : float
        Of the gap, in units of the targets ±1.
    size : int
        q, an even number of at least 2; with 2 it is the choice of pairs by first order.
    shrinking : bool
        Leave out variables that were held at a bound for ``patience`` working sets running. At the end their gradients
        are made anew, and the work goes on over all variables if one of them was left out wrongly.
    patience : int

    References
    ----------
    T. Joachims (1999), "Making large-scale SVM learning practical", in Advances in Kernel Methods: Support Vector
    Learning (SVM-light: choice of the working set, shrinking, cache of rows).
    """

    tolerance: float = 1e-3
    size: int = 10
    shrinking: bool = True
    patience: int = 100

    def init(self, problem: DualProblem) -> DecompositionState:
        """The start of the problem, all variables active.

        Raises
        ------
        ShallowsError
            A working set whose rows the problem cannot keep at a time.
        """
        if self.size < 2 or self.size % 2:
            raise ShallowsError(f"A working set has an even number of at least 2 variables, got {self.size}.")
        start = DualState.start(problem)
        return DecompositionState(
            start.coefficients,
            start.gradient,
            start.active,
            until_shrinking=self.patience,
            settled=np.zeros(problem.rows.n, np.int64),
        )

    def step(self, problem: DualProblem, state: DecompositionState, batch: int) -> DecompositionState:
        """Up to ``batch`` working sets."""
        rows = problem.rows
        size = max(2, min(self.size, rows.capacity // 2 * 2))
        rounding = 1e-3 if rows.dtype == np.float32 else 1e-6
        left = int(batch)
        while left > 0 and not state.exhausted:
            # A working set goes through the active variables three times and once for each of its own.
            most = min(left, steps_of_a_piece((3 + size) * len(state.active)))
            taken, status, row, gap = take_working_sets(
                min(most, state.until_shrinking) if self.shrinking else most,
                size,
                self.tolerance,
                rounding,
                state.coefficients,
                state.gradient,
                problem.lower,
                problem.upper,
                state.active,
                state.settled,
                rows.diagonal,
                rows.rows,
                rows.slot_of,
                rows.used,
                rows.clock,
            )
            left -= taken
            state.n_steps += taken
            state.until_shrinking -= taken
            state.gap = gap if np.isfinite(gap) else state.gap
            if status == MISSING:
                rows.fetch(row)
            elif status == INDEFINITE:
                raise ShallowsError(
                    f"The kernel {rows.kernel.name!r} is not positive semi-definite: k(x, x) + k(z, z) − 2k(x, z), the "
                    "squared distance of the images of two training points, is negative."
                )
            elif status == OPTIMAL and len(state.active) == rows.n:
                refuse_indefinite(problem, state)
                state.gap, state.exhausted = gap, True
            elif status == OPTIMAL:
                activate_all(problem, state)
                state.settled[:] = 0
                state.until_shrinking = self.patience
            elif self.shrinking and state.until_shrinking <= 0:
                self._shrink(state)
                state.until_shrinking = max(1, self.patience // 4)
        return state

    def _shrink(self, state: DecompositionState) -> None:
        if state.n_reconstructions < MOST_RECONSTRUCTIONS:
            state.active = state.active[state.settled[state.active] < self.patience]


def _is_even(value: Any) -> bool:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return bool(whole and 2 <= value < 2**31 and value % 2 == 0)


DECOMPOSITION_SOLVER = DualSolver(
    lambda tolerance, seed, cache, shrinking, working_set: Decomposition(tolerance, int(working_set), bool(shrinking)),
    DualProblem.of_points,
    steps="working sets",
    steps_of_a_call=1000,
    parameters={
        "cache": size("500MB"),
        "shrinking": flag(True),
        "working_set": Parameter(10, "an even whole number of at least 2", _is_even),
    },
)
