"""Intervals of values and sets of classes: scores of rows that were left out, and the share of new rows covered."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_friedman1
from sklearn.preprocessing import StandardScaler

import shallows
from shallows import KernelRidgeClassifier, KernelRidgeRegressor
from shallows.errors import ShallowsError
from shallows.solvers import ConjugateGradients, EigenPro


def noisy_rows(n, n_outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    return (X, y) if n_outputs is None else (X, np.stack([(k + 1) * y + k for k in range(n_outputs)], axis=1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["cholesky", EigenPro(max_epochs=200, tol=1e-9)])
def test_scores_of_values_are_the_residuals_of_refits_without_the_row(solver, weighted):
    X, y = noisy_rows(30)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 30) if weighted else None
    # EigenPro leaves rows out in closed form if it chooses λ on all rows, so λ is chosen and then given to the refits.
    alpha = 0.3 if solver == "cholesky" else "auto"
    given = {"bandwidth": 1.0, "solver": solver, "random_state": 0}
    model = KernelRidgeRegressor(alpha=alpha, calibration="auto", **given).fit(X, y, weights)
    own = []
    for k in range(30):
        rest = np.arange(30) != k
        of_rest = None if weights is None else weights[rest]
        # The mean of the targets is subtracted from the targets of all rows before one is left out.
        mean = np.average(y, weights=weights)
        centered = np.append(y[rest] - mean, mean - y[rest])
        twice, of_twice = np.concatenate([X[rest], X[rest] + 1e3]), None if of_rest is None else np.tile(of_rest, 2)
        refit = KernelRidgeRegressor(alpha=model.alpha_, bandwidth=1.0, solver="cholesky").fit(
            twice, centered, of_twice
        )
        own.append(abs(y[k] - mean - refit.predict(X[k : k + 1])[0]))
    np.testing.assert_allclose(np.sort(model.conformity_scores_[:, 0]), np.sort(own), rtol=1e-6)


def test_an_interval_is_the_prediction_and_a_quantile_of_the_scores():
    X, y = noisy_rows(99)
    model = KernelRidgeRegressor(calibration="auto", random_state=0).fit(X, y)
    interval, predicted = model.predict_interval(X[:5], coverage=0.8), model.predict(X[:5])
    assert interval.shape == (5, 2)
    # The 80th smallest of 99 scores, which splits 100 rows into 80 and 20.
    half = np.sort(model.conformity_scores_[:, 0])[79]
    np.testing.assert_allclose(interval, np.stack([predicted - half, predicted + half], axis=1), rtol=1e-12)


def test_each_output_has_its_own_width():
    X, y = noisy_rows(200, n_outputs=2)
    model = KernelRidgeRegressor(calibration="auto", random_state=0).fit(X, y)
    interval = model.predict_interval(X[:3])
    assert interval.shape == (3, 2, 2)
    width = interval[..., 1] - interval[..., 0]
    np.testing.assert_allclose(width[:, 1], 2 * width[:, 0], rtol=1e-6)


def test_a_set_has_the_classes_above_one_probability():
    X, y = load_digits(return_X_y=True)
    model = KernelRidgeClassifier(random_state=0).fit(X[:1200], y[:1200])
    sets, probabilities = model.predict_set(X[1200:], coverage=0.99), model.predict_proba(X[1200:])
    assert sets.shape == probabilities.shape
    assert sets.dtype == bool
    assert probabilities[sets].min() > probabilities[~sets].max()
    assert np.all(sets <= model.predict_set(X[1200:], coverage=0.995))


COVERED = {
    # Data, training rows, repetitions, solver. The share of covered rows has a standard error of about
    # √(0.09 / rows left out / repetitions), at most 0.9 %.
    "diabetes": (load_diabetes, 300, 8, "auto"),
    "friedman1, left out in folds": (lambda **_: make_friedman1(5000, noise=1.0, random_state=0), 3000, 2, "auto"),
    "friedman1, centers": (lambda **_: make_friedman1(5000, noise=1.0, random_state=0), 3000, 2, "centers"),
    "breast cancer": (load_breast_cancer, 350, 8, "auto"),
}


@pytest.mark.parametrize("name", COVERED)
def test_new_rows_are_covered_with_the_stated_share(name):
    read, n, repetitions, solver = COVERED[name]
    X, y = read(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    Estimator = KernelRidgeClassifier if name == "breast cancer" else KernelRidgeRegressor
    shares = []
    for seed in range(repetitions):
        rows = np.random.default_rng(seed).permutation(len(X))
        new = rows[n:]
        given = {"centers": 400} if solver == "centers" else {}
        model = Estimator(calibration="auto", random_state=seed, **given).fit(X[rows[:n]], y[rows[:n]])
        if Estimator is KernelRidgeClassifier:
            covered = model.predict_set(X[new], coverage=0.9)[np.arange(len(new)), y[new]]
        else:
            interval = model.predict_interval(X[new], coverage=0.9)
            covered = (interval[:, 0] <= y[new]) & (y[new] <= interval[:, 1])
        shares.append(covered.mean())
    assert 0.88 < np.mean(shares) < 0.92


def test_given_rows_replace_those_of_the_fit():
    X, y = noisy_rows(600)
    model = KernelRidgeRegressor(random_state=0).fit(X[:200], y[:200])
    model.conformalize(X[200:400], y[200:400])
    np.testing.assert_allclose(model.conformity_scores_[:, 0], np.abs(y[200:400] - model.predict(X[200:400])))
    interval = model.predict_interval(X[400:], coverage=0.9)
    assert 0.8 < np.mean((interval[:, 0] <= y[400:]) & (y[400:] <= interval[:, 1])) < 0.98
    assert not hasattr(model.fit(X, y), "conformity_scores_")
    labels = np.array(["low", "high"])[(y > 0).astype(int)]
    classifier = KernelRidgeClassifier(random_state=0, calibration=None).fit(X[:200], labels[:200])
    classifier.conformalize(X[200:400], labels[200:400])
    own = np.searchsorted(classifier.classes_, labels[200:400])
    expected = 1.0 - classifier.predict_proba(X[200:400])[np.arange(200), own]
    np.testing.assert_allclose(classifier.conformity_scores_, expected)


def test_rows_of_early_stopping_serve_too():
    X, y = noisy_rows(1500)
    given = {"early_stopping": True, "random_state": 0}
    model = KernelRidgeRegressor(calibration="auto", **given).fit(X, y)
    assert model.conformity_scores_.shape == (150, 1)
    assert not hasattr(KernelRidgeRegressor(**given).fit(X, y), "conformity_scores_")


def test_a_saved_model_has_the_same_intervals(tmp_path):
    X, y = noisy_rows(100)
    model = KernelRidgeRegressor(calibration="auto", random_state=0).fit(X, y)
    shallows.save(model, tmp_path / "model.skops")
    loaded = shallows.load(tmp_path / "model.skops")
    assert np.array_equal(loaded.predict_interval(X), model.predict_interval(X))


def test_what_has_no_intervals_is_refused_with_the_remedy():
    X, y = noisy_rows(60)
    plain = KernelRidgeRegressor(random_state=0).fit(X, y)
    with pytest.raises(ShallowsError, match="calibration='auto'"):
        plain.predict_interval(X)
    model = KernelRidgeRegressor(calibration="auto", random_state=0).fit(X, y)
    with pytest.raises(ShallowsError, match=r"at least 99 rows .* there are 60"):
        model.predict_interval(X, coverage=0.99)
    for wrong in (0, 1, 90, "0.9", True):
        with pytest.raises(ShallowsError, match="coverage must be a number between 0 and 1"):
            model.predict_interval(X, coverage=wrong)
    with pytest.raises(ShallowsError, match=r"y must have 1 finite columns"):
        model.conformalize(X, np.stack([y, y], axis=1))
    classifier = KernelRidgeClassifier(random_state=0).fit(X, y > 0)
    with pytest.raises(ShallowsError, match="which is no class of the model"):
        classifier.conformalize(X, np.full(60, 7))
    several = KernelRidgeClassifier(random_state=0).fit(X, np.stack([y > 0, y > 1], axis=1).astype(int))
    with pytest.raises(ShallowsError, match="several labels"):
        several.predict_set(X)
    # Iterations have neither a factor nor rows that they leave out.
    iterated = KernelRidgeRegressor(solver=ConjugateGradients(), calibration="auto", alpha=1.0, bandwidth=1.0)
    with pytest.raises(ShallowsError, match="no rows that it was not fitted to"):
        iterated.fit(*noisy_rows(1200)).predict_interval(X)
