"""EigenPro with the approximate eigenvectors of a subsample: damping τ < 1 or a smaller step (section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shallows import arrays
from shallows.spectrum.eigensystems import eigensystem

from ..results import AnalysisResult
from ..samples import sample
from .eigenvalues import check_rank, eigenpairs, largest_eigenvalue


def damped_descent(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    rank: int = 40,
    n_subsample: int | None = 200,
    damping: float = 1.0,
    lowered: float = 1.0,
    n_points: int = 1000,
    iterations: Sequence[int] = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000),
    random_state: int = 0,
    device: str = "auto",
) -> AnalysisResult:
    """Full-batch EigenPro with the eigenvectors of a subsample, in closed form.

    The residual after t steps is (I − η K_P/n)ᵗ y with the preconditioned kernel matrix K_P, so one eigendecomposition
    gives every t.

    The step is `lowered` times the one that τ = 1 allows, the reciprocal of the largest eigenvalue of K_P/n at τ = 1.
    With `n_subsample=None` the eigenvectors are exact.

    Over t: ``loss``, the mean square of the residual over that at zero. Numbers: ``other_directions``, the share of the
    full step of τ = 1 that remains along the exact eigenvectors after 2q, averaged over the next 200; ``spill``, the
    largest eigenvalue of K_P/n over λ_{q+1}.
    """
    part = sample(data, kernel, bandwidth, n_points=n_points, random_state=random_state, device=device)
    matrix = part.matrix
    xp = arrays.namespace(matrix)
    n = matrix.shape[0]
    m = min(n_subsample or n, n)
    check_rank(rank, m)
    exact_values, exact_vectors = eigenpairs(matrix)
    if m == n:
        approximate, vectors = exact_values[: rank + 1], exact_vectors[:, : rank + 1]
    else:
        approximate, vectors = eigensystem(matrix[:m, :m], rank + 1, seed=random_state)
    # ψᵢ(x) = Σ_j e_ij k(x_j, x)/√σᵢ on all points: of norm one in the kernel's space.
    functions = matrix[:, :m] @ vectors[:, :rank] / xp.sqrt(approximate[:rank])[None, :]

    def preconditioned(tau: float) -> Any:
        shrink = 1.0 - tau * approximate[rank] / approximate[:rank]
        return matrix - (functions * shrink[None, :]) @ functions.T

    operator, plain = preconditioned(damping), preconditioned(1.0)
    step = lowered / largest_eigenvalue(plain)
    values, basis = eigenpairs(operator)
    start = xp.sum((basis.T @ part.targets) ** 2, axis=1)
    shares = arrays.to_numpy(xp.abs(1.0 - step * values))
    weights = arrays.to_numpy(start / xp.sum(start))
    with np.errstate(divide="ignore"):
        losses = [float(weights @ np.exp(2.0 * t * np.log(shares))) for t in iterations]
    others = exact_vectors[:, 2 * rank : 2 * rank + 200]

    def along(kernel_matrix: Any) -> Any:
        return xp.sum(others * (kernel_matrix @ others), axis=0)

    left = float(xp.mean(lowered * along(operator) / along(plain)))
    spill = float(values[0] / exact_values[rank])
    return AnalysisResult(
        list(iterations),
        {"loss": losses},
        {"other_directions": left, "spill": spill},
        {**part.effective, "rank": rank, "n_subsample": m, "damping": damping, "step_size": step * n},
    )
