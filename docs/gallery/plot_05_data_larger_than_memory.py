"""
Data larger than memory
=======================

A memory map is read in blocks. ``memory`` limits what the whole process may use; a fit that cannot keep the limit is
refused before it starts, with the limit that it needs.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from shallows import KernelRidgeRegressor, Options

rng = np.random.default_rng(0)
path = Path(tempfile.mkdtemp()) / "rows.npy"
rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(50_000, 20))
for start in range(0, len(rows), 10_000):
    rows[start : start + 10_000] = rng.standard_normal((10_000, 20))
y = np.sin(rows[:, 0]) + rows[:, 1] * rows[:, 2] + 0.1 * rng.standard_normal(len(rows))

X = np.load(path, mmap_mode="r")
numbers, errors = (50, 200, 800), []
settings = {"bandwidth": 5.0, "alpha": 1e-3, "options": Options(memory="2GB"), "random_state": 0}
for n_centers in numbers:
    model = KernelRidgeRegressor(solver="nystrom_conjugate_gradients", centers=n_centers, **settings)
    model.fit(X[:-5000], y[:-5000])
    errors.append(np.mean((model.predict(X[-5000:]) - y[-5000:]) ** 2))

plt.loglog(numbers, errors, "o-")
plt.xlabel("centers")
plt.ylabel("mean squared test error")
plt.tight_layout()
plt.show()
