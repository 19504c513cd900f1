"""Solvers: a module for each algorithm, with its settings and its stepper, which has ``init`` and ``step``."""

from typing import Any

from ..utils.lazy_tables import LazyTable

SOLVERS = LazyTable(
    "solver",
    __name__,
    {
        "FOLOS": ".linear_svm.subgradients",
        "KernelSGD": ".least_squares.kernel_sgd",
        "LASVM": ".support_vectors.lasvm",
        "LBFGS": ".linear_svm.lbfgs",
        "NORMA": ".regularized.norma",
        "SAG": ".regularized.variance_reduced",
        "SARAH": ".linear_svm.sarah",
        "SDCA": ".regularized.sdca",
        "SMO": ".support_vectors.smo",
        "SVRG": ".regularized.variance_reduced",
        "SVMSGD": ".linear_svm.subgradients",
        "BlockDescent": ".least_squares.block_coordinate_descent",
        "CheckedReuse": ".expansions.block_policies",
        "Cholesky": ".least_squares.cholesky",
        "ConjugateGradients": ".least_squares.conjugate_gradients",
        "ConjugateResiduals": ".least_squares.conjugate_residuals",
        "CuttingPlanes": ".linear_svm.cutting_planes",
        "DecayingStep": ".expansions.doubly_stochastic",
        "Decomposition": ".support_vectors.decomposition",
        "DoublyStochastic": ".expansions.doubly_stochastic",
        "DualCoordinateDescent": ".linear_svm.dual_coordinate_descent",
        "EigenPro": ".least_squares.eigenpro",
        "FeatureOja": ".feature_components.feature_pca",
        "MatrixStochasticGradient": ".feature_components.feature_pca",
        "NoisyPowerMethod": ".feature_components.feature_pca",
        "Oja": ".components.oja",
        "TheoryStep": ".expansions.doubly_stochastic",
        "TwoViewCCA": ".components.kernel_cca",
        "TwoViewSVD": ".components.kernel_svd",
        "UniformReuse": ".expansions.block_policies",
        "VRPCA": ".feature_components.feature_pca",
        "FeatureBlockDescent": ".least_squares.feature_block_descent",
        "FeatureEigenPro": ".least_squares.feature_eigenpro",
        "InteriorPoint": ".support_vectors.interior_point",
        "KernelNewton": ".support_vectors.primal_newton",
        "LinearPegasos": ".linear_svm.subgradients",
        "Pegasos": ".regularized.pegasos",
        "NormalEquations": ".least_squares.normal_equations",
        "NystromConjugateGradients": ".least_squares.nystrom_conjugate_gradients",
        "PrimalNewton": ".linear_svm.newton",
        "ProjectedEigenPro": ".least_squares.projected",
        "Certified": ".least_squares.step_rules",
        "Exact": ".least_squares.step_rules",
        "Paper": ".least_squares.step_rules",
        "Release2017": ".least_squares.step_rules",
        "Release2019": ".least_squares.step_rules",
        "Theorem": ".least_squares.step_rules",
    },
)
"""The settings of every solver, step rule, schedule and reuse by the name of its class."""

__all__ = [*SOLVERS]


def __getattr__(name: str) -> Any:
    return SOLVERS.attribute(name)
