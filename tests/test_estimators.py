"""The scikit-learn face: the contract, the door, and what must not change a prediction."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from engine_example import EUCLIDEAN, naive_kernel, sample
from shallows import (
    EigenProClassifier,
    EigenProRegressor,
    KernelSGDClassifier,
    KernelSGDRegressor,
    arrays,
    gram,
    kernels,
    spectrum,
    streams,
    training,
)
from shallows.errors import DivergenceError, MissingExtraError, ShallowsError, TrainingInterrupted, UnknownNameError
from shallows.estimators.centres import Coordinates

ALL = [EigenProClassifier, EigenProRegressor, KernelSGDClassifier, KernelSGDRegressor]
EIGENPRO = ALL[:2]
CLASSIFIERS = ALL[::2]
REGRESSORS = ALL[1::2]

# Two epochs are enough for most of what is asked here, and not enough to learn much.
pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")

EPS32 = float(np.finfo(np.float32).eps)

each = pytest.mark.parametrize("Estimator", ALL)
each_eigenpro = pytest.mark.parametrize("Estimator", EIGENPRO)
each_classifier = pytest.mark.parametrize("Estimator", CLASSIFIERS)
each_regressor = pytest.mark.parametrize("Estimator", REGRESSORS)


def table(Estimator, n=120, seed=0):
    """Points and targets fit for an estimator, and points to predict at."""
    x = sample(n + 40, 4, seed)
    signal = np.sin(2 * x[:, 0]) + x[:, 1]
    y = np.digitize(signal, [-0.7, 0.7]) if is_classifier(Estimator()) else signal
    return x[:n], y[:n], x[n:]


def outputs(model, X):
    """The most telling numbers that a model gives: its scores, or its values."""
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


def one_by_hand(model, X, new):
    """f(x) = Σ αⱼ k(x, xⱼ) with the coefficients that were learnt, by the naive formula."""
    name, bandwidth = model.effective_params_["kernel"], model.bandwidth_
    scores = naive_kernel(name, bandwidth, new, X[model.support_]) @ model.dual_coef_
    return scores if is_classifier(model) else scores * model._target_scale + model.intercept_


# ------------------------------------------------------------------------------------------ the contract


def not_at_their_limit(estimator):
    """What iterations that are stopped before their limit cannot pass, as scikit-learn says of its own SGD."""
    reason = "a weight and a repetition make other batches, and 100 epochs of them do not end at the same function"
    if type(estimator).__name__.startswith("KernelSGD"):
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    return {}


@parametrize_with_checks(
    [*(Estimator() for Estimator in ALL), *(Estimator(random_state=0) for Estimator in ALL)],
    expected_failed_checks=not_at_their_limit,
)
def test_scikit_learns_contract_holds(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------ what the function is made of


@each
@pytest.mark.parametrize("kernel", EUCLIDEAN)
def test_predictions_are_the_kernel_expansion_of_the_coefficients(Estimator, kernel):
    X, y, new = table(Estimator)
    model = Estimator(kernel, max_epochs=3, tol=0, random_state=0).fit(X, y)
    predicted = outputs(model, new).reshape(len(new), -1)
    expected = one_by_hand(model, X, new)
    assert np.abs(predicted - expected).max() < 1e-12 * np.abs(model.dual_coef_).sum()


@each_eigenpro
def test_a_small_problem_is_solved_where_that_is_asked_for(Estimator):
    # Interpolation: K α = y in the coding of the targets, on Laplace's well-conditioned matrix.
    X, y, _ = table(Estimator)
    model = Estimator("laplace", random_state=0, rank=len(X), tol=0, max_epochs=50).fit(X, y)
    K = naive_kernel("laplace", model.bandwidth_, X, X)
    if is_classifier(model):
        truth = np.linalg.solve(K, 2.0 * (y[:, None] == np.unique(y)) - 1)
    else:
        truth = np.linalg.solve(K, ((y - y.mean()) / np.abs(y - y.mean()).max())[:, None])
    coefficients = np.empty_like(truth)
    coefficients[model.support_] = model.dual_coef_
    # With all directions flattened an epoch is a direct solution; the matrix has a condition of 1e3 to 1e4.
    assert np.abs(coefficients - truth).max() < 1e-6 * np.abs(truth).max()


def test_digits_are_told_apart():
    X, y = load_digits(return_X_y=True)
    # scikit-learn's SVC with its defaults reaches 0.959 on this split.
    assert EigenProClassifier(random_state=0).fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.95
    assert KernelSGDClassifier(random_state=0, max_epochs=5).fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.93


def test_the_bandwidth_is_the_median_rule_unless_one_is_named():
    X, y, _ = table(EigenProRegressor)
    fitted = EigenProRegressor(random_state=0).fit(X, y)
    assert fitted.bandwidth_ == pytest.approx(kernels.median_bandwidth(X), rel=1e-9)
    assert EigenProRegressor(bandwidth=0.7).fit(X, y).bandwidth_ == 0.7


@each
def test_a_kernel_object_is_the_same_as_its_name_and_bandwidth(Estimator):
    X, y, new = table(Estimator)
    by_name = Estimator("cauchy", bandwidth=1.7, random_state=0, max_epochs=3).fit(X, y)
    as_object = Estimator(kernels.Cauchy(1.7), random_state=0, max_epochs=3).fit(X, y)
    assert np.array_equal(outputs(by_name, new), outputs(as_object, new))


# ------------------------------------------------------------------------------------------- repetition


@each
@pytest.mark.parametrize("n", [120, 1100])
def test_the_same_seed_gives_the_same_model_to_the_bit(Estimator, n):
    X, y, new = table(Estimator, n)
    first, again = (Estimator(random_state=3, max_epochs=2, tol=0).fit(X, y) for _ in range(2))
    assert np.array_equal(first.dual_coef_, again.dual_coef_)
    assert np.array_equal(outputs(first, new), outputs(again, new))
    other = Estimator(random_state=4, max_epochs=2, tol=0).fit(X, y)
    assert not np.array_equal(first.support_, other.support_)


@each
def test_a_second_fit_forgets_the_first(Estimator):
    X, y, new = table(Estimator)
    other_X, other_y, _ = table(Estimator, seed=5)
    model = Estimator(random_state=0, max_epochs=2)
    fresh = outputs(clone(model).fit(X, y), new)
    assert np.array_equal(outputs(model.fit(other_X, other_y).fit(X, y), new), fresh)


@each
def test_a_model_survives_pickling(Estimator):
    X, y, new = table(Estimator)
    model = Estimator(random_state=0, max_epochs=2).fit(X, y)
    assert np.array_equal(outputs(pickle.loads(pickle.dumps(model)), new), outputs(model, new))


@each
def test_a_clone_has_the_parameters_and_nothing_learnt(Estimator):
    X, y, _ = table(Estimator)
    model = Estimator(kernels.Laplace(2.0), random_state=0, max_epochs=2, memory="1GB").fit(X, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not [name for name in vars(copy) if name.endswith("_")]


@each
def test_nothing_is_predicted_before_a_fit(Estimator):
    with pytest.raises(NotFittedError):
        Estimator().predict(sample(5, 4))


@each
@pytest.mark.parametrize("fitted_before", [False, True])
def test_nothing_is_predicted_after_a_fit_that_failed(Estimator, fitted_before):
    # Coordinates of the new data with coefficients of the old would be a wrong answer that looks like a right one.
    X, y, new = table(Estimator)
    model = Estimator(random_state=0, max_epochs=2)
    if fitted_before:
        model.fit(X, y)

    class Fault(training.Observer):
        def on_batch(self, run):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(X + 5, y, observers=[Fault()])
    with pytest.raises(NotFittedError):
        model.predict(new)
    assert not [name for name, value in vars(model).items() if isinstance(value, training.Run | gram.Gram)]


# ------------------------------------------------------------------------------------ the form of the input


@each
@pytest.mark.parametrize("n", [120, 1100])
@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[::-1][::-1],
        lambda x: x.astype(">f8"),
    ],
    ids=["fortran", "rows apart", "columns apart", "reversed twice", "big-endian"],
)
def test_the_layout_of_the_data_changes_nothing(Estimator, n, form):
    X, y, new = table(Estimator, n)
    plain, laid_out = (Estimator(random_state=0, max_epochs=2).fit(f(X), y) for f in (np.ascontiguousarray, form))
    assert np.array_equal(outputs(plain, new), outputs(laid_out, form(new)))


@each
@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csr_array, scipy.sparse.coo_array])
def test_sparse_data_give_what_dense_data_give(Estimator, kind):
    X, y, new = table(Estimator)
    X, new = X * (X > 0.3), new * (new > 0.3)
    X[:, 2], new[:, 2] = 0, 1  # A column that is constant in training and not after.
    dense, sparse = (Estimator(random_state=0, max_epochs=2).fit(f(X), y) for f in (np.asarray, kind))
    assert np.array_equal(outputs(dense, new), outputs(sparse, kind(new)))
    assert np.array_equal(outputs(dense, new), outputs(dense, kind(new)))


@each
def test_half_precision_is_read_as_what_it_holds(Estimator):
    X, y, new = table(Estimator)
    X, new = X.astype(np.float16), new.astype(np.float16)
    half, double = (Estimator(random_state=0, max_epochs=2).fit(X.astype(dtype), y) for dtype in (np.float16, float))
    assert np.array_equal(outputs(half, new), outputs(double, new.astype(float)))


@each
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_precision_that_was_asked_for_is_the_one_that_is_used(Estimator, dtype):
    X, y, new = table(Estimator)
    model = Estimator(random_state=0, max_epochs=2, dtype=dtype).fit(X, y)
    assert model.dual_coef_.dtype == model.effective_params_["precision"] == dtype
    exact = Estimator(random_state=0, max_epochs=2, dtype="float64", step_size=model.step_size_).fit(X, y)
    if Estimator in CLASSIFIERS:
        assert model.decision_function(new).dtype == dtype
    # Kernel SGD takes few dozen steps; EigenPro solves the problem, and amplifies what a kernel value lacks.
    if Estimator not in EIGENPRO:
        assert np.abs(outputs(model, new) - outputs(exact, new)).max() < 1e4 * EPS32


@each
def test_a_memory_map_gives_what_an_array_gives(Estimator, tmp_path):
    X, y, new = table(Estimator)
    np.save(tmp_path / "X.npy", X)
    mapped = Estimator(random_state=0, max_epochs=2).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    assert np.array_equal(outputs(mapped, new), outputs(Estimator(random_state=0, max_epochs=2).fit(X, y), new))


@each
def test_a_shift_of_all_points_changes_nothing_even_in_float32(Estimator):
    X, y, new = table(Estimator, 300)
    # Multiples of 1/128 below 2^7 + 8 are float32 numbers, so that the shift itself costs nothing.
    X, new = np.round(X * 128) / 128, np.round(new * 128) / 128
    options = {"random_state": 0, "max_epochs": 2, "dtype": "float32", "kernel": "laplace", "bandwidth": 2.0}
    near = Estimator(**options).fit(X.astype(np.float32), y)
    far = Estimator(**options).fit((X + 100).astype(np.float32), y)
    a, b = outputs(near, new.astype(np.float32)), outputs(far, (new + 100).astype(np.float32))
    # The means differ by half a unit in the last place of 100, 4e-6, and slopes are below 2 a bandwidth.
    assert np.abs(a - b).max() < 1e-3


# -------------------------------------------------------------------------------------- memory and blocks


@each
def test_a_small_memory_gives_the_predictions_of_a_large_one(Estimator):
    X, y, new = table(Estimator, 1500)
    options = {"random_state": 0, "max_epochs": 2, "tol": 0, "bandwidth": 1.0, "batch_size": 100}
    small, large = (Estimator(memory=memory, **options).fit(X, y) for memory in ("100MB", "8GB"))
    assert small.effective_params_["kept_fraction"] < 1.0 == large.effective_params_["kept_fraction"]
    for name in ("rank", "n_subsample", "batch_size", "step_size"):
        assert small.effective_params_[name] == large.effective_params_[name]
    # Sums of 1,500 float32 products in the same order but for blocks, over thirty steps.
    scale = np.abs(outputs(large, new)).max()
    assert np.abs(outputs(small, new) - outputs(large, new)).max() < 1e-3 * scale


@each
def test_points_are_predicted_alone_as_together(Estimator):
    X, y, new = table(Estimator)
    model = Estimator(random_state=0, max_epochs=2).fit(X, y)
    alone = np.concatenate([outputs(model, row[None]) for row in new])
    assert np.abs(alone - outputs(model, new)).max() < 1e-12 * np.abs(model.dual_coef_).sum()


def test_new_points_are_read_block_by_block(monkeypatch):
    X, y, new = table(EigenProRegressor)
    model = EigenProRegressor(random_state=0).fit(X, y)
    whole = model.predict(new)
    monkeypatch.setattr("shallows.estimators.centres._BLOCK_BYTES", 7 * 8 * X.shape[1])
    assert np.abs(model.predict(new) - whole).max() < 1e-12 * np.abs(model.dual_coef_).sum()
    again = EigenProRegressor(random_state=0).fit(X, y)
    assert np.abs(again.predict(new) - whole).max() < 1e-6 * np.abs(whole).max()


def test_coordinates_are_centred_and_without_constants_whatever_the_blocks(monkeypatch):
    monkeypatch.setattr("shallows.estimators.centres._BLOCK_BYTES", 7 * 8 * 5)
    x = np.hstack([sample(50, 3), np.full((50, 1), 0.1), np.full((50, 1), -7.0)])
    coordinates = Coordinates.of(x)
    assert coordinates.varies.tolist() == [True, True, True, False, False]
    assert coordinates.mean == pytest.approx(x.mean(axis=0), rel=1e-12)
    order = np.random.default_rng(0).permutation(50)
    points = coordinates.training_points(x, order, arrays.Device(), np.float64)
    centred = (x - x.mean(axis=0))[order, :3]
    assert np.abs(points - kernels.augmented(centred)).max() < 1e-13


# ------------------------------------------------------------------------------------------- odd problems


@each
def test_a_feature_that_is_constant_in_training_still_counts_in_a_new_point(Estimator):
    X, y, new = table(Estimator)
    X, new = np.hstack([X, np.full((len(X), 1), 3.0)]), np.hstack([new, sample(len(new), 1)])
    model = Estimator("laplace", random_state=0, max_epochs=2).fit(X, y)
    assert model.effective_params_["n_features_used"] == 4
    expected = one_by_hand(model, X, new)
    assert np.abs(outputs(model, new).reshape(len(new), -1) - expected).max() < 1e-11


@each
@pytest.mark.parametrize("n", [30, 1200])
@pytest.mark.parametrize("weights", [False, True])
def test_where_all_features_are_constant_the_mean_is_learnt(Estimator, n, weights):
    X, y = np.full((n, 3), 7.0), (np.arange(n) % 3 == 0).astype(int)
    w = 1.0 + 3 * y if weights else np.ones(n)  # With weights, the rarer label is the heavier one.
    model = Estimator(random_state=0).fit(X, y, sample_weight=w)
    mean = np.average(2.0 * y - 1 if is_classifier(model) else y, weights=w)
    assert outputs(model, X[:2]) == pytest.approx([mean] * 2, abs=1e-4)
    if is_classifier(model):
        assert model.predict(X[:1]) == [int(weights)]


@each
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_handful_of_points_is_fitted(Estimator, n):
    X, y = sample(n), np.arange(n) % 2
    if is_classifier(Estimator()) and n == 1:
        with pytest.raises(ValueError, match="one class"):
            Estimator().fit(X, y)
        return
    model = Estimator("laplace", bandwidth=0.2, random_state=0, tol=0).fit(X, y)
    assert model.predict(X) == pytest.approx(y, abs=1e-3)


@each_eigenpro
def test_rank_subsample_and_batch_beyond_the_points_are_brought_down_to_them(Estimator):
    X, y, new = table(Estimator, 30)
    model = Estimator("laplace", rank=500, n_subsample=1000, batch_size=10**6, random_state=0).fit(X, y)
    used = model.effective_params_
    assert (used["rank"], used["n_subsample"], used["batch_size"]) == (29, 30, 30)
    plain = Estimator("laplace", rank=29, random_state=0).fit(X, y)
    assert np.abs(outputs(model, new) - outputs(plain, new)).max() < 1e-6


def test_the_same_point_with_other_labels_gives_their_mean():
    X = np.repeat(sample(20), 3, axis=0)
    y = np.tile([0.0, 0.0, 1.0], 20)
    model = EigenProRegressor("laplace", random_state=0, max_epochs=200).fit(X, y)
    assert model.predict(X) == pytest.approx(np.full(60, 1 / 3), abs=1e-3)
    assert not EigenProClassifier("laplace", random_state=0, max_epochs=200).fit(X, y).predict(X).any()


@each_eigenpro
def test_repeated_points_do_not_disturb_the_certificate(Estimator):
    X, y, _ = table(Estimator, 150)
    X, y = np.tile(X, (8, 1)), np.tile(y, 8)
    model = Estimator(random_state=0, max_epochs=5, tol=0).fit(X, y)
    assert model.n_rollbacks_ == 0
    assert model.losses_[-1] < model.losses_[0]


@each_classifier
@pytest.mark.parametrize(
    "labels",
    [np.array(["ant", "bee", "cat"]), np.array([-5, 7, 100]), np.array([0.5, 1.5, 2.5]).astype(str).astype(object)],
    ids=["strings", "integers", "objects"],
)
def test_labels_come_back_as_they_went_in(Estimator, labels):
    X, y, new = table(Estimator)
    named = Estimator(random_state=0, max_epochs=2).fit(X, labels[y])
    plain = Estimator(random_state=0, max_epochs=2).fit(X, y)
    assert np.array_equal(named.predict(new), labels[plain.predict(new)])
    assert np.array_equal(named.classes_, labels)


@each_classifier
def test_two_classes_share_one_output(Estimator):
    X, y, new = table(Estimator)
    model = Estimator(random_state=0, max_epochs=2).fit(X, np.where(y > 0, "yes", "no"))
    assert model.dual_coef_.shape == (len(X), 1)
    scores = model.decision_function(new)
    assert scores.shape == (len(new),)
    assert np.array_equal(model.predict(new), np.where(scores > 0, "yes", "no"))


@each_regressor
def test_several_outputs_are_what_they_are_apart(Estimator):
    X, y, new = table(Estimator)
    y = np.stack([y, 100 * y**2, -X[:, 2]], axis=1)
    options = {"random_state": 0, "max_epochs": 3, "tol": 0}
    if Estimator not in EIGENPRO:
        options["step_size"] = 0.01  # Whether to halve a step is decided for all outputs at once.
    together = Estimator(**options).fit(X, y)
    assert together.predict(new).shape == (len(new), 3)
    for j in range(3):
        alone = Estimator(**options).fit(X, y[:, j]).predict(new)
        # Coefficients of an ill-conditioned system: values agree to the residual, 1e-9, and coefficients are larger.
        assert np.abs(together.predict(new)[:, j] - alone).max() < 1e-5 * np.abs(alone).max()


@each_regressor
def test_one_output_keeps_the_shape_it_came_in(Estimator):
    X, y, new = table(Estimator)
    assert Estimator(max_epochs=2).fit(X, y).predict(new).shape == (len(new),)
    assert Estimator(max_epochs=2).fit(X, y[:, None]).predict(new).shape == (len(new), 1)


@each_classifier
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix], ids=["dense", "sparse"])
def test_several_labels_are_learnt_each_for_itself(Estimator, kind):
    X, y, new = table(Estimator)
    Y = np.stack([y == 0, y > 0, X[:, 2] > 0], axis=1).astype(int)
    options = {"random_state": 0, "max_epochs": 3, "kernel": "laplace"}
    model = Estimator(**options).fit(X, kind(Y))
    predicted = model.predict(new)
    assert predicted.shape == (len(new), 3)
    for j in range(3):
        assert np.array_equal(predicted[:, j], Estimator(**options).fit(X, Y[:, j]).predict(new))
    assert np.array_equal(model.predict_proba(new) > 0.5, predicted == 1)


@each_regressor
@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_unit_of_the_targets_changes_nothing(Estimator, scale, dtype):
    X, y, new = table(Estimator)
    options = {"random_state": 0, "max_epochs": 3, "kernel": "laplace", "dtype": dtype}
    unit, scaled = (Estimator(**options).fit(X, y * s).predict(new) for s in (1.0, scale))
    # Targets in their own unit differ in the last place, and three epochs amplify it.
    assert np.abs(scaled / scale - unit).max() < (1e-9 if dtype == "float64" else 1e-2) * np.abs(unit).max()


@each_regressor
def test_a_constant_target_is_that_constant(Estimator):
    X, _, new = table(Estimator)
    assert np.array_equal(Estimator().fit(X, np.full(len(X), 0.1)).predict(new), np.full(len(new), 0.1))


# --------------------------------------------------------------------------------------------- weights


@each_eigenpro
def test_a_weight_of_two_is_a_row_that_is_there_twice(Estimator):
    # Noise that cannot be fitted (repeated points with other targets), so that weights matter at the optimum. Laplace
    # sees repeated points √(rounding) = 1e-8 apart.
    X = np.repeat(sample(25), 2, axis=0)
    y = np.random.default_rng(0).integers(0, 2, size=50)
    w = np.random.default_rng(1).integers(1, 4, size=50)
    options = {"kernel": "laplace", "bandwidth": 1.0, "random_state": 0, "max_epochs": 10}
    weighted = Estimator(**options).fit(X, y, sample_weight=w)
    repeated = Estimator(**options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert np.abs(outputs(weighted, sample(30, seed=2)) - outputs(repeated, sample(30, seed=2))).max() < 1e-5
    plain = Estimator(**options).fit(X, y)
    assert np.abs(outputs(weighted, X) - outputs(plain, X)).max() > 0.05


@each
def test_a_weight_of_nothing_is_a_row_that_is_not_there(Estimator):
    X, y, new = table(Estimator)
    w = np.ones(len(X))
    w[::3] = 0
    weighted = Estimator(random_state=0, max_epochs=2).fit(X, y, sample_weight=w)
    without = Estimator(random_state=0, max_epochs=2).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    assert np.array_equal(outputs(weighted, new), outputs(without, new))


@each
def test_the_unit_of_the_weights_changes_nothing(Estimator):
    X, y, new = table(Estimator)
    w = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    options = {"kernel": "laplace", "random_state": 0, "max_epochs": 3}
    one, other = (Estimator(**options).fit(X, y, sample_weight=w * unit) for unit in (1.0, 2.0**40))
    assert np.abs(outputs(one, new) - outputs(other, new)).max() < 1e-9


@each
@pytest.mark.parametrize(
    ("weights", "says"),
    [
        (np.zeros(120), "(?i)zero"),
        (-np.ones(120), "(?i)negative"),
        (np.ones(119), "(?i)shape"),
        (np.full(120, np.nan), "NaN"),
    ],
)
def test_weights_that_mean_nothing_are_refused(Estimator, weights, says):
    X, y, _ = table(Estimator)
    with pytest.raises(ValueError, match=says):
        Estimator().fit(X, y, sample_weight=weights)


# --------------------------------------------------------------------------------------- probabilities


@each_classifier
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_probabilities_sum_to_one_and_agree_with_the_prediction(Estimator, n_classes):
    X, y = make_blobs(150, centers=n_classes, n_features=3, cluster_std=3, random_state=0)
    model = Estimator(random_state=0, max_epochs=3).fit(X, y)
    new = np.vstack([X, 3 * sample(200)])
    shares = model.predict_proba(new)
    assert shares.shape == (350, n_classes)
    assert shares.min() >= 0
    assert np.abs(shares.sum(axis=1) - 1).max() < 1e-14
    assert np.array_equal(model.classes_[shares.argmax(axis=1)], model.predict(new))


@pytest.mark.parametrize(
    "scores", [[1.1, 1.5, -1.0], [-1.2, -1.1, -3.0], [-1.0, -1.0, -1.0], [0.2, 0.3, 0.1], [1e-12], [-1e-12], [7.0]]
)
def test_probabilities_of_any_scores_agree_with_the_prediction(scores, monkeypatch):
    n_classes = max(2, len(scores))
    X, y = make_blobs(60, centers=n_classes, random_state=0)
    model = EigenProClassifier(random_state=0).fit(X, y)
    monkeypatch.setattr(model, "_raw_predict", lambda X: np.array([scores]))
    shares = model.predict_proba(X)
    assert shares.sum() == pytest.approx(1, abs=1e-14)
    assert model.classes_[shares[0].argmax()] == model.predict(X)[0]


# ---------------------------------------------------------------------------------------------- the door


@each
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["fit", "predict", "targets"])
def test_what_is_not_finite_is_refused(Estimator, bad, where):
    X, y, new = table(Estimator)
    spoilt = {"fit": X, "predict": new, "targets": (y := y.astype(float))}[where]
    spoilt[(3,) * spoilt.ndim] = bad
    if where != "predict":
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            Estimator().fit(X, y)
    else:
        y = y.astype(int) if is_classifier(Estimator()) else y
        model = Estimator(max_epochs=2).fit(X, y)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.predict(new)


@each
def test_shapes_that_disagree_are_refused(Estimator):
    X, y, new = table(Estimator)
    with pytest.raises(ValueError, match="inconsistent"):
        Estimator().fit(X, y[:-1])
    with pytest.raises(ValueError, match="Expected 2D"):
        Estimator().fit(X[:, 0], y)
    with pytest.raises(ValueError, match=r"3 features.*expecting 4"):
        Estimator(max_epochs=2).fit(X, y).predict(new[:, :3])


@each_classifier
def test_one_class_is_no_classification(Estimator):
    X, _, _ = table(Estimator)
    with pytest.raises(ValueError, match=r"one class only.*'a'"):
        Estimator().fit(X, ["a"] * len(X))


@each_classifier
def test_several_columns_of_labels_are_refused(Estimator):
    X, y, _ = table(Estimator)
    with pytest.raises(ValueError, match=r"several columns|not supported"):
        Estimator().fit(X, np.stack([y, 2 * y], axis=1))


@each_classifier
def test_classes_are_no_numbers_with_a_fraction(Estimator):
    X, _, _ = table(Estimator)
    with pytest.raises(ValueError, match="Unknown label type"):
        Estimator().fit(X, X[:, 0])


PARAMETERS = [
    ("bandwidth", 0),
    ("bandwidth", -1.0),
    ("bandwidth", np.nan),
    ("bandwidth", "wide"),
    ("step_size", 0.0),
    ("step_size", np.inf),
    ("batch_size", 0),
    ("batch_size", 2.5),
    ("max_epochs", 0),
    ("max_epochs", None),
    ("tol", -1e-3),
    ("tol", None),
    ("dtype", "float16"),
    ("device", "cuda"),
    ("memory", "lots"),
    ("memory", -1),
]


@each
@pytest.mark.parametrize(("name", "value"), PARAMETERS)
def test_a_parameter_out_of_its_range_is_named_with_its_value(Estimator, name, value):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError) as raised:
        Estimator(**{name: value}).fit(X, y)
    assert repr(value) in str(raised.value)
    assert name in str(raised.value) or name == "memory"


@each_eigenpro
@pytest.mark.parametrize(
    ("name", "value"),
    [("rank", -1), ("rank", 2.5), ("n_subsample", 0), ("damping", 0.0), ("damping", 1.5), ("damping", "x")],
)
def test_a_parameter_of_eigenpro_out_of_its_range_is_named_with_its_value(Estimator, name, value):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError, match=name) as raised:
        Estimator(**{name: value}).fit(X, y)
    assert repr(value) in str(raised.value)


@each
@pytest.mark.parametrize("kernel", ["gausian", None, ["gaussian"]])
def test_an_unknown_kernel_is_told_the_known_ones(Estimator, kernel):
    X, y, _ = table(Estimator)
    with pytest.raises(UnknownNameError, match=r"cauchy, .*gaussian, .*laplace") as raised:
        Estimator(kernel).fit(X, y)
    assert kernel != "gausian" or "Did you mean 'gaussian'?" in str(raised.value)


@each
def test_a_gpu_without_cupy_names_the_extra(Estimator, monkeypatch):
    def missing():
        raise MissingExtraError("gpu", "device='gpu'")

    monkeypatch.setattr(arrays, "_cupy", missing)
    X, y, _ = table(Estimator)
    with pytest.raises(MissingExtraError, match=r"device='gpu' needs .* extra 'gpu': pip install 'shallows\[gpu\]'"):
        Estimator(device="gpu").fit(X, y)


@each
@pytest.mark.parametrize(("scale", "dtype"), [(1e25, "float32"), (1e-30, "float32"), (1e170, "float64")])
def test_features_whose_squares_leave_the_numbers_are_refused_in_words(Estimator, scale, dtype):
    X, y, _ = table(Estimator)
    with pytest.raises(ShallowsError, match=rf"features are too (large|small) for {dtype}.*StandardScaler"):
        Estimator(dtype=dtype).fit(X * scale, y)


@each
def test_a_step_of_the_users_that_is_too_large_is_an_error_that_names_it(Estimator):
    X, y, _ = table(Estimator)
    with pytest.raises(DivergenceError, match=r"step_size=1e\+15.*smaller step_size"):
        Estimator(step_size=1e15).fit(X, y)


@each
def test_a_step_of_the_users_is_taken_as_it_is(Estimator):
    X, y, _ = table(Estimator)
    plain, numpy = (
        Estimator(step_size=kind(0.01), dtype="float32", random_state=0, max_epochs=3).fit(X, y)
        for kind in (float, np.float64)
    )
    assert plain.step_size_ == plain.effective_params_["step_size"] == 0.01
    # NumPy's scalars would raise float32 to float64.
    assert np.array_equal(plain.dual_coef_, numpy.dual_coef_)


def test_training_that_got_nowhere_says_so():
    X, y, _ = table(KernelSGDRegressor)
    with pytest.warns(ConvergenceWarning, match="After max_epochs=1 the training loss is still"):
        KernelSGDRegressor(step_size=1e-5, max_epochs=1).fit(X, y)


# --------------------------------------------------------------------------------- preconditioners handed in


def internal(X, *, rank, n_subsample, seed, kernel):
    """The preconditioner that a fit makes for itself, with its rows counted in the user's order."""
    order = streams.permutation(seed, "order", 0, len(X))
    points = Coordinates.of(X).training_points(X, order, arrays.Device(), np.float64)
    made = spectrum.make_preconditioner(kernel, points, rank=rank, n_subsample=n_subsample, seed=seed)
    return replace(made, indices=order[made.indices])


