"""The scikit-learn face of the solvers."""

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
