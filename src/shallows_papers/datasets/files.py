"""Atomic writing of data files, their digests, and the errors about data."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows.utils import atomic

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class DatasetError(ShallowsError):
    """Data that cannot be fetched, read or prepared as requested; the message says why and what to do."""


class SuppliedDataError(DatasetError):
    """Missing data that the user must supply; the message says which files belong where, and in which form."""


class DatasetWarning(UserWarning):
    """A problem with the data that was corrected, and that the user should know about."""


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Write a file atomically, as `shallows.utils.atomic.replacing`; a full disk raises `DatasetError`."""
    with explaining_full_disk(target), atomic.replacing(target) as partial:
        yield partial


@contextlib.contextmanager
def explaining_full_disk(target: Path) -> Iterator[None]:
    """Turn the operating system's "no space left" into an error that names the file and its folder."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise DatasetError(
            f"{target} could not be written: {os.strerror(error.errno).lower()}. "
            f"No incomplete file was left. Free space in {target.parent} and run it again."
        ) from error


def existing_parent(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that exists."""
    return next(place for place in (folder, *folder.resolve().parents) if place.is_dir())


def remove_partials(folder: Path) -> None:
    """Remove partial files of killed processes. The caller must hold the lock of the folder."""
    for path in Path(folder).glob(f".*{atomic.PARTIAL_SUFFIX}"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON as `shallows.utils.atomic.write_json` does; a full disk raises `DatasetError`."""
    with explaining_full_disk(path):
        atomic.write_json(path, content)


def digest(path: Path, algorithm: str = "sha256") -> str:
    """Return the hexadecimal digest of a file: by an algorithm of `hashlib`, or ``"git_sha1"``, git's blob name."""

    def start() -> Any:
        if algorithm == "git_sha1":
            return hashlib.sha1(f"blob {Path(path).stat().st_size}\0".encode(), usedforsecurity=False)
        return hashlib.new(algorithm, usedforsecurity=algorithm != "md5")

    with open(path, "rb") as file:
        return hashlib.file_digest(file, start).hexdigest()
