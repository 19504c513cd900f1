"""Seconds of every kind of default fit to generated rows."""

import time
import warnings

import measuring
import numpy as np

from shallows import estimators

NAMES = (
    "KernelRidgeClassifier",
    "FeatureRidgeClassifier",
    "DoublyStochasticClassifier",
    "RegularizedRiskClassifier",
    "KernelSVMClassifier",
    "LinearSVMClassifier",
    "CoreVectorMachineClassifier",
    "BudgetedSVMClassifier",
    "AMMClassifier",
    "LowRankLinearizedSVMClassifier",
    "RandomKitchenSinksClassifier",
    "FeatureGaussianProcessRegressor",
    "DoublyStochasticKernelPCA",
    "DoublyStochasticKernelCCA",
    "FeatureKernelPCA",
)

SLOW = {"FeatureGaussianProcessRegressor", "DoublyStochasticKernelPCA", "DoublyStochasticKernelCCA"}
"""Fitted to a quarter of the rows."""

n, rng = measuring.parameters()["n_train"], np.random.default_rng(0)
X = rng.normal(size=(n, 20)).astype(np.float32)
values = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
targets = {"Classifier": (values > 0).astype(int), "Regressor": values, "CCA": X[:, :5] + rng.normal(size=(n, 5))}
before, of_fits = measuring.sgemm_gflops(0.5, 2048), {}
warnings.simplefilter("ignore")
for name in NAMES:
    estimator = getattr(estimators, name)(random_state=0)
    y = next((y for ending, y in targets.items() if name.endswith(ending)), None)
    seconds, n_rows = [], n // 4 if name in SLOW else n
    for _ in range(2):  # The first fit loads compiled loops.
        started = time.perf_counter()
        estimator.fit(X[:n_rows], y if y is None else y[:n_rows])
        seconds.append(time.perf_counter() - started)
    of_fits[name] = min(seconds)
measuring.answer(seconds=sum(of_fits.values()), of_fits=of_fits, sgemm_gflops=before)
