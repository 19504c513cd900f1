"""Checks of a GPU before a fit, with the cause of a problem in plain words."""

import os
import re
import warnings
from typing import Any

from .. import arrays
from ..arrays import Device
from ..errors import ShallowsError

VISIBLE = "CUDA_VISIBLE_DEVICES"

TF32_VARIABLES = ("CUPY_TF32", "NVIDIA_TF32_OVERRIDE")
"""Environment variables of CuPy and the driver that round the factors of float32 products to 10 bits."""

HELD_BY_OTHERS = 0.5
"""Share of the memory of a device that other processes may use without a warning."""

_HEADERS = re.compile(r"cannot open source file|could not open source file|failed to find .*(headers|CUDA_PATH)", re.I)

_LIBRARIES = re.compile(r"failed to load .*lib|lib(nvrtc|cublas|cusolver|curand)\S*: cannot open", re.I)


def check_gpu(device: str | Device, dtype: str = "float64") -> None:
    """Raise an error if a GPU cannot be used. Warn if other processes use most of it, or if float32 means TF32."""
    match = re.fullmatch(r"(auto)|gpu(?::(\d+))?", str(device))
    if match is None or (match[1] and not arrays.devices.gpu_is_available()):
        return
    index = int(match[2] or 0)
    cupy = Device("gpu", index).namespace  # raises an error without CuPy
    _check_driver(cupy, device, index)
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
    variable = _tf32_variable() if dtype != "float64" else None
    if variable is not None:
        warnings.warn(
            f"{variable} in the environment rounds the factors of all products to 10 bits (TF32): kernel values of "
            "products keep about three digits. Unset it for full single precision.",
            RuntimeWarning,
            stacklevel=3,
        )


def precision_of_products(device: Device, dtype: str) -> dict[str, str]:
    """``{"products": "float64", "float32" or "tf32 (VARIABLE=VALUE)"}`` for the record of a fit; empty for a CPU."""
    if device.kind == "cpu":
        return {}
    variable = _tf32_variable() if dtype == "float32" else None
    return {"products": dtype if variable is None else f"tf32 ({variable})"}


def _tf32_variable() -> str | None:
    """The environment variable, with its value, that makes float32 products use TF32, or None."""
    values = {name: os.environ.get(name, "") for name in TF32_VARIABLES}
    return next((f"{name}={value}" for name, value in values.items() if value.strip() not in ("", "0")), None)


def _check_driver(cupy: Any, device: str | Device, index: int) -> None:
    """Raise an error if the driver or the number of the GPU is wrong."""
    refused, runtime = f"device={str(device)!r} was asked for, but", cupy.cuda.runtime
    visible = os.environ.get(VISIBLE)
    if visible is not None and visible.strip() in ("", "-1"):
        raise ShallowsError(
            f"{refused} {VISIBLE}={visible!r} hides every GPU from this process; unset it, or name the GPUs to use."
        )
    try:
        driver, needed = runtime.driverGetVersion(), runtime.runtimeGetVersion()
    except Exception as error:
        raise ShallowsError(
            f"{refused} the CUDA runtime does not start: {_cause(error)}. Use device='cpu', or repair the driver; "
            "'nvidia-smi' shows whether it works."
        ) from error
    if driver == 0:
        raise ShallowsError(f"{refused} no NVIDIA driver is installed; use device='cpu'.")
    if driver // 1000 < needed // 1000:
        known, built = (f"{number // 1000}.{number % 1000 // 10}" for number in (driver, needed))
        raise ShallowsError(
            f"{refused} the driver knows CUDA {known} and CuPy was built for {built}. Install a newer driver, or the "
            f"CuPy for the CUDA of the driver (pip install 'cupy-cuda{driver // 1000}x[ctk]')."
        )
    try:
        count = runtime.getDeviceCount()
    except Exception as error:
        raise ShallowsError(f"{refused} no GPU answers: {_cause(error)}; use device='cpu'.") from error
    if index >= count:
        available = ", ".join(f"'gpu:{k}'" for k in range(count)) or "none"
        raise ShallowsError(f"{refused} the GPUs that CuPy sees are: {available}.")


def _check_compiler(cupy: Any) -> None:
    """Raise an error if CuPy cannot compile or multiply."""
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
                "CuPy cannot compile for this GPU, because the headers of the CUDA toolkit are missing; install them "
                f"{install} The compiler says: {_cause(error)}"
            ) from error
        raise


def _cause(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
