"""The residual that full-batch EigenPro and gradient descent leave in each eigenvector of the kernel matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shallows import arrays
from shallows.gram import Gram
from shallows.solvers.least_squares.eigenpro import EigenProStepper
from shallows.solvers.least_squares.kernel_problem import KernelProblem
from shallows.solvers.least_squares.kernel_sgd import KernelSGDStepper
from shallows.spectrum.kernel_preconditioner import make_preconditioner

from ..results import AnalysisResult
from ..samples import sample
from .eigenvalues import check_rank, eigenpairs


def residuals_by_direction(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    rank: int = 40,
    n_iterations: int = 3,
    n_directions: int = 200,
    n_points: int = 1000,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> AnalysisResult:
    """Full-batch EigenPro and gradient descent, run with the solvers, seen in the eigenvectors of the kernel matrix.

    Steps are 1/λ_{q+1} and 1/λ₁; the preconditioner is exact. After a few iterations the residuals near q + 1 are
    smaller than rounding errors.

    Over i: ``residual_descent`` and ``residual_eigenpro``, the share of the residual in the direction i that is left
    after t steps (root mean square over outputs); ``predicted_descent`` and ``predicted_eigenpro``, (1 − λᵢ/λ₁)ᵗ and (1
    − λᵢ/λ_{q+1})ᵗ (0 up to q + 1); beyond q + 1 ``acceleration``, the ratio of the iterations that the two need for the
    same residual by the measured shares, and ``acceleration_predicted``. Numbers: ``eigenvalue_ratio`` λ₁/λ_{q+1},
    ``solved`` the largest share left of the first q + 1 directions after one step, ``difference`` the largest between
    measured and predicted shares.
    """
    part = sample(data, kernel, bandwidth, n_points=n_points, random_state=random_state, device=device)
    matrix = part.matrix
    n = matrix.shape[0]
    check_rank(rank, n)
    values, vectors = (arrays.to_numpy(one) for one in eigenpairs(matrix))
    # Without a tolerance, the eigenvectors of many points would come from only a few products.
    preconditioner = make_preconditioner(
        part.kernel, part.points, rank=rank, n_subsample=n, seed=random_state, tolerance=1e-12
    )
    budget = arrays.memory_budget(memory, arrays.resolve_device(device))
    problem = KernelProblem(Gram(part.kernel, part.points, budget=budget), part.targets, None, preconditioner)
    k = min(n_directions, n)
    start = vectors[:, :k].T @ arrays.to_numpy(part.targets)

    def share_left(solver: Any, steps: int) -> np.ndarray:
        state = solver.init(problem)
        for _ in range(steps):
            state = solver.step(problem, state, slice(0, n))
        residual = arrays.to_numpy(part.targets) - arrays.to_numpy(matrix @ state.coefficients)
        return np.linalg.norm(vectors[:, :k].T @ residual, axis=1) / np.linalg.norm(start, axis=1)

    q = preconditioner.rank
    descent, eigenpro = KernelSGDStepper(1.0 / values[0]), EigenProStepper(1.0 / values[q])
    measured = {"descent": share_left(descent, n_iterations), "eigenpro": share_left(eigenpro, n_iterations)}
    flat = np.where(np.arange(k) <= q, values[q], values[:k])
    predicted = {
        "descent": np.abs(1.0 - values[:k] / values[0]) ** n_iterations,
        "eigenpro": np.abs(1.0 - flat / values[q]) ** n_iterations,
    }
    gain, gain_predicted = (np.full(k, math.nan) for _ in range(2))
    beyond = slice(q + 1, k)
    gain[beyond] = np.log(measured["eigenpro"][beyond]) / np.log(measured["descent"][beyond])
    gain_predicted[beyond] = np.log1p(-values[beyond] / values[q]) / np.log1p(-values[beyond] / values[0])
    difference = max(float(np.max(np.abs(measured[name] - predicted[name]))) for name in measured)
    return AnalysisResult(
        list(range(1, k + 1)),
        {
            **{f"residual_{name}": one for name, one in measured.items()},
            **{f"predicted_{name}": one for name, one in predicted.items()},
            "acceleration": without_value(gain, q + 1),
            "acceleration_predicted": without_value(gain_predicted, q + 1),
        },
        {
            "eigenvalue_ratio": float(values[0] / values[q]),
            "solved": float(share_left(eigenpro, 1)[: q + 1].max()),
            "difference": difference,
        },
        {**part.effective, "rank": q, "n_iterations": n_iterations},
    )


def without_value(curve: np.ndarray, first: int) -> list[float | None]:
    """Return a curve without values at its first places. Later NaN values are kept and stay visible."""
    return [None] * first + [float(value) for value in curve[first:]]
