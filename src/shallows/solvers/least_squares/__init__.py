"""Least squares in the space of a kernel, over the span of centres, or on explicit features.

`kernel_problem` holds the problem and the states that most of them share. Each algorithm has a module: `richardson`,
`averaged_richardson`, `eigenpro`, `conjugate_residuals`, `projected`, `feature_eigenpro`, `conjugate_gradients` (with
its Nyström preconditioner), `cholesky`, `block_coordinate_descent`, `feature_block_descent`, `normal_equations` and
`l1_penalty`. `step_rules` chooses the size of steps, `cycles` varies it, and `selection` picks the algorithm that a
rule asks for.

`RIDGE_SOLVERS` has the solvers of kernel ridge regression by name, each with what `ridge_solver` says of it, and
`FEATURE_RIDGE_SOLVERS` the settings of those of ridge regression on features.
"""

from ...utils.lazy_tables import LazyTable

RIDGE_SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "auto": ".cholesky:AutomaticRidge",
        "cholesky": ".cholesky:Cholesky",
        "conjugate_gradients": ".conjugate_gradients:ConjugateGradients",
        "block_coordinate_descent": ".block_coordinate_descent:BlockDescent",
    },
)
"""Every solver of kernel ridge regression by its name."""

FEATURE_RIDGE_SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "direct": ".normal_equations:Direct",
        "block_coordinate_descent": ".feature_block_descent:FeatureBlockDescent",
    },
)
"""The settings of every solver of ridge regression on features by its name."""
