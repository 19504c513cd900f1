"""
Columns that do not matter
==========================

Five of fifty columns matter. With ``metric="auto"`` kernel ridge regression learns a weight for each column from the
gradients of a first fit, because that lowers the error of rows that were not used to learn the weights.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from shallows import KernelRidgeRegressor

X, y = make_friedman1(2000, n_features=50, noise=1.0, random_state=0)
X_test, y_test = make_friedman1(2000, n_features=50, noise=0.0, random_state=1)  # The function without noise
models = {
    f"metric={metric!r}": KernelRidgeRegressor(metric=metric, random_state=0).fit(X, y) for metric in (None, "auto")
}

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
for name, model in models.items():
    left.plot(y_test, model.predict(X_test), ".", markersize=3, label=f"{name}: R² {model.score(X_test, y_test):.3f}")
left.plot([0, 30], [0, 30], "k", linewidth=0.8)
left.set(xlabel="true value", ylabel="prediction")
left.legend()
right.bar(np.arange(1, 51), models["metric='auto'"].metric_)
right.set(xlabel="column", ylabel="weight, metric_", title="the first five columns matter")
plt.tight_layout()
plt.show()
