"""A problem over a growing function, the solver's steps on it, and the same steps by explicit sums."""

import numpy as np

from engine_example import sample
from shallows import arrays, kernels, losses
from shallows.features import FourierMap
from shallows.solvers.expansions.expansion import ExpansionProblem

N, D, C, F, B = 60, 3, 2, 8, 12


def make(loss="square", *, xp=np, form="pair", n=N, block_size=F, seed=0, weights=False, c=C, budget=2**26):
    x, y = sample(n, D, seed), sample(n, c, seed + 1)
    y = np.where(y > 0, 1.0, -1.0) if losses.make(loss).coding == "signs" else y
    w = np.random.default_rng(seed).uniform(0.5, 1.5, size=(n, 1)) if weights else None
    features = FourierMap(kernels.make("gaussian", 2.0), D, block_size, seed=5, form=form)
    return ExpansionProblem(
        features,
        losses.make(loss),
        c,
        xp.asarray(x),
        xp.asarray(y),
        None if w is None else xp.asarray(w),
        budget=budget,
    )


def batches(n_steps, n=N, size=B):
    slices = list(arrays.blocks(n, size))
    return [slices[(7 * i) % len(slices)] for i in range(n_steps)]


def run(solver, problem, n_steps=20, state=None, start=0, size=B):
    state = solver.init(problem) if state is None else state
    for batch in batches(n_steps, size=size)[start:]:
        state = solver.step(problem, state, batch)
    return state


def naive(problem, steps, blocks, nu, n_steps, preconditioning=None, damping=0.0):
    """The same by explicit sums: a list of coefficients, each decayed by itself. Returns them and the traces."""
    features, A, beta = problem.features, [], []
    for i, batch in enumerate(batches(n_steps)):
        x, y = problem.points[batch], problem.targets[batch]
        w = np.ones((len(x), 1)) if problem.weights is None else problem.weights[batch]
        f = sum((features.block(j, x) @ A[j] for j in range(len(A))), np.zeros(y.shape))
        G = w * problem.loss.derivative(f, y)
        k, s = blocks(i, len(A)), steps(i + 1)
        Phi = features.block(k, x)
        kappa = features.block_size * nu / damping if preconditioning == "block" else nu
        if preconditioning:
            covariance = Phi.T @ (w * Phi) / len(x) + damping * np.eye(Phi.shape[1])
            less = kappa * w * f if preconditioning == "block" else 0.0
            step = -s * np.linalg.solve(covariance, Phi.T @ (G - less) / len(x))
        else:
            step = -s * Phi.T @ G / (len(x) * features.block_size)
        A, beta = [(1 - s * kappa) * a for a in A], [(1 - s * kappa) * b for b in beta]
        if k == len(A):
            A.append(step), beta.append(-s * G.mean(axis=0))
        else:
            A[k], beta[k] = A[k] + step, beta[k] - s * G.mean(axis=0)
    return np.stack(A), np.stack(beta)


def fresh(i, m):
    return m
