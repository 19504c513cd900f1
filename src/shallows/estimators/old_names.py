"""Estimators and parameters of versions before 0.3: an error shows the new call with the user's own arguments."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

MOST_CALLS = 5
"""Calls of the user's code that an error shows."""

OPTIONS = ("device", "memory", "dtype", "max_seconds", "verbose")
"""Parameters that are in `shallows.Options` now."""

STOPPING = {"validation_fraction": "fraction", "n_iter_no_change": "patience"}
"""Parameters that are in `shallows.EarlyStopping` now."""

KERNELS = {
    "gaussian": "Gaussian",
    "laplace": "Laplace",
    "cauchy": "Cauchy",
    "matern": "Matern",
    "laplace_product": "LaplaceProduct",
    "cauchy_product": "CauchyProduct",
    "polynomial": "Polynomial",
    "poly": "Polynomial",
    "linear": "Linear",
    "exponential": "Exponential",
    "arc_cosine": "ArcCosine",
    "heat_circle": "HeatCircle",
}
"""Classes of kernels by their names."""

STEP_RULES = {
    "certified": "Certified",
    "exact": "Exact",
    "paper": "Paper",
    "release2017": "Release2017",
    "release2019": "Release2019",
    "theorem": "Theorem",
}
"""Classes of step rules by their names."""

VALUES = {name: {"None": "'median'"} for name in ("bandwidth", "second_bandwidth", "target_bandwidth")}
"""New texts of values, by old parameters of all estimators."""


@dataclass(frozen=True)
class OldEstimator:
    """How a call of an old estimator is written now. All values are source texts."""

    name: str  # Of the new estimator
    # Settings classes by the old ``solver`` or ``method``; "" is the class of the default solver's parameters
    solvers: Mapping[str, str] = field(default_factory=dict)
    chosen_by: str = "solver"  # The old parameter that names the solver
    solver: str = ""  # The name that is taken if the parameter is not given; "" leaves the default
    of_solver: Mapping[str, str] = field(default_factory=dict)  # Old parameters of the solver, with their new names
    ignored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # Of those, what settings classes do not have
    # New names of those that a settings class has under another name
    differing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    find_solver: Callable[[Mapping[str, str]], str] | None = None  # The old solver for "auto", from all arguments
    renamed: Mapping[str, str] = field(default_factory=dict)  # Old parameters of the estimator, with their new names
    of_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # Other new names in a settings class
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # New texts of values, by old parameters
    added: Mapping[str, str] = field(default_factory=dict)  # Arguments that keep old defaults, unless they are given
    maps: Mapping[str, str] = field(default_factory=dict)  # Transformers by the old ``features``
    of_map: tuple[str, ...] = ()  # Old parameters of the map
    # Parameters of the solver whose values are names, or objects with old parameters, such as "TheoryStep(theta_nu)"
    objects: Mapping[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)

    def of_objects(self) -> set[str]:
        """The old parameters that are now objects, or parameters of these."""
        calls = [call for _, choices in self.objects.values() for call in choices.values()]
        return {*self.objects, *(part for call in calls for part in call.rstrip(")").partition("(")[2].split(", "))}

    reciprocal: tuple[str, ...] = ()  # Old parameters, also in ``renamed``, whose new value is one over the old one


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


_RIDGE = {"regularisation": "alpha", "centres": "centers"}
_STEPS = {"step_size": "step", "step_rule": "step", "max_epochs": "max_epochs", "tol": "tol"}
_POWERS = {"power": {"'full'": "1.0", '"full"': "1.0", "'sqrt'": "0.5", '"sqrt"': "0.5"}}
_OF_EIGENPRO = ("rank", "n_subsample", "eigensystem", "damping", "power", "preconditioner", "batch_size", "shuffle")


