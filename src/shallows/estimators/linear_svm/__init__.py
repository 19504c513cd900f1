"""Linear support vector machines: one estimator, whose parameter ``solver`` names the method that trains it."""

from .linear_svm_classifier import LinearSVMClassifier

__all__ = ["LinearSVMClassifier"]
