"""Large offsets change no model; if columns of different scales keep a solver from its end, a warning names them."""

import functools
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning

from forms import eigenpro_classifier
from promises_example import EVERY, WITH_STREAMS, outputs, targets, unfitted
from shallows import (
    FeatureRidgeClassifier,
    KernelRidgeClassifier,
    LinearSVMClassifier,
    Options,
    RegularizedRiskClassifier,
)
from shallows.arrays import user_arrays
from shallows.errors import DivergenceError
from shallows.kernel_approximation import NystroemFeatures
from shallows.solvers.linear_svm import SOLVERS
from shallows.svm import AMMClassifier, BudgetedSVMClassifier, CoreVectorMachineClassifier

_rng = np.random.default_rng(0)
# Multiples of 1/64, so that float32 holds the points with the offset of 10,000.
POINTS = np.column_stack([np.round(64 * _rng.normal(size=(200, 3))) / 64, np.zeros(200)])
X, NEW = POINTS[:150], POINTS[150:]

# The last column is constant.
OFFSETS = {
    "all columns + 1e8": lambda x: x + 1e8,
    "all columns + 1e4, float32": lambda x: (x + 1e4).astype(np.float32),
    "one column + 1e9": lambda x: x + np.array([0.0, 1e9, 0.0, 0.0]),
    "a constant column + 1e9": lambda x: x + np.array([0.0, 0.0, 0.0, 1e9]),
    "sparse, all columns + 1e8": lambda x: scipy.sparse.csr_array(x + 1e8),
}
# Kernels and units of which the origin is a part.
OF_THE_ORIGIN = ("PartialWhitening", "PolynomialFeatures", "TensorSketch")


def agreement(expected, found):
    """The share of equal labels, or of the variance of values that the others explain."""
    if expected.dtype.kind != "f":
        return np.mean(expected == found)
    return 1.0 - np.mean((expected - found) ** 2) / np.mean((expected - expected.mean(axis=0)) ** 2)


@functools.cache
def near_zero(name):
    return outputs(unfitted(name, dtype="float64").fit(X, targets(name, X)), NEW)[0]


def with_two_offsets(names):
    """Pairs of a name and an offset: two offsets for each name, and several names for each offset."""
    kinds = list(OFFSETS)
    return [(name, kinds[(2 * number + i) % len(kinds)]) for number, name in enumerate(names) for i in range(2)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "kind"), with_two_offsets(name for name in EVERY if name not in OF_THE_ORIGIN))
def test_columns_far_from_zero_change_no_prediction(name, kind):
    far = unfitted(name, dtype="float64").fit(OFFSETS[kind](X), targets(name, X))
    # At 1e9 points are rounded by 1e-7, and a linear machine differs by the regularization of its constant.
    least = 0.8 if name.endswith("Classifier") else 0.95
    assert agreement(near_zero(name), outputs(far, OFFSETS[kind](NEW))[0]) > least


@functools.cache
def linear_near_zero(solver):
    return LinearSVMClassifier(solver, random_state=0).fit(X, targets("Classifier", X)).predict(NEW)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("solver", "kind"), with_two_offsets(SOLVERS))
def test_columns_far_from_zero_change_no_linear_machine(solver, kind):
    far = LinearSVMClassifier(solver, random_state=0).fit(OFFSETS[kind](X), targets("Classifier", X))
    expected, new = linear_near_zero(solver), OFFSETS[kind](NEW)
    assert np.mean(expected == far.predict(new)) > 0.95
    # The coefficients belong to the columns as they were given.
    assert np.mean(expected == (new @ far.coef_[0] + far.intercept_[0] > 0)) > 0.95


@pytest.mark.parametrize("Estimator", [AMMClassifier, BudgetedSVMClassifier, LinearSVMClassifier])
def test_a_stream_keeps_the_offsets_of_its_first_rows(Estimator):
    options = {"solver": "linear_pegasos"} if Estimator is LinearSVMClassifier else {}
    y = targets("Classifier", X)
    plain, far = (Estimator(random_state=0, **options) for _ in range(2))
    for rows in np.array_split(np.arange(150), 3):
        plain.partial_fit(X[rows], y[rows], classes=[0, 1])
        far.partial_fit(X[rows] + 1e8, y[rows], classes=[0, 1])
    assert np.mean(plain.predict(NEW) == far.predict(NEW + 1e8)) > 0.8


# ------------------------------------------------------------------------------------------------- scales

