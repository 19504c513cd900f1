"""
Kernel PCA
==========

Two kernel components of handwritten digits, learned by doubly stochastic gradients from a stream of batches.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from shallows.decomposition import DoublyStochasticKernelPCA

X, y = load_digits(n_class=6, return_X_y=True)
model = DoublyStochasticKernelPCA(n_components=2, bandwidth=25.0, random_state=0)
Z = model.fit_transform(X)

dots = plt.scatter(Z[:, 0], Z[:, 1], c=y, s=8, cmap="tab10", vmax=9)
plt.legend(*dots.legend_elements(), title="digit")
plt.xlabel("first component")
plt.ylabel("second component")
plt.tight_layout()
plt.show()
