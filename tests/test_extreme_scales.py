"""Bandwidths and points so small or so large that rounding or the range of numbers is met."""

import re
from inspect import signature

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import promises_example
from bad_input_example import (
    ALL,
    MAPS,
    OTHERS,
    each_of_least_squares,
    each_precision,
    each_regressor_of_least_squares,
    every,
    made,
    table,
)
from engine_example import EUCLIDEAN, sample
from estimators_example import outputs, published
from feature_forms import feature_eigenpro_regressor
from forms import (
    centers_regressor,
    eigenpro_regressor,
    kernel_ridge_regressor,
    kernel_sgd_regressor,
)
from promises_example import EVERY, targets, unfitted
from shallows import KernelRidgeRegressor, Options, RegularizedRiskRegressor, kernels
from shallows.errors import ShallowsError

pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")

# -------------------------------------------------------------------------------- bandwidths


@pytest.mark.parametrize(
    "Estimator", [eigenpro_regressor, centers_regressor, feature_eigenpro_regressor, kernel_ridge_regressor]
)
@pytest.mark.parametrize("bandwidth", [1e6, 1e140])
@pytest.mark.parametrize("kernel", EUCLIDEAN)
@each_precision
def test_a_matrix_of_ones_learns_the_mean(Estimator, bandwidth, kernel, dtype):
    X, y, new = table(Estimator)
    options = {**published(Estimator), "kernel": kernel, "bandwidth": bandwidth, "dtype": dtype, "max_epochs": 5}
    if Estimator is kernel_ridge_regressor:
        options["regularisation"] = 1.0
    model = made(Estimator, **options).fit(X, y)
    # Laplace at 1e6 is 1 − 1e-6 r, and what is left of the matrix is a linear function in that unit.
    assert np.abs(model.predict(new) - y.mean()).max() < 1e-2


@pytest.mark.parametrize(("n", "d", "bandwidth", "dtype"), [(120, 3, 1e-4, "float64"), (1500, 10, 1e-2, "float32")])
@pytest.mark.parametrize("kernel", EUCLIDEAN)
def test_centres_that_see_no_other_point_are_fitted_and_the_others_have_the_mean(kernel, n, d, bandwidth, dtype):
    X = sample(n, d)
    y = 3 + np.sin(X[:, 0])
    options = {"centres": n // 5, "bandwidth": bandwidth, "batch_size": 40, "dtype": dtype, "random_state": 0}
    model = centers_regressor(kernel, **options, **published(centers_regressor, "bandwidth")).fit(X, y)
    at_centres = np.isin(np.arange(n), model.support_)
    found = model.predict(X)
    # A centre's squared distance from itself is a sum of d + 2 products: none, or some roundings of ‖x‖², as the
    # processor adds them up. Its kernel value is then off by this much, where the kernel is as narrow as here.
    squared = np.sqrt(d + 2) * np.finfo(dtype).eps * float((X**2).sum(axis=1).max()) / bandwidth**2
    off = {"gaussian": squared / 2, "laplace": np.sqrt(squared), "cauchy": squared}[kernel]
    assert np.abs(found - y)[at_centres].max() < 5e-3 + off * np.abs(y - y.mean()).max()
    assert np.abs(found - y.mean())[~at_centres].max() < 5e-3
    assert model.n_rollbacks_ == 0


@pytest.mark.parametrize("kernel", EUCLIDEAN)
@each_regressor_of_least_squares
def test_a_matrix_that_is_the_identity_learns_every_point_and_nothing_beyond(Estimator, kernel):
    X, y, new = table(Estimator)
    options = {**published(Estimator), "kernel": kernel, "bandwidth": 1e-5, "tol": 0, "max_epochs": 40}
    if Estimator in (eigenpro_regressor, feature_eigenpro_regressor):
        options["rank"] = 0
    if Estimator is kernel_ridge_regressor:
        options["regularisation"] = 1e-3
    model = made(Estimator, **options).fit(X, y)
    # Cauchy falls as 1/r² only, and Laplace sees a point 1e-8 away from itself, 1e-3 of the bandwidth.
    assert np.abs(model.predict(new) - y.mean()).max() < 1e-6
    assert np.abs(model.predict(X) - y).max() < 0.02 * np.abs(y - y.mean()).max()


@each_of_least_squares
@pytest.mark.parametrize("as_object", [False, True])
@pytest.mark.parametrize(("bandwidth", "dtype"), [(1e-5, "float32"), (1e-12, "float64"), (1e-140, "float64")])
def test_a_bandwidth_below_what_rounding_resolves_is_refused(Estimator, bandwidth, dtype, as_object):
    X, y, _ = table(Estimator)
    options = {"kernel": kernels.Laplace(bandwidth)} if as_object else {"bandwidth": bandwidth}
    with pytest.raises(ShallowsError, match=f"too small for {dtype}") as raised:
        Estimator(dtype=dtype, **options).fit(X, y)
    assert ("dtype='float64'" in str(raised.value)) is (dtype == "float32")


def test_an_outlier_that_float32_cannot_take_is_fitted_in_float64():
    X, y = make_friedman1(1100, noise=0.5, random_state=0)
    X[7, 3] = -9999.0
    model = KernelRidgeRegressor(random_state=0).fit(X, y)
    exact = KernelRidgeRegressor(random_state=0, options=Options(dtype="float64")).fit(X, y)
    assert np.array_equal(model.predict(X), exact.predict(X))
    with pytest.raises(ShallowsError, match=r"1 of 1,100 points lie up to 1e.04 from the center"):
        KernelRidgeRegressor(random_state=0, options=Options(dtype="float32")).fit(X, y)


@each_of_least_squares
@pytest.mark.parametrize("bandwidth", [1e-200, 1e200])
def test_a_bandwidth_whose_square_is_no_number_is_refused(Estimator, bandwidth):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError, match="bandwidth must lie between 1e-150 and 1e\\+150"):
        Estimator(bandwidth=bandwidth).fit(X, y)


