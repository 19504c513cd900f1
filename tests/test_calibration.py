"""Calibrations of probabilities: used only where they are as good as none on rows kept apart, for every class."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, log_softmax
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from feature_forms import feature_eigenpro_classifier
from forms import centers_classifier, eigenpro_classifier, kernel_ridge_classifier, kernel_sgd_classifier, known
from shallows.fitting.calibration import SCALED, calibrate, calibrate_judged, row_weights
from shallows.fitting.rows import class_labels, with_every_class
from shallows.kernel_approximation import HiddenUnits
from shallows.svm import RandomKitchenSinksClassifier

BY_KERNEL = [kernel_ridge_classifier, eigenpro_classifier, centers_classifier]
CALIBRATED = [*BY_KERNEL, feature_eigenpro_classifier, kernel_sgd_classifier, RandomKitchenSinksClassifier]

RARE = [
    (RandomKitchenSinksClassifier, 300, 10),
    *((Estimator, 1200, 5) for Estimator in (eigenpro_classifier, centers_classifier, feature_eigenpro_classifier)),
]

pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs", "ignore:The usual calibration of probabilities")


def breast_cancer(*, scaled):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X) if scaled else X
    return train_test_split(X, y, train_size=0.6, random_state=0, stratify=y)


def few_units(Estimator):
    units = HiddenUnits("cosine", n_units=100)
    return {"features": units} if Estimator is RandomKitchenSinksClassifier else {}


def polynomial(Estimator, degree, **given):
    of_features = {"features": "nystrom"} if Estimator is feature_eigenpro_classifier else {}
    params = {"degree": degree, "gamma": 1 / 30, "coef0": 1}
    return Estimator(kernel="poly", kernel_params=params, random_state=0, **of_features, **given)


@pytest.mark.parametrize(("scaled", "degree"), [(False, 3), (True, 5)])
@pytest.mark.parametrize("Estimator", [*BY_KERNEL[:2], feature_eigenpro_classifier])
def test_outputs_with_a_long_tail_do_not_spoil_the_probabilities(Estimator, scaled, degree):
    X, new, y, true = breast_cancer(scaled=scaled)
    model = polynomial(Estimator, degree, regularisation=1e-3)
    with pytest.warns(UserWarning, match="The usual calibration of probabilities is not used"):
        model.fit(X, y)
    plain = polynomial(Estimator, degree, regularisation=1e-3, calibration=None).fit(X, y)
    assert model.score(new, true) > plain.score(new, true) - 0.01
    assert log_loss(true, model.predict_proba(new)) < log_loss(true, plain.predict_proba(new))
    assert np.array_equal(model.predict(new), model.classes_[model.predict_proba(new).argmax(axis=1)])


@pytest.mark.parametrize(("move", "degree", "least"), [(0.0, 5, 0.89), (100.0, 3, 0.94)])
@pytest.mark.parametrize("Estimator", BY_KERNEL[:2])
def test_the_automatic_ridge_suits_kernels_of_any_scale(Estimator, move, degree, least):
    X, new, y, true = breast_cancer(scaled=bool(move))
    model = polynomial(Estimator, degree).fit(X + move, y)
    plain = polynomial(Estimator, degree, calibration=None).fit(X + move, y)
    assert min(model.score(new + move, true), plain.score(new + move, true)) > least


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_calibration_without_fault_is_the_usual_one_to_the_bit(n_classes):
    rng = np.random.default_rng(0)
    own = rng.integers(0, n_classes, 600)
    codes = 2.0 * np.eye(n_classes)[own] - 1.0
    codes = codes[:, 1:] if n_classes == 2 else codes
    scores, shares = codes + 0.7 * rng.normal(size=codes.shape), (codes > 0).mean(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judged = calibrate_judged(scores, codes, None, shares, codes)
    usual = calibrate(scores, codes, None, shares)
    assert np.array_equal(judged.matrix, usual.matrix) and np.array_equal(judged.shift, usual.shift)
    assert judged.units is None


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("multilabel", [False, True])
def test_a_few_outputs_that_are_far_too_large_bring_another_calibration(n_classes, multilabel):
    rng = np.random.default_rng(1)
    own = rng.integers(0, n_classes, 300)
    codes = 2.0 * np.eye(n_classes)[own] - 1.0
    codes = codes[:, 1:] if n_classes == 2 else codes
    scores = codes + 0.5 * rng.normal(size=codes.shape)
    scores[:3] = -1e4 * codes[:3]
    with pytest.warns(UserWarning, match="accuracy on rows held out is"):
        made = calibrate_judged(scores, codes, None, (codes > 0).mean(axis=0), codes, multilabel=multilabel)
    decided = (
        made.logits(scores) > 0 if multilabel or n_classes == 2 else np.eye(n_classes)[made.logits(scores).argmax(1)]
    )
    before = scores > 0 if multilabel or n_classes == 2 else np.eye(n_classes)[scores.argmax(1)]
    assert accuracy_score(codes > 0, decided) > accuracy_score(codes > 0, before) - 0.02


@pytest.mark.parametrize("Estimator", CALIBRATED[1::2])
def test_the_only_row_of_a_class_does_not_make_it_impossible(Estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    X[0], y[0] = [6.0, 6.0], 2
    with pytest.warns(UserWarning, match="a class has 1 of 300 rows"):
        units = HiddenUnits("cosine", n_units=100, bandwidth=1.0)
        given = {"features": units} if Estimator is RandomKitchenSinksClassifier else {"bandwidth": 1.0}
        model = Estimator(random_state=0, **given).fit(X, y)
    assert set(model.predict(X)) == {0, 1, 2}


@pytest.mark.parametrize(("class_weight", "early_stopping"), [(None, False), ("balanced", True)])
@pytest.mark.parametrize(("Estimator", "n", "n_rare"), RARE)
def test_a_rare_class_is_predicted(Estimator, n, n_rare, class_weight, early_stopping):
    if early_stopping and "early_stopping" not in known(Estimator):
        return
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n + 100, 4)), np.zeros(n + 100, dtype=int)
    y[rng.permutation(n)[:n_rare]] = 1
    y[n:] = 1
    X[y == 1, 0] += 6.0
    options = few_units(Estimator) | ({"early_stopping": True} if early_stopping else {})
    model = Estimator(random_state=0, class_weight=class_weight, **options).fit(X[:n], y[:n])
    assert model.predict(X[n:]).mean() > (0.1 if class_weight is None else 0.6)
    assert model.predict(X[:n][y[:n] == 0]).mean() < 0.1


def test_only_orders_in_which_a_class_is_too_rare_are_changed():
    rng = np.random.default_rng(0)
    choosing, parts = slice(0, 50), [slice(800, 900), slice(700, 800)]
    for counts, changes in (([450, 450], False), ([889, 5, 4, 2], True), ([899, 1], None)):
        labels = np.repeat(np.arange(len(counts)), counts)
        changed = 0
        for _ in range(20):
            order = rng.permutation(900)
            found = with_every_class(order, labels, choosing, parts)
            changed += not np.array_equal(found, order)
            assert np.array_equal(np.sort(found), np.arange(900))
            for label, count in enumerate(counts):
                here = [(labels[found[span]] == label).sum() for span in (choosing, *parts)]
                assert here[0] >= min(2, count // 2)
                assert here[1] + here[2] >= min(2, count // 2)
                assert max(here[1:]) <= max(count // 2, 0)
        assert changes is None or bool(changed) == changes


def test_the_class_of_a_row_of_several_labels_is_its_rarest():
    codes = np.array([[1, 1, -1], [1, -1, -1], [1, -1, 1], [-1, -1, -1], [1, -1, -1]])
    labels = class_labels(codes, multilabel=True)
    # Rows 0, 2 and 3 hold a value that only they have; the others hold values that more rows have.
    assert len({labels[0], labels[2], labels[3]}) == 3
    assert labels[1] == labels[4] not in labels[[0, 2, 3]]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_single_factor_has_the_smallest_loss(n_classes):
    rng = np.random.default_rng(0)
    own = rng.integers(0, n_classes, 200)
    codes = 2.0 * np.eye(n_classes)[own] - 1.0
    codes = codes[:, 1:] if n_classes == 2 else codes
    scores = codes + rng.normal(size=codes.shape)
    found = calibrate(scores, codes, form=SCALED)

    def loss(factor):
        logits = factor * found.logits(scores)
        logits = logits if n_classes > 2 else np.hstack([np.zeros_like(logits), logits])
        return -np.mean(log_softmax(logits, axis=1)[np.arange(200), own])

    assert found.log_loss == pytest.approx(loss(1.0), rel=1e-9)
    assert loss(1.0) < min(loss(0.9), loss(1.1)) and not found.shift.any()


def test_the_sigmoid_of_two_classes_is_platts():
    """Platt (1999): logits a s + b of smallest log loss to the targets (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2)."""
    scores = np.array([[-2.0], [-1.0], [-0.5], [0.3], [-0.2], [0.4], [1.5]])
    codes = np.array([[-1.0], [-1.0], [-1.0], [-1.0], [1.0], [1.0], [1.0]])
    targets = np.where(codes > 0, 4.0 / 5.0, 1.0 / 6.0)
    off = expit(calibrate(scores, codes).logits(scores)) - targets
    np.testing.assert_allclose([off.sum(), (off * scores).sum()], 0.0, atol=1e-4)


def test_rows_are_weighted_to_the_shares_of_the_classes_among_all_rows():
    two, three = np.array([[1], [1], [1], [-1]]), 2 * np.eye(3)[[0, 0, 1, 2]] - 1
    assert row_weights(two, None, np.array([0.25])) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 3])
    assert row_weights(three, None, np.array([0.25, 0.5, 0.25])) == pytest.approx([0.5, 0.5, 2, 1])
    # Without shares the least weight is one row.
    assert row_weights(two, np.array([2.0, 2, 4, 8]), None) == pytest.approx([1, 1, 2, 4])
    weighted = row_weights(two, np.array([1.0, 1, 4, 2]), np.array([0.25]))
    assert weighted == pytest.approx([1 / 3, 1 / 3, 4 / 3, 6])
