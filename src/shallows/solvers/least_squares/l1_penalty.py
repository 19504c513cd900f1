"""Least squares with an ℓ₁ penalty, by accelerated proximal gradients (FISTA)."""

from __future__ import annotations

import math

import numpy as np

TOLERANCE, MOST_STEPS = 1e-4, 1000


def solve_with_l1(
    gram: np.ndarray, moments: np.ndarray, penalty: float, tol: float = TOLERANCE, most_steps: int = MOST_STEPS
) -> np.ndarray:
    """The B with the least ½ tr BᵀGB − tr MᵀB + λ Σ |bⱼₖ|, shape of M; float64.

    A step from V goes along the gradient, by 1/‖G‖, and shrinks each entry by λ/‖G‖ towards zero. The next V lies
    beyond the new B, the farther the more steps there were; when that leads uphill, the count begins anew (O'Donoghue
    and Candès 2015). The end is a step of less than ``tol`` times the largest |M|, in units of 1/‖G‖, or
    ``most_steps``.

    References
    ----------
    A. Beck and M. Teboulle (2009), "A fast iterative shrinkage-thresholding algorithm for linear inverse problems",
    SIAM Journal on Imaging Sciences 2.
    """
    B = V = np.zeros_like(moments)
    # A Gram matrix of zeros has moments of zero, and so the solution zero.
    length = 1.0 / (float(np.linalg.eigvalsh(gram)[-1]) or 1.0)
    enough, t = tol * length * float(np.abs(moments).max()), 1.0
    for _ in range(most_steps):
        Z = V - length * (gram @ V - moments)
        new = np.sign(Z) * np.maximum(np.abs(Z) - length * penalty, 0.0)
        step, back = new - B, V - new
        if np.vdot(back, step) > 0:
            t = 1.0
        following = (1.0 + math.sqrt(1.0 + 4.0 * t * t)) / 2.0
        B, V, t = new, new + (t - 1.0) / following * step, following
        if np.abs(back).max() <= enough:
            break
    return B
