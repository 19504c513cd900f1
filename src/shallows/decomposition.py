"""Kernel PCA, SVD, CCA and sliced inverse regression."""

from typing import Any

from .estimators import ESTIMATORS, unknown_name

_NAMES = (
    "DoublyStochasticKernelCCA",
    "DoublyStochasticKernelPCA",
    "DoublyStochasticKernelSVD",
    "FeatureKernelPCA",
    "KernelSlicedInverseRegression",
)

__all__ = [*_NAMES]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return ESTIMATORS[name]
    raise unknown_name(__name__, name, __all__)