def _kernel_ridge(kind: str) -> dict[str, OldEstimator]:
    """Estimators that became solvers of `KernelRidgeClassifier` or `KernelRidgeRegressor`."""
    name, renamed = f"KernelRidge{kind}", _RIDGE | ({"calibration": ""} if kind == "Regressor" else {})
    return {
        f"EigenPro{kind}": OldEstimator(
            name,
            solvers={"eigenpro": "EigenPro"},
            solver="eigenpro",
            of_solver={**{own: own for own in (*_OF_EIGENPRO, "precision")}, **_STEPS},
            renamed=renamed,
            values=_POWERS,
        ),
        f"EigenProCentres{kind}": OldEstimator(
            name,
            solvers={"eigenpro": "ProjectedEigenPro", "conjugate_gradients": "NystromConjugateGradients"},
            solver="auto",
            of_solver={**{own: own for own in ("rank", "n_subsample", "batch_size", "damping")}, **_STEPS},
            differing={"NystromConjugateGradients": {"max_epochs": "max_iterations"}},
            find_solver=_solver_on_centers,
            renamed=renamed,
        ),
        f"KernelSGD{kind}": OldEstimator(
            name,
            solvers={"kernel_sgd": "KernelSGD"},
            solver="kernel_sgd",
            of_solver={"batch_size": "batch_size", "shuffle": "shuffle", **_STEPS},
            renamed=renamed,
            added={"bandwidth": "'median'", "n_components": "None"},
        ),
        f"KernelRidge{kind}": OldEstimator(
            name,
            solvers={
                "cholesky": "Cholesky",
                "conjugate_gradients": "ConjugateGradients",
                "block_coordinate_descent": "BlockDescent",
            },
            solver="auto",
            of_solver={"tol": "tol", "max_iterations": "max_iterations"},
            differing={"BlockDescent": {"max_iterations": "max_passes", "batch_size": "block_size"}},
            ignored={"Cholesky": ("tol", "max_iterations")},
            find_solver=_exact_solver,
            renamed=renamed,
        ),
    }


_OF_COMPONENTS = (
    "step_size", "decrease", "block_size", "max_features", "batch_size", "orthogonal", "n_iter", "max_epochs",
)  # fmt: skip
"""Old parameters of components with growing features."""

_DOUBLY_STOCHASTIC: dict[str, Any] = {
    "solvers": {"auto": "DoublyStochastic"},
    "solver": "auto",
    "of_solver": {
        "features": "form",
        **{name: name for name in ("schedule", "step_size", "reuse", "preconditioning", "damping", "block_size")},
        **{name: name for name in ("batch_size", "orthogonal", "keep_values", "n_iter", "max_epochs")},
    },
    "renamed": {"regularisation": "regularization"},
    "objects": {
        "schedule": ("schedule", {"theory": "TheoryStep(theta_nu)", "decay": "DecayingStep(decrease)"}),
        "method": (
            "reuse",
            {
                "dsg": "fresh",
                "udsg": "UniformReuse(fresh, reused)",
                "cdsg": "CheckedReuse(cap, gradient_bound, feature_variance)",
            },
        ),
    },
    "values": {"regularisation": {"None": "'auto'"}},
}

