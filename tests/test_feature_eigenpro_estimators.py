"""The estimators of EigenPro on explicit features: maps by name, budgets, interruptions, refusals."""

from unittest import mock

import numpy as np
import pytest
from sklearn.base import is_classifier

from engine_example import naive_kernel, sample
from estimators_example import outputs, table
from feature_forms import feature_eigenpro_classifier, feature_eigenpro_regressor
from forms import eigenpro_regressor
from risk_example import Given
from shallows import features, training
from shallows.errors import ShallowsError
from shallows.fitting import feature_eigenpro
from shallows.fitting.feature_preconditioner import fit_feature_preconditioner
from solved_by import constructor

BOTH = [feature_eigenpro_classifier, feature_eigenpro_regressor]
each = pytest.mark.parametrize("Estimator", BOTH)
quiet = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")
OF_OTHER_KERNELS = ("binning", "polynomial", "tensor_sketch")  # they refuse the Gaussian kernel by its name
MAPS = [name for name in features.FEATURE_MAPS if name not in OF_OTHER_KERNELS]


@quiet
@pytest.mark.parametrize("name", MAPS)
def test_every_map_by_name_learns(name):
    Estimator = BOTH[len(name) % 2]
    X, y, _ = table(Estimator, 400)
    size = {"semi_random": {"n_units": 40}, "hidden_units": {"n_units": 200}}.get(name, {"n_features": 200})
    model = Estimator(name, bandwidth=1.0, random_state=0, **size).fit(X, y)
    # Directions at the level of rounding are no features of Nyström's.
    assert model.coef_.shape[1] == 5 if name == "linear" else 150 < model.coef_.shape[1] <= 200
    assert model.score(X, y) > {"linear": 0.5, "semi_random": 0.8}.get(name, 0.9)  # of it there are 40 units
    assert model.n_rollbacks_ == 0


@pytest.mark.parametrize(("name", "n", "wanted"), [("fourier", 90, 60), ("fourier", 400, 80), ("nystrom", 400, 60)])
def test_more_rows_are_given_more_random_features(name, n, wanted, monkeypatch):
    monkeypatch.setattr(feature_eigenpro, "LEAST_FEATURES", 60)
    monkeypatch.setattr(feature_eigenpro, "FEATURES_PER_ROOT", 4.0)
    X, y, _ = table(feature_eigenpro_regressor, n)
    found = feature_eigenpro_regressor(name, random_state=0, max_epochs=1, tol=0).fit(X, y).coef_.shape[1]
    assert found == wanted if name == "fourier" else 50 < found <= wanted


@pytest.mark.parametrize(
    ("many", "given", "stopped_by"),
    [(1400, {}, "plateau"), (1500, {}, "max_epochs"), (1400, {"regularisation": 0.0}, "max_epochs")],
)
def test_with_many_rows_the_training_ends_where_its_loss_rests(many, given, stopped_by, monkeypatch):
    monkeypatch.setattr(feature_eigenpro, "MANY", many)
    X, y, _ = table(feature_eigenpro_regressor, 1500)
    y = y + np.random.default_rng(0).normal(size=len(y))
    model = feature_eigenpro_regressor(**{"n_features": 100, "regularisation": 1.0, "random_state": 0, **given})
    assert model.fit(X, y).report_["stopped_by"] == stopped_by
    assert (model.n_epochs_ < 30) == (stopped_by == "plateau")


def test_many_features_come_near_the_kernel_machine():
    # EigenPro-RF tends to kernel EigenPro as D grows, with 1/√D.
    X, y, new = table(feature_eigenpro_regressor, 200)
    asked = {"random_state": 0, "max_epochs": 5, "tol": 0, "rank": 20, "n_subsample": 200, "batch_size": 50}
    asked |= {"step_size": 0.05, "damping": 1.0, "bandwidth": 2.0, "dtype": "float64"}
    exact = eigenpro_regressor(**asked).fit(X, y).predict(new)
    few, many = (feature_eigenpro_regressor(n_features=D, **asked).fit(X, y).predict(new) for D in (500, 8000))
    assert np.abs(many - exact).mean() < 0.5 * np.abs(few - exact).mean()


@quiet
@each
@pytest.mark.parametrize("features", ["given", "rbf"])
def test_predictions_are_the_linear_model_that_was_learnt(Estimator, features):
    # A feature that is constant in training still counts in a new point.
    X, y, new = table(Estimator)
    X, new = np.hstack([X, np.full((len(X), 1), 3.0)]), np.hstack([new, sample(len(new), 1)])
    options = {"calibration": None, "random_state": 0, "max_epochs": 2}
    if features == "given":
        # A map of the user's sees the inputs as they are.
        model, values = Estimator(Given(5), **options).fit(X, y), new
    else:
        model = Estimator("rbf", n_features=30, **options).fit(X, y)
        centres = model._model.blocks.features.centers + X.mean(axis=0)
        values = naive_kernel("gaussian", model.bandwidth_, new, centres)
    scores = values @ model.coef_.T
    if not is_classifier(model):
        scores = scores * model._targets.scale + model.intercept_
    assert np.abs(outputs(model, new).reshape(scores.shape) - scores).max() < 1e-9


