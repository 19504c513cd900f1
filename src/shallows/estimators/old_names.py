"""Estimators and parameters of versions before 0.3: an error shows the new call with the user's own arguments."""

import ast
import linecache
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import FrameType
from typing import Any

from .. import kernels
from . import ESTIMATORS

MOST_CALLS = 5
"""Calls of the user's code that an error shows."""

OPTIONS = ("device", "memory", "dtype", "max_seconds", "verbose")
"""Parameters that are in `shallows.Options` now."""

STOPPING = {"validation_fraction": "fraction", "n_iter_no_change": "patience"}
"""Parameters that are in `shallows.EarlyStopping` now."""

OF_SOLVERS = {
    "step_size": ("step_size", "step"),
    "step_rule": ("step",),
    "max_epochs": ("max_epochs", "max_iterations"),
    "max_iterations": ("max_iterations", "max_steps", "max_passes"),
    "batch_size": ("batch_size", "block_size"),
    "features": ("form",),
}
"""Present names of old parameters of solvers; a settings class has one of them."""

VALUES = {
    **{name: {"None": "'median'"} for name in ("bandwidth", "second_bandwidth", "target_bandwidth")},
    "power": {"'full'": "1.0", "'sqrt'": "0.5"},
}
"""Present texts of values, by old parameters."""

REUSE = {
    "dsg": "fresh",
    "udsg": "UniformReuse(fresh, reused)",
    "cdsg": "CheckedReuse(cap, gradient_bound, feature_variance)",
}
"""Objects that replace the old ``method`` of doubly stochastic estimators, with their parameters."""

SCHEDULES = {"theory": "TheoryStep(theta_nu)", "decay": "DecayingStep(decrease)"}


@dataclass(frozen=True)
class OldEstimator:
    """How a call of an old estimator is written now. All values are source texts."""

    name: str  # Of the new estimator
    # Settings classes by the old ``solver``, where the names differ; "" is the class of the default solver's parameters
    solvers: Mapping[str, str] = field(default_factory=dict)
    solver: str = ""  # The old default of ``solver``
    find_solver: Callable[[Mapping[str, str]], str] | None = None  # The old solver for "auto", from all arguments
    features: str | None = None  # The old default of ``features``, where it was the name of a map
    renamed: Mapping[str, str] = field(default_factory=dict)  # Old parameters of the estimator, with their new names
    reciprocal: str = ""  # Of those, one whose new value is one over the old one
    added: Mapping[str, str] = field(default_factory=dict)  # Arguments that keep old defaults, unless they are given
    # Parameters of the solver, with their old names, whose values are names or objects with old parameters
    objects: Mapping[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)
    none_is_auto: bool = True  # Whether "auto" replaces None as ``regularization``

    def of_solver(self) -> set[str]:
        """Parameters that belong to the solver now."""
        table = ESTIMATORS[self.name]._named.get("solver", {})
        own = {item.name for cls in table.values() for item in fields(cls) if item.init}
        return {*own, *(old for old, new in OF_SOLVERS.items() if own & {*new}), *self.of_objects()}

    def of_objects(self) -> set[str]:
        """The old parameters that are now objects, or parameters of these."""
        calls = [call for _, choices in self.objects.values() for call in choices.values()]
        return {*self.objects, *(name for call in calls for name in _call_parts(call)[1])}


def _call_parts(call: str) -> tuple[str, list[str]]:
    cls, _, arguments = call.partition("(")
    return cls, [part for part in arguments.rstrip(")").split(", ") if part]


def _solver_on_centers(given: Mapping[str, str]) -> str:
    """What ``solver="auto"`` of EigenPro on centers was, from the other arguments."""
    if given.keys() & {"rank", "n_subsample", "batch_size", "step_size", "damping"}:
        return "eigenpro"
    if given.get("regularisation") in ("0", "0.0"):
        return "eigenpro"
    return "auto" if "centres" in given and not given.keys() & {"max_epochs", "tol"} else "conjugate_gradients"


def _exact_solver(given: Mapping[str, str]) -> str:
    """What ``solver="auto"`` of kernel ridge regression was, if the other arguments do not need an iterative solver."""
    if given.keys() & {"tol", "max_iterations"}:
        raise ValueError("tol and max_iterations need a named solver.")
    return "auto"


