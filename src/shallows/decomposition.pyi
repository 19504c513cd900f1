# What type checkers see of the names that are imported when they are first used.

from .estimators.components.feature_kernel_pca import FeatureKernelPCA as FeatureKernelPCA
from .estimators.components.kernel_cca import DoublyStochasticKernelCCA as DoublyStochasticKernelCCA
from .estimators.components.kernel_pca import DoublyStochasticKernelPCA as DoublyStochasticKernelPCA
from .estimators.components.kernel_svd import DoublyStochasticKernelSVD as DoublyStochasticKernelSVD
from .estimators.components.sliced_inverse_regression import (
    KernelSlicedInverseRegression as KernelSlicedInverseRegression,
)
