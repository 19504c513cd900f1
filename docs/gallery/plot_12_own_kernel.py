"""
Your own kernel and random functions
====================================

A kernel can be any function of two arrays that returns a positive semi-definite matrix. Your own random functions are a
kernel too: here triangular bumps at random places.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from shallows import KernelRidgeRegressor

rng = np.random.default_rng(0)
X = rng.uniform(0, 3, (300, 1))
y = np.sign(np.sin(2 * np.pi * X[:, 0])) + 0.2 * rng.standard_normal(300)


def periodic(A, B):
    return np.exp(-2 * np.sin(np.pi * (A - B.T)) ** 2)


places = rng.uniform(0, 6, 400)
bumps = FunctionTransformer(lambda A: np.maximum(0, 1 - 4 * np.abs(A - places)))
grid = np.linspace(0, 6, 600)[:, None]
plt.plot(X[:, 0], y, ".", color="gray", markersize=3, label="training points")
for name, model in {
    "periodic kernel": KernelRidgeRegressor(periodic),
    "Gaussian kernel": KernelRidgeRegressor(),
    "400 random bumps": make_pipeline(bumps, RidgeCV(np.logspace(-3, 3, 13))),
}.items():
    plt.plot(grid[:, 0], model.fit(X, y).predict(grid), label=name)
plt.xlabel("x")
plt.ylabel("y")
plt.legend(loc="upper right", fontsize="small")
plt.show()
