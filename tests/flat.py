"""Estimators from parameters of themselves, their solver, features or options, all by their plain names."""

from __future__ import annotations

import inspect
from typing import Any

from shallows.utils import frozen

PARTS = {
    "options": ("device", "memory", "dtype", "max_seconds", "verbose"),
    "early_stopping": ("fraction", "patience"),
    "features": ("kernel", "bandwidth", "n_features", "n_units"),
}
SPELLINGS = {"regularisation": ("regularization", "alpha"), "centres": ("centers",)}


def paths(Estimator: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters by the paths that ``set_params`` takes."""
    known, found = inspect.signature(type(Estimator())).parameters, {}
    for name, value in given.items():
        name = next((ours for ours in SPELLINGS.get(name, ()) if ours in known), name)
        part = next((part for part, names in PARTS.items() if name in names and part in known), "solver")
        found[name if name in known or "__" in name else f"{part}__{name}"] = value
    return found


def known(Estimator: Any) -> dict[str, Any]:
    """The values of all paths of an estimator with its defaults, also inside parameters that are names."""
    if hasattr(Estimator, "if_known"):  # A form, see `forms`.
        return {name: parameter.default for name, parameter in inspect.signature(Estimator).parameters.items()}
    return _known(Estimator())


def _known(model: Any) -> dict[str, Any]:
    found = model.get_params()
    for name in inspect.signature(type(model)).parameters:
        part = getattr(model, name)
        try:
            part = model._object(name, "")
        except (TypeError, ValueError):  # "precomputed" needs a matrix
            continue
        own = part.get_params() if hasattr(part, "get_params") else frozen.parameters(part)
        found |= {f"{name}__{path}": value for path, value in own.items()}
    return found


def flat(Estimator: Any, **given: Any) -> Any:
    """``flat(KernelRidgeRegressor, solver="eigenpro", rank=5, dtype="float64")``: the estimator with all of these."""
    if hasattr(Estimator, "if_known"):  # A form, see `forms`.
        return Estimator(**given)
    model = Estimator()
    return model.set_params(**paths(type(model), given))


def flat_if_known(Estimator: Any, **given: Any) -> Any:
    """The same without the parameters that the estimator does not have."""
    if hasattr(Estimator, "if_known"):
        return Estimator.if_known(**given)
    model = Estimator()
    given, whole = paths(type(model), given), inspect.signature(type(model)).parameters
    model.set_params(**{name: value for name, value in given.items() if name in whole})
    has = _known(model)
    return model.set_params(**{path: value for path, value in given.items() if path in has and path not in whole})
