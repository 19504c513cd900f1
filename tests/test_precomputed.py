"""kernel="precomputed": a fit to the kernel matrix is the fit to the points."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from bad_input_example import few
from engine_example import sample
from estimators_example import outputs
from flat import flat_if_known
from shallows import DoublyStochasticRegressor, KernelRidgeRegressor, RegularizedRiskRegressor, kernels, spectrum
from shallows.errors import ShallowsError
from shallows.kernel_approximation import NystroemFeatures
from shallows.solvers import EigenPro
from solved_by import constructor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TAKERS = [
    f"{name}{kind}"
    for name in ("EigenPro", "EigenProCenters", "KernelRidge", "KernelSGD", "RegularizedRisk")
    for kind in ("Classifier", "Regressor")
] + ["pegasos: RegularizedRiskClassifier", "norma: RegularizedRiskRegressor"]
each = pytest.mark.parametrize("name", TAKERS)

BANDWIDTH = 1.5


def K(x, z):
    return rbf_kernel(x, z, gamma=1.0 / (2.0 * BANDWIDTH**2))


def table(name, n=90):
    x = sample(n + 40, 3)
    signal = np.sin(2 * x[:, 0]) + x[:, -1]
    return x[:n], np.digitize(signal, [-0.7, 0.7]) if name.endswith("Classifier") else signal, x[n:]


def pair(name, **options):
    """The estimator for the matrix, and the one for the points."""
    Estimator = constructor(name)
    options = {"random_state": 0, "max_epochs": 3, **few(Estimator), **options}
    of_matrix, of_points = {"kernel": "precomputed"}, {"bandwidth": BANDWIDTH}
    return tuple(flat_if_known(Estimator, **{**options, **own}) for own in (of_matrix, of_points))


@pytest.mark.parametrize(
    ("name", "n", "tolerance"), [*((name, 90, 1e-9) for name in TAKERS), *((name, 1100, 1e-2) for name in TAKERS[::4])]
)
def test_a_fit_to_the_matrix_predicts_what_the_fit_to_the_points_does(name, n, tolerance):
    # Above 1,000 rows both are in float32, in which values by distances and values of float64 rounded differ.
    X, y, new = table(name, n)
    y = y[:n]
    of_matrix, of_points = pair(name)
    of_matrix.fit(K(X, X), y)
    of_points.fit(X, y)
    expected = outputs(of_points, new)
    assert np.abs(outputs(of_matrix, K(new, X)) - expected).max() < tolerance * np.abs(expected).max()
    assert of_matrix.n_features_in_ == n
    assert of_matrix.report_["kernel"] == "precomputed"


@each
def test_rows_of_weight_zero_and_other_weights_are_those_of_the_points(name):
    X, y, new = table(name)
    y, weights = y[:90], np.arange(90) % 3.0
    of_matrix, of_points = pair(name)
    of_matrix.fit(K(X, X), y, weights)
    of_points.fit(X, y, weights)
    assert np.abs(outputs(of_matrix, K(new, X)) - outputs(of_points, new)).max() < 1e-8


# ----------------------------------------------------------------------------------------- refusals


@each
def test_a_matrix_that_is_none_of_a_kernel_is_told(name):
    X, y, new = table(name)
    y = y[:90]
    model, _ = pair(name)
    with pytest.raises(ValueError, match=r"the square matrix .* got the shape \(90, 3\)"):
        model.fit(X, y)
    with pytest.raises(ShallowsError, match="precomputed kernel matrix is not symmetric"):
        model.fit(np.triu(K(X, X)), y)
    with pytest.raises(ShallowsError, match="precomputed kernel matrix is not positive semi-definite"):
        model.fit(K(X, X) - 2 * np.eye(90) * np.repeat([0, 1], 45), y)
    assert set(vars(model)) == set(model.get_params(deep=False))
    with pytest.raises(ValueError, match="expecting 90"):
        model.fit(K(X, X), y).predict(new)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (
            RegularizedRiskRegressor("precomputed", features="fourier", solver="svrg"),
            "Explicit features are made of points",
        ),
        (DoublyStochasticRegressor("precomputed"), "random frequencies"),
        (NystroemFeatures("precomputed"), "Explicit features are made of points"),
        (KernelRidgeRegressor("precomputed", centers=sample(5, 3)), "centers is a number"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_who_needs_points_says_so_by_name(model, reason):
    X, y, _ = table("EigenProClassifier")
    with pytest.raises(ShallowsError, match=f"{type(model).__name__} cannot use kernel='precomputed' here.*{reason}"):
        model.fit(K(X, X), y[:90])


def test_what_a_matrix_has_no_place_for_is_told():
    X, y, _ = table("EigenProRegressor")
    y = y[:90]
    with pytest.raises(ShallowsError, match="A precomputed kernel has no parameters"):
        KernelRidgeRegressor("precomputed", bandwidth=1.0, solver="eigenpro").fit(K(X, X), y)
    made = spectrum.fit_preconditioner(X, bandwidth=BANDWIDTH, rank=5, n_subsample=60, dtype="float64")
    with pytest.raises(ShallowsError, match=r"KernelRidgeRegressor cannot use .* was made for points"):
        KernelRidgeRegressor("precomputed", solver=EigenPro(preconditioner=made)).fit(K(X, X), y)
    with pytest.raises(ShallowsError, match="no values for points"):
        kernels.choose(kernels.make("precomputed"), kernels.augmented(X))


def test_the_object_without_a_matrix_is_the_name_and_one_with_a_matrix_is_refused():
    X = sample(40, 3)
    K = rbf_kernel(X)
    given = {"alpha": 0.1, "random_state": 0}
    models = [
        KernelRidgeRegressor(kernel, **given).fit(K, X[:, 0]) for kernel in ("precomputed", kernels.Precomputed())
    ]
    assert (models[0].predict(K) == models[1].predict(K)).all()
    with pytest.raises(ShallowsError, match="The kernel matrix is given to fit"):
        KernelRidgeRegressor(kernels.Precomputed(K), **given).fit(K, X[:, 0])
    with pytest.raises(ShallowsError, match="cannot use kernel='precomputed'"):
        NystroemFeatures(kernels.Precomputed()).fit(K)