@each_eigenpro
@pytest.mark.parametrize("how", ["object", "path", "text"])
def test_a_preconditioner_that_is_handed_in_serves_as_the_fits_own(Estimator, how, tmp_path):
    X, y, new = table(Estimator, 200)
    options = {"batch_size": 20, "max_epochs": 3, "random_state": 7, "bandwidth": 1.5}
    own = Estimator(rank=10, n_subsample=60, **options).fit(X, y)
    p = internal(X, rank=10, n_subsample=60, seed=7, kernel=kernels.Gaussian(1.5))
    p.save(tmp_path / "p.npz")
    given = {"object": p, "path": tmp_path / "p.npz", "text": str(tmp_path / "p.npz")}[how]
    handed = Estimator(preconditioner=given, **options).fit(X, y)
    assert np.array_equal(own.support_, handed.support_)
    assert np.array_equal(outputs(own, new), outputs(handed, new))


@each_eigenpro
def test_a_preconditioner_made_apart_leads_to_the_same_function(Estimator):
    X, y, new = table(Estimator, 200)
    p = spectrum.fit_preconditioner(X, "laplace", 1.5, rank=20, n_subsample=80, dtype="float64", device="cpu")
    # Both iterate to the end, where the preconditioner no longer matters.
    options = {"kernel": "laplace", "tol": 0, "max_epochs": 400, "random_state": 0}
    handed = Estimator(preconditioner=p, **options).fit(X, y)
    assert handed.bandwidth_ == 1.5
    own = Estimator(bandwidth=1.5, rank=200, **options).fit(X, y)
    assert np.abs(outputs(handed, new) - outputs(own, new)).max() < 1e-5


