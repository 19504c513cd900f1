"""
Error bars of a Gaussian process
================================

``FeatureGaussianProcessRegressor`` is a Gaussian process on explicit features. Its time grows linearly with the rows.
Signal and noise variance are chosen by the marginal likelihood.
"""

import matplotlib.pyplot as plt
import numpy as np

from shallows.gaussian_process import FeatureGaussianProcessRegressor
from shallows.kernel_approximation import NystroemFeatures

rng = np.random.default_rng(0)
X = np.concatenate([rng.uniform(0, 4, 150), rng.uniform(7, 10, 150)])[:, None]
y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(len(X))

features = NystroemFeatures(bandwidth=0.8, n_features=100)
model = FeatureGaussianProcessRegressor(features, random_state=0).fit(X, y)
grid = np.linspace(-1, 11, 300)[:, None]
mean, deviation = model.predict(grid, return_std=True)

plt.plot(X[:, 0], y, ".", color="gray", markersize=3, label="training points")
plt.plot(grid[:, 0], np.sin(2 * grid[:, 0]), "k--", linewidth=1, label="true function")
plt.plot(grid[:, 0], mean, label="mean")
plt.fill_between(grid[:, 0], mean - 2 * deviation, mean + 2 * deviation, alpha=0.3, label="two standard deviations")
plt.xlabel("x")
plt.ylabel("y")
plt.legend(loc="lower left", fontsize="small")
plt.tight_layout()
plt.show()
