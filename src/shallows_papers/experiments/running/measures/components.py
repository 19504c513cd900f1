"""Components of a transformer: how much of the test part they explain, and their angle to a reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Measure


class ComponentQuality(Measure):
    """How much of the test part the components of a transformer explain.

    A model has ``transform(x)``, shape (n, k). With ``inverse_transform``, the reconstruction error is measured too.
    With ``reference_components(x)``, shape (n, k'), such as the eigenfunctions in closed form or an exact
    decomposition, the angle to them is measured too.
    """

    def of_estimator(self, estimator: Any) -> dict[str, float]:
        """Return the components' total variance, the reconstruction error in % of the variance, and squared sine."""
        x = np.asarray(self.data.x_test)
        values = np.asarray(estimator.transform(x), dtype=np.float64).reshape(len(x), -1)
        found = {"component_variance": float(values.var(axis=0).sum())}
        if hasattr(estimator, "inverse_transform"):
            back = np.asarray(estimator.inverse_transform(values.astype(x.dtype)), dtype=np.float64)
            variance = float(np.sum(np.var(x, axis=0, dtype=np.float64)))
            found["reconstruction_error"] = 100.0 * float(np.mean(np.sum((back - x) ** 2, axis=1))) / variance
        if hasattr(estimator, "reference_components"):
            found["squared_sine"] = squared_sine(values, np.asarray(estimator.reference_components(x)))
        return found


def squared_sine(values: np.ndarray, reference: np.ndarray) -> float:
    """Return 1 − cos² of the largest angle between two spaces of functions, from their values on a sample.

    Project each function of the reference space (k' ≤ k) onto the other space, in L₂ of the sample; cos² is the
    smallest share that remains (Xie et al. 2015, section 5). The values have shapes (n, k) and (n, k').
    """
    inside = orthonormal_basis(values).T @ orthonormal_basis(reference)
    cosines = np.linalg.svd(inside, compute_uv=False)
    smallest = cosines[-1] if inside.shape[0] >= inside.shape[1] else 0.0
    return float(max(0.0, 1.0 - smallest**2))


def orthonormal_basis(values: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the columns of a matrix, shape (n, rank)."""
    vectors, sizes, _ = np.linalg.svd(np.asarray(values, dtype=np.float64), full_matrices=False)
    return vectors[:, sizes > sizes.max(initial=0.0) * max(values.shape) * np.finfo(np.float64).eps]
