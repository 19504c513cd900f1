"""Kernel PCA, SVD, CCA and sliced inverse regression."""

from __future__ import annotations

from typing import Any

from .utils.lazy_tables import LazyTable

_PUBLIC = LazyTable(
    "name of this module",
    "shallows",
    {
        "DoublyStochasticKernelCCA": ".estimators.components.kernel_cca",
        "DoublyStochasticKernelPCA": ".estimators.components.kernel_pca",
        "DoublyStochasticKernelSVD": ".estimators.components.kernel_svd",
        "FeatureKernelPCA": ".estimators.components.feature_kernel_pca",
        "KernelSlicedInverseRegression": ".estimators.components.sliced_inverse_regression",
    },
)

__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    return _PUBLIC.attribute(name)
