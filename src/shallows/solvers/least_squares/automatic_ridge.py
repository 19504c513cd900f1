"""Kernel ridge regression by a factorisation where the matrix fits, else by conjugate gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..solver_parameters import Parameter
from .cholesky import CHOLESKY_SOLVER, DIRECT_BYTES
from .conjugate_gradients import CONJUGATE_GRADIENTS_SOLVER
from .ridge_solver import RidgeSolver

MOST_DIRECT = 20_000
"""Above so many points the factorisation's n³/3 takes longer than hundreds of passes over the kept matrix."""


class AutomaticRidge:
    """The choice between the two, with no parameters of its own."""

    parameters: ClassVar[Mapping[str, Parameter]] = {}

    def for_size(self, n: int, budget: int) -> RidgeSolver:
        """The solver of a problem of n points in so many bytes."""
        fits = DIRECT_BYTES * n * n <= budget and n <= MOST_DIRECT
        return CHOLESKY_SOLVER if fits else CONJUGATE_GRADIENTS_SOLVER


AUTOMATIC_SOLVER = AutomaticRidge()
