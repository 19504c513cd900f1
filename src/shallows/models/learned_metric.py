"""A learned metric, which a model applies to its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse


@dataclass(frozen=True)
class WeightedRows:
    """M^½ x of points, shape (n, d): computed whenever rows are read, so that there is no copy of all points."""

    points: Any  # An array, memory map or CSR matrix, shape (n, d)
    root: np.ndarray  # M^½, as in `LearnedMetric`, in the precision of the points

    @property
    def shape(self) -> tuple[int, int]:
        """Of the points."""
        return self.points.shape

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Some rows, dense."""
        block = self.points[rows]
        block = block.toarray() if scipy.sparse.issparse(block) else np.asarray(block)
        return block * self.root if self.root.ndim == 1 else block @ self.root


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

    def __call__(self, X: Any) -> WeightedRows:
        """M^½ x of points, shape (n, d), in their precision."""
        return WeightedRows(X, self.root.astype(X.dtype))