@each_eigenpro
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "laplace"},
        {"bandwidth": 2.0},
        {"kernel": kernels.Gaussian(2.0)},
        {"kernel": kernels.Cauchy(1.5)},
    ],
    ids=str,
)
def test_a_preconditioner_of_another_kernel_is_refused(Estimator, options):
    X, y, _ = table(Estimator)
    p = spectrum.fit_preconditioner(X, "gaussian", 1.5, rank=5, n_subsample=50, device="cpu")
    with pytest.raises(ShallowsError, match=r"made for the kernel 'gaussian' of bandwidth 1\.5"):
        Estimator(preconditioner=p, **options).fit(X, y)


@each_eigenpro
def test_a_preconditioner_of_more_points_is_refused(Estimator):
    X, y, _ = table(Estimator)
    p = spectrum.fit_preconditioner(X, "gaussian", 1.5, rank=5, n_subsample=120, device="cpu")
    with pytest.raises(ShallowsError, match="made for at least 120 training points, here are 100"):
        Estimator(preconditioner=p).fit(X[:100], y[:100])


@each_eigenpro
def test_a_preconditioner_knows_no_weights(Estimator):
    X, y, _ = table(Estimator)
    p = spectrum.fit_preconditioner(X, "gaussian", 1.5, rank=5, n_subsample=50, device="cpu")
    with pytest.raises(ShallowsError, match="sample weights"):
        Estimator(preconditioner=p).fit(X, y, sample_weight=np.linspace(1, 2, len(X)))


