"""Gaussian processes on explicit features."""

from typing import Any

from .estimators import unknown_name
from .estimators.closed_forms.feature_gaussian_process import FeatureGaussianProcessRegressor

__all__ = ["FeatureGaussianProcessRegressor"]


def __getattr__(name: str) -> Any:
    raise unknown_name(__name__, name, __all__)
