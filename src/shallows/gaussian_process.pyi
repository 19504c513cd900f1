# What type checkers see of the names that are imported when they are first used.

from .estimators.closed_forms.feature_gaussian_process import (
    FeatureGaussianProcessRegressor as FeatureGaussianProcessRegressor,
)
