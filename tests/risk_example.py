"""Small regularized risks, naive references and exact minimizers for the tests of their solvers."""

from types import SimpleNamespace

import numpy as np
import scipy.special
from scipy.optimize import minimize

from engine_example import naive_kernel, sample
from shallows import arrays, kernels, losses
from shallows.features.design import Blocks, Design
from shallows.gram import LazyGram
from shallows.solvers.regularized import SOLVERS
from shallows.solvers.regularized.risk import FeatureSpan, KernelSpan, RiskProblem, RiskSettings

N = 60
BANDWIDTH = 2.0


class Given:
    """A feature map that is the points themselves."""

    def __init__(self, n_features):
        self.n_features = n_features

    def map(self, x):
        return x


def targets_of(loss, x, c, seed=0):
    """Targets that a function of x explains in part, in the coding of a loss."""
    rng = np.random.default_rng(seed + 77)
    values = np.sin(x @ rng.normal(size=(x.shape[1], c))) + 0.4 * rng.normal(size=(len(x), c))
    return np.where(values > 0, 1.0, -1.0) if loss.coding == "signs" else values


def kernel_risk(loss="hinge", *, n=N, c=1, regularisation=0.05, weights=False, xp=np, seed=0, budget=2**30, **more):
    """A risk over the span of Gaussian kernel functions, and its matrix."""
    loss = losses.make(loss, **more)
    x = sample(n, 3, seed)
    K = naive_kernel("gaussian", BANDWIDTH, x, x)
    y = targets_of(loss, x, c, seed)
    w = np.random.default_rng(seed).uniform(0.2, 1.8, size=(n, 1)) if weights else None
    w = None if w is None else w / w.mean()
    matrix = LazyGram(kernels.Gaussian(BANDWIDTH), kernels.augmented(xp.asarray(x)), budget=budget, tile=16)
    problem = RiskProblem(KernelSpan(matrix), xp.asarray(y), loss, regularisation, None if w is None else xp.asarray(w))
    return SimpleNamespace(x=x, y=y, w=w, K=K, problem=problem, loss=loss, n=n, reg=regularisation)


def feature_risk(loss="logistic", *, n=N, c=1, d=6, regularisation=0.05, weights=False, xp=np, seed=0, z=None, **more):
    """A risk over linear functions of given features."""
    loss = losses.make(loss, **more)
    x = sample(n, 3, seed)
    y = targets_of(loss, x, c, seed)
    z = np.hstack([np.cos(x), np.sin(x)])[:, :d] if z is None else z
    w = np.random.default_rng(seed).uniform(0.2, 1.8, size=(n, 1)) if weights else None
    w = None if w is None else w / w.mean()
    design = Design(Blocks(Given(z.shape[1])), xp.asarray(z), budget=2**30)
    problem = RiskProblem(
        FeatureSpan(design), xp.asarray(y), loss, regularisation, None if w is None else xp.asarray(w)
    )
    return SimpleNamespace(x=x, y=y, w=w, z=z, problem=problem, loss=loss, n=len(z), reg=regularisation)


def batches_of(n, m, n_epochs, seed=0):
    """Contiguous batches in another order each epoch."""
    rng = np.random.default_rng(seed)
    slices = [slice(a, min(a + m, n)) for a in range(0, n, m)]
    return [slices[i] for _ in range(n_epochs) for i in rng.permutation(len(slices))]


def drawn_batches(n, m, n_epochs, seed=0):
    """A first epoch in order, then draws with replacement."""
    slices = [slice(a, min(a + m, n)) for a in range(0, n, m)]
    drawn = np.random.default_rng(seed).integers(len(slices), size=len(slices) * (n_epochs - 1))
    return slices + [slices[i] for i in drawn]


BY_SETTINGS = {
    f"{name} by its settings": (
        feature_risk if settings.takes == "features" else kernel_risk,
        settings.default_loss.name,
        settings(),
    )
    for name, settings in SOLVERS.items()
}
"""A risk, its loss and the settings of every solver of the table, so that a new one is tested without an entry."""


def run(solver, problem, batches):
    """The state after some batches of at most 16 rows, of a stepper or of the one that settings build."""
    solver = solver.build(problem, 16) if isinstance(solver, RiskSettings) else solver
    state = solver.init(problem)
    for batch in batches:
        state = solver.step(problem, state, batch)
    return state


def exact_smooth(p):
    """The minimizer of a smooth risk on features, shape (D, c), by Newton-like steps to machine precision."""
    d, c = p.z.shape[1], p.y.shape[1]
    w = np.ones((p.n, 1)) if p.w is None else p.w

    def objective(flat):
        W = flat.reshape(d, c)
        u = p.z @ W
        value = (w[:, 0] * p.loss.value(u, p.y)).mean() + p.reg / 2 * (W**2).sum()
        return value, (p.z.T @ (w * p.loss.derivative(u, p.y)) / p.n + p.reg * W).ravel()

    flat = np.zeros(d * c)
    for _ in range(5):
        flat = minimize(objective, flat, jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-14}).x
    return flat.reshape(d, c)


def dual_value(loss, a, y):
    """−ℓ*(−a), where a is within its bounds."""
    if loss.name == "logistic":
        p = np.clip(a * y, 0.0, 1.0)
        return scipy.special.entr(p) + scipy.special.entr(1.0 - p)
    if loss.name == "epsilon_insensitive":
        return a * y - loss.epsilon * np.abs(a)
    return a * y if loss.name in ("hinge", "quantile") else a * y - 0.5 * a * a


def dual_objective(problem, state):
    """D(a), which is at most the minimum of P and equals it at the optimum."""
    a, y = (arrays.to_numpy(part).astype(np.float64) for part in (state.dual, problem.targets))
    w = 1.0 if problem.weights is None else arrays.to_numpy(problem.weights).astype(np.float64)
    value = (w * dual_value(problem.loss, a / w, y)).sum()
    if problem.intercept is not None:  # ℓ(u + b) instead of ℓ(u) has −ℓ*(−a) − ab instead of −ℓ*(−a).
        value -= a.sum(axis=0) @ arrays.to_numpy(problem.intercept).astype(np.float64)
    return value / problem.span.n - 0.5 * problem.regularization * problem.span.norm_squared(state.coefficients)


def duality_gap(problem, state):
    """P(f) − D(a) ≥ 0, a bound on how far P is from its minimum."""
    return problem.objective(state.coefficients) - dual_objective(problem, state)
