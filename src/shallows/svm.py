"""Support vector machines: kernel, linear, core vectors, machines of bounded size; novelty detection; kitchen sinks."""

from typing import Any

from .estimators import ESTIMATORS, unknown_name

_NAMES = (
    "AMMClassifier",
    "BudgetedSVMClassifier",
    "CoreVectorMachineClassifier",
    "CoreVectorMachineRegressor",
    "DoublyStochasticNoveltyDetector",
    "KernelSVMClassifier",
    "LinearSVMClassifier",
    "LowRankLinearizedSVMClassifier",
    "RandomKitchenSinksClassifier",
    "RandomKitchenSinksRegressor",
)

__all__ = [*_NAMES]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return ESTIMATORS[name]
    raise unknown_name(__name__, name, __all__)
