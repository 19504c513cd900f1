"""The scikit-learn face of the solvers."""

from .eigenpro import EigenProClassifier, EigenProRegressor
from .kernel_sgd import KernelSGDClassifier, KernelSGDRegressor

__all__ = ["EigenProClassifier", "EigenProRegressor", "KernelSGDClassifier", "KernelSGDRegressor"]
