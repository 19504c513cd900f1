"""Least squares in the space of a kernel, over the span of centres, or on explicit features.

`kernel_problem` has what most of them are given and keep. Each algorithm has a module: `richardson`,
`averaged_richardson`, `eigenpro`, `conjugate_residuals`, `projected`, `feature_eigenpro`, `conjugate_gradients` (with
the preconditioner of `nystrom`) and `cholesky`. `step_rules` chooses the size of steps, `cycles` varies it,
`step_bounds` bounds it, and `selection` picks the algorithm that a rule asks for.

`RIDGE_SOLVERS` has the solvers of kernel ridge regression by name, each with what `ridge_solver` says of it.
"""

from ...utils.lazy_tables import LazyTable

RIDGE_SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "auto": ".automatic_ridge:AUTOMATIC_SOLVER",
        "cholesky": ".cholesky:CHOLESKY_SOLVER",
        "conjugate_gradients": ".conjugate_gradients:CONJUGATE_GRADIENTS_SOLVER",
        "block_coordinate_descent": ".block_coordinate_descent:BLOCK_SOLVER",
    },
)
"""Every solver of kernel ridge regression by its name."""
