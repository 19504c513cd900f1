"""Transformers of points to explicit features of a kernel."""

from __future__ import annotations

from typing import Any

from .utils.lazy_tables import LazyTable

_PUBLIC = LazyTable(
    "name of this module",
    "shallows",
    {
        "ExtremeLearningMachineAutoencoder": ".estimators.closed_forms.extreme_learning_machine_autoencoder",
        "Fastfood": ".estimators.feature_maps.fastfood",
        "FourierFeatures": ".estimators.feature_maps.fourier",
        "HiddenUnits": ".estimators.feature_maps.random_units",
        "NystroemFeatures": ".estimators.feature_maps.landmarks",
        "PolynomialFeatures": ".estimators.feature_maps.monomials",
        "QuasiMonteCarloFeatures": ".estimators.feature_maps.quasi_monte_carlo",
        "RBFNetwork": ".estimators.feature_maps.landmarks",
        "RandomBinning": ".estimators.feature_maps.random_binning",
        "SemiRandomFeatures": ".estimators.feature_maps.random_units",
        "SparseRandomFeatures": ".estimators.feature_maps.sparse_random_features",
        "TensorSketch": ".estimators.feature_maps.tensor_sketch",
    },
)

__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    return _PUBLIC.attribute(name)
