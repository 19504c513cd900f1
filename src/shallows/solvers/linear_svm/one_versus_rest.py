"""Several classes: one linear machine for each against the rest, trained side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .problem import LinearState, LinearSVMProblem


@dataclass
class SideBySide:
    """The states of several machines."""

    states: list[LinearState]

    @property
    def coefficients(self) -> np.ndarray:
        """The columns of all machines, shape (d, c)."""
        return np.column_stack([state.coefficients for state in self.states])

    @property
    def exhausted(self) -> bool:
        """Whether all have come to the accuracy that was asked for."""
        return all(state.exhausted for state in self.states)

    def is_finite(self) -> bool:
        """Whether all coefficients are numbers."""
        return all(state.is_finite() for state in self.states)

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Copies of arrays, and numbers, that `recall` takes up again, to the bit."""
        kept = [state.remember() for state in self.states]
        held = {f"{k}.{name}": array for k, (arrays, _) in enumerate(kept) for name, array in arrays.items()}
        return held, {"machines": [numbers for _, numbers in kept]}

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        """Take up what `remember` gave."""
        for k, state in enumerate(self.states):
            own = {name.partition(".")[2]: array for name, array in held.items() if name.startswith(f"{k}.")}
            state.recall(own, numbers["machines"][k])


@dataclass(frozen=True)
class OneVersusRest:
    """The same solver for a machine of each class; a step is one of every machine that is not at its end."""

    solver: Any

    def init(self, problems: Sequence[LinearSVMProblem]) -> SideBySide:
        """The first states of all machines."""
        return SideBySide([self.solver.init(problem) for problem in problems])

    def step(self, problems: Sequence[LinearSVMProblem], state: SideBySide, batch: int) -> SideBySide:
        """A step of every machine."""
        for k, problem in enumerate(problems):
            if not state.states[k].exhausted:
                state.states[k] = self.solver.step(problem, state.states[k], batch)
        return state
