"""Every estimator with data that suit it, for the tests of odd input."""

import numpy as np
import pytest
from sklearn.base import is_classifier

import forms
import shallows
from engine_example import sample
from feature_forms import FeatureForm, feature_eigenpro_classifier, feature_eigenpro_regressor
from flat import flat
from shallows import features

KINDS = ("Classifier", "Regressor")
ALL = [forms.FORMS[f"{name}{kind}"] for name in ("EigenPro", "KernelSGD", "EigenProCenters") for kind in KINDS]
ON_FEATURES = [feature_eigenpro_classifier, feature_eigenpro_regressor]
LEAST_SQUARES = [*ALL, *ON_FEATURES, *(forms.FORMS[f"KernelRidge{kind}"] for kind in KINDS)]
OTHERS = [getattr(shallows, f"{name}{kind}") for name in ("DoublyStochastic", "RegularizedRisk") for kind in KINDS]
OF_OTHER_KERNELS = ("binning", "polynomial", "tensor_sketch")  # they refuse the Gaussian kernel by its name
MAPS = [name for name in features.FEATURE_MAPS if name not in OF_OTHER_KERNELS]

each = pytest.mark.parametrize("Estimator", ALL)
each_regressor = pytest.mark.parametrize("Estimator", ALL[1::2])
each_of_least_squares = pytest.mark.parametrize("Estimator", LEAST_SQUARES)
each_regressor_of_least_squares = pytest.mark.parametrize("Estimator", LEAST_SQUARES[1::2])
every = pytest.mark.parametrize("Estimator", LEAST_SQUARES + OTHERS)
every_regressor = pytest.mark.parametrize("Estimator", (LEAST_SQUARES + OTHERS)[1::2])
each_precision = pytest.mark.parametrize("dtype", ["float32", "float64"])


def table(Estimator, n=120, d=3):
    x = sample(n + 40, d)
    signal = np.sin(2 * x[:, 0]) + x[:, -1]
    y = np.digitize(signal, [-0.7, 0.7]) if is_classifier(Estimator()) else signal
    return x[:n], y[:n], x[n:]


def few(Estimator):
    """Few centers, and one component, for those that have them: a column of targets has no second one to share."""
    known = forms.known(Estimator)
    few = {"centres": 60, "n_components": 1}
    # If `centers` is a word, another parameter has their number.
    if isinstance(Estimator, forms.Form) and not isinstance(Estimator, forms.FormOnCenters):
        del few["centres"]
    return {name: value for name, value in few.items() if name in known and not isinstance(known[name], str)}


def made(Estimator, **options):
    """An estimator with a seed; explicit features stand for their kernel, and stopping has one name."""
    options = {"random_state": 0, "max_epochs": 2, **options}
    if "Feature" in Estimator.__name__:
        options = {"features": "nystrom", "n_features": 200, **options}
    if Estimator.__name__.startswith("KernelRidge"):
        del options["max_epochs"]
    return Estimator(**options) if isinstance(Estimator, FeatureForm) else flat(Estimator, **options)
