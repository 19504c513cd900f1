"""Compressed files and archives, read as streams without unpacking them to disk, and the parts of a dataset in them."""

from __future__ import annotations

import bz2
import functools
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.sources import Block

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


#: A reader of a part ("train" or "test"). Its arguments: dataset, form, paths by part, part, and the rows per block.
Reader = Callable[[Dataset, Form, Mapping[str, Path], str, int], Iterator[Block]]


def files_of(paths: Mapping[str, Path], part: str) -> list[Path]:
    """Return the file or the numbered files of a part in order. If it has none, return the files of "all"."""
    numbers = {name: int(end) for name in paths if (end := name.removeprefix(f"{part}_")).isdigit()}
    names = [name for name in paths if name == part] + sorted(numbers, key=numbers.get)
    return [paths[name] for name in names] if names or part == "all" else files_of(paths, "all")


def span_of(dataset: Dataset, paths: Mapping[str, Path], part: str) -> tuple[int, int | None]:
    """Return the first row of a part in its files and the row after its last, or None for the end of the files."""
    if part == "all" or not dataset.n_test or not any(name.startswith("all") for name in paths):
        return 0, None
    return (0, dataset.n_train) if part == "train" else (dataset.n_train, None)


def rows_between(blocks: Iterable[Block], start: int, stop: int | None = None) -> Iterator[Block]:
    """Yield the rows start:stop of all blocks."""
    position = 0
    for x, y in blocks:
        low, high = max(start - position, 0), len(y) if stop is None else min(stop - position, len(y))
        if low < high:
            yield Block(x[low:high], y[low:high])
        position += len(y)
        if stop is not None and position >= stop:
            return


@contextmanager
def naming(path: Path, format: str) -> Iterator[None]:
    """Turn an error of a reader into a `DatasetError` that names the file and the reason."""
    try:
        yield
    except (ValueError, KeyError, *CONTAINER_ERRORS) as error:
        raise DatasetError(
            f"{path} cannot be read ({format} format): {error}. "
            "Remove it and fetch it again, or check the format in the catalogue."
        ) from error


def each_file(read: Callable[[Dataset, Form, Path, int], Iterator[Block]]) -> Reader:
    """Turn a function that reads one file into a reader that reads the files of a part in turn."""

    def chain(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
        for path in files_of(paths, part):
            with naming(path, form.format):
                yield from read(dataset, form, path, rows)

    @functools.wraps(read)
    def reader(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
        return rows_between(chain(dataset, form, paths, part, rows), *span_of(dataset, paths, part))

    return reader