@each_eigenpro
def test_what_is_no_preconditioner_is_refused(Estimator, tmp_path):
    X, y, _ = table(Estimator)
    with pytest.raises(FileNotFoundError):
        Estimator(preconditioner=tmp_path / "none.npz").fit(X, y)
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ShallowsError, match="not a preconditioner"):
        Estimator(preconditioner=tmp_path / "text.npz").fit(X, y)


# ----------------------------------------------------------------------------------- observers, checkpoints


@each
def test_an_observer_sees_the_model_of_each_epoch(Estimator):
    X, y, new = table(Estimator)
    options = {"random_state": 0, "kernel": "cauchy", "step_size": 0.02, "batch_size": 16, "tol": 0}
    seen = {}

    class Look(training.Observer):
        def on_epoch(self, run):
            snapshot = run.snapshot()
            seen[run.epoch] = snapshot.predict(new), snapshot.predict_training()

    Estimator(max_epochs=3, **options).fit(X, y, observers=[Look()])
    for epoch in (1, 3):
        model = Estimator(max_epochs=epoch, **options).fit(X, y)
        on_new, on_training = seen[epoch]
        if is_classifier(model):
            assert np.array_equal(on_new, model.predict(new))
            assert np.array_equal(on_training, model.predict(X))
        else:
            assert np.abs(on_new - model.predict(new)).max() < 1e-12
            assert np.abs(on_training - model.predict(X)).max() < 1e-12


