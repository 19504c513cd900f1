"""Where a fit runs and what it may use: the device, the bytes, the precision."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .. import arrays
from ..gpu import gpu_checks
from ..solvers.settings import SMALL
from .checks import warn_user

GROWTH = 2**22
"""Bytes that the process may gain before the user tries again; the budget that a message names has room for them."""

LEAST_MEMORY = 2**24
"""Bytes that the smallest fit takes."""


@dataclass(frozen=True)
class Options:
    """What a user may say about the machine; it does not change what is computed, but for the precision.

    Attributes
    ----------
    device : {"auto", "cpu", "gpu", "gpu:N"}
    memory : int or str, optional
        Bytes that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}
    max_seconds : float, optional
        Of training.
    verbose : int
    """

    device: str = "auto"
    memory: int | str | None = None
    dtype: str = "auto"
    max_seconds: float | None = None
    verbose: int = 0

    def fit_device(self) -> arrays.Device:
        """The device of a fit; refuses a GPU that cannot be used, and warns of what slows it down."""
        gpu_checks.check_gpu(self.device)
        device = arrays.resolve_device(self.device)
        gpu_checks.warn_of_tf32(device, self.dtype)
        return device

    def precision(self, n: int) -> np.dtype:
        """The dtype of a fit to n rows: float64 for few of them, unless one is given."""
        return np.dtype(("float64" if n <= SMALL else "float32") if self.dtype == "auto" else self.dtype)

    def budget(self, device: arrays.Device, least: int = LEAST_MEMORY) -> int:
        """Bytes that a fit or a prediction may use on a device.

        A budget that the user gives is for the whole process, so the bytes that are in use already are subtracted.
        """
        budget = arrays.memory_budget(self.memory, device)
        if self.memory is not None and device.kind == "cpu":
            budget -= arrays.resident_memory() + 2**26
        return max(budget, least)

    def warn_of_too_little_memory(self, device: arrays.Device, least: int = LEAST_MEMORY) -> None:
        """Warn if the user's budget is less than what the process holds already and the least that a fit takes."""
        if self.memory is None or device.kind != "cpu":
            return
        needed = arrays.resident_memory() + 2**26 + least
        if arrays.memory_budget(self.memory, device) < needed:
            # In steps, so that Python shows the same words of several fits once.
            needed = 100 * math.ceil((needed + GROWTH) / 1e8)
            warn_user(
                f"memory={self.memory!r} cannot be kept, since the process holds as much already or nearly so. "
                f'What can be kept is memory="{needed}MB".',
                UserWarning,
            )
