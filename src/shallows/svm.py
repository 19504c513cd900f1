"""Support vector machines: kernel, linear, core vectors, machines of bounded size; novelty detection; kitchen sinks."""

from __future__ import annotations

from typing import Any

from .utils.lazy_tables import LazyTable

_PUBLIC = LazyTable(
    "name of this module",
    "shallows",
    {
        "AMMClassifier": ".estimators.budgeted.adaptive_multi_hyperplane",
        "BudgetedSVMClassifier": ".estimators.budgeted.budgeted_svm",
        "CoreVectorMachineClassifier": ".estimators.support_vectors.core_vector_machine",
        "CoreVectorMachineRegressor": ".estimators.support_vectors.core_vector_machine",
        "DoublyStochasticNoveltyDetector": ".estimators.doubly_stochastic.dsg_novelty_detector",
        "KernelSVMClassifier": ".estimators.support_vectors.kernel_svm",
        "LinearSVMClassifier": ".estimators.linear_svm.linear_svm_classifier",
        "LowRankLinearizedSVMClassifier": ".estimators.budgeted.low_rank_svm",
        "RandomKitchenSinksClassifier": ".estimators.closed_forms.kitchen_sinks",
        "RandomKitchenSinksRegressor": ".estimators.closed_forms.kitchen_sinks",
    },
)

__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    return _PUBLIC.attribute(name)
