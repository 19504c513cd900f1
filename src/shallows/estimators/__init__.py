"""The scikit-learn interface of the library, in one package for each family.

A fit is a function in `shallows.fitting`, its result a model in `shallows.models`. The page "Coming from scikit-learn"
of the documentation has the conventions that all estimators share.
"""

import importlib
import sys
from collections.abc import Iterable
from typing import Any

from ..errors import missing_attribute, unknown_attribute
from ..utils.lazy_tables import LazyTable

ESTIMATORS = LazyTable(
    "estimator",
    __name__,
    {
        "AMMClassifier": ".budgeted.adaptive_multi_hyperplane",
        "BudgetedSVMClassifier": ".budgeted.budgeted_svm",
        "CoreVectorMachineClassifier": ".support_vectors.core_vector_machine",
        "CoreVectorMachineRegressor": ".support_vectors.core_vector_machine",
        "DoublyStochasticClassifier": ".doubly_stochastic.dsg_classifier",
        "DoublyStochasticKernelCCA": ".components.kernel_cca",
        "DoublyStochasticKernelPCA": ".components.kernel_pca",
        "DoublyStochasticKernelSVD": ".components.kernel_svd",
        "DoublyStochasticNoveltyDetector": ".doubly_stochastic.dsg_novelty_detector",
        "DoublyStochasticRegressor": ".doubly_stochastic.dsg_regressor",
        "ExtremeLearningMachineAutoencoder": ".closed_forms.extreme_learning_machine_autoencoder",
        "Fastfood": ".feature_maps.fastfood",
        "FeatureGaussianProcessRegressor": ".closed_forms.feature_gaussian_process",
        "FeatureKernelPCA": ".components.feature_kernel_pca",
        "FeatureRidgeClassifier": ".closed_forms.feature_ridge",
        "FeatureRidgeRegressor": ".closed_forms.feature_ridge",
        "FourierFeatures": ".feature_maps.fourier",
        "HiddenUnits": ".feature_maps.random_units",
        "KernelRidgeClassifier": ".least_squares.kernel_ridge",
        "KernelRidgeRegressor": ".least_squares.kernel_ridge",
        "KernelSVMClassifier": ".support_vectors.kernel_svm",
        "KernelSlicedInverseRegression": ".components.sliced_inverse_regression",
        "LinearSVMClassifier": ".linear_svm.linear_svm_classifier",
        "LowRankLinearizedSVMClassifier": ".budgeted.low_rank_svm",
        "NystroemFeatures": ".feature_maps.landmarks",
        "PartialWhitening": ".feature_maps.partial_whitening",
        "PolynomialFeatures": ".feature_maps.polynomial",
        "QuasiMonteCarloFeatures": ".feature_maps.quasi_monte_carlo",
        "RBFNetwork": ".feature_maps.landmarks",
        "RandomBinning": ".feature_maps.random_binning",
        "RandomKitchenSinksClassifier": ".closed_forms.kitchen_sinks",
        "RandomKitchenSinksRegressor": ".closed_forms.kitchen_sinks",
        "RegularizedRiskClassifier": ".regularized.regularized_risk",
        "RegularizedRiskRegressor": ".regularized.regularized_risk",
        "SemiRandomFeatures": ".feature_maps.random_units",
        "SparseRandomFeatures": ".feature_maps.sparse_random_features",
        "TensorSketch": ".feature_maps.polynomial",
    },
)
"""Every estimator by its name."""

__all__ = [*ESTIMATORS]


class _MissingModules:
    """The last finder of modules: it explains a missing module of this package, which only old pickles need."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        """Raise a ModuleNotFoundError for modules of this package; leave others to Python."""
        if name.startswith(f"{__name__}."):
            raise ModuleNotFoundError(
                f"No module named {name!r}. If a pickle needs it, another version of shallows wrote the pickle. Load "
                "it with that version, or fit the model again.",
                name=name,
            )


sys.meta_path.append(_MissingModules)


def unknown_name(module: str, name: str, known: Iterable[str]) -> Exception:
    """The error for a missing name of a public module, for its ``__getattr__``; for an old name, with the new call."""
    old_names = importlib.import_module(".old_names", __name__)
    if name in old_names.OLD_ESTIMATORS and name not in ESTIMATORS:
        return missing_attribute(module, name, old_names.replacement(name))
    return unknown_attribute(module, name, known)


def __getattr__(name: str) -> Any:
    if name in ESTIMATORS:
        return ESTIMATORS[name]
    raise unknown_name(__name__, name, ESTIMATORS)


def __dir__() -> list[str]:
    return sorted(__all__)