WIDE = _rng.normal(size=(200, 6))
LABELS = (WIDE[:, 0] + 0.5 * WIDE[:, 2] - WIDE[:, 5] + 0.6 * _rng.normal(size=200) > 0).astype(int)
CANCER = load_breast_cancer()
SCALES = {
    "equal scales": (WIDE, LABELS),
    "scales from 1 to 1e4": (WIDE * np.logspace(0, 4, 6), LABELS),
    "one column times 1e9": (WIDE * np.array([1e9, 1, 1, 1, 1, 1]), LABELS),
    "all columns times 1e-4": (WIDE * 1e-4, LABELS),
    "all columns + 20": (WIDE + 20, LABELS),
    "raw breast cancer": (CANCER.data, CANCER.target),
}
MACHINES = [(solver, loss) for solver, choice in SOLVERS.items() for loss in choice.losses]
LOSSES = {
    # Value and slope of how far a margin is missed; the hinge is rounded off within a thousandth of its kink.
    "hinge": lambda t: (np.where(t < 1e-3, 5e2 * np.maximum(t, 0) ** 2, t - 5e-4), np.clip(1e3 * t, 0, 1)),
    "squared_hinge": lambda t: (0.5 * np.maximum(t, 0) ** 2, np.maximum(t, 0)),
    "logistic": lambda t: (np.logaddexp(0, t - 1), 1 / (1 + np.exp(1 - t))),
}


def objective(w, x, signs, loss):
    """λ/2 ‖w‖² + mean loss with λ = 1/n, the last of w being the constant's, and the gradient."""
    value, slope = LOSSES[loss](1 - signs * (x @ w[:-1] + w[-1]))
    n = len(x)
    return 0.5 / n * w @ w + value.mean(), w / n - np.append(x.T @ (signs * slope), (signs * slope).sum()) / n


@functools.cache
def optimum(kind, loss):
    """By L-BFGS on the coefficients of standardised columns."""
    x, y = SCALES[kind]
    signs = np.where(y == 1, 1.0, -1.0)
    mean, scale = x.mean(axis=0), x.std(axis=0)

    def value_and_gradient(v):
        w = np.append(v[:-1] / scale, v[-1] - mean @ (v[:-1] / scale))
        value, gradient = objective(w, x, signs, loss)
        return value, np.append((gradient[:-1] - mean * gradient[-1]) / scale, gradient[-1])

    start, options = np.zeros(x.shape[1] + 1), {"maxiter": 1000, "maxfun": 2000, "ftol": 1e-10}
    return scipy.optimize.minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("kind", SCALES)
