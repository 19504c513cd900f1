"""What is promised of losses: no estimator at its defaults is worse on its training rows than a constant, or it warns.

Every estimator with a parameter ``loss``, with every loss that it takes, on inputs and targets of odd scales.
"""

import warnings

import numpy as np
import pytest

import shallows
import solved_by
from shallows import losses
from shallows.errors import ShallowsError
from shallows.solvers.regularized import SOLVERS
from solved_by import OF_RISKS, constructor

MARGINS = ("hinge", "logistic", "squared_hinge")
OF_CLASSES = (*MARGINS, "multiclass_hinge", "softmax", "square")
OF_VALUES = ("epsilon_insensitive", "huber", "quantile", "square")


def taken_by(solver, known):
    """The losses that a solver of regularized risks does not refuse."""
    settings = OF_RISKS[solver]
    settings = SOLVERS[settings]() if isinstance(settings, str) else settings
    return tuple(loss for loss in known if not settings.why_not(losses.make(loss)))


TAKES = {
    "decomposition: KernelSVMClassifier": ("hinge", "squared_hinge"),
    "DoublyStochasticClassifier": OF_CLASSES,
    "DoublyStochasticRegressor": OF_VALUES,
    "KernelSVMClassifier": ("hinge", "squared_hinge"),
    "LinearSVMClassifier": ("hinge", "squared_hinge"),
    "LowRankLinearizedSVMClassifier": ("hinge", "squared_hinge"),
    **{name: taken_by(name.partition(":")[0], OF_CLASSES) for name in solved_by.CLASSIFIERS},
    **{name: taken_by(name.partition(":")[0], OF_VALUES) for name in solved_by.REGRESSORS},
}
"""The losses of each estimator at its default solver."""

N = 160
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))
SIGNAL = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=N)

INPUTS = {"scaled": X, "columns of scale 10,000 and 0.01": X * [1e4, 1.0, 1e4, 1e-2], "far from the origin": X + 1e4}
TARGETS = {
    "scaled": SIGNAL,
    "far from zero": SIGNAL + 1e4,
    "large": SIGNAL * 1e3,
    "skewed": np.exp(2.0 * SIGNAL),
    "noise": rng.normal(size=N),
}
QUANTILES = {"two": [0.5], "three": [0.3, 0.7], "a rare one": [0.95]}
"""Where the targets are divided into classes."""


def fitted(name, loss, x, y):
    """A model at its defaults, and whether it warned."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        return constructor(name)(loss=loss, random_state=0).fit(x, y), bool(told)


def test_the_table_names_every_estimator_with_a_loss_and_every_loss_that_it_takes():
    every = [name for name in shallows.estimators.__all__ if name.endswith(("Classifier", "Regressor"))]
    assert {name for name in every if "loss" in constructor(name)().get_params()} == {
        name.rpartition(": ")[2] for name in TAKES
    }
    for name, known in TAKES.items():
        y = SIGNAL if name.endswith("Regressor") else (SIGNAL > 0).astype(int)
        for loss in set(losses.LOSSES) - set(known):
            with pytest.raises(ShallowsError):
                constructor(name)(loss=loss).fit(X[:40], y[:40])


KINDS = [*(("scaled", of) for of in TARGETS), *((of, "scaled") for of in list(INPUTS)[1:])]
REGRESSORS = [(name, loss) for name, known in TAKES.items() if name.endswith("Regressor") for loss in known]
CLASSIFIERS = [(name, loss) for name, known in TAKES.items() if name.endswith("Classifier") for loss in known]


# Each pair of estimator and loss has one of the kinds of data, and each kind several of the pairs.
@pytest.mark.parametrize(
    ("name", "loss", "inputs", "targets"),
    [(*pair, *KINDS[number % len(KINDS)]) for number, pair in enumerate(REGRESSORS)],
)
def test_values_are_fitted_no_worse_than_by_the_best_constant(name, loss, inputs, targets):
    x, y = INPUTS[inputs], TARGETS[targets]
    model, warned = fitted(name, loss, x, y)
    ell, codes = losses.make(loss), y[:, None]
    ours = ell.value(model.predict(x)[:, None], codes).mean()
    constant = ell.value(np.full_like(codes, ell.constant(codes)), codes).mean()
    assert warned or ours <= constant * (1 + 1e-3)


OF_CLASSES = [*(("scaled", "noise", of) for of in QUANTILES), *zip(INPUTS, ["scaled"] * 3, QUANTILES, strict=True)]


@pytest.mark.parametrize(
    ("name", "loss", "inputs", "targets", "classes"),
    [(*pair, *OF_CLASSES[number % 6]) for number, pair in enumerate(CLASSIFIERS)],
)
def test_classes_are_told_no_worse_than_by_the_best_constant(name, loss, inputs, targets, classes):
    """By the loss; without probabilities, where scores may be votes or in any unit, it is enough not to err more."""
    quantiles, values = QUANTILES[classes], TARGETS[targets]
    x, y = INPUTS[inputs], np.digitize(values, np.quantile(values, quantiles))
    model, warned = fitted(name, loss, x, y)
    ell, k = losses.make(loss), len(quantiles) + 1
    codes = ell.encode(y, k)
    scores = np.reshape(model.decision_function(x), (N, -1))
    if scores.shape[1] < codes.shape[1]:  # The difference of two scores is one score.
        scores = np.hstack([-0.5 * scores, 0.5 * scores])
    ours = ell.value(scores, codes).mean()
    constant = ell.value(np.broadcast_to(ell.constant(codes), codes.shape), codes).mean()
    errs_no_more = not ell.has_probabilities and model.score(x, y) >= np.bincount(y).max() / N
    assert warned or ours <= constant * (1 + 1e-3) or errs_no_more
