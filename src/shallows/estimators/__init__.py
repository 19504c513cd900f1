"""The scikit-learn face of the solvers, in three families by what is minimised and what the function is made of.

======================  ==============================================================================================
least squares           `least_squares` (the fit), `least_squares_targets`; `eigenpro`, `eigenpro_centres`,
                        `feature_eigenpro`, `kernel_sgd`, `exact_ridge`
a regularised risk      `regularised` (the fit), `regularised_targets`; `competitors` (Pegasos, NORMA, dual
                        coordinate ascent), `variance_reduced` (SVRG, SAG)
a function that grows   `growing` (the fit), `growing_plan`, `growing_stream`, `model_files`; `doubly_stochastic`
======================  ==============================================================================================

What all share: `base` (the door and the budget), `snapshot` (a model in the middle of its training), `parameters`,
`centres` (points in coordinates), `feature_maps`, `kernel_checks`, `validation` (early stopping). Docstrings are put
together by `documentation` from what each family has in common.
"""

from .competitors import (
    NORMAClassifier,
    NORMARegressor,
    PegasosClassifier,
    SDCAClassifier,
    SDCARegressor,
)
from .doubly_stochastic import (
    DoublyStochasticClassifier,
    DoublyStochasticNoveltyDetector,
    DoublyStochasticRegressor,
)
from .eigenpro import EigenProClassifier, EigenProRegressor
from .eigenpro_centres import EigenProCentresClassifier, EigenProCentresRegressor
from .exact_ridge import ExactKernelRidgeClassifier, ExactKernelRidgeRegressor
from .feature_eigenpro import FeatureEigenProClassifier, FeatureEigenProRegressor
from .kernel_sgd import KernelSGDClassifier, KernelSGDRegressor
from .variance_reduced import SAGClassifier, SAGRegressor, SVRGClassifier, SVRGRegressor

__all__ = [
    "DoublyStochasticClassifier",
    "DoublyStochasticNoveltyDetector",
    "DoublyStochasticRegressor",
    "EigenProCentresClassifier",
    "EigenProCentresRegressor",
    "EigenProClassifier",
    "EigenProRegressor",
    "ExactKernelRidgeClassifier",
    "ExactKernelRidgeRegressor",
    "FeatureEigenProClassifier",
    "FeatureEigenProRegressor",
    "KernelSGDClassifier",
    "KernelSGDRegressor",
    "NORMAClassifier",
    "NORMARegressor",
    "PegasosClassifier",
    "SAGClassifier",
    "SAGRegressor",
    "SDCAClassifier",
    "SDCARegressor",
    "SVRGClassifier",
    "SVRGRegressor",
]
