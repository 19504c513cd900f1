"""
A hundred to a million rows
===========================

Friedman's first function with noise: error against time of a fit. Up to 10,000 rows are fitted here; the other points
are read from the stored benchmark (:doc:`/which_estimator`).
"""

import json
import time
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1

from shallows import KernelRidgeRegressor

seconds, errors = [], []
for n in (100, 300, 1000, 3000, 10_000):
    X, y = make_friedman1(n + 5000, n_features=10, noise=1.0, random_state=0)
    began = time.perf_counter()
    model = KernelRidgeRegressor(random_state=0).fit(X[:n], y[:n])
    seconds.append(time.perf_counter() - began)
    errors.append(1 - model.score(X[n:], y[n:]))
plt.loglog(seconds, errors, "o-", label="kernel ridge, 100 to 10,000 rows, fitted here")

record = Path("../../benchmarks/measured/which_estimator.json").read_text(encoding="utf-8")
table = json.loads(record)["tables"][0]
fits = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
for name in ("kernel ridge", "gradient boosting (scikit-learn)", "xRFM"):
    here = [fit for fit in fits if (fit["problem"], fit["estimator"]) == ("friedman", name) and fit["error"]]
    here.sort(key=lambda fit: int(fit["rows"]))
    points = [[float(fit[key]) for fit in here] for key in ("fit_seconds", "error")]
    plt.loglog(*points, "s--", label=f"{name}, {int(here[0]['rows']):,} to {int(here[-1]['rows']):,} rows, stored")
plt.xlabel("seconds of the fit")
plt.ylabel("1 - R²")
plt.legend(fontsize="x-small")
plt.tight_layout()
plt.show()