@quiet
@each
def test_a_small_budget_changes_no_prediction_beyond_rounding(Estimator):
    X, y, new = table(Estimator, 1100)
    options = {"n_features": 5000, "random_state": 0, "max_epochs": 2, "tol": 0, "rank": 20, "n_subsample": 100}
    kept = Estimator(**options).fit(X, y)
    with mock.patch.object(feature_eigenpro, "check_memory"):  # It refuses less than the process holds already.
        streamed = Estimator(**options, memory="40MB").fit(X, y)
    assert (kept.report_["kept_fraction"], streamed.report_["kept_fraction"]) == (1.0, 0.0)
    assert np.abs(outputs(kept, new) - outputs(streamed, new)).max() < 1e-3


@quiet
@each
def test_snapshots_measure_what_observers_ask_for(Estimator):
    X, y, new = table(Estimator)
    seen = []

    def look(snapshot):
        scores = snapshot.training_decision_function()
        seen.append((snapshot.predict(new), snapshot.predict_training(), snapshot.training_square_loss(y)))
        return {"norm": snapshot.coefficient_norm(), "of": float(scores.shape[0])}

    curve = training.Curve([1, 3], look)
    options = {"n_features": 100, "calibration": None, "random_state": 0, "max_epochs": 3, "tol": 0}
    model = Estimator(**options).fit(X, y, observers=[curve])
    assert [row["epoch"] for row in curve.rows] == [1, 3]
    assert curve.rows[-1]["norm"] == pytest.approx(np.linalg.norm(model.coef_), rel=1e-12)
    assert np.array_equal(seen[-1][0], model.predict(new))
    assert np.abs(np.asarray(seen[-1][1], dtype=float) - np.asarray(model.predict(X), dtype=float)).max() < 1e-9
    assert seen[-1][2] < seen[0][2]


@pytest.mark.parametrize(
    ("name", "value"),
    [("features", "furier"), ("n_features", 0), ("damping", 0.0), ("power", 1.5), ("eigensystem", "svd"), ("step", 0)],
)
def test_a_parameter_out_of_its_range_is_named_with_its_value(name, value):
    X, y, _ = table(feature_eigenpro_regressor)
    with pytest.raises(ShallowsError) as raised:
        feature_eigenpro_regressor(**{name: value}).fit(X, y)
    assert repr(value) in str(raised.value)
    assert name.replace("features", "feature") in str(raised.value).replace("features", "feature")


@pytest.mark.parametrize("settings", [{"rank": 10, "n_subsample": 60, "power": 0.5}, {}, {"eigensystem": "rsvd"}])
def test_a_preconditioner_from_a_file_gives_the_same_model_to_the_bit(settings, tmp_path):
    X, y, _ = table(feature_eigenpro_classifier, 1100)
    X = X.astype(np.float32)
    given = {"n_features": 80, "bandwidth": "median", "random_state": 5, **settings}
    fixed = {"alpha": 0.0, "calibration": None, "max_epochs": 2, "tol": 0.0}
    own = feature_eigenpro_classifier(**given, **fixed).fit(X, y)
    fit_feature_preconditioner(X, **given).save(tmp_path / "p.npz")
    shared = feature_eigenpro_classifier(**given, **fixed, preconditioner=tmp_path / "p.npz").fit(X, y)
    assert np.array_equal(own.coef_, shared.coef_)
    for change in ({"n_features": 60}, {"random_state": 6}, {"bandwidth": 1.0}):
        with pytest.raises(ShallowsError, match="preconditioner was made for 80 features of the kernel"):
            feature_eigenpro_classifier(**given | change, **fixed, preconditioner=tmp_path / "p.npz").fit(X, y)


def test_a_map_that_is_none_is_told_what_it_lacks():
    X, y, _ = table(feature_eigenpro_regressor)
    with pytest.raises(ShallowsError, match=r"map\(x\).*n_features.*got list"):
        feature_eigenpro_regressor([1, 2]).fit(X, y)
    with pytest.raises(ShallowsError, match=r"shape \(\d+, 4\) where \(\d+, 3\) was expected"):
        feature_eigenpro_regressor(Given(3)).fit(X, y)


@quiet
@pytest.mark.parametrize("n", [300, 1500])
def test_with_an_intercept_the_function_and_its_probabilities_keep_the_frequencies(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=n) > 1.2).astype(int)
    options = {"n_features": 200, "fit_intercept": True, "random_state": 0}
    plain = feature_eigenpro_classifier(calibration=None, alpha=1e6, **options).fit(X, y)
    # The ridge leaves the intercept alone.
    assert np.abs(plain.decision_function(X) - (2 * y.mean() - 1)).max() < 0.05
    assert plain.intercept_ == pytest.approx(2 * y.mean() - 1)
    model = feature_eigenpro_classifier(**options).fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.02)
    assert model.score(X, y) > 0.9


@pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("Estimator", [feature_eigenpro_regressor, constructor("sag: RegularizedRiskRegressor")])
def test_an_odd_number_of_features_is_rounded_up_and_told(Estimator):
    X = sample(60)
    y = X[:, 0]
    odd, even = (Estimator(n_features=n, max_epochs=1, random_state=0).fit(X, y) for n in (31, 32))
    assert odd.report_["n_features"] == 32
    assert np.array_equal(odd.predict(X), even.predict(X))
