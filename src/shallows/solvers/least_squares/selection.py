"""The choice between `EigenPro` and `ConjugateResiduals` for the steps of a rule."""

from __future__ import annotations

from .conjugate_residuals import ConjugateResiduals
from .cycles import Cycle
from .eigenpro import EigenPro


def solver_for(step_size: float, cycle: Cycle | None, batch_size: int, n_outputs: int) -> EigenPro | ConjugateResiduals:
    """The solver that takes the steps of a rule, see `step_rules.planned`.

    Of few batches it is `ConjugateResiduals`, if its directions are no more numbers than the rows of a batch.
    """
    few = 0 if cycle is None else cycle.few
    if few == 1 or (few and 2 * (few - 1) * n_outputs <= batch_size):
        return ConjugateResiduals(step_size, few)
    return EigenPro(step_size, cycle)
