"""A learned metric, which a model applies to its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays

BLOCK_BYTES = 2**25


@dataclass(frozen=True)
class LearnedMetric:
    """x → M^½ x: the kernel then has the distances √((x − z)ᵀM(x − z)). The largest entry of M is 1."""

    root: np.ndarray  # M^½, float64: the diagonal, shape (d,), or the symmetric matrix, shape (d, d)

    @property
    def matrix(self) -> np.ndarray:
        """M: its diagonal, shape (d,), or the matrix, shape (d, d)."""
        return self.root**2 if self.root.ndim == 1 else self.root @ self.root

    def report(self) -> dict[str, Any]:
        """An entry of ``report_``: the form, and the number of columns that half of all weight is on."""
        weights = np.sort(self.matrix if self.root.ndim == 1 else np.diag(self.matrix))[::-1]
        half = int(np.searchsorted(np.cumsum(weights), 0.5 * weights.sum())) + 1
        return {"metric": {"form": "diagonal" if self.root.ndim == 1 else "full", "columns_of_half_weight": half}}

    def after(self, mean_product: np.ndarray) -> LearnedMetric:
        """The metric of a function g(M^½ x) of x, of which the mean of ∇g ∇gᵀ, or of its diagonal, is given."""
        matrix = self.root**2 * mean_product if self.root.ndim == 1 else self.root @ mean_product @ self.root
        return self.of(matrix)

    @classmethod
    def of(cls, matrix: np.ndarray) -> LearnedMetric:
        """The metric of a positive semidefinite matrix (d, d), or of its diagonal (d,), scaled to largest entry 1."""
        matrix = matrix / np.abs(matrix).max()
        if matrix.ndim == 1:
            return cls(np.sqrt(matrix))
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        return cls((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)

    def __call__(self, X: Any) -> np.ndarray:
        """M^½ x of points, shape (n, d), in their precision; read block by block."""
        out = np.empty(X.shape, dtype=X.dtype)
        root = self.root.astype(X.dtype)
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_BYTES // (8 * max(1, X.shape[1])))):
            out[rows] = X[rows] * root if root.ndim == 1 else X[rows] @ root
        return out
