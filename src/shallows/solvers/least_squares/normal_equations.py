"""Least squares on features from HᵀH and HᵀT: ridge regression, an ℓ₁ penalty, and bounded coefficients.

The minimizer of ½ ‖β‖² + (C/2) Σᵢ wᵢ ‖tᵢ − βᵀhᵢ‖² is β = (HᵀH + I/C)⁻¹ HᵀT and also β = Hᵀ(HHᵀ + I/C)⁻¹ T, with the
rows of H and T multiplied by √wᵢ.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg

from ... import arrays
from ..settings import at_least_zero, choice, count, setting
from .feature_solver import FeatureSolver

DIRECT_ROWS = 6000
"""The most rows for which the dense system of the rows is solved for sparse features."""

ROUNDINGS, LEAST_ROWS = 4.0, 512
"""Products of a block are computed in float32 if their rounding is at most λ over the first number. That limits the
rows of a block; with fewer than the second number of rows the products are computed in float64."""

L1_TOLERANCE, MOST_L1_STEPS = 1e-4, 1000

FORMS = ("auto", "features", "rows")
"""The system to solve; "auto" takes the smaller one."""


@dataclass(frozen=True, kw_only=True)
class NormalEquations(FeatureSolver):
    """Ridge regression on features by the smaller of its two systems; sparse features may need conjugate gradients.

    Parameters
    ----------
    form : {"auto", "features", "rows"}
        The system to solve for dense features: one equation for each feature or each row. "auto": the smaller one.
    tol : float
        Conjugate gradients stop when the residual is this share of the right side.
    max_iterations : int
        The most iterations of conjugate gradients, which are used for sparse features and more than 6,000 rows.
    """

    form: str = setting(choice(*FORMS))
    tol: float = setting(at_least_zero(1e-6))
    max_iterations: int = setting(count(default=1000))

    def form_for(self, n: int, width: int) -> str:
        """The system for n rows and this number of dense features."""
        if self.form != "auto":
            return self.form
        return "rows" if n < width else "features"


def solve_by_features(blocks: Iterator[tuple[np.ndarray, np.ndarray]], ridge: float) -> np.ndarray:
    """(HᵀH + λI)⁻¹ HᵀT from blocks of rows ``(H, T)``, shape (n_features, n_outputs); float64."""
    gram, moments = sums_of_features(blocks, ridge)
    return _solve(gram, ridge, moments)


def sums_of_features(blocks: Iterator[tuple[np.ndarray, np.ndarray]], ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """HᵀH and HᵀT of `solve_by_features`."""
    gram: Any = None
    part: Any = None
    moments: Any = 0.0
    for H, T in blocks:
        if gram is None:
            rounding = ROUNDINGS * np.finfo(np.float32).eps * np.vdot(H, H)
            # Features that are all zero are exact in any precision.
            allowed = min(len(H), int(len(H) * ridge / rounding)) if rounding > 0 else len(H)
            single = H.dtype == np.float32 and allowed >= min(LEAST_ROWS, len(H))
            height = allowed if single else len(H)
            width, dtype = H.shape[1], np.float32 if single else np.float64
            gram, part = np.zeros((width, width), order="F"), np.zeros((width, width), dtype=dtype, order="F")
            (syrk,) = scipy.linalg.get_blas_funcs(("syrk",), (part,))
        H = np.ascontiguousarray(H, dtype=dtype)
        for rows in arrays.blocks(len(H), height):
            # Only the upper triangle, which is half of the work, into memory that is used again.
            part = syrk(1.0, H[rows].T, beta=0.0, c=part, overwrite_c=1)
            gram += part
        moments = moments + H.T @ T.astype(dtype)
    gram += np.triu(gram, 1).T
    return gram, moments.astype(np.float64)


def solve_by_rows(H: np.ndarray, T: np.ndarray, ridge: float) -> np.ndarray:
    """Hᵀ(HHᵀ + λI)⁻¹ T, shape (n_features, n_outputs); float64."""
    H = np.asarray(H, dtype=np.float64)
    return H.T @ _solve(H @ H.T, ridge, T)


def _solve(matrix: np.ndarray, ridge: float, right: np.ndarray) -> np.ndarray:
    matrix = (matrix + matrix.T) / 2
    n = len(matrix)
    matrix[np.diag_indices(n)] += ridge
    try:
        return arrays.solve_positive_definite(matrix.copy(), right)
    except np.linalg.LinAlgError:
        # Singular to rounding: the solution of least norm, whose products are the same.
        return scipy.linalg.lstsq(matrix, right, cond=n * np.finfo(np.float64).eps, check_finite=False)[0]


def solve_sparse(H: Any, T: np.ndarray, ridge: float, tol: float, max_iterations: int) -> tuple[np.ndarray, int]:
    """(HᵀH + λI)⁻¹ HᵀT for sparse H, and the iterations of the slowest output.

    Up to `DIRECT_ROWS` rows the system of the rows is solved, otherwise that of the features by conjugate gradients,
    until the residual is ``tol`` times the right side.
    """
    H = H.tocsr().astype(np.float64)
    used, places = np.unique(H.indices, return_inverse=True)
    out = np.zeros((H.shape[1], T.shape[1]))
    H = scipy.sparse.csr_array((H.data, places, H.indptr), shape=(H.shape[0], len(used)))
    across, n = H.T.tocsr(), H.shape[0]
    if n <= DIRECT_ROWS:
        products = np.empty((n, n))
        for start in range(0, n, 500):
            products[start : start + 500] = (H[start : start + 500] @ across).toarray()
        out[used] = across @ _solve(products, ridge, T)
        return out, 1
    diagonal, most = np.asarray(H.multiply(H).sum(axis=0)).ravel() + ridge, 0
    operator = scipy.sparse.linalg.LinearOperator(
        (len(used), len(used)), matvec=lambda v: across @ (H @ v) + ridge * v, dtype=np.float64
    )
    inverse = scipy.sparse.linalg.LinearOperator(operator.shape, matvec=lambda v: v / diagonal, dtype=np.float64)
    for k, moments in enumerate((across @ T).T):
        steps: list[None] = []
        out[used, k], _ = scipy.sparse.linalg.cg(
            operator,
            moments,
            rtol=tol,
            maxiter=max_iterations,
            M=inverse,
            callback=lambda _, steps=steps: steps.append(None),
        )
        most = max(most, len(steps))
    return out, most


def solve_with_l1(
    gram: np.ndarray, moments: np.ndarray, penalty: float, tol: float = L1_TOLERANCE, most_steps: int = MOST_L1_STEPS
) -> np.ndarray:
    """The B that minimizes ½ tr BᵀGB − tr MᵀB + λ Σ |bⱼₖ|, shape of M; float64, by FISTA.

    Beck and Teboulle (2009), SIAM Journal on Imaging Sciences 2. The extrapolation restarts if it leads uphill
    (O'Donoghue and Candès 2015). It ends after a step below ``tol`` times the largest |M|, in units of 1/‖G‖.
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


def minimize_in_box(
    gram: np.ndarray, moments: np.ndarray, bound: float, tol: float, max_iterations: int
) -> tuple[np.ndarray, int]:
    """The α that minimizes αᵀGα − 2αᵀm under |αₖ| ≤ bound, shape (K,), by L-BFGS-B, and the iterations."""

    def risk(alpha: np.ndarray) -> tuple[float, np.ndarray]:
        product = gram @ alpha
        return float(alpha @ product - 2.0 * (alpha @ moments)), 2.0 * (product - moments)

    options = {"maxiter": max_iterations, "maxfun": 2 * max_iterations, "ftol": 1e-15, "gtol": tol}
    start, box = np.zeros(len(moments)), [(-bound, bound)] * len(moments)
    found = scipy.optimize.minimize(risk, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
    return found.x, int(found.nit)
