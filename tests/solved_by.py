"""Estimators by each of their solvers, under names such as "sag: RegularizedRiskRegressor"."""

import functools

from feature_forms import FEATURE_FORMS
from flat import flat
from forms import FORMS
from shallows import estimators
from shallows.solvers import SAG
from shallows.solvers.regularized import SOLVERS

OF_RISKS = {**{name: name for name in SOLVERS}, "saga": SAG(unbiased=True)}
CLASSIFIERS = [f"{solver}: RegularizedRiskClassifier" for solver in OF_RISKS]
REGRESSORS = [f"{solver}: RegularizedRiskRegressor" for solver in OF_RISKS if solver != "pegasos"]


def constructor(name):
    """The class of a name of `estimators`, or a constructor with the solver that comes before it.

    The constructor also takes parameters of the solver, the features and the options by their plain names.
    """
    solver, _, class_name = name.rpartition(": ")
    Estimator = FEATURE_FORMS.get(class_name)
    if Estimator is None:
        Estimator = getattr(estimators, class_name) if class_name in estimators.__all__ else FORMS[class_name]
    if not solver:
        return Estimator
    needs_features = solver == "saga" or (solver in SOLVERS and SOLVERS[solver].takes == "features")
    features = {"features": "fourier"} if needs_features else {}

    def make(*kernel, **given):
        return flat(Estimator, **dict(zip(["kernel"], kernel, strict=False)), **{**features, **given})

    return functools.partial(make, solver=OF_RISKS.get(solver, solver))
