"""Several labels for each example, and kernels beyond the named ones, for every estimator that can have them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import get_tags

import shallows
import solved_by
from bad_input_example import few
from engine_example import sample
from feature_forms import feature_eigenpro_regressor
from flat import flat_if_known
from forms import ridge
from shallows import (
    DoublyStochasticClassifier,
    DoublyStochasticRegressor,
    KernelRidgeRegressor,
    RegularizedRiskClassifier,
)
from shallows.errors import ShallowsError
from shallows.losses import Hinge
from shallows.solvers import DoublyStochastic
from shallows.solvers.regularized import SOLVERS
from solved_by import constructor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CLASSIFIERS = sorted(
    name
    for name in [*shallows.estimators.__all__, *solved_by.CLASSIFIERS]
    if name.endswith("Classifier") and get_tags(constructor(name)()).classifier_tags.multi_label
)
assert CLASSIFIERS  # An empty list would skip the tests.
every = pytest.mark.parametrize("name", CLASSIFIERS)

X, NEW = sample(120, 3), sample(40, 3, seed=1)


def labels(x):
    return np.stack([x[:, 0] > 0, x[:, 1] + x[:, 2] > 0.3, np.sin(2 * x[:, 2]) > 0], axis=1).astype(int)


def unfitted(name, **options):
    Estimator = constructor(name)
    small = {"max_epochs": 3, "tol": 0, "n_features": 40, "n_units": 40, "block_size": 8}
    return flat_if_known(Estimator, **{"random_state": 0, **small, **few(Estimator), **options})


@every
def test_each_label_is_learnt_as_if_it_stood_alone(name):
    Y = labels(X)
    settings = SOLVERS.get(name.partition(":")[0])
    needs_smooth = "saga" in name or (settings is not None and settings().why_not(Hinge()))
    loss = "square" if "Doubly" in name else "logistic" if needs_smooth else "hinge"
    # What is chosen from the data, such as λ and the calibration, is chosen for all labels together.
    given = {"bandwidth": 1.5, "regularisation": 1e-3, "regularization": 1e-3, "calibration": None}
    model = unfitted(name, loss=loss, **given)
    known = model.get_params()
    options = {"solver__preconditioning": None, "solver__schedule": "constant"} if "Doubly" in name else {}
    if "calibration" in known:
        options |= {"calibration": None} | {key: 0.1 for key in ("alpha", "regularisation") if key in known}
    options |= {"features__bandwidth": 1.5, "alpha": 0.1} if "FeatureRidge" in name else {}
    options |= {"C": 10.0} if "Extreme" in name else {}
    model.set_params(**options).fit(X, Y)
    scores = model.decision_function(NEW)
    assert scores.shape == (40, 3)
    # The least value of L-BFGS's problem is flat: rounding leads to another place near it.
    least = 0.05 if "KitchenSinks" in name else 1e-9
    for j in range(3):
        alone = clone(model).fit(X, Y[:, j]).decision_function(NEW)
        assert np.abs(scores[:, j] - alone).max() < least * max(1.0, np.abs(alone).max())
    assert np.array_equal(model.predict(NEW), (scores > 0).astype(int))
    assert np.array_equal(model.classes_, np.arange(3))


@every
def test_labels_are_found_and_have_probabilities_of_their_own(name):
    Y = labels(X)
    loss = {"loss": "logistic"} if "Risk" in name else {}
    model = unfitted(name, max_epochs=20, n_features=200, n_units=200, **loss).fit(X, Y)
    assert (model.predict(X) == Y).mean() > 0.85
    probabilities = model.predict_proba(NEW)
    assert probabilities.shape == (40, 3)
    assert ((probabilities > 0) & (probabilities < 1)).all()
    assert np.array_equal(probabilities > 0.5, model.predict(NEW) == 1)
    assert model.__sklearn_tags__().classifier_tags.multi_label


def test_a_loss_of_all_classes_together_says_what_to_take():
    for model in (
        RegularizedRiskClassifier(solver="pegasos", loss="multiclass_hinge"),
        RegularizedRiskClassifier(solver="svrg", features="fourier", loss="softmax"),
        DoublyStochasticClassifier(loss="softmax"),
    ):
        with pytest.raises(ShallowsError, match=r"is for examples of one class each.*loss='logistic', 'hinge'"):
            model.fit(X, labels(X))
        assert not model.__sklearn_tags__().classifier_tags.multi_label


def test_a_stream_of_several_labels_goes_on_and_is_saved(tmp_path):
    Y, parts = labels(X), np.split(np.arange(120), 4)
    model, whole = (DoublyStochasticClassifier(solver=DoublyStochastic(block_size=8), random_state=0) for _ in range(2))
    for rows in parts:
        model.partial_fit(X[rows], Y[rows], classes=np.arange(3))
    whole.partial_fit(((X[rows], Y[rows]) for rows in parts), classes=np.arange(3))
    assert np.array_equal(model.predict_proba(NEW), whole.predict_proba(NEW))
    shallows.save(model, tmp_path / "model.skops")
    read = shallows.load(tmp_path / "model.skops", device="cpu")
    assert np.array_equal(read.predict(NEW), model.predict(NEW))
    assert read.partial_fit(X, Y).predict(NEW).shape == (40, 3)
    with pytest.raises(ValueError, match="for each of the 3 labels of the model"):
        model.partial_fit(X, Y[:, :2])
    with pytest.raises(ValueError, match="differ from the classes of the first call"):
        DoublyStochasticClassifier().partial_fit(X, Y, classes=["a", "b"])


# -------------------------------------------------------------------------------------------- kernels


def test_who_cannot_have_a_kernel_function_says_why():
    with pytest.raises(ShallowsError, match=r"draws no random features.*'gaussian', 'laplace'"):
        DoublyStochasticRegressor(rbf_kernel).fit(X, X[:, 0])
    with pytest.raises(ShallowsError, match=r"no frequencies.*features='nystrom'"):
        feature_eigenpro_regressor(kernel="polynomial").fit(X, X[:, 0])
    exact = ridge(KernelRidgeRegressor, rbf_kernel, kernel_params={"gamma": 0.1}).fit(X, X[:, 0])
    assert exact.score(X, X[:, 0]) > 0.9
