"""Gaussian processes on explicit features."""

from __future__ import annotations

from typing import Any

from .utils.lazy_tables import LazyTable

_PUBLIC = LazyTable(
    "name of this module",
    "shallows",
    {
        "FeatureGaussianProcessRegressor": ".estimators.closed_forms.feature_gaussian_process",
    },
)

__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    return _PUBLIC.attribute(name)