def _pair(old: str, new: str, **how: Any) -> dict[str, OldEstimator]:
    return {f"{old}{kind}": OldEstimator(f"{new}{kind}", **how) for kind in ("Classifier", "Regressor")}


OLD_ESTIMATORS: dict[str, OldEstimator] = {
    **_pair("EigenPro", "KernelRidge", solver="eigenpro"),
    **_pair(
        "EigenProCentres",
        "KernelRidge",
        solvers={"eigenpro": "ProjectedEigenPro", "conjugate_gradients": "NystromConjugateGradients"},
        solver="auto",
        find_solver=_solver_on_centers,
    ),
    **_pair("KernelSGD", "KernelRidge", solver="kernel_sgd", added={"bandwidth": "'median'", "n_components": "None"}),
    **_pair(
        "KernelRidge",
        "KernelRidge",
        solvers={"block_coordinate_descent": "BlockDescent"},
        solver="auto",
        find_solver=_exact_solver,
    ),
    **_pair(
        "FeatureRidge",
        "FeatureRidge",
        solvers={
            **dict.fromkeys(("", "direct"), "NormalEquations"),
            "block_coordinate_descent": "FeatureBlockDescent",
        },
        features="fourier",
    ),
    **_pair(
        "FeatureEigenPro",
        "FeatureRidge",
        solver="feature_eigenpro",
        features="fourier",
        added={"fit_intercept": "False", "calibration": "'auto'"},
    ),
    **_pair("RandomKitchenSinks", "RandomKitchenSinks", features="hidden_units", renamed={"C": "bound"}),
    "FeatureGaussianProcessRegressor": OldEstimator("FeatureGaussianProcessRegressor", features="nystrom"),
    **_pair(
        "RegularisedRisk",
        "RegularizedRisk",
        solvers={"saga": "SAG(unbiased=True)"},
        features="",
        none_is_auto=False,
    ),
    **{
        name: OldEstimator(
            name, solver="auto", objects={"schedule": ("schedule", SCHEDULES), "method": ("reuse", REUSE)}
        )
        for name in ("DoublyStochasticClassifier", "DoublyStochasticRegressor", "DoublyStochasticNoveltyDetector")
    },
    "LASVMClassifier": OldEstimator("KernelSVMClassifier", solver="lasvm"),
    "KernelSVMClassifier": OldEstimator("KernelSVMClassifier", {"newton": "KernelNewton"}),
    "LinearSVMClassifier": OldEstimator(
        "LinearSVMClassifier",
        {
            "newton": "PrimalNewton",
            "bmrm": "CuttingPlanes(line_search=False)",
            "ocas": "CuttingPlanes",
            "pegasos": "LinearPegasos",
        },
    ),
    "FeatureKernelPCA": OldEstimator(
        "FeatureKernelPCA",
        {"oja": "FeatureOja", "vr": "VRPCA", "power": "NoisyPowerMethod", "msg": "MatrixStochasticGradient"},
        features="nystrom",
    ),
    "ExtremeLearningMachineAutoencoder": OldEstimator(
        "ExtremeLearningMachineAutoencoder", renamed={"C": "alpha"}, reciprocal="C"
    ),
}
"""Old estimators by their names. Estimators that are not here have changed their options and kernels at most."""


def find_old(name: str) -> OldEstimator | None:
    """What an estimator of an earlier version is now; None for other names."""
    return OLD_ESTIMATORS.get(name) or (OldEstimator(name) if name in ESTIMATORS else None)


