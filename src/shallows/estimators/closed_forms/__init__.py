"""Least squares on explicit features: ridge regression, kitchen sinks, Gaussian processes.

The features are transformers of `feature_maps`. The fits are `shallows.fitting.feature_ridge`, `kitchen_sinks` and
`feature_gaussian_process`.
"""
