"""Estimators by each of their solvers, under names such as "sag: RegularisedRiskRegressor"."""

from __future__ import annotations

import functools

import shallows
from feature_forms import FEATURE_FORMS
from shallows.solvers.regularised import SOLVERS

CLASSIFIERS = [f"{solver}: RegularisedRiskClassifier" for solver in SOLVERS]
REGRESSORS = [f"{solver}: RegularisedRiskRegressor" for solver in SOLVERS if solver != "pegasos"]


def constructor(name):
    """The class of a name of `shallows.estimators`, or a constructor with the solver that comes before it."""
    solver, _, class_name = name.rpartition(": ")
    Estimator = FEATURE_FORMS.get(class_name) or getattr(shallows, class_name)
    if not solver:
        return Estimator
    needs_features = solver in SOLVERS and SOLVERS[solver].takes == "features"
    features = {"features": "fourier"} if needs_features else {}
    return functools.partial(Estimator, solver=solver, **features)
