"""Estimators: support vector machines in their dual variables, whose solvers choose the rows that they use."""

from .core_vector_machine import CoreVectorMachineClassifier, CoreVectorMachineRegressor
from .smo import SMOClassifier

__all__ = ["CoreVectorMachineClassifier", "CoreVectorMachineRegressor", "SMOClassifier"]
