"""Estimators trained by doubly stochastic gradients, whose function is an expansion in streamed random features.

`random_feature_expansion` holds the fit, on a data set or on a stream, and the prediction; `solver_plan` the choice of
the solver's parameters from a sample of the data, and `stream_batches` the checks of what a stream brings.
Classification, regression and novelty detection have a module each.
"""

from .dsg_classifier import DoublyStochasticClassifier
from .dsg_novelty_detector import DoublyStochasticNoveltyDetector
from .dsg_regressor import DoublyStochasticRegressor

__all__ = [
    "DoublyStochasticClassifier",
    "DoublyStochasticNoveltyDetector",
    "DoublyStochasticRegressor",
]
