"""One seed a fit: what `report_` names makes the same model again, and a warm start keeps it."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

import shallows
from forms import ridge
from shallows.solvers import SDCA

X, y = make_moons(300, noise=0.2, random_state=0)
X = X.astype(np.float32)
NEW = X[::7] + np.float32(0.05)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("KernelSVMClassifier", {"solver": "lasvm"}),
        ("CoreVectorMachineClassifier", {"sample_size": 20}),
        ("KernelSVMClassifier", {"solver": "kernel_newton", "loss": "squared_hinge"}),
        ("KernelSVMClassifier", {}),
        ("RegularizedRiskClassifier", {"solver": SDCA(max_epochs=3)}),
    ],
)
def test_the_seed_that_a_fit_drew_makes_the_same_model_again(name, options):
    Estimator = getattr(shallows.estimators, name)
    drawn = Estimator(random_state=None, **options).fit(X, y)
    again = Estimator(random_state=drawn.report_["seed"], **options).fit(X, y)
    assert np.array_equal(drawn.decision_function(NEW), again.decision_function(NEW))
    other = Estimator(random_state=None, **options).fit(X, y)
    assert other.report_["seed"] != drawn.report_["seed"]


def test_exact_ridge_starts_warm_without_a_seed_too():
    options = {"solver": "conjugate_gradients", "regularisation": 1e-3, "bandwidth": 0.5, "tol": 1e-8}
    model = ridge(shallows.KernelRidgeRegressor, warm_start=True, random_state=None, **options).fit(X, y)
    before = model.n_iter_
    assert model.fit(X, y).n_iter_ < before / 2
