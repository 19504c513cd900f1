"""Estimators that minimise the square loss over the functions of a kernel or of explicit features.

`kernel_least_squares` says what the fit and the prediction of all consist of and how classes and values are coded; each
method has a module of its own. `automatic` chooses bandwidth, regularisation and calibration, `preconditioning` serves
the variants of EigenPro, `convergence_warning` says what to do about a training that ended far from the targets, and
`evaluation_cache` keeps the kernel values of points that are scored after every epoch.
"""
