"""
Saving, loading and GPU
=======================

A model is saved as a skops file, which contains no pickle and runs no code when it is loaded. A model that was fitted
on a GPU loads on a machine without one. ``device="auto"`` uses a GPU if CuPy finds one.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import shallows

X, y = load_digits(return_X_y=True)
path = Path(tempfile.mkdtemp()) / "digits.skops"
with shallows.options(device="auto"):
    model = shallows.KernelRidgeClassifier(random_state=0).fit(X[:1000], y[:1000])
shallows.save(model, path)
loaded = shallows.load(path)

before, after = model.decision_function(X[1000:]), loaded.decision_function(X[1000:])
print(f"{path.stat().st_size / 1000:.0f} kB; largest difference {np.abs(before - after).max()}")
plt.plot(before.ravel(), after.ravel(), ".", markersize=2)
plt.xlabel("score of the model")
plt.ylabel("score of the loaded model")
plt.tight_layout()
plt.show()
