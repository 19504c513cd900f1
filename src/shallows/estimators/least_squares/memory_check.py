"""Whether a budget of memory that the user gives can be kept, told before anything large is made."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import arrays
from ...errors import ShallowsError

BESIDE = 9 * 2**24
"""Bytes that a fit takes beside its arrays: blocks of the data, the choice of parameters, a small preconditioner."""

WANDER = 2**22
"""Bytes by which what a process holds may grow until the next call: the budget that is named leaves room for them."""


def check_memory(estimator: Any, X: Any, n_outputs: int, dtype: np.dtype, device: arrays.Device) -> None:
    """Refuse a budget for the process that its data, the points in the precision of the fit and its outputs exceed.

    Parameters
    ----------
    estimator
        With ``memory`` and ``_n_arrays``.
    X : array or CSR matrix, shape (n, d)
        The training points.
    n_outputs : int
    dtype : numpy.dtype
    device : Device
        Only budgets for a process on a CPU are checked.

    Raises
    ------
    ShallowsError
        With the least budget that can be kept, and what helps.
    """
    if estimator.memory is None or device.kind != "cpu":
        return
    n, d = X.shape
    points = n * (d + 2) * dtype.itemsize
    outputs = n * n_outputs * (2 * estimator._n_arrays * dtype.itemsize + 16)
    held = arrays.resident_memory()
    least = held + points + outputs + BESIDE
    budget = arrays.memory_budget(estimator.memory, device)
    if budget >= least:
        return
    half = dtype == np.float64 and estimator.dtype == "float64"
    raise ShallowsError(
        f"memory={estimator.memory!r} cannot be kept: the process holds {_megabytes(held)} already, and the fit takes "
        f"at least {_megabytes(least - held)}, of which {_megabytes(points)} are the points in {dtype.name}. The least "
        f'that can be kept is memory="{_megabytes(least + WANDER).replace(" ", "")}". To need less, read X as a memory '
        f"map (numpy.load with mmap_mode) or hand over fewer rows{', take dtype=' + repr('float32') if half else ''}, "
        "or use EigenProCentresClassifier or EigenProCentresRegressor, which read the data batch by batch."
    )


def _megabytes(n_bytes: int) -> str:
    return f"{math.ceil(n_bytes / 1e6)} MB"
