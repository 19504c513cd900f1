"""What is promised of base rates: if the inputs are independent of the classes, the answer is their frequencies.

Every classifier at its defaults, with every loss that it takes: probabilities, decisions and rankings of rare classes.
"""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import shallows
import solved_by
from flat import flat
from shallows import DoublyStochasticClassifier, training
from shallows.solvers import DoublyStochastic
from solved_by import constructor
from test_promises_losses import TAKES

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

OWN = [name for name in shallows.estimators.__all__ if name.endswith("Classifier")]
CLASSIFIERS = [*sorted([*OWN, "FeatureEigenProClassifier"]), *solved_by.CLASSIFIERS]
ALL = [(name, loss) for name in CLASSIFIERS for loss in TAKES.get(name, [None]) if name != "RegularizedRiskClassifier"]
LINKED = ("logistic", "softmax")
WITH_PROBABILITIES = [
    (name, loss)
    for name, loss in ALL
    if loss in LINKED or (loss is None and hasattr(constructor(name), "predict_proba"))
]
WITH_INTERCEPT = [
    (name, loss) for name, loss in ALL if "RegularizedRisk" in name or name == "DoublyStochasticClassifier"
]

SHARES = {"5 %": [0.95, 0.05], "85, 10, 4 and 1 %": [0.85, 0.10, 0.04, 0.01]}


def make_model(name, loss, **options):
    Estimator = constructor(name)
    options = {"random_state": 0, **({} if loss is None else {"loss": loss}), **options}
    return Estimator(**{key: value for key, value in options.items() if key in Estimator().get_params()})


