"""Estimators of least squares over kernel functions, data for them, and what their tests compare by."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from engine_example import naive_kernel, sample
from forms import eigenpro_classifier, eigenpro_regressor, kernel_sgd_classifier, kernel_sgd_regressor, known

ALL = [eigenpro_classifier, eigenpro_regressor, kernel_sgd_classifier, kernel_sgd_regressor]
EIGENPRO = ALL[:2]
CLASSIFIERS = ALL[::2]
REGRESSORS = ALL[1::2]

brief = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")
"""Two epochs are enough for most of what is asked, and not enough to learn much."""

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


def uncalibrated(Estimator):
    """The parameter by which a classifier's scores are the outputs of its function, where it has one."""
    return {"calibration": None} if "calibration" in known(Estimator) else {}


def published(Estimator, *but):
    """The method as published: the median rule, no regularization but an early end, outputs as they are."""
    has = known(Estimator)
    parameters = {"bandwidth": None, "alpha" if "alpha" in has else "regularisation": 0.0, "calibration": None}
    but = {*but, *({"alpha"} if "regularisation" in but else ())}
    return {name: parameters[name] for name in sorted(set(parameters) & set(has) - but)}


def unscaled(model, scores):
    """Outputs of the fitted function in the units of a regressor's targets."""
    scale = model._targets.scale if hasattr(model, "_targets") else model._target_scale
    return scores * scale + model.intercept_


def one_by_hand(model, X, new):
    """f(x) = Σ αⱼ k(x, xⱼ) with the coefficients that were learnt, by the naive formula."""
    name, bandwidth = model.report_["kernel"], model.bandwidth_
    scores = naive_kernel(name, bandwidth, new, X[model.support_]) @ model.dual_coef_
    return scores if is_classifier(model) else unscaled(model, scores)
