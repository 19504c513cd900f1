"""Compressed files and archives, read as streams without unpacking them to disk."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

# Errors that these libraries raise for a damaged file or another file type.
CONTAINER_ERRORS = (EOFError, OSError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading bytes; decompress it if its name ends in .gz, .bz2, .xz or .zip (with one file)."""
    suffix = Path(path).suffix
    return _open_zipped(path) if suffix == ".zip" else _OPENERS.get(suffix, open)(path, "rb")


def _open_zipped(path: Path) -> BinaryIO:
    with zipfile.ZipFile(path) as archive:  # the returned stream keeps the file open
        members = [member for member in archive.infolist() if not member.is_dir()]
        for member in members:
            _refuse_escape(member.filename)
        if len(members) != 1:
            raise ValueError(f"the archive has {len(members)} files, but one is expected")
        return archive.open(members[0])


@contextmanager
def tar_members(path: Path) -> Iterator[dict[str, BinaryIO]]:
    """Open the files of a tar archive as streams, by their base names, without unpacking them.

    A name that leads out of the archive's folder, or a repeated base name, raises a `ValueError`.
    """
    with tarfile.open(path) as archive:
        streams: dict[str, BinaryIO] = {}
        for member in archive:
            _refuse_escape(member.name)
            if member.isdir():
                continue
            if not member.isfile():
                raise ValueError(f"its member {member.name!r} is a link or a device, which is refused")
            name = PurePosixPath(member.name).name
            if name in streams:
                raise ValueError(f"two of its members are called {name!r}")
            streams[name] = archive.extractfile(member)
        yield streams


def _refuse_escape(name: str) -> None:
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or name[1:2] == ":":
        raise ValueError(f"its member {name!r} would escape the folder, which is refused")


def container_problem(path: Path) -> str | None:
    """Read a compressed file to its end; return what is wrong with it, or None."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                broken = archive.testzip()
                return f"its member {broken} is damaged" if broken else None
        if path.suffix in _OPENERS:
            with open_binary(path) as stream:
                while stream.read(1 << 20):
                    pass
    except CONTAINER_ERRORS as error:
        return f"it cannot be decompressed to its end: {error}"
    return None