OLD_ESTIMATORS: dict[str, OldEstimator] = {
    **_kernel_ridge("Classifier"),
    **_kernel_ridge("Regressor"),
    **{
        name: OldEstimator(name, **_DOUBLY_STOCHASTIC)
        for name in ("DoublyStochasticClassifier", "DoublyStochasticRegressor", "DoublyStochasticNoveltyDetector")
    },
    **{
        name: OldEstimator(name)
        for name in (
            "Fastfood",
            "FourierFeatures",
            "HiddenUnits",
            "NystroemFeatures",
            "PolynomialFeatures",
            "QuasiMonteCarloFeatures",
            "RBFNetwork",
            "RandomBinning",
            "SemiRandomFeatures",
            "TensorSketch",
        )
    },
    "ExtremeLearningMachineAutoencoder": OldEstimator(
        "ExtremeLearningMachineAutoencoder", renamed={"C": "alpha"}, reciprocal=("C",)
    ),
    "SparseRandomFeatures": OldEstimator("SparseRandomFeatures", renamed={"regularisation": "regularization"}),
    "AMMClassifier": OldEstimator(
        "AMMClassifier",
        renamed={"regularisation": "regularization"},
        values={"regularisation": {"None": "'auto'"}},
    ),
    "BudgetedSVMClassifier": OldEstimator(
        "BudgetedSVMClassifier",
        renamed={"regularisation": "regularization"},
        values={"regularisation": {"None": "'auto'"}},
    ),
    "CoreVectorMachineClassifier": OldEstimator("CoreVectorMachineClassifier"),
    "CoreVectorMachineRegressor": OldEstimator(
        "CoreVectorMachineRegressor", renamed={"regularisation": "regularization"}
    ),
    "KernelSVMClassifier": OldEstimator(
        "KernelSVMClassifier",
        solvers={
            "": "SMO",
            "smo": "SMO",
            "decomposition": "Decomposition",
            "interior_point": "InteriorPoint",
            "newton": "KernelNewton",
        },
        of_solver={"tol": "tol", "max_iterations": "max_steps"},
        differing={cls: {"max_steps": "max_iterations"} for cls in ("InteriorPoint", "KernelNewton")},
    ),
    "LASVMClassifier": OldEstimator(
        "KernelSVMClassifier",
        solvers={"lasvm": "LASVM"},
        solver="lasvm",
        of_solver={"max_epochs": "max_epochs", "finish": "finish", "tol": "tol", "max_iterations": "max_steps"},
    ),
    "LowRankLinearizedSVMClassifier": OldEstimator("LowRankLinearizedSVMClassifier"),
    "LinearSVMClassifier": OldEstimator(
        "LinearSVMClassifier",
        solvers={
            "": "DualCoordinateDescent",
            "dual_coordinate_descent": "DualCoordinateDescent",
            "newton": "PrimalNewton",
            "lbfgs": "LBFGS",
            "bmrm": "CuttingPlanes(line_search=False)",
            "ocas": "CuttingPlanes",
            "pegasos": "LinearPegasos",
            "svm_sgd": "SVMSGD",
            "folos": "FOLOS",
            "sarah": "SARAH",
        },
        of_solver={name: name for name in ("batch_size", "projection", "averaging", "sampling", "max_epochs", "tol")},
        ignored={
            **dict.fromkeys(
                ("DualCoordinateDescent", "PrimalNewton", "LBFGS", "CuttingPlanes"),
                ("batch_size", "projection", "averaging", "sampling"),
            ),
            "LinearPegasos": ("tol",),
            "FOLOS": ("tol", "projection"),
            "SVMSGD": ("tol", "batch_size", "projection"),
            "SARAH": ("tol", "batch_size", "projection", "averaging", "sampling"),
        },
        renamed={"regularisation": "regularization"},
        values={"regularisation": {"None": "'auto'"}},
    ),
    **{
        name: OldEstimator(name, {"": solver}, of_solver={one: one for one in (*own.split(), *_OF_COMPONENTS)})
        for name, solver, own in (
            ("DoublyStochasticKernelPCA", "Oja", "method scaling"),
            ("DoublyStochasticKernelSVD", "TwoViewSVD", "scaling"),
            ("DoublyStochasticKernelCCA", "TwoViewCCA", "method"),
            ("KernelSlicedInverseRegression", "TwoViewCCA", "method"),
        )
    },
    "FeatureKernelPCA": OldEstimator(
        "FeatureKernelPCA",
        solvers={
            "": "FeatureOja",
            "oja": "FeatureOja",
            "vr": "VRPCA",
            "power": "NoisyPowerMethod",
            "msg": "MatrixStochasticGradient",
        },
        of_solver={name: name for name in ("batch_size", "n_iter", "max_epochs")},
        maps={"nystrom": "NystroemFeatures", "fourier": "FourierFeatures"},
        of_map=("kernel", "kernel_params", "bandwidth", "n_features"),
    ),
    **{
        name: OldEstimator(
            name.replace("Regularised", "Regularized"),
            solvers={
                "": "SDCA",
                "sdca": "SDCA",
                "pegasos": "Pegasos",
                "norma": "NORMA",
                "sag": "SAG",
                "saga": "SAG(unbiased=True)",
                "svrg": "SVRG",
            },
            of_solver={name: name for name in ("batch_size", "max_epochs", "tol")},
            renamed={"regularisation": "regularization"},
            maps={
                "": "",
                "fourier": "FourierFeatures",
                "fourier_cosine": "FourierFeatures(form='cosine')",
                "orthogonal": "FourierFeatures(orthogonal=True)",
                "nystrom": "NystroemFeatures",
                "nystrom_kmeans": "NystroemFeatures(landmarks='kmeans')",
                "rbf": "RBFNetwork",
                "rbf_kmeans": "RBFNetwork(landmarks='kmeans')",
            },
            of_map=("n_features",),
        )
        for name in ("RegularisedRiskClassifier", "RegularisedRiskRegressor")
    },
}
"""Old estimators by their names."""


