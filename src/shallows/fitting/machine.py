"""Where a fit runs and what it may use: device, precision, bytes and seconds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np

from .. import arrays, training
from ..gpu import gpu_checks
from ..solvers.settings import SMALL
from ..utils.checks import warn_user

GROWTH = 2**22
"""Bytes that the process may gain until the user tries again. The budget that a message names includes them."""

LEAST_MEMORY = 2**24
"""Bytes that the smallest fit needs."""


@dataclass(frozen=True)
class Options:
    """What a user may set about the machine. Results depend on ``dtype`` only."""

    device: str = "auto"  # "auto", "cpu", "gpu" or "gpu:N"
    memory: int | str | None = None  # Bytes that the process may use. None: a share of what is free
    dtype: str = "auto"  # "auto", "float32" or "float64"
    max_seconds: float | None = None  # Of training
    verbose: int = 0

    def fit_device(self) -> arrays.Device:
        """The device of a fit. Refuses a GPU that cannot be used, and warns if float32 is slow on it."""
        gpu_checks.check_gpu(self.device, self.dtype)
        return arrays.resolve_device(self.device)

    def precision(self, n: int) -> np.dtype:
        """The dtype of a fit to n rows: float64 for few rows, unless the user chose one."""
        return np.dtype(("float64" if n <= SMALL else "float32") if self.dtype == "auto" else self.dtype)

    def budget(self, device: arrays.Device, least: int = LEAST_MEMORY) -> int:
        """Bytes that a fit or a prediction may use on a device.

        A budget that the user gives is for the whole process, so the bytes already in use are subtracted.
        """
        budget = arrays.memory_budget(self.memory, device)
        if self.memory is not None and device.kind == "cpu":
            budget -= arrays.resident_memory() + 2**26
        return max(budget, least)

    def prediction_budget(self, device: arrays.Device, *, share: int = 4) -> int:
        """Bytes of a block of a prediction: at most the budget divided by ``share``."""
        return min(self.budget(device) // share, 2**28 if device.kind == "cpu" else 2**32)

    def warn_of_too_little_memory(self, device: arrays.Device, least: int = LEAST_MEMORY) -> None:
        """Warn if the user's budget is smaller than the bytes in use plus the bytes of the smallest fit."""
        if self.memory is None or device.kind != "cpu":
            return
        needed = arrays.resident_memory() + 2**26 + least
        if arrays.memory_budget(self.memory, device) < needed:
            # Rounded up, so that several fits give the same text, which Python shows once.
            needed = 100 * math.ceil((needed + GROWTH) / 1e8)
            warn_user(
                f"memory={self.memory!r} is too little, because the process already uses nearly as much or more. "
                f'Set memory="{needed}MB" or more.',
                UserWarning,
            )


@dataclass
class Phases:
    """Seconds of the finished phases of a fit, by name."""

    seconds: dict[str, float] = field(default_factory=dict)
    began: float = field(default_factory=time.perf_counter)

    def end(self, name: str, run: training.Run | None = None) -> None:
        """Store the seconds of a phase. Of a run, the seconds that it did not train are its evaluation."""
        now = time.perf_counter()
        seconds, self.began = now - self.began, now
        if run is not None:
            self.seconds["evaluation"], seconds = max(0.0, seconds - run.seconds), run.seconds
        self.seconds[name] = seconds

    def seconds_left(self, max_seconds: float) -> float:
        """Seconds that remain for the training; warns if no time remains."""
        before = sum(self.seconds.values())
        if before > max_seconds:
            warn_user(
                f"max_seconds={max_seconds:g} were over before the first step, after {before:.3g} seconds. The "
                "training ends as soon as there is a model. Allow more time, or give the bandwidth as a number."
            )
        return max(0.0, max_seconds - before)


def report_of_machine(budget: int, dtype: np.dtype, device: arrays.Device, seed: int) -> dict[str, int | str]:
    """The entries of ``effective_params_`` about the machine and the seed."""
    return {"memory_budget": budget, "precision": dtype.name, "device": str(device), "seed": seed}