@pytest.mark.parametrize(("solver", "loss"), MACHINES)
def test_a_linear_machine_is_at_its_optimum_or_says_to_scale(solver, loss, kind):
    (x, y), told = SCALES[kind], False
    signs = np.where(y == 1, 1.0, -1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        try:
            model = LinearSVMClassifier(solver, loss=loss, random_state=0, options=Options(max_seconds=3)).fit(x, y)
        except DivergenceError as error:
            assert "Scale the features" in str(error)
            return
    told = any("scale" in str(one.message).lower() for one in caught if one.category is ConvergenceWarning)
    value, _ = objective(np.append(model.coef_[0], model.intercept_), x, signs, loss)
    assert told or value < 1.15 * optimum(kind, loss)
    if kind == "equal scales":
        assert not told


OTHER_MACHINES = {
    "multi-hyperplane": lambda: AMMClassifier(random_state=0),
    "core vectors, linear kernel": lambda: CoreVectorMachineClassifier("linear", random_state=0),
} | {
    f"{solver}, linear map": lambda solver=solver: RegularizedRiskClassifier(
        features="linear", solver=solver, random_state=0
    )
    for solver in ("pegasos", "svrg")
}


@pytest.mark.parametrize("kind", ["scales from 1 to 1e4", "one column times 1e9", "raw breast cancer"])
@pytest.mark.parametrize("machine", OTHER_MACHINES)
def test_other_machines_of_linear_functions_say_to_scale(machine, kind):
    with pytest.warns(ConvergenceWarning, match="Scale the"):
        OTHER_MACHINES[machine]().fit(*SCALES[kind])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        OTHER_MACHINES[machine]().fit(*SCALES["equal scales"])


# ------------------------------------------------------------------------------------- columns in different units

# These have no bandwidth.
WITHOUT_BANDWIDTH = ("AMMClassifier", "LinearSVMClassifier", *OF_THE_ORIGIN)
UNITS = np.array([1.0, 1.0, 1e6, 1.0])
VARYING = _rng.normal(size=(150, 4))


def of_units(fit):
    """What a call warns of columns in different units, and the files of the lines that are named."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    told = [one for one in caught if "one bandwidth for all columns" in str(one.message)]
    assert all(one.category is UserWarning and one.filename == __file__ for one in told)
    return [str(one.message) for one in told]


@pytest.mark.parametrize(
    ("name", "form"), [(name, (np.array, scipy.sparse.csr_array)[number % 2]) for number, name in enumerate(EVERY)]
)
def test_a_column_in_another_unit_is_named_once(name, form):
    y = targets(name, VARYING)
    told = of_units(lambda: unfitted(name).fit(form(VARYING * UNITS), y))
    assert len(told) == (name not in WITHOUT_BANDWIDTH)
    assert all("Column 2 of X" in one and "StandardScaler" in one for one in told)
    assert not of_units(lambda: unfitted(name).fit(form(VARYING * np.array([1.0, 1.0, 300.0, 1.0])), y))


@pytest.mark.parametrize("name", WITH_STREAMS)
def test_a_stream_warns_once_of_a_column_in_another_unit(name):
    y, model = targets(name, VARYING), unfitted(name)
    classes = {"classes": [0, 1]} if name.endswith("Classifier") and not name.startswith("lasvm") else {}

    def stream():
        for start in range(0, 150, 15):
            rows = slice(start, start + 15)
            given = (VARYING[rows] * UNITS,) if name.endswith("Detector") else (VARYING[rows] * UNITS, y[rows])
            model.partial_fit(*given, **classes)

    assert len(of_units(stream)) == (name not in WITHOUT_BANDWIDTH)


@pytest.mark.parametrize(
    ("options", "warns"),
    [
        ({"kernel": "laplace_product"}, True),
        ({"kernel": "rbf", "kernel_params": {"gamma": 0.1}}, True),
        ({"kernel": "polynomial"}, False),
        ({"kernel": lambda x, z: x @ z.T + 1.0}, False),
        ({"kernel": "precomputed"}, False),
    ],
)
def test_only_a_kernel_with_one_bandwidth_warns_of_units(options, warns):
    model, rows = eigenpro_classifier(random_state=0, **options), VARYING * UNITS
    rows = rows @ rows.T if options["kernel"] == "precomputed" else rows
    assert bool(of_units(lambda: model.fit(rows, targets("Classifier", VARYING)))) is warns


@pytest.mark.parametrize(
    ("Estimator", "features", "warns"),
    [
        (FeatureRidgeClassifier, "fourier", True),
        (FeatureRidgeClassifier, NystroemFeatures(), True),
        (FeatureRidgeClassifier, "polynomial", False),
        (RegularizedRiskClassifier, "fourier", True),
        (RegularizedRiskClassifier, "polynomial", False),
        (RegularizedRiskClassifier, "linear", False),
    ],
)
def test_only_features_with_one_bandwidth_warn_of_units(Estimator, features, warns):
    model = Estimator(features=features, random_state=0)
    assert bool(of_units(lambda: model.fit(VARYING * UNITS, targets("Classifier", VARYING)))) is warns


def test_raw_breast_cancer_is_in_different_units_and_raw_digits_are_not():
    frame = load_breast_cancer(as_frame=True).data
    [told] = of_units(lambda: KernelRidgeClassifier(solver="eigenpro", random_state=0).fit(frame, CANCER.target))
    assert "Column 'worst area' of X" in told
    digits = load_digits()
    assert not of_units(
        lambda: KernelRidgeClassifier(solver="eigenpro", random_state=0).fit(digits.data[:400], digits.target[:400])
    )


def test_a_second_view_in_different_units_is_named_as_y():
    [told] = of_units(lambda: unfitted("DoublyStochasticKernelCCA").fit(VARYING, VARYING * UNITS))
    assert "Column 2 of y" in told


def test_counts_of_rare_words_are_in_one_unit():
    # Zipf's law, in texts of different lengths.
    lengths = np.random.default_rng(0).lognormal(size=(100, 1))
    counts = np.random.default_rng(1).poisson(lengths * 200 / np.arange(1, 20_001)).astype(float)
    deviations = counts.std(axis=0)
    assert deviations.max() > 1e3 * np.median(deviations[deviations > 0])
    assert user_arrays.largest_unit(scipy.sparse.csr_array(counts)) is None
    counts[:, 7] *= 1e6
    assert user_arrays.largest_unit(scipy.sparse.csr_array(counts))[0] == 7


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_units_are_seen_at_any_scale(scale):
    rows = np.column_stack([VARYING * UNITS, np.full(150, 0.1)]) * scale
    for form in (rows, scipy.sparse.csr_array(rows)):
        column, spread, median = user_arrays.largest_unit(form)
        assert column == 2 and spread / median == pytest.approx(1e6, rel=0.3)
        assert user_arrays.largest_unit(form[:, [0, 1, 3, 4]]) is None
        assert user_arrays.largest_unit(form[:5]) is None
