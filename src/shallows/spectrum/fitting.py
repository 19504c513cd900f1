"""Fitting preconditioners to a user's arrays, and computing the top of their kernel's spectrum."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays, gram, kernels, streams
from ..arrays import Array
from ..errors import ShallowsError
from ..kernels import Kernel
from ..utils.checks import is_positive
from ..utils.plain_numbers import takes_numpy_integers
from . import certificates
from .eigensystems import eigensystem, top_eigensystem
from .kernel_preconditioner import Preconditioner, make_preconditioner


@takes_numpy_integers
def fit_preconditioner(
    X: Any,
    kernel: str | Kernel = "gaussian",
    bandwidth: float | str | None = "median",
    *,
    rank: int = 160,
    n_subsample: int = 4800,
    damping: float = 1.0,
    power: float = 1.0,
    random_state: int = 0,
    device: str = "auto",
    dtype: str = "float32",
) -> Preconditioner:
    """The preconditioner of training data, for saving it or passing it to an estimator.

    Parameters
    ----------
    X : array, shape (n, d)
        Training points; may be a memory map, of which only the necessary rows are read.
    kernel : str or Kernel
    bandwidth : float or "median"
        σ. "median": the median rule on the rows that are read.
    rank, n_subsample, damping, power
        q, M, τ and a, see `make_preconditioner`. The defaults are the paper's values for large data sets.
    random_state : int
        Seed of the subsample.
    device, dtype
        Device and precision of the computation.
    """
    if not (is_positive(power) and power <= 1):
        raise ShallowsError(f"power must be a number in (0, 1], got {power!r}.")
    device = arrays.resolve_device(device)
    n = X.shape[0]
    order = streams.permutation(random_state, "preconditioner rows", 0, n)[: min(n, n_subsample + certificates.N_FRESH)]
    kernel = kernels.make(kernel, bandwidth)
    points = _points(X, order, device, dtype, centered=kernel.shift_invariant)
    chosen = kernels.choose(kernel, points, random_state)
    settings = {"rank": rank, "n_subsample": n_subsample, "damping": damping, "power": float(power)}
    with device.active():
        found = make_preconditioner(chosen, points, seed=random_state, **settings)
    return replace(found, indices=order[found.indices])


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues, and the settings with which they were computed."""

    values: np.ndarray  # (k,): descending
    # ``kernel``, ``bandwidth``, ``n_subsample``, ``kept_fraction`` of the matrix, ``device``, ``precision``
    effective: dict[str, Any]

    @property
    def index(self) -> list[int]:
        """1 to k."""
        return list(range(1, len(self.values) + 1))

    @property
    def curve(self) -> dict[str, np.ndarray]:
        """``eigenvalue`` λᵢ and ``eigenvalue_ratio`` λ₁/λᵢ (the largest number if λᵢ is 0), one for each index."""
        info = np.finfo(np.float64)
        least = max(info.tiny, 2.0 * self.values[0] / info.max)
        return {"eigenvalue": self.values, "eigenvalue_ratio": self.values[0] / np.maximum(self.values, least)}


@takes_numpy_integers
def eigenspectrum(
    X: Any,
    kernel: str | Kernel = "gaussian",
    bandwidth: float | str | None = "median",
    *,
    n_subsample: int = 2000,
    n_eigenvalues: int = 200,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
    dtype: str = "float32",
    tolerance: float = 1e-3,
) -> Spectrum:
    """The largest eigenvalues of the kernel matrix of a random subsample, divided by its size.

    Parameters
    ----------
    X : array, shape (n, d)
    kernel : str or Kernel
    bandwidth : float or "median"
        σ. "median": the median rule.
    n_subsample : int
        N, at most n.
    n_eigenvalues : int
        Number of eigenvalues.
    random_state : int
        Seed of the subsample. A larger subsample of the same seed contains the smaller one.
    device, dtype
        Device and precision of the computation.
    memory : int or str, optional
        Bytes. Parts of the matrix that do not fit are computed again for every product.
    tolerance : float
        Relative accuracy of the eigenvalues.
    """
    device = arrays.resolve_device(device)
    budget = arrays.memory_budget(memory, device)
    order = streams.permutation(random_state, "eigenspectrum", 0, X.shape[0])[:n_subsample]
    kernel = kernels.make(kernel, bandwidth)
    points = _points(X, order, device, dtype, centered=kernel.shift_invariant)
    n = len(order)
    k = min(n_eigenvalues, n)
    with device.active():
        kernel = kernels.choose(kernel, points, random_state)
        kept = 1.0
        if 3 * n * n * arrays.itemsize(points) <= budget:
            matrix = kernels.matrix(kernel, points)
            values, _ = eigensystem(matrix, k, seed=random_state, tolerance=tolerance)
        else:
            blocks = 8 * n * (k + max(10, k // 10)) * arrays.itemsize(points)
            matrix = gram.Gram(kernel, points, budget=budget - points.nbytes - blocks)
            kept = matrix.kept_fraction
            values, _ = top_eigensystem(matrix.dot, n, k, like=points, seed=random_state, tolerance=tolerance)
    effective = {
        "kernel": kernel.name,
        "bandwidth": kernel.bandwidth,
        **({"kernel_params": kernel.parameters} if kernel.parameters else {}),
        "n_subsample": n,
        "kept_fraction": kept,
        "device": str(device),
        "precision": dtype,
    }
    return Spectrum(arrays.to_numpy(values).astype(np.float64) / n, effective)


def _points(X: Any, rows: np.ndarray, device: arrays.Device, dtype: Any, *, centered: bool = True) -> Array:
    """Chosen rows, centered if the kernel allows it, and augmented, on the device."""
    # Sorted, so that a memory map is read from front to back.
    ascending = np.argsort(rows, kind="stable")
    block = np.empty((len(rows), X.shape[1]), dtype=np.float64)
    block[ascending] = X[rows[ascending]]
    if not np.isfinite(block).all():
        raise ShallowsError("X contains NaN or infinity.")
    if centered:
        block -= block.mean(axis=0)
    with device.active():
        return kernels.augmented(arrays.to_device(block, device, dtype))
