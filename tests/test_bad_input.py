"""Input that is odd but allowed gives right answers, and what is not allowed is told so."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import is_classifier

from engine_example import EUCLIDEAN, sample
from shallows import (
    DoublyStochasticClassifier,
    DoublyStochasticNoveltyDetector,
    DoublyStochasticRegressor,
    EigenProCentresClassifier,
    EigenProCentresRegressor,
    EigenProClassifier,
    EigenProRegressor,
    ExactKernelRidgeClassifier,
    ExactKernelRidgeRegressor,
    FeatureEigenProClassifier,
    FeatureEigenProRegressor,
    KernelSGDClassifier,
    KernelSGDRegressor,
    NORMARegressor,
    SDCAClassifier,
    SDCARegressor,
    SVRGClassifier,
    SVRGRegressor,
    features,
    gram,
    kernels,
    spectrum,
)
from shallows.errors import ShallowsError

pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")

ALL = [
    EigenProClassifier,
    EigenProRegressor,
    KernelSGDClassifier,
    KernelSGDRegressor,
    EigenProCentresClassifier,
    EigenProCentresRegressor,
]
LEAST_SQUARES = [
    *ALL,
    FeatureEigenProClassifier,
    FeatureEigenProRegressor,
    ExactKernelRidgeClassifier,
    ExactKernelRidgeRegressor,
]
OTHERS = [
    DoublyStochasticClassifier,
    DoublyStochasticRegressor,
    SDCAClassifier,
    SDCARegressor,
    SVRGClassifier,
    SVRGRegressor,
]
MAPS = [*features.NAMES, "linear"]

each = pytest.mark.parametrize("Estimator", ALL)
each_regressor = pytest.mark.parametrize("Estimator", ALL[1::2])
each_of_least_squares = pytest.mark.parametrize("Estimator", LEAST_SQUARES)
each_classifier_of_least_squares = pytest.mark.parametrize("Estimator", LEAST_SQUARES[::2])
each_regressor_of_least_squares = pytest.mark.parametrize("Estimator", LEAST_SQUARES[1::2])
every = pytest.mark.parametrize("Estimator", LEAST_SQUARES + OTHERS)
every_regressor = pytest.mark.parametrize("Estimator", (LEAST_SQUARES + OTHERS)[1::2])
each_map = pytest.mark.parametrize("name", MAPS)
each_precision = pytest.mark.parametrize("dtype", ["float32", "float64"])


def table(Estimator, n=120, d=3):
    x = sample(n + 40, d)
    signal = np.sin(2 * x[:, 0]) + x[:, -1]
    y = np.digitize(signal, [-0.7, 0.7]) if is_classifier(Estimator()) else signal
    return x[:n], y[:n], x[n:]


def outputs(model, X):
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


def few(Estimator):
    """Few centres, for those that have them."""
    return {"centres": 60} if "Centres" in Estimator.__name__ else {}


def made(Estimator, **options):
    """An estimator with a seed; explicit features stand for their kernel, and stopping has one name."""
    options = {"random_state": 0, "max_epochs": 2, **options}
    if "Feature" in Estimator.__name__:
        options = {"features": "nystrom", "n_features": 200, **options}
    if "Ridge" in Estimator.__name__:
        del options["max_epochs"]
    return Estimator(**options)


# -------------------------------------------------------------------------------- extreme bandwidths


@pytest.mark.parametrize(
    "Estimator", [EigenProRegressor, EigenProCentresRegressor, FeatureEigenProRegressor, ExactKernelRidgeRegressor]
)
@pytest.mark.parametrize("bandwidth", [1e6, 1e30, 1e140])
@pytest.mark.parametrize("kernel", EUCLIDEAN)
@each_precision
def test_a_matrix_of_ones_learns_the_mean(Estimator, bandwidth, kernel, dtype):
    X, y, new = table(Estimator)
    model = made(Estimator, kernel=kernel, bandwidth=bandwidth, dtype=dtype, max_epochs=5).fit(X, y)
    # Laplace at 1e6 is 1 − 1e-6 r, and what is left of the matrix is a linear function in that unit.
    assert np.abs(model.predict(new) - y.mean()).max() < 1e-2


@pytest.mark.parametrize("Estimator", [EigenProClassifier, EigenProRegressor, KernelSGDClassifier, KernelSGDRegressor])
@pytest.mark.parametrize("batch_size", [None, 4, 50, 400])
@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_a_matrix_of_ones_averages_contradicting_targets_in_any_batches(Estimator, kernel, batch_size):
    n = 1500
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(n, 3)), (rng.random(n) < 0.4).astype(int)
    model = Estimator(kernel, bandwidth=1e8, batch_size=batch_size, max_epochs=5, random_state=0).fit(X, y)
    assert model.n_rollbacks_ == 0
    found = (1 + outputs(model, X)) / 2 if is_classifier(model) else model.predict(X)
    # The mean of so many targets has itself an error of 0.013. A batch of 16 has one of 0.12, and a step is longer.
    assert np.abs(found - y.mean()).max() < 0.05


@pytest.mark.parametrize("Estimator", [EigenProRegressor, KernelSGDRegressor])
@pytest.mark.parametrize("batch_size", [16, 256, 1000])
def test_a_linear_kernel_comes_to_the_least_squares_solution_of_noisy_targets(Estimator, batch_size):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 6))
    X -= X.mean(axis=0)
    y = X @ rng.normal(size=6) + rng.normal(size=2000)
    expected = y.mean() + X @ np.linalg.lstsq(X, y - y.mean())[0]
    options = {"kernel": "polynomial", "kernel_params": {"degree": 1}, "max_epochs": 40, "random_state": 0}
    model = Estimator(batch_size=batch_size, **options).fit(X, y)
    # The noise of the targets is 1, what a solution owes to it is the root of 6/2000, 0.055.
    assert np.sqrt(np.mean((model.predict(X) - expected) ** 2)) < 0.045


@pytest.mark.parametrize(("n", "d", "bandwidth", "dtype"), [(120, 3, 1e-4, "float64"), (1500, 10, 1e-2, "float32")])
@pytest.mark.parametrize("batch_size", [None, 40])
@pytest.mark.parametrize("kernel", EUCLIDEAN)
def test_centres_that_see_no_other_point_are_fitted_and_the_others_have_the_mean(
    kernel, batch_size, n, d, bandwidth, dtype
):
    X = sample(n, d)
    y = 3 + np.sin(X[:, 0])
    options = {"centres": n // 5, "bandwidth": bandwidth, "batch_size": batch_size, "dtype": dtype, "random_state": 0}
    model = EigenProCentresRegressor(kernel, **options).fit(X, y)
    at_centres = np.isin(np.arange(n), model.support_)
    found = model.predict(X)
    assert np.abs(found - y)[at_centres].max() < 5e-3
    assert np.abs(found - y.mean())[~at_centres].max() < 5e-3
    assert model.n_rollbacks_ == 0


@pytest.mark.parametrize("kernel", EUCLIDEAN)
@each_regressor_of_least_squares
def test_a_matrix_that_is_the_identity_learns_every_point_and_nothing_beyond(Estimator, kernel):
    X, y, new = table(Estimator)
    options = {"kernel": kernel, "bandwidth": 1e-5, "tol": 0, "max_epochs": 40}
    if Estimator in (EigenProRegressor, FeatureEigenProRegressor):
        options["rank"] = 0
    if Estimator is ExactKernelRidgeRegressor:
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


@each_of_least_squares
@pytest.mark.parametrize("bandwidth", [1e-200, 1e200])
def test_a_bandwidth_whose_square_is_no_number_is_refused(Estimator, bandwidth):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError, match="bandwidth must lie between 1e-150 and 1e\\+150"):
        Estimator(bandwidth=bandwidth).fit(X, y)


@each_map
@pytest.mark.parametrize(("bandwidth", "dtype"), [(1e-5, "float32"), (1e-140, "float32"), (1e-12, "float64")])
def test_every_map_refuses_a_bandwidth_below_what_rounding_resolves(name, bandwidth, dtype):
    X, y, new = table(FeatureEigenProRegressor)
    model = made(FeatureEigenProRegressor, features=name, bandwidth=bandwidth, dtype=dtype)
    if name == "linear":
        assert np.isfinite(model.fit(X, y).predict(new)).all()
        return
    with pytest.raises(ShallowsError, match=f"too small for {dtype}: distances below"):
        model.fit(X, y)


# ------------------------------------------------------------------------------------ odd data


@each_map
@pytest.mark.parametrize("bandwidth", [None, 1.0])
@pytest.mark.parametrize(
    ("scale", "dtype"), [(1e25, "float32"), (1e-30, "float32"), (1e200, "float64"), (1e-200, "float64")]
)
def test_every_map_refuses_features_whose_squares_leave_the_numbers(name, scale, dtype, bandwidth):
    X, y, _ = table(FeatureEigenProRegressor)
    with pytest.raises(ShallowsError, match=rf"features are too (large|small) for {dtype}.*StandardScaler"):
        made(FeatureEigenProRegressor, features=name, bandwidth=bandwidth, dtype=dtype).fit(X * scale, y)


@pytest.mark.parametrize("Estimator", OTHERS)
def test_features_whose_squares_leave_the_numbers_are_refused_under_every_loss(Estimator):
    X, y, _ = table(Estimator)
    for scale in (1e-200, 1e200):
        with pytest.raises(ShallowsError, match=r"features are too (large|small) for float64.*StandardScaler"):
            made(Estimator).fit(X * scale, y)


@every
def test_points_beyond_the_precision_of_the_model_are_refused(Estimator):
    X, y, new = table(Estimator)
    model = made(Estimator, dtype="float32")
    says = r"X holds values as large as 1e\+200, .* float32, .* dtype='float64'"
    for apart in (X, new):
        apart[5, 1] = -1e200
    with pytest.raises(ShallowsError, match=rf"{says}|features are too large"):
        model.fit(X, y)
    model.fit(X[10:], y[10:])
    assert np.isfinite(outputs(model, new[6:])).all()
    for predict in (model.predict, getattr(model, "decision_function", model.predict)):
        with pytest.raises(ShallowsError, match=says):
            predict(new)


def test_a_map_of_the_users_is_given_no_points_beyond_the_precision():
    X, y, _ = table(FeatureEigenProRegressor)
    own = features.make("fourier", kernels.Gaussian(1.0), X, 20)
    X[3, 0] = 1e100
    with pytest.raises(ShallowsError, match=r"as large as 1e\+100, .* float32"):
        made(FeatureEigenProRegressor, features=own, dtype="float32").fit(X, y)


@pytest.mark.parametrize("partial", [False, True])
def test_novelty_beyond_the_precision_of_the_model_is_refused(partial):
    X, _, new = table(EigenProRegressor)
    model = DoublyStochasticNoveltyDetector(random_state=0, n_iter=5, dtype="float32")
    model = model.partial_fit(X) if partial else model.fit(X)
    for use in (model.predict, model.partial_fit):
        with pytest.raises(ShallowsError, match=r"as large as .* float32"):
            use(new * 1e200)


@each_regressor_of_least_squares
@pytest.mark.parametrize("kernel", EUCLIDEAN)
@pytest.mark.parametrize(("scale", "dtype"), [(1e25, "float32"), (1e200, "float64")])
def test_far_away_a_function_of_distances_is_the_mean_of_the_targets(Estimator, kernel, scale, dtype):
    X, y, new = table(Estimator)
    model = made(Estimator, kernel=kernel, dtype=dtype).fit(X, y)
    assert model.predict(new * scale) == pytest.approx(np.full(len(new), y.mean()), abs=1e-7)


@each_of_least_squares
def test_a_constant_feature_that_is_far_away_in_a_new_point_is_far_away(Estimator):
    X, y, new = table(Estimator)
    X[:, 1] = 3.0
    model = made(Estimator, dtype="float32").fit(X, y)
    far = new.copy()
    far[:, 1] = 1e30
    told = outputs(model, far)
    expected = 0.0 if is_classifier(model) else y.mean()
    assert np.abs(told - expected).max() < 1e-6


@pytest.mark.parametrize("Estimator", [EigenProRegressor, KernelSGDRegressor, EigenProCentresRegressor, NORMARegressor])
@each_precision
def test_a_function_that_overflows_at_a_new_point_is_refused_there(Estimator, dtype):
    X, y, new = table(Estimator)
    model = made(Estimator, kernel="polynomial", dtype=dtype).fit(X, y)
    with pytest.raises(ShallowsError, match=f"which lead beyond the numbers of {dtype}") as raised:
        model.predict(new * {"float32": 1e25, "float64": 1e200}[dtype])
    assert ("dtype='float64'" in str(raised.value)) is (dtype == "float32")


@each_of_least_squares
@pytest.mark.parametrize("n", [120, 1100])
def test_a_single_feature_is_what_two_copies_of_it_are_apart_by_the_root_of_two(Estimator, n):
    X, y, new = table(Estimator, n, d=1)
    options = {"max_epochs": 3, "dtype": "float64"}
    one = made(Estimator, bandwidth=1.0, **options).fit(X, y)
    two = made(Estimator, bandwidth=2**0.5, **options).fit(np.hstack([X, X]), y)
    # The same distances but for rounding, which the preconditioner's inverse amplifies.
    assert np.abs(outputs(one, new) - outputs(two, np.hstack([new, new]))).max() < 1e-4


@every
def test_a_single_feature_may_come_as_a_column_of_a_table(Estimator):
    X, y, new = table(Estimator)
    apart, column = np.ascontiguousarray(X[:, :1]), X[:, :1]
    first, second = (made(Estimator).fit(x, y) for x in (apart, column))
    assert np.array_equal(outputs(first, new[:, :1]), outputs(second, np.ascontiguousarray(new[:, :1])))


@each
@pytest.mark.parametrize("kernel", ["laplace_product", "polynomial"])
@pytest.mark.parametrize("form", [np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2]], ids=["F", "apart"])
def test_the_layout_of_the_data_changes_nothing_whatever_the_kernel(Estimator, kernel, form):
    X, y, new = table(Estimator, 1100)
    options = {"kernel": kernel, "random_state": 0, "max_epochs": 1, **few(Estimator)}
    plain, laid_out = (Estimator(**options).fit(f(X), y) for f in (np.ascontiguousarray, form))
    expected = outputs(plain, new)
    assert np.array_equal(expected, outputs(plain, form(new)))
    assert np.array_equal(expected, outputs(laid_out, new))


LAYOUTS = {
    "fortran": np.asfortranarray,
    "rows apart": lambda x: np.repeat(x, 2, axis=0)[::2],
    "columns apart": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "read-only": lambda x: np.lib.stride_tricks.as_strided(x, writeable=False),
}
each_layout = pytest.mark.parametrize("form", list(LAYOUTS.values()), ids=list(LAYOUTS))


@every
@each_layout
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_layout_of_the_points_changes_nothing(Estimator, form, dtype):
    X, y, new = table(Estimator)
    X, new = X.astype(dtype), new.astype(dtype)
    plain, laid_out = made(Estimator).fit(X, y), made(Estimator).fit(form(X), y)
    expected = outputs(plain, new)
    assert np.array_equal(expected, outputs(plain, form(new)))
    assert np.array_equal(expected, outputs(laid_out, new))


@every_regressor
@each_layout
@pytest.mark.parametrize("n_outputs", [None, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_layout_of_the_targets_changes_nothing(Estimator, form, n_outputs, weighted):
    X, y, new = table(Estimator)
    y = y if n_outputs is None else np.sin(y[:, None] * np.arange(1, n_outputs + 1))
    w = np.random.default_rng(1).uniform(0.5, 2.0, size=len(X)) if weighted else None
    plain = made(Estimator).fit(X, y, sample_weight=w)
    laid_out = made(Estimator).fit(X, form(y), sample_weight=None if w is None else form(w))
    assert np.array_equal(plain.predict(new), laid_out.predict(new))


@pytest.mark.parametrize("Estimator", (LEAST_SQUARES + OTHERS)[::2])
@each_layout
def test_the_layout_of_the_labels_changes_nothing(Estimator, form):
    X, y, new = table(Estimator)
    assert np.array_equal(outputs(made(Estimator).fit(X, y), new), outputs(made(Estimator).fit(X, form(y)), new))


@each_layout
def test_the_layout_of_given_centres_changes_nothing(form):
    X, y, new = (part.astype(np.float32) for part in table(EigenProCentresRegressor))
    plain, laid_out = (made(EigenProCentresRegressor, centres=c).fit(X, y) for c in (X[:50], form(X[:50])))
    assert np.array_equal(plain.predict(new), laid_out.predict(new))


@every
def test_half_precision_is_read_as_what_it_holds(Estimator):
    X, y, new = table(Estimator)
    X, new = X.astype(np.float16), new.astype(np.float16)
    half, double = (made(Estimator).fit(X.astype(t), y) for t in (np.float16, float))
    assert np.array_equal(outputs(half, new), outputs(double, new.astype(float)))


@each
def test_half_precision_is_read_as_what_it_holds_whatever_the_kernel(Estimator):
    X, y, new = (
        part.astype(np.float16) if part.dtype == float and part.ndim == 2 else part for part in table(Estimator)
    )
    kernel = kernels.Polynomial(2, 1.0, 0.3)
    half, double = (Estimator(kernel, random_state=0, max_epochs=2).fit(X.astype(t), y) for t in (np.float16, float))
    assert np.array_equal(outputs(half, new), outputs(double, new.astype(float)))


@pytest.mark.parametrize("n", [60, 1500])
def test_the_same_point_with_other_labels_gives_their_mean_over_few_centres_too(n):
    X = np.repeat(sample(n // 3), 3, axis=0)
    y = np.tile([0.0, 1.0, 5.0], n // 3)
    model = EigenProCentresRegressor("laplace", centres=n, random_state=0, tol=0).fit(X, y)
    assert np.abs(model.predict(X) - 2.0).max() < 0.1


@each_classifier_of_least_squares
def test_the_same_point_with_other_labels_has_the_label_that_it_has_most_often(Estimator):
    X = np.repeat(sample(220), 5, axis=0)
    y = np.tile([0, 0, 0, 0, 1], 220)
    model = made(Estimator, kernel="laplace", max_epochs=10).fit(X, y)
    assert not model.predict(X).any()


@pytest.mark.parametrize("Estimator", [EigenProRegressor, KernelSGDRegressor])
@pytest.mark.parametrize("batch_size", [None, 16])
def test_in_small_batches_too_the_same_point_with_other_targets_comes_near_to_their_mean(Estimator, batch_size):
    X = np.repeat(sample(220), 5, axis=0)
    y = np.tile([0.0, 0.0, 0.0, 0.0, 5.0], 220)
    model = made(Estimator, kernel="laplace", max_epochs=20, batch_size=batch_size).fit(X, y)
    # The targets differ by 2 from their mean 1.
    assert np.sqrt(np.mean((model.predict(X) - 1.0) ** 2)) < 0.15
    assert model.n_rollbacks_ == 0


@pytest.mark.parametrize("Estimator", [FeatureEigenProRegressor, ExactKernelRidgeRegressor])
def test_the_same_point_with_other_targets_gives_their_mean(Estimator):
    X = np.repeat(sample(50), 24, axis=0)
    y = np.tile([0.0, 1.0, 5.0], 400)
    # In one batch there is no noise.
    options = {"batch_size": len(X)} if Estimator is FeatureEigenProRegressor else {}
    model = made(Estimator, kernel="laplace", max_epochs=20, **options).fit(X, y)
    assert model.predict(X) == pytest.approx(np.full(len(X), 2.0), abs=1e-3)


@each_regressor_of_least_squares
@pytest.mark.parametrize("scale", [1e-300, 1e30, 1e300])
def test_the_unit_of_the_targets_changes_nothing(Estimator, scale):
    X, y, new = table(Estimator)
    unit, scaled = (made(Estimator).fit(X, y * s).predict(new) for s in (1.0, scale))
    assert np.abs(scaled / scale - unit).max() < 1e-7 * np.abs(unit).max()


@each_regressor_of_least_squares
def test_targets_whose_mean_overflows_are_refused(Estimator):
    X, _, _ = table(Estimator)
    y = np.where(np.arange(len(X)) % 3 == 0, 1.7e308, 1.6e308)
    with pytest.raises(ShallowsError, match="targets are too large"):
        Estimator().fit(X, y)


def test_rank_subsample_and_batch_beyond_the_data_are_brought_down_over_centres():
    X, y, new = table(EigenProCentresRegressor)
    model = EigenProCentresRegressor(
        "linear", centres=10_000, rank=10_000, n_subsample=10_000, batch_size=10_000, random_state=0
    ).fit(X, y)
    told = model.effective_params_
    # Three features: the matrix has three directions, and the last is the level of the others.
    assert (told["rank"], told["batch_size"], told["n_centres"]) == (2, 120, 120)
    assert np.isfinite(model.predict(new)).all()


@pytest.mark.parametrize("Estimator", [KernelSGDRegressor, FeatureEigenProRegressor, SDCARegressor, NORMARegressor])
def test_a_batch_beyond_the_data_is_brought_down_to_them(Estimator):
    X, y, new = table(Estimator)
    large, all_rows = (made(Estimator, batch_size=size).fit(X, y) for size in (10**6, len(X)))
    assert large.effective_params_["batch_size"] == len(X)
    assert np.array_equal(large.predict(new), all_rows.predict(new))


@pytest.mark.parametrize("Estimator", [*ALL[::2], FeatureEigenProClassifier])
@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.99])
def test_classes_of_one_row_each_leave_none_to_hold_out(Estimator, fraction):
    X, y = sample(4), np.arange(4)
    with pytest.raises(ShallowsError, match=r"one of every class stays .* none of 4\. Give more rows, or take early"):
        Estimator(early_stopping=True, validation_fraction=fraction).fit(X, y)
    with pytest.raises(ShallowsError, match=r"which of 5 is none; take a larger share"):
        Estimator(early_stopping=True, validation_fraction=0.01).fit(sample(5), [0, 1, 2, 3, 3])


@pytest.mark.parametrize("Estimator", [EigenProRegressor, EigenProCentresRegressor])
def test_a_rank_above_that_of_the_matrix_is_brought_down_to_it(Estimator):
    X, y, new = table(Estimator)
    kernel = kernels.Polynomial(2, 1.0, 0.3)
    model = Estimator(kernel, rank=100, random_state=0, tol=0, max_epochs=60).fit(X, y)
    # Ten monomials of degree two or less in three features, and the function is least squares over them.
    assert model.effective_params_["rank"] <= 10
    powers = [np.ones(len(X) + len(new)), *np.concatenate([X, new]).T]
    design = np.stack([powers[i] * powers[j] for i in range(4) for j in range(i + 1)], axis=1)
    truth = design[len(X) :] @ np.linalg.lstsq(design[: len(X)], y, rcond=None)[0]
    assert np.abs(model.predict(new) - truth).max() < 1e-3 * np.abs(truth).max()


# ------------------------------------------------------------------------------------ kernels of all kinds


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
    "arc_cosine": {"order": 2},
}


@each
@pytest.mark.parametrize("name", list(PARAMETERS))
@pytest.mark.parametrize("n", [120, 1100])
def test_predictions_are_the_expansion_in_every_kernel(Estimator, name, n):
    X, y, new = table(Estimator, n)
    X, new = X + 0.5, new + 0.5
    bandwidth = 1.5 if kernels.kind(name).takes_bandwidth else None
    options = {"kernel_params": PARAMETERS[name], "random_state": 0, "max_epochs": 2, **few(Estimator)}
    model = Estimator(name, bandwidth=bandwidth, **options).fit(X, y)
    kernel = kernels.make(name, bandwidth, **(PARAMETERS[name] or {}))
    assert model.effective_params_.get("kernel_params", {}) == kernel.parameters
    K = kernel(new, X[model.support_])
    scores = K @ model.dual_coef_
    if not is_classifier(model):
        scores = scores[:, 0] * model._target_scale + model.intercept_
    rounding = 1e-9 if n == 120 else 1e-4
    assert np.abs(outputs(model, new) - scores).max() < rounding * np.abs(K).max() * np.abs(model.dual_coef_).sum()
    assert np.array_equal(outputs(pickle.loads(pickle.dumps(model)), new), outputs(model, new))


@each
@pytest.mark.parametrize("n", [120, 1100])
def test_a_function_is_the_kernel_that_it_computes(Estimator, n):
    X, y, new = table(Estimator, n)
    options = {"random_state": 0, "max_epochs": 2, "dtype": "float64", **few(Estimator)}
    named = Estimator("linear", kernel_params={"offset": 0.5, "scale": 0.7}, **options).fit(X, y)
    function = Estimator(scaled_dot, kernel_params={"scale": 0.7}, **options).fit(X, y)
    assert function.effective_params_["kernel"] == "scaled_dot"
    assert np.abs(outputs(named, new) - outputs(function, new)).max() < 1e-6 * np.abs(outputs(named, new)).max()
    assert np.array_equal(outputs(pickle.loads(pickle.dumps(function)), new), outputs(function, new))


@each
@pytest.mark.parametrize(
    ("function", "says"),
    [
        (by_rows, "must return the matrix of all pairs"),
        (one_sided, "not symmetric"),
        (indefinite, "not positive semi-definite"),
        (lambda X, Z: np.full((len(X), len(Z)), np.nan), "must be positive and finite"),
    ],
    ids=["of two rows", "one-sided", "indefinite", "NaN"],
)
def test_a_function_that_is_no_kernel_is_refused(Estimator, function, says):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError, match=says):
        Estimator(function).fit(X, y)


@each
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kernel": "polynomial", "bandwidth": 2.0}, "has no bandwidth"),
        ({"kernel": "matern", "kernel_params": {"mu": 1}}, "no parameter 'mu'"),
        ({"kernel": kernels.Gaussian(1.0), "kernel_params": {"nu": 1}}, "brings its own parameters"),
        ({"kernel": "matern", "kernel_params": 2.5}, "must be a dictionary"),
        ({"kernel": "heat_circle"}, "takes one feature"),
        ({"kernel": "polynomial", "kernel_params": {"degree": 400, "scale": 1e3}}, "positive and finite"),
        ({"kernel": dot, "bandwidth": 1.0}, "no bandwidth"),
    ],
)
def test_parameters_that_do_not_fit_the_kernel_are_refused(Estimator, options, says):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError, match=says):
        Estimator(**options).fit(X, y)


@pytest.mark.parametrize("kept", [2**30, 0])
@pytest.mark.parametrize(
    "kernel",
    [kernels.Polynomial(2, 1.0, 0.3), kernels.ArcCosine(1), kernels.LaplaceProduct(1.5), kernels.make(dot)],
    ids=lambda kernel: kernel.name,
)
def test_products_with_the_matrix_of_any_kernel(kernel, kept):
    x, a = sample(77), sample(77, 2, seed=1)
    made = gram.Gram(kernel, kernels.augmented(x), budget=kept, tile=16)
    K = kernel(x, x)
    K[np.arange(77), np.arange(77)] = kernel.diagonal(x)
    assert np.abs(made.dot(a) - K @ a).max() < 1e-11 * np.abs(K).max()
    product, columns = made.rows(10, 50).dot(a, head=20)
    assert np.abs(product - K[10:50] @ a).max() < 1e-11 * np.abs(K).max()
    assert np.abs(columns.values() - K[10:50, :20]).max() < 1e-13 * np.abs(K).max()


def test_a_preconditioner_keeps_the_parameters_of_its_kernel(tmp_path):
    x = sample(200)
    for kernel in (kernels.Matern(1.5, 2.2), kernels.Polynomial(2, 1.0, 0.3), kernels.Gaussian(2.0)):
        made = spectrum.make_preconditioner(kernel, kernels.augmented(x), rank=5, n_subsample=60)
        made.save(tmp_path / "p.npz")
        assert spectrum.load_preconditioner(tmp_path / "p.npz").kernel == kernel


def test_the_heat_kernel_on_the_circle_learns_a_periodic_function():
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, size=(300, 1))
    model = EigenProRegressor("heat_circle", kernel_params={"time": 0.05}, random_state=0, tol=0, max_epochs=50)
    model.fit(angles, np.cos(3 * angles[:, 0]))
    new = np.linspace(-10, 10, 50)[:, None]
    assert np.abs(model.predict(new) - np.cos(3 * new[:, 0])).max() < 0.01


def test_the_spectrum_of_a_kernel_that_sees_the_origin_is_that_of_the_data_where_they_are():
    x = sample(120) + 3.0
    kernel = kernels.Polynomial(2, 1.0, 0.1)
    found = spectrum.eigenspectrum(x, kernel, n_subsample=120, n_eigenvalues=5, dtype="float64")
    truth = np.linalg.eigvalsh(kernel(x, x))[::-1][:5] / 120
    assert found.values == pytest.approx(truth, rel=1e-6)
    made = spectrum.fit_preconditioner(x, kernel, rank=4, n_subsample=120, dtype="float64")
    assert made.eigenvalues == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradients"])
def test_ridge_regression_with_a_polynomial_is_that_over_its_monomials(solver):
    x, y = sample(100), sample(100, 1, seed=1)[:, 0]
    parameters = {"degree": 2, "offset": 1.0, "scale": 1.0}
    model = ExactKernelRidgeRegressor(
        "polynomial", kernel_params=parameters, solver=solver, tol=1e-10, random_state=0, dtype="float64"
    ).fit(x, y)
    K = (x @ x.T + 1.0) ** 2
    truth = K @ np.linalg.solve(K + np.eye(100), y - y.mean()) + y.mean()
    assert np.abs(model.predict(x) - truth).max() < 1e-6
