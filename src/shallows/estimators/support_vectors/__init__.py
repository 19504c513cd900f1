"""Estimators: support vector machines in their dual variables, whose solvers choose the rows that they use."""

from .core_vector_machine import CoreVectorMachineClassifier, CoreVectorMachineRegressor
from .kernel_svm import KernelSVMClassifier
from .lasvm import LASVMClassifier
from .smo import SMOClassifier

__all__ = [
    "CoreVectorMachineClassifier",
    "CoreVectorMachineRegressor",
    "KernelSVMClassifier",
    "LASVMClassifier",
    "SMOClassifier",
]
