"""Kernel machines at scale: the solvers of the large-scale kernel-learning papers as scikit-learn estimators.

The names below are loaded when they are first used, so that ``import shallows`` stays quick.
"""

from __future__ import annotations

import importlib
from typing import Any

from .estimators import ESTIMATORS
from .utils.lazy_tables import LazyTable

__version__ = "0.2.0"

_PUBLIC = LazyTable(
    "public name",
    __name__,
    {
        "ImageVotes": ".estimators.image_votes",
        "load": ".saving",
        "save": ".saving",
        "two_sample_test": ".estimators.two_samples",
    },
)
_ROOMS = (
    "arrays",
    "datasets",
    "distributed",
    "errors",
    "estimators",
    "experiments",
    "features",
    "gram",
    "kernels",
    "losses",
    "nets",
    "report",
    "saving",
    "solvers",
    "spectrum",
    "streams",
    "training",
)

__all__ = [*ESTIMATORS, *_PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f".{name}", __name__)
    if name in ESTIMATORS:
        return ESTIMATORS[name]
    return _PUBLIC.attribute(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS})
