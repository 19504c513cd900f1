"""The solver of kernel ridge regression that a fit with ``solver="auto"`` and ``centers="auto"`` takes.

=================================================================  ====================================================
rows                                                               solver
=================================================================  ====================================================
up to 2,000                                                        `Cholesky`, or else `ConjugateGradients`
up to 2,000, with early stopping                                   `EigenPro`
up to 125,000, if matrix, points and states fit into the memory    `EigenPro` with all points as centers
other                                                              `NystromConjugateGradients` with fewer centers
``max_seconds`` is less than the estimate for `EigenPro`           `NystromConjugateGradients` with fewer centers
=================================================================  ====================================================

Without conjugate gradients, which need a ridge term, the steps on centers are those of `ProjectedEigenPro`. The choice
depends on the numbers of rows, columns and outputs, and on the bytes, not on a clock or the number of threads. The
documentation on defaults has the measurements.
"""

from __future__ import annotations

from typing import Any

import scipy.sparse

from ..solvers.least_squares import KERNEL_RIDGE_SOLVERS
from ..solvers.least_squares.kernel_problem import DIRECT_BYTES
from .machine import Options
from .rows import TrainingSet

MOST_DIRECT = 2000
"""Up to this number of rows a factorization takes no longer than EigenPro."""

MOST_CENTERS = 125_000
"""With more rows a fit with all of them as centers takes more than 1.3 times as long as a fit on fewer centers."""

PAIR_SECONDS, OUTPUT_SHARE = 2.2e-9, 0.4
"""Seconds of an EigenPro fit for each pair of rows, and the share of it that each output adds: 16,000 to 64,000 rows of
three problems on two cores of an AMD EPYC (``benchmarks/measured/which_estimator.json`` of commit 1e17aa82)."""


def choose_solver(
    n: int, d: int, n_outputs: int, budget: int, *, max_seconds: float | None = None, in_epochs: bool = False
) -> Any:
    """The solver's settings; None for fewer centers than rows. ``in_epochs``: whether early stopping needs epochs."""
    eigenpro = KERNEL_RIDGE_SOLVERS["eigenpro"]()
    if n <= MOST_DIRECT and not in_epochs:
        fits = DIRECT_BYTES * n * n <= budget
        return KERNEL_RIDGE_SOLVERS["cholesky" if fits else "conjugate_gradients"]()
    if n <= MOST_DIRECT:
        return eigenpro
    # Half of the matrix in 16 bits, the points in 32, and the states of the steps.
    needed = n * n + 4 * n * d + 4 * eigenpro.n_arrays * n * n_outputs
    seconds = PAIR_SECONDS * n * n * (1 + OUTPUT_SHARE * n_outputs)
    if n > MOST_CENTERS or needed > budget or (max_seconds is not None and seconds > max_seconds):
        return None
    return eigenpro


def choose_for_rows(rows: TrainingSet, options: Options, *, of_classes: bool, in_epochs: bool, all_points: bool) -> Any:
    """`choose_solver` for training rows. With ``all_points`` or a given kernel matrix, all points are centers."""
    n, d = rows.X.shape
    if scipy.sparse.issparse(rows.X):
        d = -(-rows.X.nnz // n)
    n_outputs = 1 if rows.y.ndim == 1 else rows.y.shape[1]
    if of_classes and rows.y.ndim == 1:
        n_classes = len(set(rows.y.tolist()))
        n_outputs = n_classes if n_classes > 2 else 1
    budget = options.budget(options.fit_device())
    found = choose_solver(n, d, n_outputs, budget, max_seconds=options.max_seconds, in_epochs=in_epochs)
    return KERNEL_RIDGE_SOLVERS["eigenpro"]() if found is None and (all_points or rows.matrix is not None) else found
