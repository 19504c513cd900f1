"""Estimators of nonlinear components, trained by doubly stochastic gradients: kernel PCA and its relatives.

`component_estimator` holds the fit, on a data set or on a stream, `two_view_estimator` what relates two views. Each
method has a module of its own.
"""
