"""Files of preconditioners, which several fits share."""

from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .. import arrays, kernels
from ..errors import ShallowsError
from ..utils import atomic
from .certificates import Certificate
from .spectral_preconditioner import SpectralPreconditioner

_NUMBERS = ("damping", "power", *(field.name for field in fields(Certificate)), "subsample_diagonal", "seconds")
"""Numbers of a preconditioner in the order of its file."""

_Kind = TypeVar("_Kind", bound=SpectralPreconditioner)


def write(preconditioner: Any, path: str | Path, **own: Any) -> None:
    """Write a preconditioner with ``own`` further fields to an ``.npz`` file, completely or not at all."""
    kernel = preconditioner.kernel
    with atomic.replacing(Path(path)) as partial, open(partial, "wb") as file:
        np.savez(
            file,
            eigenvalues=arrays.to_numpy(preconditioner.eigenvalues),
            vectors=arrays.to_numpy(preconditioner.vectors),
            numbers=np.array([getattr(preconditioner, name) for name in _NUMBERS]),
            kernel=np.array("" if kernel is None else kernels.describe(kernel)),
            **{name: np.asarray(value) for name, value in own.items()},
        )


def read(kind: type[_Kind], path: str | Path, *own: str) -> _Kind:
    """Read a file of a kind of preconditioner, with its ``own`` fields; a `ShallowsError` if it is no such file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            kernel = str(file["kernel"])
            return kind(
                eigenvalues=file["eigenvalues"],
                vectors=file["vectors"],
                kernel=kernels.from_description(kernel) if kernel else None,
                **dict(zip(_NUMBERS, file["numbers"].tolist(), strict=True)),
                **{name: file[name] if file[name].ndim else file[name].item() for name in own},
            )
    except FileNotFoundError:
        raise ShallowsError(f"There is no file {path} (preconditioner).") from None
    except Exception as error:
        raise ShallowsError(f"{path} is not a preconditioner that this version can read: {error}") from error


def seconds_of(path: str | Path) -> float:
    """The seconds in which the preconditioner of a file was computed."""
    with np.load(path, allow_pickle=False) as file:
        return float(file["numbers"][-1])