_MAPS = {
    "fourier": "FourierFeatures",
    "fourier_cosine": "FourierFeatures(form='cosine')",
    "orthogonal": "FourierFeatures(orthogonal=True)",
    "fastfood": "Fastfood",
    "quasi_monte_carlo": "QuasiMonteCarloFeatures",
    "binning": "RandomBinning",
    "nystrom": "NystroemFeatures",
    "nystrom_kmeans": "NystroemFeatures(landmarks='kmeans')",
    "nystrom_leverage": "NystroemFeatures(landmarks='leverage')",
    "nystrom_pivoted": "NystroemFeatures(landmarks='pivoted')",
    "nystrom_randomly_pivoted": "NystroemFeatures(landmarks='randomly_pivoted')",
    "rbf": "RBFNetwork",
    "rbf_kmeans": "RBFNetwork(landmarks='kmeans')",
    "polynomial": "PolynomialFeatures",
    "tensor_sketch": "TensorSketch",
    "hidden_units": "HiddenUnits",
    "semi_random": "SemiRandomFeatures",
}
_OF_MAP = ("kernel", "bandwidth", "kernel_params", "n_features")
_FEATURE_EIGENPRO = ("rank", "n_subsample", "eigensystem", "damping", "power", "batch_size", "max_epochs", "tol")

for _kind, _dropped in (("Classifier", {}), ("Regressor", {"calibration": ""})):
    OLD_ESTIMATORS |= {
        f"FeatureRidge{_kind}": OldEstimator(
            f"FeatureRidge{_kind}",
            {"": "NormalEquations", "direct": "NormalEquations", "block_coordinate_descent": "FeatureBlockDescent"},
            of_solver={"tol": "tol", "max_iterations": "max_iterations"},
            of_settings={"FeatureBlockDescent": {"max_iterations": "max_passes"}},
            renamed={"regularisation": "alpha"},
            maps=_MAPS,
        ),
        f"FeatureEigenPro{_kind}": OldEstimator(
            f"FeatureRidge{_kind}",
            {"feature_eigenpro": "FeatureEigenPro"},
            solver="feature_eigenpro",
            of_solver={**{name: name for name in _FEATURE_EIGENPRO}, "step_size": "step", "step_rule": "step"},
            renamed={"regularisation": "alpha", **_dropped},
            values={"power": {"'full'": "1.0", '"full"': "1.0", "'sqrt'": "0.5", '"sqrt"': "0.5"}},
            added={} if _dropped else {"fit_intercept": "False", "calibration": "'auto'"},
            maps=_MAPS,
            of_map=_OF_MAP,
        ),
        f"RandomKitchenSinks{_kind}": OldEstimator(
            f"RandomKitchenSinks{_kind}",
            renamed={"C": "bound"},
            maps={"hidden_units": "HiddenUnits(activation='cosine')"},
            of_map=("activation", "n_units", "bandwidth"),
        ),
    }
OLD_ESTIMATORS["FeatureGaussianProcessRegressor"] = OldEstimator(
    "FeatureGaussianProcessRegressor",
    maps={name: cls for name, cls in (("nystrom", _MAPS["nystrom"]), *_MAPS.items()) if "Fe" in cls},
    of_map=_OF_MAP,
)


