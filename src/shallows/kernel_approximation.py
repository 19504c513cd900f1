"""Transformers of points to explicit features of a kernel."""

from typing import Any

from .estimators import ESTIMATORS, unknown_name

_NAMES = (
    "ExtremeLearningMachineAutoencoder",
    *(name for name in ESTIMATORS if ".feature_maps." in ESTIMATORS.module_of(name)),
)

__all__ = [*_NAMES]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return ESTIMATORS[name]
    raise unknown_name(__name__, name, __all__)
