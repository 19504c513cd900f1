"""
Novelty detection
=================

The detector learns where the training points are. ``fraction`` is the share of them that may be outside.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from shallows.svm import DoublyStochasticNoveltyDetector

X, _ = make_moons(2000, noise=0.08, random_state=0)
model = DoublyStochasticNoveltyDetector(fraction=0.05, bandwidth=0.3, random_state=0).fit(X)

x, y = np.meshgrid(np.linspace(-2, 3, 120), np.linspace(-1.5, 2, 120))
scores = model.decision_function(np.c_[x.ravel(), y.ravel()]).reshape(x.shape)
plt.contourf(x, y, scores, levels=20, cmap="Blues")
plt.contour(x, y, scores, levels=[0], colors="black")
novel = model.predict(X) == -1
plt.plot(*X[~novel].T, ".", color="gray", markersize=2, label="normal")
plt.plot(*X[novel].T, ".", color="crimson", markersize=4, label=f"novel ({novel.mean():.1%})")
plt.legend()
plt.xlabel("first column")
plt.ylabel("second column")
plt.tight_layout()
plt.show()
