"""The solver of kernel ridge regression that a fit with ``solver="auto"`` takes: a table of sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..solvers.least_squares import KERNEL_RIDGE_SOLVERS
from ..solvers.least_squares.kernel_problem import DIRECT_BYTES
from .machine import Options
from .rows import TrainingSet

MOST_DIRECT = 20_000
"""With more points the factorization's n³/3 takes longer than hundreds of passes over the kept matrix."""


def choose_solver(n: int, d: int, n_outputs: int, budget: int, *, in_epochs: bool = False) -> Any:
    """The settings of the solver for n rows of d columns, and this number of bytes, with all points as centers.

    =====================================  =======================
    ``in_epochs``, for early stopping      `EigenPro`
    up to `MOST_DIRECT` rows that fit      `Cholesky`
    otherwise                              `ConjugateGradients`
    =====================================  =======================
    """
    if in_epochs:
        name = "eigenpro"
    elif n <= MOST_DIRECT and DIRECT_BYTES * n * n <= budget:
        name = "cholesky"
    else:
        name = "conjugate_gradients"
    return KERNEL_RIDGE_SOLVERS[name]()


def choose_for_rows(rows: TrainingSet, options: Options, *, of_classes: bool, in_epochs: bool) -> Any:
    """`choose_solver` for training rows."""
    n, d = rows.X.shape
    n_outputs = 1 if rows.y.ndim == 1 else rows.y.shape[1]
    if of_classes and rows.y.ndim == 1:
        n_classes = len(np.unique(rows.y))
        n_outputs = n_classes if n_classes > 2 else 1
    return choose_solver(n, d, n_outputs, options.budget(options.fit_device()), in_epochs=in_epochs)
