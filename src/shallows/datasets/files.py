"""Files that never look finished before they are: writing beside the place and moving into it."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError

PARTIAL_SUFFIX = ".part"
_BLOCK = 1 << 20
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class DatasetError(ShallowsError):
    """Data that cannot be had, read or prepared as asked; the message says why and what to do."""


class SuppliedDataError(DatasetError):
    """Data that its user must supply and that is not there; the message says which files of what form belong where."""


class DatasetWarning(UserWarning):
    """Something about the data that was set right, and that a person should know of."""


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a temporary path beside `target`; move it there when the block ends well, remove it otherwise.

    Parameters
    ----------
    target : Path
        The final name. Its folder is made where it is missing.

    Yields
    ------
    Path
        Where to write.

    Raises
    ------
    DatasetError
        When the disk is full, naming the place.
    """
    target = Path(target)
    # A name of our own and not tempfile's: that one makes files which only their owner may read.
    partial = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}{PARTIAL_SUFFIX}")
    try:
        with told_if_full(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            yield partial
            with open(partial, "rb") as file:
                os.fsync(file.fileno())  # some file systems report a full disk only here
            os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def told_if_full(target: Path) -> Iterator[None]:
    """Turn the operating system's "no space left" into an error that names the file and its folder."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise DatasetError(
            f"{target} could not be written: {os.strerror(error.errno).lower()}. "
            f"Nothing half-written was left. Make room in {target.parent} and run it again."
        ) from error


def remove_partials(folder: Path) -> None:
    """Remove what killed processes left; only for one who holds the folder's lock."""
    for path in Path(folder).glob(f".*{PARTIAL_SUFFIX}"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write `content` as JSON at `path`, whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def digest(path: Path, algorithm: str = "sha256") -> str:
    """Return the hexadecimal digest of a file's bytes."""
    return digests(path, [algorithm])[algorithm]


def digests(path: Path, algorithms: Iterable[str]) -> dict[str, str]:
    """Return several digests of a file, which is read once.

    Parameters
    ----------
    path : Path
    algorithms : iterable of str
        Names that `hashlib` knows, or ``"git_sha1"``: what git calls the content.
    """
    states = {}
    for algorithm in algorithms:
        if algorithm == "git_sha1":
            states[algorithm] = hashlib.sha1(f"blob {Path(path).stat().st_size}\0".encode(), usedforsecurity=False)
        else:
            states[algorithm] = hashlib.new(algorithm, usedforsecurity=algorithm != "md5")
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            for state in states.values():
                state.update(block)
    return {algorithm: state.hexdigest() for algorithm, state in states.items()}
