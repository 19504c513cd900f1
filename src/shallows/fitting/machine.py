"""Where a fit runs and what it may use: device, precision, bytes and seconds."""

from __future__ import annotations

import contextlib
import contextvars
import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from .. import arrays, training
from ..errors import ShallowsError
from ..gpu import gpu_checks
from ..solvers.settings import SMALL
from ..utils.checks import is_positive, is_whole, warn_user

GROWTH = 2**22
"""Bytes that the process may gain until the user tries again. The budget that a message names includes them."""

LEAST_MEMORY = 2**24
"""Bytes that the smallest fit needs."""


DTYPES = ("auto", "float32", "float64")

_block: contextvars.ContextVar[Mapping[str, Any] | None] = contextvars.ContextVar("options", default=None)
"""What the innermost block ``with shallows.options(...)`` sets."""


@dataclass(frozen=True)
class Options:
    """Where a fit runs, and what it may use.

    Parameters
    ----------
    device : {"auto", "cpu", "gpu", "gpu:N"}
        "auto" uses a GPU if CuPy finds one.
    memory : int or str, optional
        Memory limit of the process, in bytes or as "4GB". None: a share of the free memory.
    dtype : {"auto", "float32", "float64"}
        Precision. "auto": float64 for up to 1,000 rows, for direct solvers and if an outlier needs it, else float32.
    max_seconds : float, optional
        Time limit of the fit. If the preparation takes longer, training stops as soon as there is a model.
    verbose : int
        1 shows a progress bar.

    Examples
    --------
    >>> from shallows import Options
    >>> Options(device="cpu", memory="2GB").memory
    '2GB'
    """

    device: str = "auto"
    memory: int | str | None = None
    dtype: str = "auto"
    max_seconds: float | None = None
    verbose: int = 0

    def check(self) -> None:
        """Raise a `ShallowsError` that names the first value that is not allowed."""
        device = isinstance(self.device, arrays.Device) or re.fullmatch(r"auto|cpu|gpu(:\d+)?", str(self.device))
        dtype = isinstance(self.dtype, str) and self.dtype in DTYPES
        seconds = self.max_seconds is None or is_positive(self.max_seconds)
        verbose = isinstance(self.verbose, bool) or is_whole(self.verbose, 0)
        for name, right, expected in (
            ("device", device, "'auto', 'cpu', 'gpu' or 'gpu:N'"),
            (
                "memory",
                self.memory is None or arrays.is_size(self.memory),
                "a size in bytes, a number or such as '4GB'",
            ),
            ("dtype", dtype, "'auto', 'float32' or 'float64'"),
            ("max_seconds", seconds, "a positive number or None"),
            ("verbose", verbose, "a whole number of at least 0, True or False"),
        ):
            if not right:
                raise ShallowsError(f"{name} must be {expected}, got {getattr(self, name)!r}.")

    def in_block(self) -> Options:
        """These options, with those of the block ``with shallows.options(...)`` in place of defaults."""
        default = Options()
        unset = {
            name: value for name, value in (_block.get() or {}).items() if getattr(self, name) == getattr(default, name)
        }
        return replace(self, **unset)

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


@contextlib.contextmanager
def options(
    *, device: str | None = None, memory: int | str | None = None, verbose: int | None = None, **others: Any
) -> Iterator[None]:
    """A block whose fits and predictions use these options, except where an estimator has its own.

    Precision and time limit change the model, so they are set on the estimator only. The block is valid in its thread,
    not in worker processes of ``n_jobs``.

    Parameters
    ----------
    device, memory, verbose : optional
        As in `Options`.

    Raises
    ------
    ShallowsError
        For a value that is not allowed.
    TypeError
        For another option.

    Examples
    --------
    >>> import shallows
    >>> with shallows.options(device="cpu", memory="2GB"):
    ...     model = shallows.KernelRidgeRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    """
    for name, value in others.items():
        of_estimator = name in {item.name for item in fields(Options)}
        advice = f"It changes the model, so set it for each estimator: options=Options({name}={value!r})"
        raise TypeError(
            f"shallows.options has no option {name!r}. "
            f"{advice if of_estimator else 'Its options are device, memory and verbose'}."
        )
    given = {"device": device, "memory": memory, "verbose": verbose}
    given = {name: value for name, value in given.items() if value is not None}
    Options(**given).check()  # type: ignore[arg-type]
    with _block_with(given):
        yield


@contextlib.contextmanager
def _block_with(given: dict[str, Any]) -> Iterator[None]:
    before = _block.set({**(_block.get() or {}), **given})
    try:
        yield
    finally:
        _block.reset(before)


def in_float64() -> contextlib.AbstractContextManager[None]:
    """A block whose fits are in float64 if their estimators leave the precision to "auto"."""
    return _block_with({"dtype": "float64"})


@dataclass
class Phases:
    """Seconds of the finished phases of a fit, by name."""

    seconds: dict[str, float] = field(default_factory=dict)
    began: float = field(default_factory=time.perf_counter)

    def end(self, name: str, run: training.Run | None = None) -> None:
        """Store the seconds of a phase; for a run, the seconds without training are stored as "evaluation"."""
        now = time.perf_counter()
        seconds, self.began = now - self.began, now
        if run is not None:
            self.seconds["evaluation"], seconds = max(0.0, seconds - run.seconds), run.seconds
        self.seconds[name] = seconds

    def seconds_left(self, max_seconds: float | None) -> float | None:
        """Seconds that remain for the training, None without a limit; warns if no time remains."""
        if max_seconds is None:
            return None
        before = sum(self.seconds.values())
        if before > max_seconds:
            warn_user(
                f"max_seconds={max_seconds:g} were over before the first step, after {before:.3g} seconds. The "
                "training ends as soon as there is a model. Allow more time, or give the bandwidth as a number."
            )
        return max(0.0, max_seconds - before)


def report_of_machine(budget: int, dtype: np.dtype, device: arrays.Device, seed: int) -> dict[str, int | str]:
    """The entries of ``report_`` about the machine and the seed."""
    return {"memory_budget": budget, "precision": dtype.name, "device": str(device), "seed": seed}
