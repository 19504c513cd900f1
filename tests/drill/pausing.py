"""A training that takes its time and hardly any of the processor's, so that the drill is as long on a busy machine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from shallows import KernelRidgeClassifier
from shallows.solvers.least_squares.kernel_sgd import KernelSGD

SECONDS = 0.01
"""Of a pause, before each step."""


@dataclass(frozen=True)
class Pausing:
    """A solver that waits before each step of another one."""

    solver: Any

    def init(self, problem: Any) -> Any:
        """See the other solver."""
        return self.solver.init(problem)

    def step(self, problem: Any, state: Any, batch: Any) -> Any:
        """See the other solver."""
        time.sleep(SECONDS)
        return self.solver.step(problem, state, batch)


class PausingSettings(KernelSGD):
    """The settings of kernel SGD that waits before each step."""

    def build(self, *given: Any, **more: Any) -> tuple[Any, Pausing]:
        """See `KernelSGD`."""
        problem, stepper = super().build(*given, **more)
        return problem, Pausing(stepper)


class PausingSGDClassifier(KernelRidgeClassifier):
    """Kernel SGD that waits before each step."""

    def _settings(self) -> PausingSettings:
        return PausingSettings(**vars(super()._settings()))
