"""Points, streams and the list of estimators for the tests of doubly stochastic gradients."""

import itertools

import numpy as np

from shallows import DoublyStochasticClassifier, DoublyStochasticRegressor
from shallows.solvers import DoublyStochastic
from shallows.svm import DoublyStochasticNoveltyDetector

ALL = [DoublyStochasticClassifier, DoublyStochasticRegressor, DoublyStochasticNoveltyDetector]


def moons(n=600, seed=0, classes=2):
    """Arcs that no line separates; labels are words."""
    rng = np.random.default_rng(seed)
    labels, angle = rng.integers(0, classes, n), rng.uniform(0, np.pi, n)
    x = np.stack([np.cos(angle) + labels, np.where(labels % 2, 1, -1) * (np.sin(angle) - 0.25)], axis=1)
    return x + 0.12 * rng.normal(size=x.shape), np.array(["low", "high", "other"])[labels]


def waves(n=800, seed=0):
    """A smooth function of two inputs, about 500."""
    x = np.random.default_rng(seed).uniform(-3, 3, (n, 2))
    return x, 500 + 100 * np.sin(x[:, 0]) * np.cos(x[:, 1])


def endless(n=None, size=100, seed=0, classes=2):
    """Batches of moons, each new; counts what was taken."""
    for i in itertools.count() if n is None else range(n):
        endless.taken = i + 1
        yield moons(size, seed=seed + i, classes=classes)


WORDS = ["high", "low"]


def small(Estimator=DoublyStochasticClassifier, **options):
    return Estimator(random_state=0, solver=DoublyStochastic(block_size=16, n_iter=20, **options))
