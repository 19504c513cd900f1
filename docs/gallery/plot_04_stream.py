"""
A stream with ``partial_fit``
=============================

Rows come in batches and are seen once. The model keeps coefficients and a seed; its random features are computed again
whenever they are needed.
"""

import matplotlib.pyplot as plt
import numpy as np

from shallows import DoublyStochasticRegressor

rng = np.random.default_rng(0)


def true_function(X):
    return np.sin(4 * X[:, 0]) * X[:, 1]


X_test = rng.uniform(-1, 1, (2000, 2))
model = DoublyStochasticRegressor(bandwidth=0.5, random_state=0)
seen, errors = [], []
for batch in range(20):
    X = rng.uniform(-1, 1, (500, 2))
    model.partial_fit(X, true_function(X) + 0.3 * rng.standard_normal(500))
    seen.append(500 * (batch + 1))
    errors.append(np.mean((model.predict(X_test) - true_function(X_test)) ** 2))

plt.loglog(seen, errors, "o-")
plt.xlabel("rows seen")
plt.ylabel("mean squared distance from the true function")
plt.tight_layout()
plt.show()
