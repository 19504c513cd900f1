"""Kernel machines at scale: the solvers of the large-scale kernel-learning papers as scikit-learn estimators.

The names below are loaded when they are first used, so that ``import shallows`` stays quick.
"""

from __future__ import annotations

import importlib
from typing import Any

from .utils.lazy_tables import LazyTable

__version__ = "0.2.0"

_PUBLIC = LazyTable(
    "public name",
    __name__,
    {
        "AMMClassifier": ".estimators",
        "BudgetedSVMClassifier": ".estimators",
        "CoreVectorMachineClassifier": ".estimators",
        "CoreVectorMachineRegressor": ".estimators",
        "DoublyStochasticClassifier": ".estimators",
        "DoublyStochasticKernelCCA": ".estimators",
        "DoublyStochasticKernelPCA": ".estimators",
        "DoublyStochasticKernelSVD": ".estimators",
        "DoublyStochasticNoveltyDetector": ".estimators",
        "DoublyStochasticRegressor": ".estimators",
        "EigenProCentresClassifier": ".estimators",
        "EigenProCentresRegressor": ".estimators",
        "EigenProClassifier": ".estimators",
        "EigenProRegressor": ".estimators",
        "ExtremeLearningMachineAutoencoder": ".estimators",
        "ExtremeLearningMachineClassifier": ".estimators",
        "ExtremeLearningMachineRegressor": ".estimators",
        "Fastfood": ".estimators",
        "FeatureEigenProClassifier": ".estimators",
        "FeatureEigenProRegressor": ".estimators",
        "FeatureGaussianProcessRegressor": ".estimators",
        "FeatureKernelPCA": ".estimators",
        "FeatureRidgeClassifier": ".estimators",
        "FeatureRidgeRegressor": ".estimators",
        "FourierFeatures": ".estimators",
        "HiddenUnits": ".estimators",
        "ImageVotes": ".estimators.image_votes",
        "KernelRidgeClassifier": ".estimators",
        "KernelRidgeRegressor": ".estimators",
        "KernelSGDClassifier": ".estimators",
        "KernelSGDRegressor": ".estimators",
        "KernelSVMClassifier": ".estimators",
        "KernelSlicedInverseRegression": ".estimators",
        "LASVMClassifier": ".estimators",
        "LinearSVMClassifier": ".estimators",
        "LowRankLinearizedSVMClassifier": ".estimators",
        "NystroemFeatures": ".estimators",
        "PolynomialFeatures": ".estimators",
        "QuasiMonteCarloFeatures": ".estimators",
        "RBFNetwork": ".estimators",
        "RandomBinning": ".estimators",
        "RandomKitchenSinksClassifier": ".estimators",
        "RandomKitchenSinksRegressor": ".estimators",
        "RegularisedRiskClassifier": ".estimators",
        "RegularisedRiskRegressor": ".estimators",
        "SemiRandomFeatures": ".estimators",
        "SparseRandomFeatures": ".estimators",
        "TensorSketch": ".estimators",
        "load": ".saving",
        "save": ".saving",
        "two_sample_test": ".estimators.two_samples",
    },
)
_ROOMS = (
    "arrays",
    "datasets",
    "distributed",
    "errors",
    "estimators",
    "experiments",
    "features",
    "gram",
    "kernels",
    "losses",
    "nets",
    "report",
    "saving",
    "solvers",
    "spectrum",
    "streams",
    "training",
)

__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f".{name}", __name__)
    return _PUBLIC.attribute(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS})
