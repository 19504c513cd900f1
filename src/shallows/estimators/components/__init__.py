"""Estimators of nonlinear components, trained by doubly stochastic gradients: kernel PCA and its relatives.

`component_estimator` holds the fit, on a data set or on a stream, `two_view_estimator` what relates two views,
`component_plan` the choice of what the user leaves open, and `stream_batches` the checks of what a stream brings. Each
method has a module of its own.
"""

from .kernel_cca import DoublyStochasticKernelCCA
from .kernel_pca import DoublyStochasticKernelPCA
from .kernel_svd import DoublyStochasticKernelSVD
from .sliced_inverse_regression import KernelSlicedInverseRegression

__all__ = [
    "DoublyStochasticKernelCCA",
    "DoublyStochasticKernelPCA",
    "DoublyStochasticKernelSVD",
    "KernelSlicedInverseRegression",
]
