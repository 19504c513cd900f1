"""Errors about parameters with the names of other libraries or earlier versions: each says what to write instead."""

import ast
import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from sklearn.base import ClassifierMixin

from .old_names import OPTIONS, STOPPING, find_old, translate

_Function = TypeVar("_Function", bound=Callable[..., Any])

OTHER_NAMES = {
    "gamma": ("bandwidth", "exp(−gamma ‖x − z‖²) has the bandwidth 1/√(2 gamma)"),
    "degree": ("kernel", "kernel=Polynomial(degree=3)"),
    "coef0": ("kernel", "kernel=Polynomial(offset=1.0)"),
    "nu": ("kernel", "kernel=Matern(nu=1.5)"),
    "length_scale": ("bandwidth", "a length, in the units of the features"),
    "sigma": ("bandwidth", "a length, in the units of the features"),
    "kernel_params": ("kernel", "an object of shallows.kernels, such as kernel=Matern(nu=2.5)"),
    "second_kernel_params": ("second_kernel", "an object of shallows.kernels, such as second_kernel=Matern(nu=2.5)"),
    "features_params": ("features", "a transformer, such as features=FourierFeatures(n_features=500)"),
    "solver_params": ("solver", "an object of shallows.solvers, such as solver=EigenPro(rank=80)"),
    "n_features": ("features", "a transformer, such as features=FourierFeatures(n_features=500)"),
    "alpha": ("regularization", "the factor of ‖f‖²/2 next to the mean loss, alpha of scikit-learn's SGDClassifier"),
    "C": ("alpha", "which is 1/(2 C)"),
    "regularisation": ("alpha", "the same number"),
    "lam": ("alpha", "see its description for the unit"),
    "penalty": ("alpha", "the factor of the squared norm"),
    "centres": ("centers", "how many training points, or the points themselves"),
    "n_centers": ("centers", "how many training points, or the points themselves"),
    "cache_size": ("cache", "a size such as '200MB'"),
    "max_iter": ("max_epochs", "passes over the training data"),
    "epochs": ("max_epochs", "passes over the training data"),
    "n_epochs": ("max_epochs", "passes over the training data"),
    "learning_rate": ("step_size", "a number, or None to have it chosen"),
    "lr": ("step_size", "a number, or None to have it chosen"),
    "eta0": ("step_size", "a number, or None to have it chosen"),
    "step_size": ("step", "a number, a rule of shallows.solvers or its name"),
    "step_rule": ("step", "a name, a rule of shallows.solvers, or a number"),
    "n_components": ("n_features", "how many columns the map has"),
    "random_seed": ("random_state", "an int for the same model every time"),
    "seed": ("random_state", "an int for the same model every time"),
    "n_jobs": (
        "",
        "a fit and a prediction use all threads of the BLAS; set OMP_NUM_THREADS, or use "
        "threadpoolctl.threadpool_limits",
    ),
}
"""Parameter names of other libraries and earlier versions: our name (empty if there is none), and what it means."""

NEXT_TO_A_MEAN = {
    "C": ("regularization", "which is 1/(C n) for n rows"),
    **{name: ("regularization", OTHER_NAMES[name][1]) for name in ("regularisation", "lam", "penalty")},
}
"""The same for estimators whose λ is next to a mean loss."""


def refuse_other_names(
    estimator: type[Any], parameters: Mapping[str, Any], error: type[Exception], solver: Any = None
) -> None:
    """Raise ``error`` with our name if a parameter has the name of another library; other unknown names pass.

    Parameters of the solver, the options or early stopping are refused with the object that has them. ``solver`` is
    the present one of an estimator that exists already.
    """
    known = set(estimator._get_param_names())
    unknown = {name for name in parameters if "__" not in name} - known
    if not unknown:
        return
    present = {} if solver is None else {"solver": solver}
    old = find_old(estimator.__name__)
    objects, of_solver = (set(), set()) if old is None else (old.of_objects(), old.of_solver())
    for name in sorted(unknown, key=lambda name: (name not in objects, name)):
        advice = "" if name in objects else _advice(estimator, name, present | {**parameters}, known)
        least = 1 if name.endswith("_params") else 2
        if not advice and name in of_solver:
            advice, least = "it belongs to the solver", 1
        if advice:
            call = _new_call(estimator, parameters, least)
            raise error(f"{estimator.__name__} has no parameter {name!r}: {advice}.{call}")


def _new_call(estimator: type[Any], parameters: Mapping[str, Any], least: int) -> str:
    """The call as it is written now, as a sentence, if at least so many arguments of an earlier version must move."""
    known, name = set(estimator._get_param_names()), estimator.__name__
    if find_old(name) is None or len(parameters.keys() - known) < least:
        return ""
    try:
        call, _ = translate(name, {key: repr(value) for key, value in parameters.items()})
        given = ast.parse(call, mode="eval").body
    except (ValueError, SyntaxError):
        return ""  # An argument is an object without a literal, or is of no earlier version.
    right = isinstance(given, ast.Call) and {one.arg for one in given.keywords} <= known
    return f" The call is now {call}." if right else ""


