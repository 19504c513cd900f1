"""Every estimator in a small and quick form, for the tests of what is promised about input."""

import scipy.sparse

import flat
import shallows
from bad_input_example import few
from solved_by import constructor

EVERY = sorted(shallows.estimators.__all__)
WITH_STREAMS = [name for name in [*EVERY, "lasvm: KernelSVMClassifier"] if hasattr(constructor(name)(), "partial_fit")]
METHODS = ("predict", "predict_proba", "decision_function", "score_samples", "transform")


def unfitted(name, **options):
    Estimator = constructor(name)
    known = flat.known(Estimator)
    small = {"max_epochs": 2, "n_iter": 20, "n_features": 20, "n_units": 20, "block_size": 8, "max_features": 64}
    small |= few(Estimator)
    if {"n_iter", "solver__n_iter"} & known.keys():
        del small["max_epochs"]
    return flat.flat_if_known(Estimator, **{"random_state": 0, **small, **options})


def targets(name, X):
    return (X[:, 0] > 0).astype(int) if name.endswith("Classifier") else X[:, 0] + X[:, 1]


def outputs(model, new):
    made = [getattr(model, method)(new) for method in METHODS if hasattr(model, method)]
    return [one.toarray() if scipy.sparse.issparse(one) else one for one in made]
