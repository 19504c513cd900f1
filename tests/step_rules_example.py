"""The numbers that step rules are made of, and the estimators that take the rules, with data for them."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import is_classifier

from engine_example import sample
from feature_forms import feature_eigenpro_classifier, feature_eigenpro_regressor
from forms import eigenpro_classifier, eigenpro_regressor

FACTS = SimpleNamespace(
    eigenvalues=np.array([0.5, 0.2, 0.01]),
    rank=2,
    damping=1.0,
    power=1.0,
    flattened_top=0.01,
    top_eigenvalue=0.02,
    largest_diagonal=0.9,
    usual_diagonal=0.8,
    mean_diagonal=0.6,
    bound=1.0,
    dimension=40.0,
    tail_constant=8.0,
    subsample_diagonal=0.9,
    n_subsample=100,
    n_functions=math.inf,
    step_size=lambda m: 2 / (0.9 + (m - 1) * 0.02),
)
N = 1000
ALL = [eigenpro_classifier, eigenpro_regressor, feature_eigenpro_classifier, feature_eigenpro_regressor]
each = pytest.mark.parametrize("Estimator", ALL)


def table(Estimator, n=400, seed=0, noise=0.0):
    """Points and targets fit for an estimator, and others to predict at."""
    x = sample(n + 100, 4, seed)
    signal = np.sin(2 * x[:, 0]) + x[:, 1] + noise * np.random.default_rng(seed).normal(size=n + 100)
    y = np.digitize(signal, [-0.7, 0.7]) if is_classifier(Estimator()) else signal
    return x[:n], y[:n], x[n:], y[n:]


def small(Estimator):
    """What keeps a feature map small."""
    return {"n_features": 200} if Estimator.__name__.startswith("Feature") else {}
