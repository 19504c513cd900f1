"""Estimators with a solver, made from parameters of the estimator, the solver and the options by their plain names.

For tests that go through several solvers, or that share parameters. ``eigenpro_regressor(rank=5, dtype="float64")`` is
``KernelRidgeRegressor(solver=EigenPro(rank=5), options=Options(dtype="float64"))``.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import shallows
from flat import flat, paths
from shallows import KernelRidgeClassifier, KernelRidgeRegressor, Options, kernels

LIMITS = ("max_epochs", "max_iterations")
SAME = {
    "regularisation": "alpha",
    "centres": "centers",
    "step_size": "step",
    "step_rule": "step",
    "validation_fraction": "fraction",
    "n_iter_no_change": "patience",
}
"""Our names of parameters that estimators of other families have under another name, for tests of several families."""
OF_STEPS = frozenset({"rank", "n_subsample", "batch_size", "step", "damping"})


def solver_class(Estimator: Any, solver: Any) -> Any:
    """The class of a solver's settings, None for "auto"."""
    if isinstance(solver, str):
        return Estimator._named.get("solver", {}).get(solver)
    return type(solver)


def with_our_names(known: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters with our names."""
    given = {key: value for key, value in given.items() if key != "calibration" or key in known}
    given |= given.pop("solver_params", None) or {}
    if given.get("bandwidth", "") is None:
        given["bandwidth"] = "median"
    if given.get("kernel_params") and given.get("kernel") != "precomputed":
        given["kernel"] = kernels.make(given.get("kernel", "gaussian"), **given["kernel_params"])
    given.pop("kernel_params", None)
    if getattr(given.get("kernel"), "bandwidth", None) is not None and given.get("bandwidth") == "median":
        del given["bandwidth"]  # which the form sets, and a kernel object has its own
    given = {key: value for key, value in given.items() if not (key == "step_size" and value is None)}
    return {SAME.get(key, key) if SAME.get(key) not in given else key: value for key, value in given.items()}


def ridge(Estimator: Any, *kernel: Any, **given: Any) -> Any:
    """``ridge(KernelRidgeRegressor, solver="eigenpro", rank=5, dtype="float64")``: the estimator with all of these.

    ``max_epochs`` and ``max_iterations`` are the limit of any solver. A direct solver has no tolerance and no limit.
    """
    given |= {"kernel": kernel[0]} if kernel else {}
    given = with_our_names(inspect.signature(Estimator).parameters, given)
    cls = solver_class(Estimator, given.get("solver", "auto"))
    if cls is None or getattr(cls, "is_direct", False):
        given = {name: value for name, value in given.items() if name not in (*LIMITS, "tol")}
    limit = getattr(cls, "limit", "max_epochs")
    return flat(Estimator, **{limit if name in LIMITS else name: value for name, value in given.items()})


class Form:
    """An estimator with a solver, called as a class with the parameters of both."""

    def __init__(self, Estimator: Any, name: str, **given: Any):
        self.Estimator, self.__name__, self.given = Estimator, name, given
        cls = solver_class(Estimator, given.get("solver", "auto"))
        fields = dataclasses.fields(cls) if cls else ()
        parameters = [*inspect.signature(Estimator).parameters.values()]
        names = {parameter.name for parameter in parameters}
        more = {item.name: item.default for item in (*fields, *dataclasses.fields(Options))}
        more |= {"max_epochs": 20} if cls and not getattr(cls, "is_exact", False) else {}
        more |= {other: None for other, ours in SAME.items() if ours in names | more.keys()}
        more |= {"kernel_params": None}
        own = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=value) for key, value in more.items()]
        self.__signature__ = inspect.Signature([*parameters, *own])

    def __call__(self, *kernel: Any, **given: Any) -> Any:
        return ridge(self.Estimator, *kernel, **{**self.given, **given})

    def if_known(self, **given: Any) -> Any:
        """The estimator without the parameters that it does not have."""
        return self(**{key: value for key, value in given.items() if key in inspect.signature(self).parameters})

    def __getattr__(self, name: str) -> Any:
        return getattr(self.Estimator, name)

    def __repr__(self) -> str:
        return self.__name__


class FormOnCenters(Form):
    """A form on centers: EigenPro's steps if one of their parameters is given or λ is 0, else conjugate gradients."""

    def __call__(self, *kernel: Any, **given: Any) -> Any:
        given |= {"kernel": kernel[0]} if kernel else {}
        given = with_our_names(inspect.signature(self.Estimator).parameters, given)
        steps = "solver" not in given and (OF_STEPS & given.keys() or given.get("alpha") == 0)
        return super().__call__(**({"solver": "projected_eigenpro"} if steps else {}), **given)


def known(Estimator: Any) -> dict[str, Any]:
    """The parameters of a form, or of a class, with their defaults."""
    if hasattr(Estimator, "given"):  # Also of `feature_forms`.
        return {key: parameter.default for key, parameter in inspect.signature(Estimator).parameters.items()}
    return Estimator().get_params()


def changed(model: Any, **given: Any) -> Any:
    """``set_params`` by plain names."""
    Estimator = type(model)
    limit = getattr(solver_class(Estimator, model.solver), "limit", "max_epochs") if hasattr(model, "solver") else ""
    given = {limit if name in LIMITS and limit else name: value for name, value in given.items()}
    return model.set_params(**paths(Estimator, given))


def unfitted(name: str, **given: Any) -> Any:
    """An estimator by the name of a form or of a class."""
    return FORMS[name](**given) if name in FORMS else flat(getattr(shallows.estimators, name), **given)


eigenpro_classifier = Form(KernelRidgeClassifier, "EigenProClassifier", solver="eigenpro")
eigenpro_regressor = Form(KernelRidgeRegressor, "EigenProRegressor", solver="eigenpro")
centers_classifier = FormOnCenters(
    KernelRidgeClassifier, "EigenProCentersClassifier", solver="nystrom_conjugate_gradients"
)
centers_regressor = FormOnCenters(
    KernelRidgeRegressor, "EigenProCentersRegressor", solver="nystrom_conjugate_gradients"
)
_SGD: dict[str, Any] = {"solver": "kernel_sgd", "bandwidth": "median", "n_components": None}
kernel_sgd_classifier = Form(KernelRidgeClassifier, "KernelSGDClassifier", **_SGD)
kernel_sgd_regressor = Form(KernelRidgeRegressor, "KernelSGDRegressor", **_SGD)
kernel_ridge_classifier = Form(KernelRidgeClassifier, "KernelRidgeClassifier")
kernel_ridge_regressor = Form(KernelRidgeRegressor, "KernelRidgeRegressor")
FORMS = {
    form.__name__: form
    for form in (
        *(eigenpro_classifier, eigenpro_regressor, centers_classifier, centers_regressor),
        *(kernel_sgd_classifier, kernel_sgd_regressor, kernel_ridge_classifier, kernel_ridge_regressor),
    )
}
