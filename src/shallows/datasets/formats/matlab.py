"""MATLAB files of version 4 to 7, as dictionaries of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def load_matlab(path: Path, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Read variables of a MATLAB file of version 4 to 7; version 7.3 (HDF5) is told apart."""
    import scipy.io

    with open(path, "rb") as file:
        if file.read(19) == b"MATLAB 7.3 MAT-file":
            raise ValueError("it is of MATLAB's version 7.3; save it with -v7")
    try:
        content = scipy.io.loadmat(path, variable_names=None if names is None else list(names))
    except (NotImplementedError, TypeError, scipy.io.matlab.MatReadError) as error:
        raise ValueError(f"it is no MATLAB file of version 4 to 7: {error}") from error
    found = {name: value for name, value in content.items() if not name.startswith("__")}
    for name in names or ():
        if name not in found:
            raise ValueError(f"it holds no variable {name}")
    return found
