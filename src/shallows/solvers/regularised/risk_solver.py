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
    """A solver of regularised risks, as an entry of `shallows.solvers.regularised.SOLVERS`."""

    make: Callable[..., Any]  # ``make(problem, batch_size, n_epochs, **parameters)`` gives the solver
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    takes: str = "kernels and features"  # {"kernels and features", "kernels", "features"}
    loss: Loss = field(default_factory=Hinge)  # That of a classifier whose loss is "auto"
    # ``why_not(loss)`` gives the reason why it cannot minimise a loss, or an empty string
    why_not: Callable[[Loss], str] = lambda loss: ""
    # Whether batches are drawn with replacement after the first epoch; else each epoch has all of them, shuffled
    draws_batches: bool = False
    # ``growth(loss, **parameters)`` is the multiple of the zero function's loss at which a training is given up
    growth: Callable[..., float] = lambda loss, **parameters: math.inf
    least_ridge: float = 0.0  # The smallest nλ that may be chosen for regression
