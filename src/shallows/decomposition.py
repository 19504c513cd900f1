"""Kernel PCA, SVD, CCA and sliced inverse regression."""

from .estimators import public_names

__all__, __getattr__ = public_names(
    __name__,
    "DoublyStochasticKernelCCA",
    "DoublyStochasticKernelPCA",
    "DoublyStochasticKernelSVD",
    "FeatureKernelPCA",
    "KernelSlicedInverseRegression",
)
