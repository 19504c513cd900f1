"""Least squares in the space of a kernel, over the span of centers, or on explicit features.

`KERNEL_RIDGE_SOLVERS` and `FEATURE_RIDGE_SOLVERS` have the settings of the solvers of ridge regression by name.
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