def translate(name: str, given: Mapping[str, str]) -> tuple[str, set[str]]:
    """The new call for the arguments of an old estimator, all as source texts, and the classes that it needs.

    Raises a ValueError if an argument cannot be translated because it is no literal.
    """
    old = OLD_ESTIMATORS.get(name) or OldEstimator(name)
    estimator = ESTIMATORS[old.name]
    known = estimator.__signature__.parameters
    rest = {name: VALUES.get(name, {}).get(text, text) for name, text in given.items()}
    call: dict[str, str] = {}
    used: set[str] = set()

    def make(cls: str, parameters: Mapping[str, str]) -> str:
        cls, fixed = _call_parts(cls)
        used.add(cls)
        return f"{cls}({', '.join([*fixed, *(f'{name}={text}' for name, text in parameters.items())])})"

    def replace_kernel(parameters: dict[str, str], prefix: str = "") -> None:
        own = _dictionary(parameters.pop(f"{prefix}kernel_params", "None"))
        if own:
            kernel = _name(parameters.get(f"{prefix}kernel", "'gaussian'"))
            if kernel not in (*kernels.KERNELS, "poly"):
                raise ValueError(f"kernel_params of {kernel} cannot be translated.")
            own = {{"gamma": "scale", "coef0": "offset"}.get(name, name): text for name, text in own.items()}
            parameters[f"{prefix}kernel"] = make(type(kernels.make(kernel)).__name__, own)

    if old.features is not None and rest.get("features", repr(old.features)) in ("''", "None"):
        rest = {name: text for name, text in rest.items() if name not in ("n_features", "features_params")}
    elif old.features is not None:
        named, table = _name(rest.get("features", repr(old.features))), estimator._named["features"]
        transformer = table[named if named in table else "fourier"]()
        own = _dictionary(rest.pop("features_params", "None"))
        of_map = {*transformer.get_params(deep=False), "kernel_params"} - known.keys()
        own |= {name: rest.pop(name) for name in [*rest] if name in of_map}
        own = {name: VALUES.get(name, {}).get(text, text) for name, text in own.items()}
        replace_kernel(own)
        if own and named not in table:
            raise ValueError(f"features={rest.get('features')} cannot be translated.")
        if own:
            rest["features"] = make(repr(transformer).replace("()", ""), own)
    replace_kernel(rest)
    replace_kernel(rest, "second_")
    for name, (now, choices) in old.objects.items():
        text, calls = rest.pop(name, ""), {key: _call_parts(choice) for key, choice in choices.items()}
        values = {key: {own: rest.pop(own) for own in parts if own in rest} for key, (_, parts) in calls.items()}
        named = _name(text) if text else next((key for key, own in values.items() if own), "")
        if named in calls:
            cls, parts = calls[named]
            text = make(cls, values[named]) if parts else repr(cls)
        if text:
            rest[now] = text
    options = {name: rest.pop(name) for name in OPTIONS if name in rest}
    stopping = {now: rest.pop(name) for name, now in STOPPING.items() if name in rest}
    if table := estimator._named.get("solver", {}):
        solvers = {**{name: cls.__name__ for name, cls in table.items()}, **old.solvers}
        if known["solver"].default in table:
            solvers = {"": table[known["solver"].default].__name__} | solvers
        text = rest.pop("solver", repr(old.solver))
        named, own = _name(text), _dictionary(rest.pop("solver_params", "None"))
        if not named and text != repr(old.solver):
            raise ValueError(f"solver={text} cannot be translated.")
        if named == "auto" and old.find_solver is not None:
            named = old.find_solver({**rest, **own})
            text = repr(named)
        of_solver = old.of_solver() - known.keys()
        own |= {name: rest.pop(name) for name in [*rest] if name in of_solver}
        if named not in solvers and named != "auto" and (own or text != repr(old.solver)):
            raise ValueError(f"solver={text} cannot be translated.")
        cls = solvers.get(named, "")
        if own and not cls:
            raise ValueError(f"{', '.join(own)} need a named solver.")
        if cls:
            name = next(name for name in table if table[name].__name__ == _call_parts(cls)[0])
            own = _present(own, table[name], make)
            text = repr(name) if named not in ("", "auto") else ""
        if own or cls.endswith(")"):
            call["solver"] = make(cls, own)
        elif text not in ("", "''") and (named != "auto" or "solver" in given):
            call["solver"] = text
    for name, text in rest.items():
        now = old.renamed.get(name, {"centres": "centers"}.get(name, name))
        if name == "regularisation":
            now = next((own for own in ("alpha", "regularization") if own in known), name)
            text = "'auto'" if now == "regularization" and text == "None" and old.none_is_auto else text
        if name == old.reciprocal:
            number = ast.parse(text, mode="eval").body
            is_number = isinstance(number, ast.Constant) and isinstance(number.value, (int, float)) and number.value
            text = repr(1.0 / number.value) if is_number else f"1 / {text}"  # type: ignore[attr-defined]
        if name != "calibration" or name in known:
            call[now] = text
    if stopping:
        if call.get("early_stopping") == "True":
            call["early_stopping"] = make("EarlyStopping", stopping)
        elif call.get("early_stopping", "False") != "False":
            raise ValueError("early_stopping is no literal.")
    call |= {name: text for name, text in old.added.items() if name in known and name not in call}
    if options:
        call["options"] = make("Options", options)
    return f"{old.name}({', '.join(f'{name}={text}' for name, text in call.items())})", used


