"""Files of skops with a description, a checksum and a limit on their size: they contain no pickle and run no code."""

import hashlib
import importlib
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from .. import __version__, arrays, kernels
from ..errors import ShallowsError
from ..utils import atomic

FORMAT = 4
"""Number of the format. Formats 1 to 3 were archives of NumPy arrays (.npz)."""

ABOUT = "shallows.json"
"""The member with the format, the version, what the caller adds, and the checksum of all members."""

SUBPACKAGES = re.compile(
    r"shallows\.(arrays|estimators|features|fitting|kernels|losses|models|solvers|spectrum|streams|transformers)\."
    r"|shallows_papers\.nets\."
)
"""Modules of this project whose classes may be parts of a model. Estimators may come from all modules."""

LIBRARIES = re.compile(r"numpy\.dtype|scipy\.sparse\._cs[cr]\.cs[cr]_(matrix|array)|pathlib(\._local)?\.\w*Path")
"""Classes of other libraries that may be parts of a model, in addition to those that skops trusts itself."""


def write(value: Any, path: Any, **about: Any) -> None:
    """Write an object of classes of this project, NumPy, SciPy and scikit-learn to a file, completely or not at all."""
    import skops.io

    about = {"format": FORMAT, "version": __version__, **about}
    try:
        with atomic.replacing(Path(path)) as partial:
            skops.io.dump(value, partial)
            for name in skops.io.get_untrusted_types(file=partial):
                if not _is_trusted(name):
                    raise ShallowsError(
                        f"The model contains {name}, which cannot be written to a file: a file has classes of "
                        "shallows, NumPy, SciPy and scikit-learn, and no functions. Use a name or an object of "
                        "shallows instead, or save the model with pickle, and load only pickles that you trust."
                    )
            with zipfile.ZipFile(partial, "a") as file:
                file.writestr(ABOUT, json.dumps({**about, "sha256": _digest(file, about)}))
    except ShallowsError:
        raise
    except OSError as error:
        raise ShallowsError(f"The model could not be written to {path}: {error.strerror or error}.") from error
    except Exception as error:
        raise ShallowsError(f"The model cannot be written to a file ({type(error).__name__}: {error}).") from error


def read(path: Any) -> tuple[Any, dict[str, Any]]:
    """The object and the description that `write` wrote; files that need more memory than is free are not read."""
    import skops.io

    if not Path(path).exists():
        raise ShallowsError(f"There is no file {path}.")
    with errors_name(path):
        with zipfile.ZipFile(path) as file:
            about = _description(path, file)
        for name in (untrusted := skops.io.get_untrusted_types(file=path)):
            if not _is_trusted(name):
                raise ShallowsError(
                    f"it contains {name}, which is not a class of a model in this version, {__version__}, of shallows. "
                    f"The file was written by version {about['version']}: load it with that version, or fit the model "
                    "again"
                )
        return skops.io.load(path, trusted=untrusted), about


@contextmanager
def errors_name(path: Any) -> Iterator[None]:
    """Errors inside the block say that this file cannot be read."""
    try:
        yield
    except ShallowsError as error:
        if str(path) in str(error):
            raise
        raise ShallowsError(f"The model in {path} cannot be read: {str(error).rstrip('.')}.") from error
    # Damage shows in many ways: in the archive, in the text, in an array, in a class.
    except Exception as error:
        raise ShallowsError(
            f"{path} is not a model of shallows.save, or is damaged ({type(error).__name__}: {error})."
        ) from error


def _description(path: Any, file: zipfile.ZipFile) -> dict[str, Any]:
    """The description in a file, once size, format and checksum have been checked."""
    size, free = _unpacked_size(file), arrays.available_memory()
    if size > free:
        raise ShallowsError(f"it unpacks to {size / 1e9:,.3g} GB, and {free / 1e9:,.3g} GB of memory are free")
    if "header.npy" in file.namelist():
        raise ShallowsError(
            f"it has the older format (.npz) of shallows {_older_version(file)}. Load it with that version, or fit the "
            "model again"
        )
    about = json.loads(file.read(ABOUT))
    format_, version = about["format"], about["version"]
    if format_ != FORMAT:
        raise ShallowsError(
            f"it has format {format_} of shallows {version}, and this version, {__version__}, reads format {FORMAT}. "
            "Load it with that version, or fit the model again"
        )
    if about.pop("sha256", None) != _digest(file, about):
        raise ShallowsError("its contents are not those that were written (the checksum differs)")
    return about


def _unpacked_size(file: zipfile.ZipFile) -> int:
    """Bytes of all members once they are unpacked. A sparse matrix is an archive inside the archive."""
    size = 0
    for member in file.infolist():
        size += member.file_size
        with file.open(member) as content:
            if content.read(2) == b"PK":
                with zipfile.ZipFile(content) as nested:
                    size += sum(one.file_size for one in nested.infolist())
    return size


def _older_version(file: zipfile.ZipFile) -> str:
    import numpy as np

    with file.open("header.npy") as content:
        return str(json.loads(str(np.lib.format.read_array(content, allow_pickle=False))).get("version"))


def _digest(file: zipfile.ZipFile, about: dict[str, Any]) -> str:
    """SHA-256 of the description and of the names and contents of all other members."""
    found = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(set(file.namelist()) - {ABOUT}):
        found.update(f"\n{name} {file.getinfo(name).file_size}\n".encode())
        with file.open(name) as content:
            while block := content.read(2**20):
                found.update(block)
    return found.hexdigest()


def _is_trusted(name: str) -> bool:
    """Whether a file may contain what has this name: a class of a model, never a function.

    A kernel of the user's is trusted if it is registered in `shallows.kernels.KERNELS`. No code runs, but a manipulated
    tree of scikit-learn can still crash the process: its nodes contain indices that are not checked.
    """
    registered = {f"{one.__module__}.{one.__qualname__}" for one in kernels.KERNELS.values()}
    if name in registered or LIBRARIES.fullmatch(name):
        return True
    module, _, class_name = name.rpartition(".")
    if module.partition(".")[0] not in ("shallows", "shallows_papers", "sklearn") or "__" in module:
        return False
    try:
        found = getattr(importlib.import_module(module), class_name)
    except (ImportError, AttributeError):
        return False
    if not isinstance(found, type) or found.__module__ != module:
        return False
    return module.startswith("sklearn") or bool(SUBPACKAGES.match(name)) or issubclass(found, BaseEstimator)