def refuse_old_arguments(function: _Function) -> _Function:
    """Decorate a public function, so that arguments of an earlier version are refused with their new place."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def with_known_arguments(*args: Any, **given: Any) -> Any:
        for name in sorted(given.keys() - known.keys()):
            ours, meaning = OTHER_NAMES.get(name, ("", ""))
            advice = f"use {ours} ({meaning})" if ours in known else ""
            if name in OPTIONS:
                advice = f"it belongs to the options: options=shallows.Options({name}={given[name]!r})"
            if advice:
                raise TypeError(f"{function.__name__} has no parameter {name!r}: {advice}.")
        return function(*args, **given)

    return with_known_arguments  # type: ignore[return-value]


def _advice(estimator: type[Any], name: str, parameters: Mapping[str, Any], known: set[str]) -> str:
    value = parameters[name]
    if name == "cache_size" and isinstance(value, (int, float)):
        value = f"{value:g}MB"
    if name == "probability" and issubclass(estimator, ClassifierMixin):
        if not hasattr(estimator, "predict_proba"):
            return "for probabilities, wrap it in sklearn.calibration.CalibratedClassifierCV"
        logistic = ", with loss='logistic' or loss='softmax'" if "loss" in known else ""
        return f"predict_proba is available without it{logistic}"
    if name in OPTIONS and "options" in known:
        return f"it belongs to the options: options=shallows.Options({name}={value!r})"
    if name in STOPPING and "early_stopping" in known:
        return f"it belongs to early_stopping=shallows.EarlyStopping({STOPPING[name]}={value!r})"
    usual = (NEXT_TO_A_MEAN if "regularization" in known else {}).get(name, OTHER_NAMES.get(name, ("", "")))
    ours, meaning = getattr(estimator, "_other_names", {}).get(name, usual)
    kernel, in_units = parameters.get("kernel"), ""
    of_sums = kernel in ("laplacian", "laplace_product")
    if name == "gamma" and kernel in ("poly", "polynomial", "linear"):
        ours, meaning = "kernel", f"kernel={'Linear' if kernel == 'linear' else 'Polynomial'}(scale={value!r})"
    elif name == "gamma" and of_sums:
        meaning = "exp(−gamma ‖x − z‖₁) has the bandwidth 1/gamma"
    elif name in ("degree", "coef0", "nu") and ours == "kernel":
        meaning = f"{meaning.rpartition('=')[0]}={value!r})"
    if name == "gamma" and isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
        width = 1.0 / value if of_sums else 1.0 / math.sqrt(2.0 * value)
        in_units = f", which is bandwidth={width:.6g} here" if ours == "bandwidth" else ""
    if "kernel" not in known:
        if of_map := _features_with(estimator, name, parameters):
            return f"it belongs to the feature map: features={of_map}({name}={value!r})"
        if ours not in known and (of_map := _features_with(estimator, ours, parameters)):
            return f"use {ours} of the feature map, features={of_map}({ours}=...) ({meaning}){in_units}"
    where = _solver_with(estimator, (name, ours, *(["step"] if ours == "step_size" else [])), parameters)
    if where and ours not in known:
        cls, own = where
        named, table = parameters.get("solver"), estimator._named["solver"]
        given = table[named] if isinstance(named, str) and named in table else type(named)
        place = "the solver"
        if given in table.values() and given.__name__ != cls:
            place = f"another solver than {given.__name__}, which has none"
        return f"it belongs to {place}: solver={cls}({own}={value!r})" + ("" if own == name else f" ({meaning})")
    if not meaning or (ours and ours not in known):
        return ""
    return (f"use {ours} ({meaning})" if ours else meaning) + in_units


def _features_with(estimator: type[Any], name: str, parameters: Mapping[str, Any]) -> str:
    """The class of features that have a parameter: the named features, or the first ones; "" if none have it."""
    table = estimator._named.get("features", {})
    usual = estimator.__signature__.parameters["features"].default if table else None
    named = parameters.get("features", usual)
    for key in [named, *table] if isinstance(named, str) and named in table else [*table]:
        transformer = table[key]()
        if name in transformer.get_params(deep=False):
            return type(transformer).__name__
    return ""


def _solver_with(estimator: type[Any], names: tuple[str, ...], parameters: Mapping[str, Any]) -> tuple[str, str] | None:
    """The class of the chosen solver, or of the first one, that has one of some parameters, and the parameter."""
    table = estimator._named.get("solver", {})
    named = parameters.get("solver", estimator.__signature__.parameters["solver"].default if table else None)
    chosen = [cls for key, cls in table.items() if (isinstance(named, str) and named == key) or type(named) is cls]
    # Users who name no solver usually mean EigenPro.
    usual = sorted(table.values(), key=lambda cls: cls.__name__ not in ("EigenPro", "FeatureEigenPro"))
    for classes in (chosen, usual):
        for name in names:
            for cls in classes:
                if name in {item.name for item in fields(cls)}:
                    return cls.__name__, name
    return None