def name_of_solver(cls: str) -> str:
    """The name of a solver's settings class, such as "kernel_sgd" for "KernelSGD"."""
    for whole, parts in {"EigenPro": "Eigenpro", "SVMSGD": "SvmSGD", "VRPCA": "VrPCA"}.items():
        cls = cls.replace(whole, parts)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls).lower()


def translate(old: OldEstimator, given: Mapping[str, str], new: str = "") -> tuple[str, set[str]]:
    """The new call for the arguments of an old one, all as source texts, and the classes that it needs.

    Parameters
    ----------
    old : OldEstimator
    given : mapping
        The arguments by their names.
    new : str, optional
        The new class, if it is not ``old.name``.

    Raises
    ------
    ValueError
        If an argument cannot be translated because it is no literal.
    """
    rest = {name: {**VALUES, **old.values}.get(name, {}).get(text, text) for name, text in given.items()}
    call, used = {}, set()

    def make(cls: str, parameters: Mapping[str, str]) -> str:
        used.add(cls)
        return f"{cls}({', '.join(f'{name}={text}' for name, text in parameters.items())})"

    def make_with(call: str, parameters: Mapping[str, str]) -> str:
        """A class, or a call of it whose arguments come first."""
        cls, _, arguments = call.partition("(")
        fixed = dict(part.split("=") for part in arguments.rstrip(")").split(", ") if part)
        return make(cls, {**fixed, **parameters})

    def literal(text: str) -> dict[str, str]:
        tree = ast.parse(text, mode="eval").body
        if isinstance(tree, ast.Constant) and tree.value is None:
            return {}
        if not isinstance(tree, ast.Dict) or not all(isinstance(key, ast.Constant) for key in tree.keys):
            raise ValueError(f"{text} is no dictionary with known keys.")
        keys = [key.value for key in tree.keys if isinstance(key, ast.Constant)]
        return {str(key): ast.unparse(value) for key, value in zip(keys, tree.values, strict=True)}

    def name_of(text: str) -> str:
        tree = ast.parse(text, mode="eval").body
        return tree.value if isinstance(tree, ast.Constant) and isinstance(tree.value, str) else ""

    def kernel_of(parameters: dict[str, str], prefix: str = "") -> None:
        own = literal(parameters.pop(f"{prefix}kernel_params", "None"))
        if not own:
            return
        cls = KERNELS.get(name_of(parameters.get(f"{prefix}kernel", "'gaussian'")))
        if cls is None:
            raise ValueError(f"kernel_params of {parameters.get('kernel')} cannot be translated.")
        own = {{"gamma": "scale", "coef0": "offset"}.get(name, name): text for name, text in own.items()}
        parameters[f"{prefix}kernel"] = make(cls, own)

    def steps_of(own: dict[str, str], names: Mapping[str, str]) -> dict[str, str]:
        """Parameters of a solver, of which one says how long the steps are if its new name is ``step``."""
        if names.get("step_size") != "step":
            return own
        size, rule = own.pop("step_size", "None"), own.pop("step_rule", "")
        if size != "None":
            return {**own, "step": size}
        tree = ast.parse(rule, mode="eval").body if rule else None
        if isinstance(tree, ast.Dict):
            ((name, parameters),) = literal(rule).items()
            rule = make(STEP_RULES[name], literal(parameters))
        return {**own, "step": rule} if rule else own

    text = rest.get("features", repr(next(iter(old.maps), "")))
    if old.maps and text in ("''", "None"):
        rest = {name: part for name, part in rest.items() if name not in ("n_features", "features_params")}
    elif old.maps:
        named = name_of(text)
        own = literal(rest.pop("features_params", "None"))
        own |= {name: rest.pop(name) for name in old.of_map if name in rest}
        own = {name: VALUES.get(name, {}).get(text, text) for name, text in own.items()}
        kernel_of(own)
        if own and named not in old.maps:
            raise ValueError(f"features={rest.get('features')} cannot be translated.")
        if named in old.maps and own:
            rest["features"] = make_with(old.maps[named], own)
    kernel_of(rest)
    kernel_of(rest, "second_")
    for name, (now, choices) in old.objects.items():
        text = rest.pop(name, "")
        objects = {key: call.rstrip(")").partition("(") for key, call in choices.items()}
        own = {key: [part for part in parts[2].split(", ") if part in rest] for key, parts in objects.items()}
        named = name_of(text) if text else next((key for key, given in own.items() if given), "")
        values = {key: {part: rest.pop(part, "") for part in given} for key, given in own.items()}
        if named in objects:
            cls, with_parameters, _ = objects[named]
            text = make(cls, values[named]) if with_parameters else repr(cls)
        if text:
            rest[now] = text
    options = {name: rest.pop(name) for name in OPTIONS if name in rest}
    stopping = {now: rest.pop(name) for name, now in STOPPING.items() if name in rest}
    if old.solvers:
        text = rest.pop(old.chosen_by, repr(old.solver))
        named = name_of(text)
        if not named and text != repr(old.solver):
            raise ValueError(f"{old.chosen_by}={text} cannot be translated.")
        own = literal(rest.pop("solver_params", "None"))
        if named == "auto" and old.find_solver is not None:
            named = old.find_solver({**rest, **own})
            text = repr(named)
        own |= steps_of({name: rest.pop(name) for name in old.of_solver if name in rest}, old.of_solver)
        own = {old.of_solver.get(name, name): value for name, value in own.items()}
        names = old.differing.get(old.solvers.get(named, ""), {})
        own = {names.get(name, name): value for name, value in own.items()}
        for name in old.ignored.get(old.solvers.get(named, "").partition("(")[0], ()):
            own.pop(name, None)
        if named not in old.solvers and (own or text != repr(old.solver)) and named != "auto":
            raise ValueError(f"{old.chosen_by}={text} cannot be translated.")
        cls = old.solvers.get(named, "")
        own = {old.of_settings.get(cls, {}).get(name, name): text for name, text in own.items()}
        if own and not cls:
            raise ValueError(f"{', '.join(own)} need a named solver.")
        if own or cls.endswith(")"):
            call["solver"] = make_with(cls, own)
        elif cls and named not in ("", "auto"):
            call["solver"] = repr(name_of_solver(cls))
        elif named and (named != "auto" or old.chosen_by in given):
            call["solver"] = repr(named)
    for name, text in rest.items():
        now = old.renamed.get(name, name)
        if name in old.reciprocal:
            number = ast.parse(text, mode="eval").body
            is_number = isinstance(number, ast.Constant) and isinstance(number.value, (int, float))
            text = repr(1.0 / number.value) if is_number and number.value else f"1 / {text}"  # type: ignore[attr-defined]
        if now:
            call[now] = text
    if stopping:
        if call.get("early_stopping") == "True":
            call["early_stopping"] = make("EarlyStopping", stopping)
        elif "early_stopping" in call and call["early_stopping"] != "False":
            raise ValueError("early_stopping is no literal.")
    call = {**call, **{name: text for name, text in old.added.items() if name not in call}}
    if options:
        call["options"] = make("Options", options)
    return f"{new or old.name}({', '.join(f'{name}={text}' for name, text in call.items())})", used


def refuse_old_estimator(name: str, frame: FrameType | None) -> None:
    """Raise an ImportError that shows what replaces an old estimator, with the calls of it in the user's code.

    Parameters
    ----------
    name : str
        A key of `OLD_ESTIMATORS`.
    frame : frame
        Of the code that asked for the name. Modules of the import system above it are skipped.
    """
    while frame is not None and frame.f_globals.get("__name__", "").startswith("importlib"):
        frame = frame.f_back
    old = OLD_ESTIMATORS[name]
    lines = [f"{name} is now {translate(old, {})[0]}."]
    for number, call in _calls_of(name, frame):
        given = {word.arg: ast.unparse(word.value) for word in call.keywords if word.arg}
        try:
            now, classes = translate(old, given)
        except ValueError:
            continue
        needs = f" It needs {', '.join(sorted(classes))}." if classes else ""
        lines.append(f"Line {number}: {ast.unparse(call)} is now {now}.{needs}")
    raise ImportError("\n".join(lines[: 1 + MOST_CALLS]))


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
