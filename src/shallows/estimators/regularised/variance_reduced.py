"""What SVRG and SAG share: explicit features, and a step from the smoothness of batches."""

from __future__ import annotations

from typing import Any

from ...errors import ShallowsError
from ...solvers.regularised import smoothness
from ...solvers.regularised.risk import RiskProblem


class VarianceReduced:
    """Needs explicit features, and takes the step size from their smoothness where none is given."""

    _divergence_factor = 100.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.features is None:
            raise ShallowsError(f"{type(self).__name__} works on explicit features; features must not be None.")

    def _step(self, problem: RiskProblem, batch_size: int, rule: Any) -> float:
        L = smoothness.batch_smoothness(problem, batch_size)
        return float(self.step_size or rule(L))
