"""Compressed files and archives: read as streams, never unpacked to disk."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

# What these libraries raise on a file that is broken or of another kind.
CONTAINER_ERRORS = (
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def open_binary(path: Path, name: str | None = None) -> BinaryIO:
    """Open a file for reading bytes, through its decompressor where its name ends in .gz, .bz2, .xz or .zip.

    Parameters
    ----------
    path : Path
        The file. A .zip must hold one file, which is what is read.
    name : str, optional
        The name that counts, where the file bears another one for now.
    """
    suffix = Path(name or path).suffix
    if suffix == ".zip":
        return _open_zipped(path)
    return _OPENERS.get(suffix, open)(path, "rb")


def _open_zipped(path: Path) -> BinaryIO:
    archive = zipfile.ZipFile(path)
    try:
        members = [one for one in archive.infolist() if not one.is_dir()]
        for member in members:
            refuse_escape(member.filename)
        if len(members) != 1:
            raise ValueError(f"the archive holds {len(members)} files where one is expected")
        stream = archive.open(members[0])
    except BaseException:
        archive.close()
        raise
    return _Zipped(stream, archive)


class _Zipped(io.BufferedReader):
    """A member of an archive; closing it closes the archive."""

    def __init__(self, stream: BinaryIO, archive: zipfile.ZipFile):
        super().__init__(stream, 1 << 18)
        self._archive = archive

    def close(self) -> None:
        super().close()
        self._archive.close()


@contextmanager
def tar_members(path: Path) -> Iterator[dict[str, BinaryIO]]:
    """Give the files of a tar archive by their base names, each as a stream; nothing is unpacked.

    Raises
    ------
    ValueError
        When a member's name leads out of the archive's folder, or two files share a base name.
    """
    with tarfile.open(path) as archive:
        found: dict[str, BinaryIO] = {}
        for member in archive:
            refuse_escape(member.name)
            if member.isdir():
                continue
            if not member.isfile():
                raise ValueError(f"its member {member.name!r} is a link or a device, which is refused")
            name = PurePosixPath(member.name).name
            if name in found:
                raise ValueError(f"two of its members are called {name!r}")
            found[name] = archive.extractfile(member)
        yield found


def refuse_escape(name: str) -> None:
    """Raise ValueError for a member's name that is absolute or climbs out of its folder."""
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or name[1:2] == ":":
        raise ValueError(f"its member {name!r} would escape the folder, which is refused")


def container_problem(path: Path, name: str) -> str | None:
    """Read a compressed file to its end; return what is wrong with it, or None."""
    try:
        if Path(name).suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                broken = archive.testzip()
                return f"its member {broken} is damaged" if broken else None
        if Path(name).suffix in _OPENERS:
            with open_binary(path, name) as stream:
                while stream.read(1 << 20):
                    pass
    except CONTAINER_ERRORS as error:
        return f"it cannot be decompressed to its end: {error}"
    return None
