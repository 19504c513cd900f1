"""
Two-sample test
===============

Are two samples from the same distribution? The test compares their mean random features. Here the samples have equal
means and variances; only the shape differs. If nothing differs, a test at the level 5 % rejects in 5 % of cases.
"""

import matplotlib.pyplot as plt
import numpy as np

from shallows.statistics import two_sample_test

rng = np.random.default_rng(0)
sizes, repetitions = (50, 100, 200, 400, 800), 40
rejected = {"normal": [], "uniform": [], "Laplace": []}
for n in sizes:
    for name, draw in {
        "normal": lambda n: rng.standard_normal((n, 2)),
        "uniform": lambda n: rng.uniform(-(3**0.5), 3**0.5, (n, 2)),
        "Laplace": lambda n: rng.laplace(0, 0.5**0.5, (n, 2)),
    }.items():
        samples = [(rng.standard_normal((n, 2)), draw(n)) for _ in range(repetitions)]
        tests = [two_sample_test(X, Y, bandwidth=0.7, n_features=200, n_draws=199, random_state=0) for X, Y in samples]
        rejected[name].append(100 * np.mean([test.pvalue <= 0.05 for test in tests]))

for name, shares in rejected.items():
    plt.semilogx(sizes, shares, "o-", label=f"normal and {name}")
plt.axhline(5, color="gray", linestyle="--", label="5 %")
plt.xlabel("rows of each sample")
plt.ylabel(f"rejected of {repetitions} tests (%)")
plt.legend()
plt.tight_layout()
plt.show()
