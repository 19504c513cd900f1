"""Kernel machines at scale: the solvers of the large-scale kernel-learning papers as scikit-learn estimators.

The names below are loaded when they are first used, so that ``import shallows`` stays quick.
"""

import importlib
from typing import Any

from .errors import missing_attribute
from .estimators import ESTIMATORS, unknown_name
from .utils.lazy_tables import LazyTable

__version__ = "0.3.0"

_PUBLIC = LazyTable(
    "public name",
    __name__,
    {
        "EarlyStopping": ".fitting.rows",
        "Metric": ".fitting.metric",
        "Options": ".fitting.machine",
        "options": ".fitting.machine",
        "load": ".saving",
        "save": ".saving",
    },
)
_MODELS = (
    "DoublyStochasticClassifier",
    "DoublyStochasticRegressor",
    "FeatureRidgeClassifier",
    "FeatureRidgeRegressor",
    "KernelRidgeClassifier",
    "KernelRidgeRegressor",
    "KernelSVMClassifier",
    "LinearSVMClassifier",
    "RegularizedRiskClassifier",
    "RegularizedRiskRegressor",
)
_GROUPS = ("decomposition", "gaussian_process", "kernel_approximation", "statistics", "svm")
"""Modules of the other public names."""

_ROOMS = (
    "arrays",
    "decomposition",
    "distributed",
    "errors",
    "estimators",
    "features",
    "gaussian_process",
    "gram",
    "kernel_approximation",
    "kernels",
    "losses",
    "saving",
    "solvers",
    "spectrum",
    "statistics",
    "streams",
    "svm",
    "training",
)
_MOVED = {
    "ImageVotes": "from shallows_papers.baselines import ImageVotes",
    **{
        room: f"from shallows_papers import {room}"
        for room in ("cli", "datasets", "experiments", "nets", "reference", "report")
    },
    "theory": "from shallows_papers import papers",
}
"""Names that were here before version 0.3, with the import that replaces each."""

__all__ = [*_MODELS, *_PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        moved = f"shallows.{name} belongs to the reproduction of the papers now. Write: {_MOVED[name]}"
        raise missing_attribute(__name__, name, moved)
    if name in _ROOMS:
        return importlib.import_module(f".{name}", __name__)
    if name in _MODELS:
        return ESTIMATORS[name]
    if name in _PUBLIC:
        return _PUBLIC[name]
    for group in _GROUPS:
        if name in importlib.import_module(f".{group}", __name__).__all__:
            moved = f"shallows.{name} is in shallows.{group} now. Write: from shallows.{group} import {name}"
            raise missing_attribute(__name__, name, moved)
    raise unknown_name(__name__, name, [*__all__, *_ROOMS, *ESTIMATORS, "two_sample_test"])


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS})
