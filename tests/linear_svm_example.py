"""A small linear support vector machine with an exact solution, for tests of its solvers."""

import numpy as np
import scipy.sparse
from sklearn.svm import LinearSVC

from shallows.solvers.linear_svm.problem import HINGE, LinearSVMProblem
from shallows.solvers.linear_svm.rows import as_rows


def points(n=600, d=12, sparse=False, seed=0):
    """Points of about unit length in two overlapping classes, −1 and 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    if sparse:
        X[rng.random((n, d)) < 0.8] = 0.0
    y = np.sign(X @ rng.normal(size=d) + 0.2 * rng.normal(size=n))
    return X, np.where(y == 0, 1.0, y)


def problem_of(X, y, regularisation=1e-2, loss=HINGE, weights=None):
    rows = as_rows(scipy.sparse.csr_array(X)) if np.count_nonzero(X) < 0.4 * X.size else as_rows(X)
    return LinearSVMProblem(rows, X.shape[1], y, regularisation, loss, weights)


def optimum(problem, X):
    """LIBLINEAR's solution at a tight tolerance: C = 1/(λn), half of that for the squared hinge, which it doubles."""
    C = 1.0 / (problem.regularization * problem.n) * (1.0 if problem.loss == HINGE else 0.5)
    name = "hinge" if problem.loss == HINGE else "squared_hinge"
    machine = LinearSVC(C=C, loss=name, fit_intercept=False, tol=1e-10, max_iter=10**7, random_state=0)
    return machine.fit(X, problem.signs, sample_weight=problem.weights).coef_[0]


def run(solver, problem, batch, times):
    """The state after some batches, or at the end."""
    state = solver.init(problem)
    for _ in range(times):
        if state.exhausted:
            break
        state = solver.step(problem, state, batch)
    return state
