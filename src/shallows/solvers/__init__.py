"""Solvers: one module an algorithm, each a frozen dataclass with ``init`` and ``step``.

They come in families: `least_squares`, `regularised`, `linear_svm`, `support_vectors`, `budgeted`, `expansions` and
`components`. `examples` (batches that are handed in, and with two views) and `point_budget` (models that own a budget
of points) serve all of them.
"""

from .budgeted.budgeted_sgd import BudgetedSGD
from .budgeted.multi_hyperplane import MultiHyperplane
from .expansions.doubly_stochastic import DoublyStochastic
from .least_squares.averaged_richardson import AveragedRichardson
from .least_squares.block_coordinate_descent import BlockCoordinateDescent
from .least_squares.cholesky import Cholesky
from .least_squares.conjugate_gradients import ConjugateGradients
from .least_squares.conjugate_residuals import ConjugateResiduals
from .least_squares.eigenpro import EigenPro
from .least_squares.feature_block_descent import FeatureBlockDescent
from .least_squares.feature_eigenpro import FeatureEigenPro
from .least_squares.projected import ProjectedEigenPro
from .least_squares.richardson import Richardson
from .least_squares.selection import solver_for
from .regularised.norma import NORMA
from .regularised.pegasos import Pegasos
from .regularised.sag import SAG
from .regularised.sdca import SDCA
from .regularised.svrg import SVRG
from .support_vectors.core_vectors import CoreVectorMachine
from .support_vectors.decomposition import Decomposition
from .support_vectors.interior_point import InteriorPoint
from .support_vectors.lasvm import LASVM
from .support_vectors.primal_newton import KernelNewton
from .support_vectors.smo import SMO

__all__ = [
    "LASVM",
    "NORMA",
    "SAG",
    "SDCA",
    "SMO",
    "SVRG",
    "AveragedRichardson",
    "BlockCoordinateDescent",
    "BudgetedSGD",
    "Cholesky",
    "ConjugateGradients",
    "ConjugateResiduals",
    "CoreVectorMachine",
    "Decomposition",
    "DoublyStochastic",
    "EigenPro",
    "FeatureBlockDescent",
    "FeatureEigenPro",
    "InteriorPoint",
    "KernelNewton",
    "MultiHyperplane",
    "Pegasos",
    "ProjectedEigenPro",
    "Richardson",
    "solver_for",
]
