"""Estimators: support vector machines in their dual variables, whose solvers choose the rows that they use."""

from .smo import SMOClassifier

__all__ = ["SMOClassifier"]
