"""What an entry of the table of solvers says: how a solver is made for a problem, and which problems it can solve."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...losses import Loss
from ...losses.margins import Hinge
from ..solver_parameters import Parameter


@dataclass(frozen=True)
class RiskSolver:
    """A solver of regularised risks, as an entry of `shallows.solvers.regularised.SOLVERS`.

    Attributes
    ----------
    make : callable
        ``make(problem, batch_size, n_epochs, **parameters)`` gives the solver.
    parameters : mapping of str to Parameter
    takes : {"kernels and features", "kernels", "features"}
    loss : Loss
        That of a classifier whose loss is "auto".
    why_not : callable
        ``why_not(loss)`` gives the reason why it cannot minimise a loss, or an empty string.
    draws_batches : bool
        Whether batches are drawn with replacement after the first epoch; else each epoch has all of them, shuffled.
    growth : callable
        ``growth(loss, **parameters)`` is the multiple of the zero function's loss at which a training is given up.
    least_ridge : float
        The smallest nλ that may be chosen for regression.
    """

    make: Callable[..., Any]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    takes: str = "kernels and features"
    loss: Loss = field(default_factory=Hinge)
    why_not: Callable[[Loss], str] = lambda loss: ""
    draws_batches: bool = False
    growth: Callable[..., float] = lambda loss, **parameters: math.inf
    least_ridge: float = 0.0
