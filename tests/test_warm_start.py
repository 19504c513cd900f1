"""Fits that continue where the one before ended, and stopping rules of every method that iterates."""

import numpy as np
import pytest

import forms
import solved_by
from bad_input_example import few
from engine_example import sample
from flat import flat_if_known
from shallows import RegularizedRiskClassifier, training

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RISK = [*solved_by.CLASSIFIERS, *solved_by.REGRESSORS]
ITERATIVE = [
    f"{name}{kind}"
    for name in ("EigenPro", "EigenProCenters", "FeatureEigenPro", "KernelSGD")
    for kind in ("Classifier", "Regressor")
] + RISK
each_risk = pytest.mark.parametrize(
    "name", [name for name in RISK if name.partition(":")[0] in ("norma", "pegasos", "saga", "svrg")]
)


def table(name, n=200):
    x = sample(n + 40, 3)
    signal = np.sin(2 * x[:, 0]) + x[:, -1]
    return x[:n], (np.digitize(signal, [-0.7, 0.7]) if name.endswith("Classifier") else signal)[:n], x[n:]


def unfitted(name, **options):
    Estimator = solved_by.constructor(name)
    options = {"random_state": 0, "max_epochs": 3, "tol": 0, "n_features": 40, **few(Estimator), **options}
    if name.startswith("EigenProCenters"):
        options["solver"] = "projected_eigenpro"  # Conjugate gradients would have settled.
    return flat_if_known(Estimator, **options)


def outputs(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize(("name", "batch_size"), [(name, (None, 23)[name.endswith("Regressor")]) for name in ITERATIVE])
def test_two_fits_of_two_epochs_are_one_of_four(name, batch_size):
    X, y, new = table(name)
    options = {"batch_size": batch_size, "averaging": True}
    going = unfitted(name, warm_start=True, max_epochs=2, **options).fit(X, y)
    after_two = outputs(going, new)
    going.fit(X, y)
    assert np.array_equal(outputs(going, new), outputs(unfitted(name, max_epochs=4, **options).fit(X, y), new))
    assert not np.array_equal(outputs(going, new), after_two)
    assert forms.changed(going, max_epochs=1).fit(X, y).n_epochs_ == 1


CHANGED = {
    "points": lambda model, X, y: model.fit(X + 0.1, y),
    "targets": lambda model, X, y: model.fit(X, y[::-1].copy()),
    "weights": lambda model, X, y: model.fit(X, y, np.arange(1, len(y) + 1.0)),
    "fewer rows": lambda model, X, y: model.fit(X[:-5], y[:-5]),
    "a parameter": lambda model, X, y: model.set_params(bandwidth=0.9).fit(X, y),
    "the seed": lambda model, X, y: model.set_params(random_state=1).fit(X, y),
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
@pytest.mark.parametrize("name", ["EigenProRegressor", "svrg: RegularizedRiskClassifier"])
def test_a_fit_to_anything_else_begins_anew(name, change):
    X, y, new = table(name)
    going, fresh = unfitted(name, warm_start=True).fit(X, y), unfitted(name)
    assert np.array_equal(outputs(change(going, X, y), new), outputs(change(fresh, X, y), new))


def test_a_fit_that_was_broken_off_goes_on_from_the_one_before():
    X, y, new = table("EigenProRegressor")

    class Interrupt(training.Observer):
        def on_batch(self, run):
            raise KeyboardInterrupt

    model = unfitted("EigenProRegressor", warm_start=True).fit(X, y)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, observers=[Interrupt()])
    whole = unfitted("EigenProRegressor", max_epochs=6).fit(X, y)
    assert np.array_equal(outputs(model.fit(X, y), new), outputs(whole, new))


# --------------------------------------------------------------------- stopping rules of regularized risks


@each_risk
def test_rows_are_held_out_and_the_best_epoch_is_kept(name):
    X, y, new = table(name)
    model = unfitted(name, early_stopping=True, max_epochs=30, fraction=0.2, patience=2).fit(X, y)
    scores = model.validation_scores_
    assert len(scores) == model.n_epochs_
    assert model.best_validation_score_ == max(scores)
    # On clean values, for which the least regularization is chosen, the score of these continues rising.
    if name not in [f"{solver}: RegularizedRiskRegressor" for solver in ("norma", "sag", "saga", "svrg")]:
        assert model.report_["stopped_by"] == "patience"
        assert len(scores) - 1 - int(np.argmax(scores)) == 2
    held_out = np.setdiff1d(np.arange(200), getattr(model, "support_", []))
    assert hasattr(model, "coef_") or len(held_out) >= 40
    best = unfitted(name, early_stopping=True, max_epochs=int(np.argmax(scores)) + 1, fraction=0.2, patience=50)
    assert np.array_equal(outputs(model, new), outputs(best.fit(X, y), new))


@each_risk
def test_the_validation_score_is_that_of_rows_that_were_not_trained_on(name):
    X, y, _ = table(name)
    seen = []

    class Watch(training.Observer):
        def on_epoch(self, run):
            seen.append(run.snapshot().predict_training())

    model = unfitted(name, early_stopping=True, max_epochs=2).fit(X, y, observers=[Watch()])
    predicted = model.predict(X)
    assert np.allclose(seen[int(np.argmax(model.validation_scores_))], predicted, atol=1e-6)
    if name == "norma: RegularizedRiskRegressor":  # every training row has a coefficient
        out = np.setdiff1d(np.arange(200), model.support_)
        assert len(out) == 20
        assert model.best_validation_score_ == pytest.approx(type(model).score(model, X[out], y[out]))


def test_early_stopping_goes_with_a_matrix_and_several_labels():
    X, _, new = table("RegularizedRiskClassifier")
    Y = (X > 0).astype(int)
    model = RegularizedRiskClassifier(early_stopping=True, random_state=0).fit(X, Y)
    assert model.predict(new).shape == (40, 3)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    options = {"solver": "pegasos", "kernel": "precomputed", "early_stopping": True, "random_state": 0}
    of_matrix = RegularizedRiskClassifier(**options).fit(K, Y[:, 0])
    assert len(of_matrix.validation_scores_) == of_matrix.n_epochs_


@pytest.mark.parametrize("name", ["RegularizedRiskRegressor", "EigenProRegressor"])
def test_without_a_seed_a_fit_goes_on_with_the_one_that_the_fit_before_drew(name):
    X, y, _ = table(name)
    model = unfitted(name, warm_start=True, max_epochs=2).set_params(random_state=None).fit(X, y)
    first = model.report_["seed"]
    model.fit(X, y)
    assert model.report_["seed"] == first
    assert model._ended.n_epochs == 4
    again = unfitted(name, max_epochs=2).set_params(random_state=None).fit(X, y).report_["seed"]
    assert again != first