# -------------------------------------------------------------------------------- points


BEYOND = {"float32": (1e25, 1e-30), "float64": (1e170, 1e-200)}


@pytest.mark.parametrize(
    ("dtype", "Estimator", "given"),
    [
        *((dtype, Estimator, {"dtype": dtype}) for dtype in BEYOND for Estimator in ALL),
        *((dtype, feature_eigenpro_regressor, {"dtype": dtype, "features": name}) for dtype in BEYOND for name in MAPS),
        *(("float64", Estimator, {}) for Estimator in OTHERS),
    ],
)
def test_features_whose_squares_leave_the_numbers_are_refused(dtype, Estimator, given):
    X, y, _ = table(Estimator)
    for scale in BEYOND[dtype]:
        with pytest.raises(ShallowsError, match=rf"features are too (large|small) for {dtype}.*StandardScaler"):
            made(Estimator, **given).fit(X * scale, y)


@every
def test_points_beyond_the_precision_of_the_model_are_refused(Estimator):
    X, y, new = table(Estimator)
    model = made(Estimator, dtype="float32")
    says = r"X contains values as large as 1e\+200, .* float32, .* dtype='float64'"
    for apart in (X, new):
        apart[5, 1] = -1e200
    with pytest.raises(ShallowsError, match=rf"{says}|features are too large"):
        model.fit(X, y)
    model.fit(X[10:], y[10:])
    assert np.isfinite(outputs(model, new[6:])).all()
    for predict in (model.predict, getattr(model, "decision_function", model.predict)):
        with pytest.raises(ShallowsError, match=says):
            predict(new)


@each_regressor_of_least_squares
@pytest.mark.parametrize("kernel", EUCLIDEAN)
@pytest.mark.parametrize(("scale", "dtype"), [(1e25, "float32"), (1e200, "float64")])
def test_far_away_a_function_of_distances_is_the_mean_of_the_targets(Estimator, kernel, scale, dtype):
    X, y, new = table(Estimator)
    model = made(Estimator, kernel=kernel, dtype=dtype).fit(X, y)
    assert model.predict(new * scale) == pytest.approx(np.full(len(new), y.mean()), abs=1e-7)


