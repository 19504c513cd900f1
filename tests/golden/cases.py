"""Small fits of every estimator and solver in every mode. Their outputs are the golden numbers.

A case is a name and a function that fits a model and returns arrays. All fits use one thread, a fixed memory budget
and a fixed seed, so two versions of the code give the same bits on one machine.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import scipy.sparse
from sklearn import set_config
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict

import shallows
from shallows import Options
from shallows.errors import ShallowsError, TrainingInterrupted
from shallows.kernel_approximation import RandomBinning
from shallows.kernels import Matern, Polynomial
from shallows.solvers import (
    SAG,
    CheckedReuse,
    CuttingPlanes,
    NystromConjugateGradients,
    ProjectedEigenPro,
    TheoryStep,
    UniformReuse,
)
from shallows.training import Checkpoint, Observer

METHODS = ("predict", "predict_proba", "decision_function", "score_samples", "transform")
N = 500
N_NEW = 60
ONLY_ON_CPU = ("LinearSVMClassifier",)
NOW: dict[str, tuple[str, dict[str, object]]] = {
    "FeatureEigenProClassifier": (
        "FeatureRidgeClassifier",
        {"solver": "feature_eigenpro", "fit_intercept": False, "calibration": "auto"},
    ),
    "FeatureEigenProRegressor": ("FeatureRidgeRegressor", {"solver": "feature_eigenpro"}),
    "KernelSVMClassifier": ("KernelSVMClassifier", {}),
    "LASVMClassifier": ("KernelSVMClassifier", {"solver": "lasvm"}),
    "RegularisedRiskClassifier": ("RegularizedRiskClassifier", {}),
    "RegularisedRiskRegressor": ("RegularizedRiskRegressor", {}),
    **{
        f"{name}{kind}": (f"KernelRidge{kind}", parameters)
        for kind in ("Classifier", "Regressor")
        for name, parameters in {
            "EigenPro": {"solver": "eigenpro"},
            "EigenProCentres": {"solver": NystromConjugateGradients(max_iterations=4)},
            "KernelRidge": {},
            "KernelSGD": {"solver": "kernel_sgd", "bandwidth": "median", "n_components": None},
        }.items()
    },
}
"""The class and the parameters of cases whose name is not the name of a class."""
DEVICE: list[str] = []
"""The device of all fits, if one is set; otherwise each estimator takes its default."""

COMPONENTS = {"solver__block_size": 32, "solver__batch_size": 64, "solver__n_iter": 20}
STREAMED = COMPONENTS | {"solver__n_iter": 25}

LEFT_OUT = object()
"""Instead of a parameter of the quick form, which a variant does not have."""
#: Estimators that solve at once, unless a solver in epochs is given.
AT_ONCE = ("FeatureRidgeClassifier", "FeatureRidgeRegressor")
#: What makes each estimator quick on 500 rows.
QUICK = {
    "AMMClassifier": {"n_hyperplanes": 5, "max_epochs": 2},
    "BudgetedSVMClassifier": {"budget": 40, "max_epochs": 2},
    "CoreVectorMachineClassifier": {"epsilon": 1e-3},
    "CoreVectorMachineRegressor": {"epsilon": 1e-4, "regularization": 0.1, "mu": 0.1},
    "DoublyStochasticClassifier": STREAMED,
    "DoublyStochasticKernelCCA": COMPONENTS,
    "DoublyStochasticKernelPCA": COMPONENTS,
    "DoublyStochasticKernelSVD": COMPONENTS,
    "DoublyStochasticNoveltyDetector": STREAMED,
    "DoublyStochasticRegressor": STREAMED,
    "EigenProCentresClassifier": {"centers": 80},
    "EigenProCentresRegressor": {"centers": 80},
    "EigenProClassifier": {"solver__max_epochs": 4},
    "EigenProRegressor": {"solver__max_epochs": 4},
    "ExtremeLearningMachineAutoencoder": {"n_units": 30},
    "Fastfood": {"n_features": 64},
    "FeatureEigenProClassifier": {"features__n_features": 100, "solver__max_epochs": 4},
    "FeatureEigenProRegressor": {"features__n_features": 100, "solver__max_epochs": 4},
    "FeatureGaussianProcessRegressor": {"features__n_features": 60},
    "FeatureKernelPCA": {"features__n_features": 60, "solver__batch_size": 64},
    "FeatureRidgeClassifier": {"features__n_features": 100},
    "FeatureRidgeRegressor": {"features__n_features": 100},
    "FourierFeatures": {"n_features": 40},
    "HiddenUnits": {"n_units": 40},
    "KernelSGDClassifier": {"solver__max_epochs": 4},
    "KernelSGDRegressor": {"solver__max_epochs": 4},
    "KernelSlicedInverseRegression": COMPONENTS,
    "LowRankLinearizedSVMClassifier": {"budget": 30},
    "NystroemFeatures": {"n_features": 40},
    "PartialWhitening": {"rank": 2},
    "QuasiMonteCarloFeatures": {"n_features": 40},
    "RBFNetwork": {"n_features": 40},
    "RandomBinning": {"n_grids": 10, "n_bins": 64},
    "RandomKitchenSinksClassifier": {"features__n_units": 60, "max_iterations": 50},
    "RandomKitchenSinksRegressor": {"features__n_units": 60, "max_iterations": 50},
    "RegularisedRiskClassifier": {"solver__max_epochs": 3},
    "RegularisedRiskRegressor": {"solver__max_epochs": 3},
    "SemiRandomFeatures": {"n_units": 20},
    "SparseRandomFeatures": {"block_size": 40, "n_iter": 4},
    "TensorSketch": {"n_features": 64},
}
ON_FEATURES = {"features": "fourier", "features__n_features": 60}
SMALL = {"solver__batch_size": 50, "solver__n_subsample": 120, "solver__rank": 30}
AS_RELEASED = {"solver__eigensystem": "rsvd", "solver__step": "release2017", "alpha": 0.0}
ONE_SUBSAMPLE = {"solver__rank": 30, "solver__n_subsample": 120, "bandwidth": 2.0, "calibration": None}
#: Variants of an estimator in addition to its quick form: solvers, rules, kernels.
VARIANTS: dict[str, dict[str, dict[str, object]]] = {
    "AMMClassifier": {"online": {"method": "online"}, "reserve": {"reserve": True, "prune_every": 100}},
    "BudgetedSVMClassifier": {name: {"maintenance": name} for name in ("merging", "projection", "removal")}
    | {"golden section": {"line_search": "golden_section"}},
    "CoreVectorMachineClassifier": {"one vs rest": {"multiclass": "one_vs_rest"}, "laplace": {"kernel": "laplace"}},
    "DoublyStochasticClassifier": {
        "udsg": {"solver__reuse": UniformReuse(2, 3)},
        "cdsg": {"solver__reuse": CheckedReuse(), "solver__preconditioning": None},
        "line search": {"solver__schedule": "line_search"},
        "theory": {"solver__schedule": TheoryStep(), "solver__preconditioning": None, "regularization": 1e-3},
        "constant": {"solver__schedule": "constant", "solver__step_size": 0.5},
        "decay": {"solver__schedule": "decaying_step"},
        "decoupled": {"solver__preconditioning": "decoupled", "regularization": 1e-3},
        "hinge": {"loss": "hinge"},
        "cosine features": {"solver__form": "cosine"},
        "orthogonal": {"solver__orthogonal": True},
        "laplace": {"kernel": "laplace"},
        "exponential": {"kernel": "exponential", "regularization": 1e-4},
        "values not kept": {"solver__keep_values": False},
        "no intercept": {"fit_intercept": False},
        "bandwidth given": {"bandwidth": 2.0},
    },
    "DoublyStochasticKernelCCA": {name: {"solver__method": name} for name in ("gradient", "printed")},
    "DoublyStochasticKernelPCA": {
        "individual": {"solver__method": "individual"},
        "no scaling": {"solver__scaling": None},
        "not centred": {"center": False},
        "max_features": {"solver__max_features": 64},
    },
    "DoublyStochasticKernelSVD": {"no scaling": {"solver__scaling": None}},
    "DoublyStochasticNoveltyDetector": {
        "cdsg": {"solver__reuse": CheckedReuse()},
        "udsg": {"solver__reuse": UniformReuse()},
    },
    "DoublyStochasticRegressor": {
        "huber": {"loss": "huber"},
        "quantile": {"loss": "quantile"},
        "epsilon insensitive": {"loss": "epsilon_insensitive"},
        "cauchy": {"kernel": "cauchy"},
    },
    "EigenProCentresClassifier": {
        "conjugate gradients": {},
        "eigenpro": {"solver": ProjectedEigenPro(max_epochs=4)},
        "uncalibrated": {"calibration": None},
        "laplace": {"kernel": "laplace"},
        "median": {"bandwidth": "median", "n_components": None},
        "given": {"bandwidth": 2.0, "alpha": 1e-3},
    },
    "EigenProCentresRegressor": {
        "eigenpro": {"solver": ProjectedEigenPro(max_epochs=4)},
        "components": {"n_components": 10},
    },
    "EigenProClassifier": {
        "uncalibrated": {"calibration": None},
        "median": {"bandwidth": "median", "n_components": None},
        "given": {"bandwidth": 2.0, "alpha": 1e-3},
        "no ridge": {"bandwidth": 2.0, "alpha": 0.0, "calibration": None},
        "laplace": {"kernel": "laplace"},
        "cauchy": {"kernel": "cauchy"},
        "matern": {"kernel": Matern(nu=2.5)},
        "polynomial": {"kernel": Polynomial(degree=3)},
        "small batches": SMALL,
        "shuffle": {"solver__shuffle": True, **SMALL},
        "rsvd": {**AS_RELEASED, **ONE_SUBSAMPLE},
        "rsvd, shuffle": {**AS_RELEASED, **ONE_SUBSAMPLE, "solver__shuffle": True},
        "square root": {"solver__power": 0.5, **SMALL},
        "damping": {"solver__damping": 0.5, **SMALL},
        "step size": {"solver__step": 1e-3, **SMALL},
        "components": {"n_components": 10},
        **{
            f"rule {rule}": {"solver__step": rule, **SMALL}
            for rule in ("exact", "paper", "release2017", "release2019", "theorem")
        },
        "split": {"solver__precision": "split"},
    },
    "EigenProRegressor": {
        "small batches": SMALL,
        "arc cosine": {"kernel": "arc_cosine"},
        "exponential": {"kernel": "exponential"},
        "linear": {"kernel": "linear"},
    },
    "ExtremeLearningMachineAutoencoder": {"l1": {"penalty": "l1"}, "tanh": {"activation": "tanh"}},
    "Fastfood": {"matern": {"kernel": Matern(nu=1.5)}},
    "FeatureEigenProClassifier": {
        "rsvd": AS_RELEASED,
        "small batches": {"solver__batch_size": 50, "solver__rank": 20},
        "nystrom": {"features": "nystrom"},
        "given": {"features__bandwidth": 2.0, "alpha": 1e-3},
        "square root": {"solver__power": 0.5, "solver__rank": 20},
        "uncalibrated": {"calibration": None},
        "fastfood": {"features": "fastfood"},
    },
    "FeatureGaussianProcessRegressor": {
        "fourier": {"features": "fourier"},
        "given": {"features__bandwidth": 2.0, "signal_variance": 1.0, "noise_variance": 0.1},
    },
    "FeatureKernelPCA": {
        "msg": {"solver": "matrix_stochastic_gradient"},
        "oja": {"solver": "feature_oja"},
        "power": {"solver": "noisy_power_method"},
        "vr": {"solver": "vr_pca"},
    },
    "FeatureRidgeClassifier": {
        "blocks": {"solver": "feature_block_descent", "alpha": 1e-3},
        "given": {"alpha": 1e-3},
        "no intercept": {"fit_intercept": False},
        **{
            name: {"features": name}
            for name in (
                "fastfood",
                "quasi_monte_carlo",
                "nystrom",
                "rbf",
                "hidden_units",
                "polynomial",
                "tensor_sketch",
            )
        },
        "binning": {"features": RandomBinning(n_grids=10), "features__n_features": LEFT_OUT},
    },
    "FourierFeatures": {
        "cosine": {"form": "cosine"},
        "orthogonal": {"orthogonal": True},
        "laplace": {"kernel": "laplace"},
        "cauchy": {"kernel": "cauchy"},
        "laplace product": {"kernel": "laplace_product"},
        "cauchy product": {"kernel": "cauchy_product"},
        "matern": {"kernel": Matern(nu=1.5)},
    },
    "HiddenUnits": {
        name: {"activation": name} for name in ("cosine", "gaussian", "hard_limit", "multiquadric", "tanh")
    },
    "KernelRidgeClassifier": {
        "cholesky": {"solver": "cholesky"},
        "conjugate_gradients": {"solver": "conjugate_gradients"},
        "block_coordinate_descent": {"solver": "block_descent"},
        "uncalibrated": {"calibration": None},
        "given": {"bandwidth": 2.0, "alpha": 1e-3},
        "laplace": {"kernel": "laplace"},
        "components": {"n_components": 10},
    },
    "KernelRidgeRegressor": {
        "conjugate gradients": {"solver": "conjugate_gradients", "alpha": 1e-2},
        "blocks": {"solver": "block_descent", "alpha": 1e-2},
        "polynomial": {"kernel": "polynomial"},
    },
    "KernelSGDClassifier": {
        "batches": {"solver__batch_size": 50},
        "shuffle": {"solver__batch_size": 50, "solver__shuffle": True},
        "constant": {"solver__step": "constant", "solver__batch_size": 50},
        "uncalibrated": {"calibration": None},
    },
    "KernelSVMClassifier": {name: {"solver": name} for name in ("decomposition", "interior_point")}
    | {
        "newton": {"solver": "kernel_newton", "loss": "squared_hinge"},
        "squared hinge": {"loss": "squared_hinge"},
        "one vs rest": {"multiclass": "one_vs_rest"},
        "laplace": {"kernel": "laplace"},
    },
    "LASVMClassifier": {"two epochs": {"solver__max_epochs": 2}},
    "LinearSVMClassifier": {
        "bmrm": {"solver": CuttingPlanes(line_search=False)},
        "newton": {"solver": "primal_newton"},
        "ocas": {"solver": "cutting_planes"},
        "pegasos": {"solver": "linear_pegasos"},
        **{name: {"solver": name} for name in ("dual_coordinate_descent", "folos", "lbfgs", "sarah", "svm_sgd")},
    },
    "LowRankLinearizedSVMClassifier": {"sample": {"landmarks": "sample"}, "squared hinge": {"loss": "squared_hinge"}},
    "NystroemFeatures": {name: {"landmarks": name} for name in ("kmeans", "leverage", "pivoted", "randomly_pivoted")},
    "RBFNetwork": {"kmeans": {"landmarks": "kmeans"}},
    "RandomKitchenSinksClassifier": {
        "sigmoid": {"features__activation": "sigmoid"},
        "uncalibrated": {"calibration": None},
    },
    "RegularisedRiskClassifier": {
        **{name: {"solver": name} for name in ("norma", "pegasos", "sdca")},
        **{f"{name} on features": {"solver": name, **ON_FEATURES} for name in ("pegasos", "sag", "sdca", "svrg")},
        "saga on features": {"solver": SAG(unbiased=True), **ON_FEATURES},
        "logistic": {"loss": "logistic"},
        "softmax": {"loss": "softmax", "solver": SAG(unbiased=True), **ON_FEATURES},
        "multiclass hinge": {"loss": "multiclass_hinge", "solver": "norma"},
        "no intercept": {"fit_intercept": False},
    },
    "RegularisedRiskRegressor": {
        **{f"{name} on features": {"solver": name, **ON_FEATURES} for name in ("sag", "sdca", "svrg")},
        "saga on features": {"solver": SAG(unbiased=True), **ON_FEATURES},
        "epsilon insensitive": {"loss": "epsilon_insensitive"},
        "huber": {"loss": "huber", "solver": "norma"},
    },
    "SemiRandomFeatures": {"order 1": {"order": 1}},
    "SparseRandomFeatures": {"laplace": {"kernel": "laplace"}},
    "TensorSketch": {"degree 3": {"degree": 3}},
}


@functools.cache
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Digits in their own order: rows, labels (four classes), values, new rows."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(5).permutation(len(X))[: N + N_NEW]
    X, labels = X[order] / 16.0, y[order] % 4
    values = np.sin(3 * X[:, 20]) + X[:, 30] * X[:, 42] + 0.1 * y[order]
    return X[:N], labels[:N], values[:N], X[N:]


def targets(name: str) -> np.ndarray:
    """Labels, values, or a second view of the rows."""
    X, labels, values, _ = data()
    if name in ("DoublyStochasticKernelCCA", "DoublyStochasticKernelSVD"):
        return np.tanh(X[:, 18:30] - X[:, 34:46])
    return labels if name.endswith("Classifier") or name == "SemiRandomFeatures" else values


def estimator(name: str, **options: object) -> object:
    return with_parameters(name, {"memory": 2_000_000_000} | QUICK.get(name, {}) | options)


def with_parameters(name: str, options: dict[str, object]) -> object:
    cls, of_case = NOW.get(name, (name, {}))
    known = inspect.signature(getattr(shallows.estimators, cls)).parameters
    given = {"random_state": 3} | of_case | options
    if DEVICE and name not in ONLY_ON_CPU:
        given["device"] = DEVICE[0]
    if "options" in known:
        given["options"] = Options(**{key: given[key] for key in ("memory", "device", "dtype") if key in given})
    model = getattr(shallows.estimators, cls)(**{key: value for key, value in given.items() if key in known})
    return model.set_params(**{key: value for key, value in given.items() if "__" in key and value is not LEFT_OUT})


def outputs(model: object, new: object) -> dict[str, np.ndarray]:
    found = {}
    for method in METHODS:
        if hasattr(model, method):
            try:
                made = getattr(model, method)(new)
            except (AttributeError, ShallowsError):
                continue  # for instance probabilities of a loss that has none
            found[method] = made.toarray() if scipy.sparse.issparse(made) else np.asarray(made)
    return found


def fitted(model: object, X: object, y: np.ndarray, new: object, **given: object) -> dict[str, np.ndarray]:
    model.fit(X, y, **given)
    found = outputs(model, new)
    if hasattr(model, "n_iter_"):
        found["n_iter_"] = np.asarray(model.n_iter_)
    return found


def one_fit(
    name: str,
    options: dict[str, object] | None = None,
    rows: Callable[[np.ndarray], object] = np.asarray,
    labels: Callable[[np.ndarray], np.ndarray] = np.asarray,
    **given: object,
) -> dict[str, np.ndarray]:
    """A fit with some parameters, to rows and targets in some form."""
    X, _, _, new = data()
    return fitted(estimator(name, **(options or {})), rows(X), labels(targets(name)), rows(new), **given)


WEIGHTS = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], N)


def few_or_many(y: np.ndarray) -> np.ndarray:
    return np.where(y < 2, "few", "many")


def several(name: str) -> dict[str, np.ndarray]:
    X, labels, values, new = data()
    y = np.stack([labels % 2, labels // 2], axis=1) if name.endswith("Classifier") else np.stack([values, X[:, 7]], 1)
    return fitted(estimator(name), X, y, new)


def precomputed(name: str) -> dict[str, np.ndarray]:
    X, _, _, new = data()
    matrix, values = (np.exp(-((a[:, None] - X[None]) ** 2).sum(-1) / 8) for a in (X, new))
    kernel = {"features__kernel" if name == "FeatureKernelPCA" else "kernel": "precomputed"}
    return fitted(estimator(name, **kernel), matrix, targets(name), values)


def streamed(name: str, **options: object) -> dict[str, np.ndarray]:
    X, _, _, new = data()
    y, model = targets(name), estimator(name, **options)
    known = inspect.signature(model.partial_fit).parameters
    for rows in np.array_split(np.arange(N), 4):
        more = {"classes": np.unique(y)} if "classes" in known else {}
        model.partial_fit(X[rows], *([y[rows]] if "y" in known else []), **more)
    return outputs(model, new)


def warm(name: str) -> dict[str, np.ndarray]:
    X, _, _, new = data()
    model = estimator(name, warm_start=True)
    for limit in {"max_epochs", "solver__max_epochs", "solver__max_iterations"} & model.get_params().keys():
        model.set_params(**{limit: 2}).fit(X, targets(name)).set_params(**{limit: 4})
    return (
        fitted(model, X, targets(name), new)
        if hasattr(model, "n_iter_")
        else fitted(model.fit(X, targets(name)), X, targets(name), new)
    )


class StopAfter(Observer):
    """Asks for a stop after a batch, and counts what observers are shown."""

    def __init__(self, checkpoint: Checkpoint, iteration: int):
        self.checkpoint, self.iteration = checkpoint, iteration

    def on_batch(self, run: object) -> None:
        if run.iteration == self.iteration:
            self.checkpoint.request_stop()


def resumed(name: str) -> dict[str, np.ndarray]:
    X, _, _, new = data()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(folder, "golden")
        with contextlib.suppress(TrainingInterrupted):
            estimator(name).fit(X, targets(name), observers=[StopAfter(checkpoint, 2)], checkpoint=checkpoint)
        return fitted(estimator(name), X, targets(name), new, checkpoint=Checkpoint(folder, "golden"))


def routed(name: str) -> dict[str, np.ndarray]:
    X, _, _, _ = data()
    set_config(enable_metadata_routing=True)
    try:
        model = estimator(name).set_fit_request(sample_weight=True)
        weights = np.linspace(0.5, 2.0, N)
        predicted = cross_val_predict(model, X, targets(name), cv=2, params={"sample_weight": weights})
    finally:
        set_config(enable_metadata_routing=False)
    return {"predict": predicted[:N_NEW]}


def copied(name: str) -> dict[str, np.ndarray]:
    """A clone of a fitted model, fitted to other rows than before."""
    X, _, _, new = data()
    y = targets(name)
    return fitted(clone(estimator(name).fit(X[:200], y[:200])), X[100:], y[100:], new)


def cases() -> Iterator[tuple[str, Callable[[], dict[str, np.ndarray]]]]:
    """All cases, by name."""
    replaced = {cls for cls, _ in NOW.values()} - QUICK.keys()
    for name in sorted({*shallows.estimators.__all__} - replaced | NOW.keys()):
        Estimator = getattr(shallows.estimators, NOW.get(name, (name, {}))[0])
        known, of_fit = inspect.signature(Estimator).parameters, inspect.signature(Estimator.fit).parameters
        yield name, partial(one_fit, name)
        variants = VARIANTS.get(name, {})
        if name == "LinearSVMClassifier":
            yield f"{name}, pegasos, stream", partial(streamed, name, solver="linear_pegasos")
        for variant, options in variants.items():
            yield f"{name}, {variant}", partial(one_fit, name, options)
        modes = {
            "sparse rows": (partial(one_fit, rows=scipy.sparse.csr_matrix), True),
            "float32": (
                partial(one_fit, options={"dtype": "float32"}, rows=np.float32),
                "dtype" in known or "options" in known,
            ),
            "weights": (partial(one_fit, sample_weight=WEIGHTS), "sample_weight" in of_fit),
            "balanced": (partial(one_fit, options={"class_weight": "balanced"}), "class_weight" in known),
            "two classes": (partial(one_fit, labels=few_or_many), name.endswith("Classifier")),
            "several outputs": (several, name.endswith(("Classifier", "Regressor"))),
            "precomputed": (precomputed, "kernel" in known or name == "FeatureKernelPCA"),
            "stream": (streamed, hasattr(Estimator, "partial_fit") and name != "KernelSVMClassifier"),
            "warm start": (warm, "warm_start" in known and name not in AT_ONCE),
            "early stopping": (
                partial(one_fit, options={"early_stopping": True}),
                "early_stopping" in known and name not in AT_ONCE and not name.startswith("KernelRidge"),
            ),
            "resumed": (resumed, "checkpoint" in of_fit and name not in AT_ONCE),
            "routed weights": (routed, "sample_weight" in of_fit and name.endswith(("Classifier", "Regressor"))),
            "clone": (copied, name.endswith(("Classifier", "Regressor"))),
        }
        for mode, (run, applies) in modes.items():
            if applies:
                yield f"{name}, {mode}", partial(run, name)


def run(case: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray] | str:
    """Return the arrays of a case, or "refused" if the estimator refuses it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return case()
        except (ShallowsError, ValueError, TypeError, AttributeError):
            return "refused"
