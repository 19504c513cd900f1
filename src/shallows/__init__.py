"""Kernel machines at scale: the solvers of the large-scale kernel-learning papers as scikit-learn estimators.

The names below are loaded when they are first used, so that ``import shallows`` stays quick.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .errors import unknown_attribute
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
_ROOMS_OF_EXTRAS = ("datasets", "report")
"""Rooms that cannot be imported in a plain installation."""

__all__ = [*ESTIMATORS, *_PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f".{name}", __name__)
    if name in ESTIMATORS:
        return ESTIMATORS[name]
    if name in _PUBLIC:
        return _PUBLIC[name]
    raise unknown_attribute(__name__, name, [*__all__, *_ROOMS])


def __dir__() -> list[str]:
    # help() and inspect.getmembers() import every name of this list, so it has only what can be imported.
    left_out = {room for room in _ROOMS_OF_EXTRAS if f"{__name__}.{room}" not in sys.modules}
    return sorted({*__all__, *_ROOMS} - left_out)
