"""Support vector machines: kernel, linear, core vectors, machines of bounded size; novelty detection; kitchen sinks."""

from .estimators import public_names

__all__, __getattr__ = public_names(
    __name__,
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
