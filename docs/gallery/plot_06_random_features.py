"""
Random features with any linear model
=====================================

The transformers approximate a kernel by explicit features, so that every linear model of scikit-learn becomes a kernel
machine.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from shallows.kernel_approximation import FourierFeatures, NystroemFeatures

X, y = load_digits(return_X_y=True)
numbers = (30, 100, 300, 1000)
for name, make in {
    "Fourier": lambda n: FourierFeatures(bandwidth=25.0, n_features=n, random_state=0),
    "orthogonal Fourier": lambda n: FourierFeatures(bandwidth=25.0, n_features=n, orthogonal=True, random_state=0),
    "Nyström": lambda n: NystroemFeatures(bandwidth=25.0, n_features=n, random_state=0),
}.items():
    errors = []
    for n in numbers:
        model = make_pipeline(make(n), LogisticRegression(C=100, max_iter=1000)).fit(X[:1000], y[:1000])
        errors.append(100 * (1 - model.score(X[1000:], y[1000:])))
    plt.loglog(numbers, errors, "o-", label=name)
plt.xlabel("features")
plt.ylabel("test error (%)")
plt.legend()
plt.tight_layout()
plt.show()
