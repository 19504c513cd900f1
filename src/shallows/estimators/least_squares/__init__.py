"""Estimators that minimise the square loss over the functions of a kernel or of explicit features.

`kernel_least_squares` holds the fit and the prediction that all share, `least_squares_targets` the coding of classes
and of values; each method has a module of its own, and those of EigenPro's variants stand beside what they do in a fit,
`..._fit`. `automatic` chooses bandwidth, regularisation and calibration, `memory_check` refuses budgets too small.
`preconditioning` serves the variants of EigenPro, `convergence_warning` says what to do about a training that ended far
from the training targets, and `evaluation_cache` keeps the kernel values of points that are scored after every epoch.
"""
