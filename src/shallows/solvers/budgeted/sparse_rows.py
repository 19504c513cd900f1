"""Classification problems on sparse rows, which budgeted machines visit one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Examples of classes; a batch is an array of the numbers of the rows, which are visited in its order."""

    points: scipy.sparse.csr_array  # (n, d)
    labels: np.ndarray  # (n,): Numbers of the classes, from 0
    weights: np.ndarray  # (n,): Factors of the losses
    n_classes: int

    @property
    def n_inputs(self) -> int:
        """Inputs of a point, d."""
        return self.points.shape[1]

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The row pointers, column numbers, values, labels and weights, as compiled steps take them."""
        csr = self.points
        return csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data, self.labels, self.weights


def sparse_rows(
    points: np.ndarray | scipy.sparse.csr_array, labels: np.ndarray, weights: np.ndarray | None, n_classes: int
) -> SparseRows:
    """A problem of dense or sparse points, shape (n, d), in double precision."""
    csr = scipy.sparse.csr_array(points, dtype=np.float64)
    weights = np.ones(csr.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    return SparseRows(csr, np.asarray(labels, dtype=np.int64), weights, n_classes)
