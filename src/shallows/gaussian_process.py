"""Gaussian processes on explicit features."""

from .estimators.closed_forms.feature_gaussian_process import FeatureGaussianProcessRegressor

__all__ = ["FeatureGaussianProcessRegressor"]
