"""Ridge regression on features by EigenPro, made from parameters of all its parts by their plain names.

For tests that share parameters with other solvers. ``feature_eigenpro_regressor("nystrom", rank=5, n_features=100)`` is
``FeatureRidgeRegressor(NystroemFeatures(n_features=100), solver=FeatureEigenPro(rank=5))``.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from shallows import FeatureRidgeClassifier, FeatureRidgeRegressor, Options, kernels
from shallows.estimators.feature_maps.specification import TRANSFORMERS
from shallows.solvers import FeatureEigenPro

OPTIONS = tuple(item.name for item in dataclasses.fields(Options))
OF_SOLVER = tuple(item.name for item in dataclasses.fields(FeatureEigenPro))
OF_MAP = ("kernel", "bandwidth", "n_features", "n_units", "landmarks")
STOPPING = {"validation_fraction": "fraction", "n_iter_no_change": "patience"}
SAME = {"regularisation": "alpha", "step_size": "step", "step_rule": "step"}
"""Our names of parameters that other estimators have under another name."""


def paths(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters by the paths that ``set_params`` takes."""
    if given.get("kernel_params"):
        given["kernel"] = kernels.make(given.get("kernel", "gaussian"), **given["kernel_params"])
    given.pop("kernel_params", None)
    found = {}
    for key, value in given.items():
        name = SAME.get(key, key)
        if name == "step" and value is None:
            continue
        if name == "bandwidth" and value is None:
            value = "median"
        part = "options" if name in OPTIONS else "solver" if name in OF_SOLVER else "features" if name in OF_MAP else ""
        part, name = ("early_stopping", STOPPING[name]) if name in STOPPING else (part, name)
        found[f"{part}__{name}" if part else name] = value
    return found


class FeatureForm:
    """The estimator with the solver, called as a class with the parameters of all parts."""

    def __init__(self, Estimator: Any, name: str, **given: Any):
        self.Estimator, self.__name__, self.given = Estimator, name, given
        own = {item.name: item.default for item in (*dataclasses.fields(FeatureEigenPro), *dataclasses.fields(Options))}
        own |= {"kernel": "gaussian", "bandwidth": "auto", "kernel_params": None, "n_features": "auto"}
        keyword = inspect.Parameter.KEYWORD_ONLY
        more = [inspect.Parameter(key, keyword, default=value) for key, value in own.items()]
        self.__signature__ = inspect.Signature([*inspect.signature(Estimator).parameters.values(), *more])

    def __call__(self, *features: Any, **given: Any) -> Any:
        given = {**self.given, **({"features": features[0]} if features else {}), **given}
        if "calibration" not in inspect.signature(self.Estimator).parameters:
            given.pop("calibration", None)
        found, map_ = paths(given), given.get("features", "fourier")
        model = self.Estimator(solver="feature_eigenpro")
        if isinstance(map_, str) and map_ in TRANSFORMERS:
            known = TRANSFORMERS[map_]().get_params()
        elif hasattr(map_, "get_params"):
            known = map_.get_params()
        else:  # A map without parameters
            known = {}
        found = {path: value for path, value in found.items() if path[:10] != "features__" or path[10:] in known}
        return model.set_params(**found)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.Estimator, name)

    def __repr__(self) -> str:
        return self.__name__


feature_eigenpro_classifier = FeatureForm(
    FeatureRidgeClassifier, "FeatureEigenProClassifier", fit_intercept=False, calibration="auto"
)
feature_eigenpro_regressor = FeatureForm(FeatureRidgeRegressor, "FeatureEigenProRegressor")
FEATURE_FORMS = {form.__name__: form for form in (feature_eigenpro_classifier, feature_eigenpro_regressor)}
