"""Kernels of all kinds, and functions of the user, in the estimators and solvers."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import is_classifier

from bad_input_example import ALL, each, few, table
from engine_example import sample
from estimators_example import outputs, published, unscaled
from forms import ridge
from shallows import KernelRidgeRegressor, kernels
from shallows.errors import ShallowsError

pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")


def dot(X, Z):
    return X @ Z.T + 0.5


def scaled_dot(X, Z, scale=1.0):
    return scale * (X @ Z.T) + 0.5


def by_rows(x, z):
    return float(x @ z)


def one_sided(X, Z):
    return X @ Z.T + X[:, :1]


def indefinite(X, Z):
    return 1.0 + ((X[:, None] - Z[None]) ** 2).sum(axis=2)


PARAMETERS = {
    "matern": {"nu": 2.2},
    "laplace_product": None,
    "cauchy_product": None,
    "polynomial": {"degree": 3, "offset": 1.0, "scale": 0.3},
    "linear": {"offset": 0.5},
    "exponential": None,
    "arc_cosine": {"order": 2},
}


# Above a thousand rows a classifier and a regressor go the same way.
MORE_ROWS = [(Estimator, 1100, "matern" if is_classifier(Estimator()) else "polynomial") for Estimator in ALL]


@pytest.mark.slow
@pytest.mark.parametrize(("Estimator", "n", "name"), [*itertools.product(ALL[::2], [120], PARAMETERS), *MORE_ROWS])
def test_predictions_are_the_expansion_in_every_kernel(Estimator, n, name):
    X, y, new = table(Estimator, n)
    X, new = X + 0.5, new + 0.5
    bandwidth = 1.5 if kernels.KERNELS[name].takes_bandwidth else None
    options = {"kernel_params": PARAMETERS[name], "random_state": 0, "max_epochs": 2, **few(Estimator)}
    options |= published(Estimator, "bandwidth")
    model = Estimator(name, bandwidth=bandwidth, **options).fit(X, y)
    kernel = kernels.make(name, bandwidth, **(PARAMETERS[name] or {}))
    assert model.report_.get("kernel_params", {}) == kernel.parameters
    K = kernel(new, X[model.support_])
    scores = K @ model.dual_coef_
    if not is_classifier(model):
        scores = unscaled(model, scores[:, 0])
    rounding = 1e-9 if n == 120 else 1e-4
    assert np.abs(outputs(model, new) - scores).max() < rounding * np.abs(K).max() * np.abs(model.dual_coef_).sum()
    assert np.array_equal(outputs(pickle.loads(pickle.dumps(model)), new), outputs(model, new))


@pytest.mark.parametrize(("Estimator", "n"), [(one, (120, 1100)[k % 2]) for k, one in enumerate(ALL)])
def test_a_function_is_the_kernel_that_it_computes(Estimator, n):
    X, y, new = table(Estimator, n)
    options = {"random_state": 0, "max_epochs": 2, "dtype": "float64", **few(Estimator)}
    named = Estimator("linear", kernel_params={"offset": 0.5, "scale": 0.7}, **options).fit(X, y)
    function = Estimator(scaled_dot, kernel_params={"scale": 0.7}, **options).fit(X, y)
    assert function.report_["kernel"] == "scaled_dot"
    assert np.abs(outputs(named, new) - outputs(function, new)).max() < 1e-6 * np.abs(outputs(named, new)).max()
    assert np.array_equal(outputs(pickle.loads(pickle.dumps(function)), new), outputs(function, new))


@each
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kernel": by_rows}, "must return the matrix of all pairs"),
        ({"kernel": one_sided}, "not symmetric"),
        ({"kernel": indefinite}, "not positive semi-definite"),
        ({"kernel": lambda X, Z: np.full((len(X), len(Z)), np.nan)}, "must be positive and finite"),
        ({"kernel": "polynomial", "bandwidth": 2.0}, "has no bandwidth"),
        ({"kernel": kernels.Gaussian(1.0), "bandwidth": 2.0}, "has its own bandwidth"),
        ({"kernel": "heat_circle"}, "takes one feature"),
        ({"kernel": kernels.Polynomial(degree=400, scale=1e3)}, "positive and finite"),
        ({"kernel": dot, "bandwidth": 1.0}, "no bandwidth"),
    ],
)
def test_functions_that_are_no_kernel_and_parameters_that_do_not_fit_one_are_refused(Estimator, options, says):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError, match=says):
        Estimator(**options).fit(X, y)


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradients"])
def test_ridge_regression_with_a_polynomial_is_that_over_its_monomials(solver):
    x, y = sample(100), sample(100, 1, seed=1)[:, 0]
    given = {"kernel_params": {"degree": 2, "offset": 1.0, "scale": 1.0}, "random_state": 0, "dtype": "float64"}
    model = ridge(KernelRidgeRegressor, "polynomial", solver=solver, tol=1e-10, alpha=1.0, **given).fit(x, y)
    K = (x @ x.T + 1.0) ** 2
    truth = K @ np.linalg.solve(K + np.eye(100), y - y.mean()) + y.mean()
    assert np.abs(model.predict(x) - truth).max() < 1e-6
