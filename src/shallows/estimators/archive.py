"""Archives of arrays with a header, of which files of models are made: written whole, read without any pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ShallowsError
from ..utils import atomic


def checksum(header: Mapping[str, Any], held: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of a header, without its own entry ``checksum``, and of the arrays with their names, types and shapes."""
    plain = json.loads(json.dumps({key: value for key, value in header.items() if key != "checksum"}))
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    for name in sorted(held):
        array = np.ascontiguousarray(held[name])
        digest.update(json.dumps([name, array.dtype.str, list(array.shape)]).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def write(path: Any, header: Mapping[str, Any], held: Mapping[str, np.ndarray]) -> None:
    """Write a header and arrays to a file, which has its final name only once it is complete.

    Parameters
    ----------
    path : path
    header : mapping
        Of what JSON has. It gains an entry ``checksum``.
    held : mapping of arrays
        By name; of numbers or texts.

    Raises
    ------
    ShallowsError
        If the file cannot be written.
    """
    if objects := [name for name, array in held.items() if array.dtype.hasobject]:
        raise ShallowsError(f"The array {objects[0]!r} holds objects, for which there is no safe form.")
    text = json.dumps({**header, "checksum": checksum(header, held)})
    try:
        with atomic.replacing(Path(path)) as partial, open(partial, "wb") as file:
            np.savez(file, header=np.array(text), **held)
    except OSError as error:
        raise ShallowsError(f"The model could not be written to {path}: {error.strerror or error}.") from error


def read(path: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the header and the arrays of a model file; nothing in it is ever unpickled.

    Raises
    ------
    ShallowsError
        If there is no such file, or it is no archive of arrays with a header.
    """
    if not Path(path).exists():
        raise ShallowsError(f"There is no file {path}.")
    try:
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise ShallowsError("it is a single array, and a model is an archive of arrays (.npz)")
        with file:
            held = {name: file[name] for name in file.files}
        header = json.loads(str(held.pop("header")))
        if not isinstance(header, dict):
            raise ShallowsError(f"its header is a {type(header).__name__}, not a mapping")
    # Damage shows in many ways: in the archive, its compression, the arrays' own headers, the text.
    except Exception as error:
        said = f"no array {error}" if isinstance(error, KeyError) else error
        raise ShallowsError(f"{path} holds no model, or is damaged ({said}).") from error
    return header, held


def check_unchanged(header: Mapping[str, Any], held: Mapping[str, np.ndarray]) -> None:
    """Refuse a file whose contents are not those that were written.

    Raises
    ------
    ShallowsError
        If the checksum is missing or another one.
    """
    if header.get("checksum") != checksum(header, held):
        raise ShallowsError("its contents are not those that were written (the checksum differs)")