def _present(own: Mapping[str, str], cls: type[Any], make: Callable[..., str]) -> dict[str, str]:
    """Old parameters of a solver with their present names; parameters that its class does not have are left out."""
    known = {item.name: item for item in fields(cls) if item.init}
    found: dict[str, str] = {}
    for name, text in own.items():
        now = next((new for new in OF_SOLVERS.get(name, (name,)) if new in known), "")
        if now == "step" and (text == "None" or (name == "step_rule" and own.get("step_size", "None") != "None")):
            continue
        if now == "step" and text.startswith("{"):
            ((rule, parameters),) = _dictionary(text).items()
            classes = known[now].metadata["rule"].classes
            if rule not in classes:
                raise ValueError(f"{name}={text} cannot be translated.")
            text = make(classes[rule].__name__, _dictionary(parameters))
        if now:
            found[now] = text
    return found


def _name(text: str) -> str:
    """The value of a text that is a string literal; "" for other texts."""
    tree = ast.parse(text, mode="eval").body
    return tree.value if isinstance(tree, ast.Constant) and isinstance(tree.value, str) else ""


def _dictionary(text: str) -> dict[str, str]:
    """The texts of the values of a dictionary; None is an empty one."""
    tree = ast.parse(text, mode="eval").body
    if isinstance(tree, ast.Constant) and tree.value is None:
        return {}
    if not isinstance(tree, ast.Dict) or not all(isinstance(key, ast.Constant) for key in tree.keys):
        raise ValueError(f"{text} is no dictionary with known keys.")
    return {ast.literal_eval(key): ast.unparse(value) for key, value in zip(tree.keys, tree.values, strict=True) if key}


def replacement(name: str) -> str:
    """A message that shows what replaces an old estimator, with the calls of it in the code that asks for it."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("importlib", "shallows"):
        frame = frame.f_back
    lines = [f"{name} is now {translate(name, {})[0]}."]
    for number, call in _calls_of(name, frame):
        given = {word.arg: ast.unparse(word.value) for word in call.keywords if word.arg}
        try:
            now, classes = translate(name, given)
        except ValueError:
            continue
        needs = f" It needs {', '.join(sorted(classes))}." if classes else ""
        lines.append(f"Line {number}: {ast.unparse(call)} is now {now}.{needs}")
    return "\n".join(lines[: 1 + MOST_CALLS])


class MovedAttribute:
    """An attribute of an earlier version: the error says where its value is now."""

    def __init__(self, place: str):
        self.place = place

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: type[Any]) -> Any:
        raise AttributeError(f"{owner.__name__} has no attribute {self.name!r}: it is {self.place} now.")


def _calls_of(name: str, frame: FrameType | None) -> list[tuple[int, ast.Call]]:
    """Line and call of each call of a name in the source of a frame, the present line first."""
    if frame is None:
        return []
    linecache.checkcache(frame.f_code.co_filename)
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    if frame.f_code.co_filename == "<string>" and "-c" in sys.orig_argv[:-1]:
        source = sys.orig_argv[sys.orig_argv.index("-c") + 1]
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    names = {name, f"shallows.{name}"}
    found = [item for item in ast.walk(tree) if isinstance(item, ast.Call) and ast.unparse(item.func) in names]
    line = frame.f_lineno
    return [(item.lineno, item) for item in sorted(found, key=lambda item: (item.lineno != line, item.lineno))]
