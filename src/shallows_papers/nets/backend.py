"""The one module that imports PyTorch, and the names of devices in this package and in PyTorch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shallows.errors import MissingExtraError, ShallowsError


def torch() -> Any:
    """The library."""
    try:
        import torch as library
    except ImportError:
        raise MissingExtraError("nets", "A neural net") from None
    return library


def resolve_device(device: str) -> Any:
    """PyTorch's device for ``"auto"``, ``"cpu"``, ``"gpu"`` or ``"gpu:1"``."""
    library = torch()
    match = re.fullmatch(r"(auto|cpu)|gpu(?::(\d+))?", str(device))
    if match is None:
        raise ShallowsError(f"device must be 'auto', 'cpu', 'gpu' or 'gpu:<number>', got {device!r}.")
    there = library.cuda.is_available()
    if match[1] == "cpu" or (match[1] == "auto" and not there):
        return library.device("cpu")
    index = int(match[2] or 0)
    if not there or index >= library.cuda.device_count():
        raise ShallowsError(f"device={device!r} was requested, but PyTorch finds no such GPU. Use device='cpu'.")
    return library.device("cuda", index)


def device_name(device: Any) -> str:
    """The name of a PyTorch device in this package, for records."""
    return "cpu" if device.type == "cpu" else f"gpu:{device.index or 0}"


@contextmanager
def reproducibly() -> Iterator[None]:
    """Make runs reproducible on one machine: no search for fast convolutions, no reduced float32 precision."""
    library = torch()
    with library.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
        yield