def of_shares(shares, n, seed):
    """Labels with the frequencies that were asked for, in random order, and inputs that are independent of them."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(shares)), np.round(np.multiply(shares, n)).astype(int))
    return rng.normal(size=(n, 4)), rng.permutation(y)


def log_losses(probabilities, y):
    return -np.log(np.maximum(probabilities[np.arange(len(y)), y], 1e-15))


@pytest.mark.parametrize(
    ("name", "loss", "shares"),
    [
        # Kitchen sinks do not regularize few rows enough for a class of four.
        (*pair, "5 %" if pair[0].startswith("RandomKitchenSinks") else list(SHARES)[number % 2])
        for number, pair in enumerate(ALL)
    ],
)
def test_of_noise_probabilities_are_the_frequencies_and_rare_classes_are_not_predicted_more_often(name, loss, shares):
    X, y = of_shares(SHARES[shares], 400, 0)
    new, y_new = of_shares(SHARES[shares], 400, 1)
    model, rates = make_model(name, loss).fit(X, y), np.bincount(y) / len(y)
    predicted = np.bincount(model.predict(new), minlength=len(rates)) / len(y)
    assert (predicted[1:] <= rates[1:]).all()
    if (name, loss) not in WITH_PROBABILITIES:
        return
    errors = np.sqrt(rates * (1.0 - rates) / len(y))
    for x in (X, new):
        assert (np.abs(model.predict_proba(x).mean(axis=0) - rates) <= 2.0 * errors).all()
    excess = log_losses(model.predict_proba(new), y_new) - log_losses(np.tile(rates, (len(y), 1)), y_new)
    # What is learnt of noise costs a little on new rows.
    assert excess.mean() <= 0.02 + 2.0 * excess.std() / np.sqrt(len(y))


RANKING = {("RandomKitchenSinksClassifier", 100): 0.6}
"""What is promised of rankings less than of the others: a bound on each weight is no regularization of few rows."""


@pytest.mark.parametrize(("name", "loss", "odds"), [(*pair, (10, 100)[number % 2]) for number, pair in enumerate(ALL)])
def test_a_rare_class_that_lies_apart_is_ranked_first(name, loss, odds):
    rng = np.random.default_rng(0)

    def draw_labels(n, n_rare):
        y = (np.arange(n) < n_rare).astype(int)
        return rng.normal(size=(n, 3)) + 2.5 * y[:, None], y

    X, y = draw_labels(max(300, 3 * odds), max(3, 300 // odds))
    new, y_new = draw_labels(1000, 50)
    model = make_model(name, loss).fit(X, y)
    scores = model.decision_function(new)
    assert roc_auc_score(y_new, scores) >= RANKING.get((name, odds), 0.97)
    assert model.predict(new)[y_new == 0].mean() <= 0.01


@pytest.mark.parametrize(("name", "loss"), WITH_INTERCEPT[::4])
def test_weights_change_the_frequencies(name, loss):
    """Weighted to equal frequencies, no class is the likelier; an intercept that is not asked for is 0."""
    X, y = of_shares(SHARES["85, 10, 4 and 1 %"], 300, 0)
    balanced = make_model(name, loss, class_weight="balanced", max_epochs=2).fit(X, y)
    of_rows = make_model(name, loss, max_epochs=2).fit(X, y, 1.0 / np.bincount(y)[y])
    assert np.ptp(balanced.intercept_) < 1e-6
    assert balanced.intercept_ == pytest.approx(of_rows.intercept_, abs=1e-6)
    assert np.ptp(make_model(name, loss, max_epochs=2).fit(X, y).intercept_) > 0.7
    assert not make_model(name, loss, max_epochs=2, fit_intercept=False).fit(X, y).intercept_.any()


@pytest.mark.parametrize(("shares", "rows"), list(zip(SHARES, (150, 20), strict=True)))
def test_a_stream_of_noise_comes_to_the_frequencies(shares, rows, tmp_path):
    X, y = of_shares(SHARES[shares], 600, 0)
    model, rates = (
        DoublyStochasticClassifier(solver=DoublyStochastic(n_iter=20), random_state=0),
        np.bincount(y) / len(y),
    )
    for start in range(0, len(y), rows):
        model.partial_fit(X[start : start + rows], y[start : start + rows], classes=np.arange(len(rates)))
        if start == 300:
            shallows.save(model, tmp_path / "model.skops")
            model = shallows.load(tmp_path / "model.skops")
    errors = np.sqrt(rates * (1.0 - rates) / len(y))
    assert (np.abs(model.predict_proba(X).mean(axis=0) - rates) <= 2.0 * errors).all()
    # The rows that came after the last beginning wait.
    logs = np.log(np.bincount(y[: model.report_["n_rows_begun_with"]]))
    expected = logs[1:] - logs[:-1] if len(rates) == 2 else logs - np.log(np.exp(logs).sum())
    assert model.intercept_ == pytest.approx(expected, abs=0.05)


SETS = (load_breast_cancer, load_digits, load_wine)


def test_a_training_that_was_stopped_goes_on_with_its_intercept(tmp_path):
    X, y = of_shares(SHARES["5 %"], 200, 0)

    class Stops(training.Observer):
        def on_batch(self, run):
            if run.iteration == 3:
                raise KeyboardInterrupt

    for name in ("DoublyStochasticClassifier", "sdca: RegularizedRiskClassifier", "sag: RegularizedRiskClassifier"):
        Estimator = constructor(name)
        options = {"random_state": 0, "max_epochs": 3, "loss": "logistic"}
        whole = flat(Estimator, **options).fit(X, y)
        checkpoint = training.Checkpoint(tmp_path / name[:4], "a key", every_seconds=0.0)
        with pytest.raises(KeyboardInterrupt):
            flat(Estimator, **options).fit(X, y, observers=[Stops()], checkpoint=checkpoint)
        checkpoint = training.Checkpoint(tmp_path / name[:4], "a key", every_seconds=0.0)
        resumed = flat(Estimator, **options).fit(X, y, checkpoint=checkpoint)
        assert resumed.n_resumes_ == 1
        assert np.array_equal(resumed.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize(
    ("name", "loss", "load"), [(*pair, SETS[number % 3]) for number, pair in enumerate(WITH_PROBABILITIES)]
)
def test_probabilities_are_reliable_on_real_data(name, loss, load):
    """Of the rows to which a class is given with some probability, about this share is of it; ten equal groups."""
    X, y = load(return_X_y=True)
    X, new, y, y_new = train_test_split(X, y, train_size=0.5, random_state=0, stratify=y)
    X, y = X[:300], y[:300]
    scaler = StandardScaler().fit(X)
    probabilities = make_model(name, loss).fit(scaler.transform(X), y).predict_proba(scaler.transform(new))
    given, own = probabilities.ravel(), (y_new[:, None] == np.arange(probabilities.shape[1])).ravel()
    share, mean = calibration_curve(own, given, n_bins=10, strategy="quantile")
    # Steps of 1/(λt) do not come near the minimum for a small λ.
    assert np.mean(np.abs(share - mean)) <= (0.2 if name.startswith("pegasos") else 0.15)
    rates = np.tile(np.bincount(y) / len(y), (len(y_new), 1))
    assert log_losses(probabilities, y_new).mean() <= 0.5 * log_losses(rates, y_new).mean()
