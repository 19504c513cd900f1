"""Estimators that minimise the square loss over the functions of a kernel or of explicit features.

Each method has a module of its own. `kernel_machine` is the base of those with all training points, whose fits are
`shallows.fitting.kernel_steps` and `shallows.fitting.kernel_ridge`.
"""
