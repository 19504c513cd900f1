"""Memory: sizes as text, free memory of a device, the budget of a fit, memory that this process uses."""

import contextlib
import math
import re
from typing import Any

import numpy as np

from ..errors import ShallowsError
from ..utils import memory_limits
from .devices import Device, _cupy

_SHARE_OF_FREE_MEMORY = 0.7
_UNITS = {"": 1} | {unit: 10**power for unit, power in zip("kmgt", (3, 6, 9, 12), strict=True)}
_UNITS |= {f"{unit}i": 2**power for unit, power in zip("kmgt", (10, 20, 30, 40), strict=True)}


def parse_bytes(size: int | float | str) -> int:
    """A size in bytes from a positive number or a text such as ``"4GB"`` or ``"512 MiB"``."""
    if isinstance(size, str):
        match = re.fullmatch(r"\s*((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[0-9]+)?)\s*([kmgt]?i?)b?\s*", size.lower())
        if match is None or match[2] not in _UNITS:
            raise ShallowsError(f"A size in bytes is a number or a text such as '4GB' or '512MiB', got {size!r}.")
        size = float(match[1]) * _UNITS[match[2]]
    number = isinstance(size, (int, float, np.number)) and not isinstance(size, bool)
    if not (number and math.isfinite(size) and size > 0):
        raise ShallowsError(f"A size in bytes must be positive, got {size!r}.")
    return int(size)


def is_size(size: Any) -> bool:
    """Whether a value is a size in bytes, see `parse_bytes`."""
    try:
        parse_bytes(size)
    except ShallowsError:
        return False
    return True


def available_memory(device: Device | None = None) -> int:
    """Bytes that are free on a device, at most the limits of the container and the job on a CPU."""
    if device is not None and device.kind == "gpu":
        with device.active():
            free, _ = _cupy().cuda.runtime.memGetInfo()
            return int(free + _cupy().get_default_memory_pool().free_bytes())
    import psutil

    free = psutil.virtual_memory().available
    for limit in memory_limits.limits():
        free = min(free, limit.size - limit.used)
    return max(free, 2**26)


def memory_budget(memory: int | float | str | None, device: Device | None = None) -> int:
    """Bytes that a fit may use: ``memory``, or 70 % of the free memory if it is None."""
    if memory is not None:
        return parse_bytes(memory)
    return int(_SHARE_OF_FREE_MEMORY * available_memory(device))


def check_room(what: str, needed: float, budget: float, remedy: str) -> None:
    """Raise an error if ``needed`` bytes exceed the budget; ``what``: subject and verb, ``remedy``: a sentence."""
    if needed > budget:
        raise ShallowsError(f"{what} {needed / 1e9:,.3g} GB, and the budget leaves {budget / 1e9:,.3g} GB. {remedy}")


def resident_memory() -> int:
    """Bytes of main memory of this process; on Linux without pages of memory maps, which the system can drop."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/status") as status:
        parts = dict(line.split(":", 1) for line in status)
        held = [int(parts[name].split()[0]) * 1024 for name in ("RssAnon", "RssShmem") if name in parts]
        if held:
            return sum(held)
    import psutil

    return psutil.Process().memory_info().rss


def peak_memory() -> int:
    """The most bytes of main memory that this process has used."""
    # On Linux ru_maxrss includes the peak of the process that started this one, so VmHWM is read first.
    with contextlib.suppress(OSError, StopIteration), open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) * 1024
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
