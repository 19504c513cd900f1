"""Components of a transformer: how much of the test part they hold, and their angle to a reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Measure


class ComponentQuality(Measure):
    """What the components of a transformer hold of the test part.

    A model offers ``transform(x)``, shape (n, k). Where it has ``inverse_transform``, the error of reconstruction is
    measured as well; where it has ``reference_components(x)``, shape (n, k'), such as the eigenfunctions in closed form
    or an exact decomposition, so is the angle to them.
    """

    def of_estimator(self, estimator: Any) -> dict[str, float]:
        """Summed variance of the components, error of reconstruction in % of the features' variance, squared sine."""
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
    """1 − cos² of the largest angle between two spaces of functions, by their values on a sample.

    cos² is the smallest over the reference space, k' ≤ k, of the share that a function keeps when it is projected onto
    the space found, in L₂ of the sample (Xie et al. 2015, section 5). The values have shapes (n, k) and (n, k').
    """
    inside = orthonormal_basis(values).T @ orthonormal_basis(reference)
    cosines = np.linalg.svd(inside, compute_uv=False)
    smallest = cosines[-1] if inside.shape[0] >= inside.shape[1] else 0.0
    return float(max(0.0, 1.0 - smallest**2))


def orthonormal_basis(values: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the columns of a matrix, shape (n, rank)."""
    vectors, sizes, _ = np.linalg.svd(np.asarray(values, dtype=np.float64), full_matrices=False)
    return vectors[:, sizes > sizes.max(initial=0.0) * max(values.shape) * np.finfo(np.float64).eps]
