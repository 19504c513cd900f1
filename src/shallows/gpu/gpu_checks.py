"""What keeps a GPU from being used, or from being used as expected, in the user's words and before any work is done."""

from __future__ import annotations

import os
import re
import warnings

from .. import arrays
from ..arrays import Device
from ..errors import ShallowsError

VISIBLE = "CUDA_VISIBLE_DEVICES"

TF32_VARIABLES = ("CUPY_TF32", "NVIDIA_TF32_OVERRIDE")
"""What in the environment makes products of float32 round their factors to 10 bits: CuPy's word and the driver's."""

HELD_BY_OTHERS = 0.5
"""Share of a device's memory that others may hold without a warning."""

_HEADERS = re.compile(r"cannot open source file|could not open source file|failed to find .*(headers|CUDA_PATH)", re.I)

_LIBRARIES = re.compile(r"failed to load .*lib|lib(nvrtc|cublas|cusolver|curand)\S*: cannot open", re.I)


def check_gpu(device: str | Device) -> None:
    """Refuse a GPU that was asked for by name and cannot be used, with its cause; warn of one that is mostly taken.

    ``device``: nothing is asked of "cpu", nor of "auto" where there is no GPU.
    """
    match = re.fullmatch(r"(auto)|gpu(?::(\d+))?", str(device))
    if match is None or (match[1] and not arrays.devices.gpu_is_available()):
        return
    index = int(match[2] or 0)
    cupy = Device("gpu", index).namespace  # Where CuPy is missing, that is told.
    _check_driver(cupy, device)
    _check_index(cupy, device, index)
    with Device("gpu", index).active():
        _check_compiler(cupy)
        free, total = cupy.cuda.runtime.memGetInfo()
        held = total - free - cupy.get_default_memory_pool().total_bytes()
    if held > HELD_BY_OTHERS * total:
        warnings.warn(
            f"Other processes hold {held / 1e9:.1f} of the {total / 1e9:.1f} GB of {device!r}, so that less of the "
            "kernel matrix is kept and the fit takes longer; 'nvidia-smi' lists them.",
            RuntimeWarning,
            stacklevel=3,
        )


def tf32_asked_for() -> str | None:
    """The variable of the environment, with its value, that makes products of float32 use TF32; None if none does."""
    for name in TF32_VARIABLES:
        value = os.environ.get(name, "")
        if value.strip() not in ("", "0"):
            return f"{name}={value}"
    return None


def precision_of_products(device: Device, dtype: str) -> dict[str, str]:
    """What a record says of the products on a GPU.

    Returns ``products``: "float64", "float32" or "tf32 (VARIABLE=VALUE)"; empty for a CPU.
    """
    if device.kind == "cpu":
        return {}
    asked = tf32_asked_for() if dtype == "float32" else None
    return {"products": dtype if asked is None else f"tf32 ({asked})"}


def warn_of_tf32(device: Device, dtype: str) -> None:
    """Warn, before a fit that may be in float32, if the environment makes a GPU's products less precise."""
    asked = tf32_asked_for() if device.kind != "cpu" and dtype != "float64" else None
    if asked is None:
        return
    warnings.warn(
        f"{asked} in the environment rounds the factors of all products to 10 bits (TF32): kernel values of products "
        "keep about three digits. Leave it out for full single precision.",
        RuntimeWarning,
        stacklevel=4,
    )


def _check_driver(cupy: object, device: str | Device) -> None:
    visible = os.environ.get(VISIBLE)
    if visible is not None and visible.strip() in ("", "-1"):
        raise _refused(
            device, f"{VISIBLE}={visible!r} hides every GPU from this process; unset it, or name the GPUs to be used."
        )
    try:
        driver = cupy.cuda.runtime.driverGetVersion()
        needed = cupy.cuda.runtime.runtimeGetVersion()
    except Exception as error:
        raise _refused(
            device,
            f"the CUDA runtime does not start: {_cause(error)}. Use device='cpu', or mend the driver; 'nvidia-smi' "
            "tells whether it runs.",
        ) from error
    if driver == 0:
        raise _refused(device, "no NVIDIA driver is installed; use device='cpu'.")
    if driver // 1000 < needed // 1000:
        raise _refused(
            device,
            f"the driver knows CUDA {_version(driver)} and CuPy was built for {_version(needed)}. Install a newer "
            f"driver, or the CuPy of the driver's CUDA (pip install 'cupy-cuda{driver // 1000}x[ctk]').",
        )


def _check_index(cupy: object, device: str | Device, index: int) -> None:
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        raise _refused(device, f"no GPU answers: {_cause(error)}; use device='cpu'.") from error
    if index >= count:
        known = ", ".join(f"'gpu:{k}'" for k in range(count)) or "none"
        raise _refused(device, f"the GPUs that CuPy sees are: {known}.")


def _refused(device: str | Device, why: str) -> ShallowsError:
    return ShallowsError(f"device={str(device)!r} was asked for, but {why}")


def _check_compiler(cupy: object) -> None:
    try:
        x = cupy.ones((2, 2), dtype="float32") + 1.0
        x @ x
    except Exception as error:
        install = "with pip install 'shallows[gpu]' (or 'cupy-cuda13x[ctk]'), or use device='cpu'."
        if _LIBRARIES.search(str(error)):
            raise ShallowsError(
                f"CuPy does not find a library of the CUDA toolkit; install them {install} It says: {_cause(error)}"
            ) from error
        if _HEADERS.search(str(error)):
            raise ShallowsError(
                "CuPy cannot compile for this GPU, since the headers of the CUDA toolkit are missing; install them "
                f"{install} The compiler says: {_cause(error)}"
            ) from error
        raise


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _cause(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
