"""A program that uses the public names as one that is checked for types would; mypy reads it, and nothing runs it.

Where a constructor adds to another one (`with_parameters`), mypy takes any parameters and does not know what it makes.
"""

from typing import Any, assert_type

import numpy as np

import shallows
from feature_forms import feature_eigenpro_regressor
from shallows import Options, decomposition, errors, kernels
from shallows.kernel_approximation import FourierFeatures
from shallows.solvers import SVRG, EigenPro, KernelSGD, NormalEquations, NystromConjugateGradients
from shallows.svm import BudgetedSVMClassifier

X, y = np.zeros((20, 3)), np.zeros(20)
kernel: Any = kernels.Gaussian(2.0)

# A kernel by its name, as an object or as a function, and parameters of every kind.
shallows.KernelRidgeRegressor(
    "laplace", solver="cholesky", bandwidth="median", alpha=1e-3, options=Options(memory="1 GB")
)
shallows.KernelRidgeRegressor(
    kernel,
    solver=EigenPro(rank=50, batch_size=None, power=0.5, step="constant"),
    options=Options(memory=2**30, verbose=1),
)
shallows.KernelRidgeRegressor(
    lambda a, b: a @ b.T, solver=NystromConjugateGradients(tol=0.0), centers=10, warm_start=True
)
shallows.KernelRidgeRegressor(
    solver=KernelSGD(step=1.0),
    early_stopping=True,
    random_state=np.random.RandomState(0),
    bandwidth="median",
    n_components=None,
)
feature_eigenpro_regressor("fastfood", n_features=64, kernel_params={"degree": 2})
shallows.FeatureRidgeRegressor(
    solver=NormalEquations(max_iterations=5), features=FourierFeatures(n_features=64), options=Options(dtype="float64")
)
shallows.RegularizedRiskRegressor(loss="huber", solver=SVRG(), options=Options(max_seconds=1.5))
shallows.FeatureRidgeRegressor(solver=NormalEquations(form="rows"), features="hidden_units", alpha="auto")
shallows.save(shallows.load("model.skops", device="cpu"), "copy.skops")


def returned(
    fourier: FourierFeatures,
    lasvm: shallows.KernelSVMClassifier,
    budgeted: BudgetedSVMClassifier,
    linear: shallows.LinearSVMClassifier,
    pca: decomposition.DoublyStochasticKernelPCA,
    cca: decomposition.DoublyStochasticKernelCCA,
) -> None:
    """What fits return."""
    assert_type(fourier.fit(X), FourierFeatures)
    assert_type(lasvm.fit(X, y, sample_weight=y), shallows.KernelSVMClassifier)
    assert_type(budgeted.fit(X, y), BudgetedSVMClassifier)
    assert_type(linear.fit(X, y), shallows.LinearSVMClassifier)
    assert_type(pca.fit(X), decomposition.DoublyStochasticKernelPCA)
    assert_type(cca.fit(X, X), decomposition.DoublyStochasticKernelCCA)
    assert_type(errors.UnknownNameError("kernel", "gausian", ["gaussian"]).name, object)
