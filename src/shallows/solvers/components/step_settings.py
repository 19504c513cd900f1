"""What can be set of every solver of components over streamed random features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..settings import Settings

FIRST_STEP = 0.5
"""η₁ of the scaled rules: half of a step that would replace the functions altogether."""


@dataclass(frozen=True, kw_only=True)
class ComponentSettings(Settings):
    """Base of the settings of these solvers, in one view or in two.

    Parameters
    ----------
    step_size : float, optional
        η₁. None takes `FIRST_STEP`, divided by the largest eigenvalue unless steps are scaled.
    decrease : float, optional
        ρ in the steps η₁ / (1 + ρ (t − 1)). None chooses it by the gap after the last component.
    batch_size : int, optional
        Rows of a step.
    n_iter, max_epochs : int, optional
        The most steps and the most passes over the data. If both are None, ``n_passes`` passes and at least 200 steps.
    """

    step_size: float | None = None
    decrease: float | None = None
    batch_size: int | None = None
    n_iter: int | None = None
    max_epochs: int | None = None

    n_passes: ClassVar[int] = 3

    def steps(self, eigenvalues: np.ndarray, n_components: int, *, scaled: bool) -> tuple[float, float]:
        """η₁ and ρ of a rule whose steps are divided by the eigenvalues or not.

        The chosen ρ is such that steps tend to c/t, with c twice the inverse of the relative gap 1 − λ_{k+1}/λ_k. With
        c = 1/gap the error falls as fast as 1/t allows, and below half of that not as 1/t at all; twice as much costs a
        third and is safe where the gap is overestimated.
        """
        k = n_components
        step = self.step_size or FIRST_STEP / (1.0 if scaled else float(eigenvalues[0]))
        if self.decrease is not None:
            return float(step), float(self.decrease)
        smallest = float(eigenvalues[k - 1])
        gap = 1.0 if len(eigenvalues) <= k else 1.0 - float(eigenvalues[k]) / smallest
        # In units of one over λ_k, in which the scaled rule steps.
        return float(step), step * (1.0 if scaled else smallest) / min(50.0, max(3.0, 2.0 / max(gap, 1e-6)))