@each
def test_a_fit_that_is_stopped_goes_on_to_the_same_model_to_the_bit(Estimator, tmp_path):
    X, y, new = table(Estimator)
    options = {"random_state": 0, "batch_size": 32, "max_epochs": 4, "tol": 0}
    checkpoint = training.Checkpoint(tmp_path, "k")

    class Stop(training.Observer):
        def on_batch(self, run):
            if run.iteration == 6:
                checkpoint.request_stop()

    with pytest.raises(TrainingInterrupted):
        Estimator(**options).fit(X, y, checkpoint=checkpoint, observers=[Stop()])
    resumed = Estimator(**options).fit(X, y, checkpoint=training.Checkpoint(tmp_path, "k"))
    whole = Estimator(**options).fit(X, y)
    assert resumed.n_resumes_ == 1
    assert np.array_equal(resumed.dual_coef_, whole.dual_coef_)
    assert np.array_equal(outputs(resumed, new), outputs(whole, new))


@each
def test_verbosity_shows_and_changes_nothing(Estimator, capsys, monkeypatch):
    X, y, new = table(Estimator)
    quiet, loud = (Estimator(random_state=0, max_epochs=2, verbose=verbose).fit(X, y) for verbose in (0, 1))
    assert np.array_equal(outputs(quiet, new), outputs(loud, new))
    assert capsys.readouterr().out == ""


@each
def test_what_was_chosen_is_told(Estimator):
    X, y, _ = table(Estimator)
    model = Estimator(random_state=0, max_epochs=2, tol=0).fit(X, y)
    told = model.effective_params_
    assert (told["n_epochs"], told["stopped_by"], told["seed"], told["device"]) == (2, "max_epochs", 0, "cpu")
    assert len(model.losses_) == model.n_epochs_ == model.n_iter_ == 2
    assert sorted(model.support_.tolist()) == list(range(len(X)))
    assert all(seconds >= 0 for seconds in model.timings_.values())


def test_noise_is_not_interpolated_by_default():
    # A smooth curve with a tenth of noise: scikit-learn's SVR reaches 0.99 and more on these sizes.
    for n in (50, 128, 400, 1200):
        rng = np.random.default_rng(n)
        x, new = rng.uniform(-3, 3, (n, 1)), np.linspace(-3, 3, 500)[:, None]
        y = np.sin(2 * x[:, 0]) + 0.1 * rng.standard_normal(n)
        assert EigenProRegressor(random_state=0).fit(x, y).score(new, np.sin(2 * new[:, 0])) > 0.97
