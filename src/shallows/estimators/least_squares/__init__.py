"""Estimators that minimise the square loss over the functions of a kernel or of explicit features.

Each method has a module of its own. The fit of those with all training points is
`shallows.fitting.kernel_ridge`.
"""
