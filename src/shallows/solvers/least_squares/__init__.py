"""Least squares in the space of a kernel, over the span of centers, or on explicit features.

`kernel_problem` has the problem of kernel least squares, the bases of its settings and the states of most steppers.
`step_rules` decides how long steps are. The other modules have an algorithm each. `KERNEL_RIDGE_SOLVERS` has the
settings of the solvers of kernel ridge regression by name, and `FEATURE_RIDGE_SOLVERS` those of ridge regression on
features.
"""

from ...utils.lazy_tables import LazyTable

KERNEL_RIDGE_SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "cholesky": ".cholesky:Cholesky",
        "conjugate_gradients": ".conjugate_gradients:ConjugateGradients",
        "block_descent": ".block_coordinate_descent:BlockDescent",
        "eigenpro": ".eigenpro:EigenPro",
        "kernel_sgd": ".kernel_sgd:KernelSGD",
        "nystrom_conjugate_gradients": ".nystrom_conjugate_gradients:NystromConjugateGradients",
        "projected_eigenpro": ".projected:ProjectedEigenPro",
    },
)

FEATURE_RIDGE_SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "normal_equations": ".normal_equations:NormalEquations",
        "feature_block_descent": ".feature_block_descent:FeatureBlockDescent",
        "feature_eigenpro": ".feature_eigenpro:FeatureEigenPro",
    },
)
