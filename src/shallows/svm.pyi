# What type checkers see of the names that are imported when they are first used.

from .estimators.budgeted.adaptive_multi_hyperplane import AMMClassifier as AMMClassifier
from .estimators.budgeted.budgeted_svm import BudgetedSVMClassifier as BudgetedSVMClassifier
from .estimators.budgeted.low_rank_svm import LowRankLinearizedSVMClassifier as LowRankLinearizedSVMClassifier
from .estimators.closed_forms.kitchen_sinks import RandomKitchenSinksClassifier as RandomKitchenSinksClassifier
from .estimators.closed_forms.kitchen_sinks import RandomKitchenSinksRegressor as RandomKitchenSinksRegressor
from .estimators.doubly_stochastic.dsg_novelty_detector import (
    DoublyStochasticNoveltyDetector as DoublyStochasticNoveltyDetector,
)
from .estimators.linear_svm.linear_svm_classifier import LinearSVMClassifier as LinearSVMClassifier
from .estimators.support_vectors.core_vector_machine import CoreVectorMachineClassifier as CoreVectorMachineClassifier
from .estimators.support_vectors.core_vector_machine import CoreVectorMachineRegressor as CoreVectorMachineRegressor
from .estimators.support_vectors.kernel_svm import KernelSVMClassifier as KernelSVMClassifier
