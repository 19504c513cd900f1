"""Classification problems on sparse rows, which machines of bounded size visit one by one."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse

FOLD_BELOW = 1e-6
"""A common factor is multiplied into the coefficients when it falls below this, before digits are lost."""


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Examples of classes; a batch is an array of row numbers, which are visited in its order."""

    points: scipy.sparse.csr_array  # (n, d)
    labels: np.ndarray  # (n,): numbers of the classes, from 0
    weights: np.ndarray  # (n,): factors of the losses
    n_classes: int

    @property
    def n_inputs(self) -> int:
        return self.points.shape[1]

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """Row pointers, column numbers, values, labels and weights, for compiled steps."""
        csr = self.points
        return csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data, self.labels, self.weights


def sparse_rows(
    points: np.ndarray | scipy.sparse.csr_array, labels: np.ndarray, weights: np.ndarray | None, n_classes: int
) -> SparseRows:
    """A problem of dense or sparse points, shape (n, d), in double precision."""
    csr = scipy.sparse.csr_array(points, dtype=np.float64)
    weights = np.ones(csr.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    return SparseRows(csr, np.asarray(labels, dtype=np.int64), weights, n_classes)