@pytest.mark.parametrize(
    "Estimator", [eigenpro_regressor, kernel_sgd_regressor, centers_regressor, RegularizedRiskRegressor]
)
@each_precision
def test_a_function_that_overflows_at_a_new_point_is_refused_there(Estimator, dtype):
    X, y, new = table(Estimator)
    model = made(Estimator, kernel="polynomial", dtype=dtype).fit(X, y)
    with pytest.raises(ShallowsError, match=f"which overflow in {dtype}") as raised:
        model.predict(new * {"float32": 1e25, "float64": 1e200}[dtype])
    assert ("dtype='float64'" in str(raised.value)) is (dtype == "float32")


# -------------------------------------------------------------------------------- all three, in every estimator

ROWS = np.random.default_rng(0).normal(size=(120, 3))
SAYS_TO_SCALE = r"(?i)scale|StandardScaler|bandwidth must lie between|squares are beyond|beyond the numbers"
# Of inner products, which are no functions of X divided by a scale.
OF_THE_ORIGIN = ("AMMClassifier", "LinearSVMClassifier", "PartialWhitening", "PolynomialFeatures", "TensorSketch")
REGRESSORS = [name for name in EVERY if name.endswith("Regressor")]
WEIGHTED = [name for name in EVERY if "sample_weight" in signature(unfitted(name).fit).parameters]
BINS = {"n_grids": 5, "n_bins": 64}


def predicted_or_refused(model, X, y, says, **options):
    """The outputs of a fit at its rows, or None if it is refused with what to do."""
    try:
        return promises_example.outputs(model.fit(X, y, **options), X)
    except ShallowsError as error:
        assert re.search(says, str(error)), str(error)
        return None


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", [name for name in EVERY if name not in OF_THE_ORIGIN])
def test_rows_at_any_scale_give_the_model_of_scaled_rows_or_are_refused(name, precision):
    y, options = targets(name, ROWS), {"dtype": precision, **BINS}
    expected = promises_example.outputs(unfitted(name, **options).fit(ROWS, y), ROWS)
    scales = {"float32": [1e-40, 1e-20, 1e18, 1e36], "float64": [1e-200, 1e-20, 1e160]}
    for scale in scales[precision]:
        found = predicted_or_refused(unfitted(name, **options), ROWS * scale, y, SAYS_TO_SCALE)
        if scale == 1e-20 and precision == "float64":
            assert found is not None
        for mine, its in zip(found or [], expected, strict=found is not None):
            assert np.abs(mine - its).max() <= 0.05 * np.abs(its).max()


@pytest.mark.parametrize("scale", [1e-300, 1e160])
@pytest.mark.parametrize("name", [*REGRESSORS, "SparseRandomFeatures"])
def test_targets_at_any_scale_give_the_model_of_scaled_targets_or_are_refused(name, scale):
    y = ROWS[:, 0]
    expected = promises_example.outputs(unfitted(name).fit(ROWS, y), ROWS)
    found = predicted_or_refused(unfitted(name), ROWS, y * scale, "The targets are too large.*Scale y")
    unit = scale if name in REGRESSORS else 1.0
    for mine, its in zip(found or [], expected, strict=found is not None):
        # The likelihood of a Gaussian process is flat about its maximum; others end a search at a tolerance.
        assert mine / unit == pytest.approx(its, abs=1e-2 if "Gaussian" in name else 1e-3)
    assert found is not None or "Gaussian" in name


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_beyond_the_numbers_are_refused_and_wide_ones_are_taken(name):
    y, shares = targets(name, ROWS), np.random.default_rng(1).permutation(np.linspace(-1.0, 1.0, 120))
    for weights in (10.0 ** (200 * shares), np.full(120, 1e308)):
        with pytest.raises(ShallowsError, match=r"weights of the rows are between .* Set the small ones to 0"):
            unfitted(name).fit(ROWS, y, sample_weight=weights)
    for weights in (10.0 ** (20 * shares), np.full(120, 1e200)):
        found = predicted_or_refused(unfitted(name), ROWS, y, "nearer to 1 and to each other", sample_weight=weights)
        assert found is not None or "Gaussian" in name
        assert all(np.isfinite(one).all() for one in found or [])
