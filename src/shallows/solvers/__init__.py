"""Solvers: one file an algorithm, each a frozen dataclass with ``init`` and ``step``."""

from .averaged_richardson import AveragedRichardson
from .cholesky import Cholesky
from .conjugate_gradients import ConjugateGradients
from .conjugate_residuals import ConjugateResiduals
from .doubly_stochastic import DoublyStochastic
from .eigenpro import EigenPro
from .feature_eigenpro import FeatureEigenPro
from .norma import NORMA
from .pegasos import Pegasos
from .projected import ProjectedEigenPro
from .richardson import Richardson
from .sag import SAG
from .sdca import SDCA
from .selection import solver_for
from .svrg import SVRG

__all__ = [
    "NORMA",
    "SAG",
    "SDCA",
    "SVRG",
    "AveragedRichardson",
    "Cholesky",
    "ConjugateGradients",
    "ConjugateResiduals",
    "DoublyStochastic",
    "EigenPro",
    "FeatureEigenPro",
    "Pegasos",
    "ProjectedEigenPro",
    "Richardson",
    "solver_for",
]
