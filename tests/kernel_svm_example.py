"""Two classes that overlap, and the dual problem of their support vector machine, for the tests of its solvers."""

import numpy as np

from engine_example import naive_kernel, sample
from shallows import kernels
from shallows.gram.row_slab import KernelRowSlab
from shallows.solvers.support_vectors.dual_problem import DualProblem


def two_classes(n=240, seed=0):
    x = sample(n, 3, seed)
    noise = sample(n, 1, seed + 1)[:, 0]
    return x, np.where(x[:, 0] ** 2 + x[:, 1] + 0.4 * noise > 0.5, 1.0, -1.0)


def slab_of(x, capacity):
    return KernelRowSlab(kernels.make("gaussian", 1.0), kernels.augmented(x), budget=capacity * len(x) * 8)


def dual_problem(x, y, C, capacity=None):
    """The dual with a cache of some rows of the matrix, or of all."""
    return DualProblem.of_classes(slab_of(x, capacity or len(x)), y, np.full(len(x), C))


def coefficients_of(model, n):
    """The coefficients of a machine of two classes, shape (n,), with zeros for other points."""
    beta = np.zeros(n)
    beta[model.support_] = np.ravel(model.dual_coef_)
    return beta


def dual_objective(beta, x, y, squared_C=None):
    """Σ αᵢ − ½ βᵀKβ by the naive formula, for the squared hinge less ½ Σ βᵢ²/C."""
    ridge = 0.0 if squared_C is None else np.sum(beta**2 / squared_C)
    return y @ beta - 0.5 * beta @ naive_kernel("gaussian", 1.0, x, x) @ beta - 0.5 * ridge
