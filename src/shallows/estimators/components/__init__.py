"""Estimators of nonlinear components, trained by doubly stochastic gradients: kernel PCA and its relatives.

`component_estimator` holds the fit, on a data set or on a stream, `two_view_estimator` what relates two views,
`component_plan` the choice of what the user leaves open. Each method has a module of its own.
"""
