"""Constructors of the estimators, and errors about parameter names of other libraries."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

from sklearn.base import ClassifierMixin

from ..utils.stored_parameters import stores_parameters as stores_parameters

OTHER_NAMES = {
    "gamma": ("bandwidth", "exp(−gamma ‖x − z‖²) has the bandwidth 1/√(2 gamma)"),
    "degree": ("kernel_params", "kernel='poly', kernel_params={'degree': 3}"),
    "coef0": ("kernel_params", "kernel='poly', kernel_params={'coef0': 1.0}"),
    "nu": ("kernel_params", "kernel='matern', kernel_params={'nu': 1.5}"),
    "length_scale": ("bandwidth", "a length, in the units of the features"),
    "sigma": ("bandwidth", "a length, in the units of the features"),
    "C": ("regularisation", {"sum": "which is 1/(2 C)", "mean": "which is 1/(C n) for n rows"}),
    "alpha": (
        "regularisation",
        {
            "sum": "the same number as alpha of scikit-learn's KernelRidge and Ridge",
            "mean": "the factor of ‖f‖²/2 next to the mean loss, alpha of scikit-learn's SGDClassifier",
        },
    ),
    "lam": ("regularisation", "see its description for the unit"),
    "penalty": ("regularisation", "the factor of the squared norm"),
    "max_iter": ("max_epochs", "passes over the training data"),
    "epochs": ("max_epochs", "passes over the training data"),
    "n_epochs": ("max_epochs", "passes over the training data"),
    "learning_rate": ("step_size", "a number, or None to have it chosen"),
    "lr": ("step_size", "a number, or None to have it chosen"),
    "eta0": ("step_size", "a number, or None to have it chosen"),
    "n_components": ("n_features", "how many columns the map has"),
    "n_centers": ("centres", "how many training points, or the points themselves"),
    "centers": ("centres", "how many training points, or the points themselves"),
    "random_seed": ("random_state", "an int for the same model every time"),
    "seed": ("random_state", "an int for the same model every time"),
    "n_jobs": (
        "",
        "a fit and a prediction use all threads of the BLAS; set OMP_NUM_THREADS, or use "
        "threadpoolctl.threadpool_limits",
    ),
}
"""Parameter names of other libraries: our name (empty if there is none), and how their values are related. λ has two
relations: for a sum of squared errors, and for a mean loss."""


def with_parameters(constructor: Callable[..., None], **added: Any) -> Callable[..., None]:
    """Extend a base class's constructor by keyword parameters with defaults, for classifiers and their regressors.

    Write ``__init__ = with_parameters(Base.__init__, class_weight=None)`` in the class body. The checks of the
    workflow's configuration read this line (`shallows_papers.experiments.identity.signatures`).
    """

    @functools.wraps(constructor)
    def __init__(self: Any, *args: Any, **values: Any) -> None:
        own = {name: values.pop(name, default) for name, default in added.items()}
        constructor(self, *args, **values)
        for name, value in own.items():
            setattr(self, name, value)

    signature = inspect.signature(constructor)
    further = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in added.items()]
    # scikit-learn reads the parameters of an estimator from this signature.
    __init__.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *further])
    return __init__


def refuse_other_names(estimator: type, parameters: Mapping[str, Any], error: type[Exception]) -> None:
    """Raise ``error`` with our name if a parameter has the name of another library; other unknown names pass."""
    if "probability" in parameters and issubclass(estimator, ClassifierMixin):
        advice = "predict_proba is available without it"
        if not hasattr(estimator, "predict_proba"):
            advice = "for probabilities, wrap it in sklearn.calibration.CalibratedClassifierCV"
        elif "loss" in estimator._get_param_names():
            advice += ", with loss='logistic' or loss='softmax'"
        raise error(f"{estimator.__name__} has no parameter 'probability': {advice}.")
    others = parameters.keys() & OTHER_NAMES.keys()
    known = set(estimator._get_param_names()) if others else set()
    for name in sorted(others - known):
        value = parameters[name]
        ours, meaning = OTHER_NAMES[name]
        if isinstance(meaning, dict):
            meaning = meaning["sum" if getattr(estimator, "_sums_losses", False) else "mean"]
        if ours not in known and ours:
            continue
        advice = f"use {ours} ({meaning})" if ours else str(meaning)
        if name == "gamma" and isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
            advice += f", which is bandwidth={1.0 / math.sqrt(2.0 * value):.6g} here"
            if "kernel_params" in known:
                advice += f"; or give kernel='rbf', kernel_params={{'gamma': {value!r}}}"
        raise error(f"{estimator.__name__} has no parameter {name!r}: {advice}.")
