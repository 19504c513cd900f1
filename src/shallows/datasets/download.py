"""The downloader: files from mirrors and canonical addresses, verified before they get their names."""

from __future__ import annotations

import gzip
import lzma
import os
import shutil
import sys
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from filelock import FileLock

from shallows.datasets.catalogue import Dataset, File, get
from shallows.datasets.files import (
    DatasetError,
    DatasetWarning,
    digest,
    remove_partials,
    replacing,
    told_if_full,
    write_json,
)
from shallows.datasets.formats import open_binary

MIRROR_VARIABLE = "SHALLOWS_MIRROR"
STAMP = "verified.json"

# Seconds to wait before the second and third try of an address that failed in a way that may pass.
RETRY_WAITS = (1.0, 3.0)
_PASSING_STATUS = {408, 425, 429, 500, 502, 503, 504}
_TIMEOUTS = (10, 60)  # to connect, and between two arrivals of bytes
_CHUNK = 1 << 18


class _SourceFailedError(Exception):
    """One source did not give the file; the message says how."""

    def __init__(self, message: str, wrong_content: bool = False):
        super().__init__(message)
        self.wrong_content = wrong_content


@dataclass(frozen=True)
class _Source:
    address: str | Path
    is_mirror: bool

    def __str__(self) -> str:
        return f"mirror {self.address}" if self.is_mirror else str(self.address)


def fetch(
    name: str | Dataset,
    root: str | Path,
    mirror: str | Path | None = None,
    progress: bool = True,
    embedded_root: str | Path = "data/embedded",
) -> Path:
    """Bring the files of a dataset to ``root/<name>/`` and verify them.

    A file that is there and right is left alone; one that is there and wrong is moved aside, with a warning,
    and fetched again. Mirrors are tried first (the argument, then the environment's ``SHALLOWS_MIRROR``),
    then the canonical addresses. A file gets its name only after its checksum was found right. Processes that
    fetch the same dataset at once wait for each other.

    Parameters
    ----------
    name : str or Dataset
        A name of the catalogue, or an entry of one's own.
    root : path
        The folder of downloads, ``data/raw`` in the workflow.
    mirror : str or path, optional
        A URL or a folder that is laid out as ``<dataset>/<file>``.
    progress : bool, default=True
        Whether to show a bar for every download (plain lines where stderr is no terminal).
    embedded_root : path
        Where the files of embedded datasets lie, as ``<dataset>/<file>``. They are verified in their place.

    Returns
    -------
    Path
        ``root/<name>/verified.json``, written last: dataset, and for every file its name, part, path
        (relative to this file), size and sha256.

    Raises
    ------
    UnknownNameError
        When the catalogue has no such dataset.
    DatasetError
        When a file cannot be had from any source, naming what each one said, or when the disk is full.
    """
    dataset = get(name) if isinstance(name, str) else name
    folder = Path(root) / dataset.name
    with told_if_full(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        remove_partials(folder)
        if dataset.state == "embedded":
            place = _embedded_folder(dataset, Path(embedded_root))
        else:
            place = folder
        records = []
        for file in dataset.files:
            path = place / file.name
            if dataset.state == "embedded":
                found = _verify_embedded(dataset, file, path)
            else:
                found = _ensure(dataset, file, path, mirror, progress)
            records.append(
                {
                    "name": file.name,
                    "part": file.part,
                    # Both resolved: a relative path through a symbolic link would lead elsewhere.
                    "path": Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix(),
                    "size": path.stat().st_size,
                    "sha256": found,
                }
            )
        write_json(folder / STAMP, {"dataset": dataset.name, "files": records})
    return folder / STAMP


def verify(path: Path, file: File) -> tuple[str | None, str]:
    """Hold a file against its catalogue entry.

    Parameters
    ----------
    path : Path
        The file as it lies.
    file : File
        What the catalogue says of it.

    Returns
    -------
    problem : str or None
        What is wrong with it, in words.
    sha256 : str
        The digest of the file as it lies.
    """
    found = digest(path)
    if file.sha256 is not None:
        right = found == file.sha256
    elif file.md5 is not None:
        right = digest(path, "md5") == file.md5
    elif file.content_sha256 is not None:
        right = False
    else:  # nothing but the size, if that, is known of it
        right = _is_page(path) is False and file.size in (None, path.stat().st_size)
    if right or (file.content_sha256 is not None and _content_digest(path, file.name) == file.content_sha256):
        return None, found
    size = path.stat().st_size
    if _is_page(path):
        return "it is an HTML page, not the data", found
    if file.size is not None and size < file.size:
        return f"it is truncated: {size:,} of {file.size:,} bytes", found
    if file.size is not None and size != file.size:
        return f"it has {size:,} bytes instead of {file.size:,}", found
    return f"its content is altered: the checksum is {found[:12]}..., not {_expected(file)[:12]}...", found


def _expected(file: File) -> str:
    return file.sha256 or file.md5 or file.content_sha256 or "known"


def _content_digest(path: Path, name: str) -> str | None:
    state = sha256()
    try:
        with open_binary(path, name) as content:
            while block := content.read(_CHUNK):
                state.update(block)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile):
        return None
    return state.hexdigest()


def _is_page(path: Path) -> bool:
    with open(path, "rb") as file:
        head = file.read(512).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith((b"<!doctype html", b"<html"))


# Embedded datasets


def _embedded_folder(dataset: Dataset, root: Path) -> Path:
    # The second place serves one who runs Python elsewhere with the package installed from a clone.
    clone = Path(__file__).resolve().parents[3] / "data" / "embedded"
    for place in (root, clone):
        if (place / dataset.name).is_dir():
            return place / dataset.name
    raise DatasetError(
        f"The dataset '{dataset.name}' is a part of the repository, and {root / dataset.name} is not there. "
        "Run from the top of a clone, or give embedded_root."
    )


def _verify_embedded(dataset: Dataset, file: File, path: Path) -> str:
    """Return the sha256 of an embedded file that is right."""
    if not path.exists():
        raise DatasetError(
            f"{path}, a file of the embedded dataset '{dataset.name}', is missing. "
            "Restore it: git checkout -- data/embedded"
        )
    problem, found = verify(path, file)
    if problem:
        raise DatasetError(
            f"{path} is not the file that the catalogue describes: {problem}. Restore it: git checkout -- data/embedded"
        )
    return found


# Downloaded datasets


def _ensure(dataset: Dataset, file: File, target: Path, mirror: str | Path | None, progress: bool) -> str:
    """Return the sha256 of the file at `target`, which is right and was brought there if it was not."""
    if target.exists():
        problem, found = verify(target, file)
        if not problem:
            return found
        aside = target.with_name(target.name + ".refused")
        os.replace(target, aside)
        warnings.warn(
            f"{target} was there, but {problem}. It was moved to {aside.name} and is fetched again.",
            DatasetWarning,
            stacklevel=3,
        )
    failures = []
    for source in _sources(dataset, file, mirror, failures):
        try:
            with replacing(target) as partial:
                _bring(source, partial, f"{dataset.name}: {file.name}", progress)
                problem, found = verify(partial, file)
                if problem:
                    raise _SourceFailedError(problem, wrong_content=True)
            return found
        except _SourceFailedError as failure:
            failures.append(f"{source}: {failure}")
            if source.is_mirror and failure.wrong_content:
                warnings.warn(f"The {source} was passed over: {failure}.", DatasetWarning, stacklevel=3)
    raise DatasetError(_no_source_left(dataset, file, target, failures))


def _sources(dataset: Dataset, file: File, mirror: str | Path | None, failures: list[str]) -> Iterator[_Source]:
    """Give every place to look, mirrors first; note in `failures` the mirror folders that lack the file."""
    names = (dataset.name, *dataset.mirror_folders)
    mirrors = [mirror, os.environ.get(MIRROR_VARIABLE)]
    for place in dict.fromkeys(str(place) for place in mirrors if place):
        parts = urlsplit(place)
        if parts.scheme in ("http", "https"):
            for name in names:
                yield _Source(f"{place.rstrip('/')}/{name}/{file.name}", is_mirror=True)
            continue
        folder = Path(unquote(parts.path) if parts.scheme == "file" else place).expanduser()
        candidates = [folder / name / file.name for name in names]
        present = [path for path in candidates if path.is_file()]
        if not present:
            what = f"no {names[0]}/{file.name} in it" if folder.is_dir() else "there is no such folder"
            failures.append(f"mirror {folder}: {what}")
        for path in present:
            yield _Source(path, is_mirror=True)
    for url in file.urls:
        yield _Source(url, is_mirror=False)


def _no_source_left(dataset: Dataset, file: File, target: Path, failures: list[str]) -> str:
    tried = "".join(f"\n  - {failure}" for failure in failures) or "\n  - (the catalogue knows no address of it)"
    size = f"{file.size:,} bytes, " if file.size else ""
    checksum = f"sha256 {file.sha256}" if file.sha256 else f"checksum {_expected(file)}"
    return (
        f"The file {file.name} of the dataset '{dataset.name}' could not be had. Tried:{tried}\n"
        "What to do: check the network and run it again; or name a mirror (a URL or a folder laid out as "
        f"<dataset>/<file>) as 'mirror' in config/config.yaml or in the environment as {MIRROR_VARIABLE}; "
        f"or put the file at {target} yourself ({size}{checksum}). Homepage: {dataset.homepage}"
    )


def _bring(source: _Source, partial: Path, label: str, progress: bool) -> None:
    if isinstance(source.address, Path):
        _copy(source.address, partial)
        return
    for attempt, wait in enumerate((*RETRY_WAITS, None), start=1):
        try:
            _download(source.address, partial, label, progress)
            return
        except _SourceFailedError:
            raise
        except ConnectionError as error:
            if wait is None:
                raise _SourceFailedError(f"{error} ({attempt} tries)") from error
            _say(progress, f"{label}: {error}; trying again in {wait:g} s")
            time.sleep(wait)


def _copy(path: Path, partial: Path) -> None:
    with open(partial, "wb") as copy:
        try:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, copy, _CHUNK)
        except PermissionError as error:  # the copy is open already: it is the source that may not be read
            raise _SourceFailedError(f"cannot be read: {error.strerror}") from error


def _download(url: str, partial: Path, label: str, progress: bool) -> None:
    """Download once; ConnectionError for what may pass, _SourceFailedError for what will not."""
    import pooch
    import requests

    bar = _bar(label, urlsplit(url).netloc) if progress else None
    # Some servers compress on the wire and label .gz files as an encoding of something else; identity forbids
    # both.
    download = pooch.HTTPDownloader(
        progressbar=False if bar is None else bar,
        chunk_size=_CHUNK,
        timeout=_TIMEOUTS,
        headers={"Accept-Encoding": "identity"},
    )
    try:
        download(url, str(partial), None)
    except requests.exceptions.HTTPError as error:
        said = f"HTTP {error.response.status_code} {error.response.reason}"
        if error.response.status_code in _PASSING_STATUS:
            raise ConnectionError(said) from error
        raise _SourceFailedError(said) from error
    except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema) as error:
        raise _SourceFailedError(f"not an address: {error}") from error
    except requests.exceptions.Timeout as error:
        raise ConnectionError("no answer in time") from error
    except requests.exceptions.ChunkedEncodingError as error:
        raise ConnectionError("the connection broke off before the end") from error
    except requests.exceptions.RequestException as error:
        raise ConnectionError(f"no connection ({_innermost(error)})") from error
    finally:
        if bar is not None:
            bar.close()


def _innermost(error: BaseException) -> str:
    """The plain cause at the bottom of a chain of library errors: "Connection refused"."""
    while (below := error.__cause__ or error.__context__) is not None:
        error = below
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


# Progress


def _say(progress: bool, line: str) -> None:
    if progress:
        print(line, file=sys.stderr, flush=True)


def _bar(label: str, host: str) -> Any:
    if sys.stderr.isatty():
        from tqdm import tqdm

        # A bar without a total has no truth value, and pooch asks for it before it sets the total.
        return tqdm(desc=label, total=1, unit="B", unit_scale=True, leave=True)
    return _PlainBar(label, host)


class _PlainBar:
    """A progress bar for logs: a line at the start, one every ten seconds, one at the end."""

    every_seconds = 10.0

    def __init__(self, label: str, host: str):
        self.label, self.total, self.n, self.closed = label, 0, 0, False
        self.said = time.monotonic()
        _say(True, f"{label}: fetching from {host}")

    def update(self, n: int) -> None:
        """Count `n` more bytes."""
        self.n += n
        if time.monotonic() - self.said >= self.every_seconds:
            self.said = time.monotonic()
            share = f" of {self.total / 1e6:.1f} MB ({self.n / self.total:.0%})" if self.total else " MB"
            _say(True, f"{self.label}: {self.n / 1e6:.1f}{share}")

    def reset(self) -> None:
        """Start to count again (pooch does so before it fills the bar)."""
        self.n = 0

    def close(self) -> None:
        """End, with a line when everything came."""
        if not self.closed and self.total and self.n >= self.total:
            _say(True, f"{self.label}: {self.total / 1e6:.1f} MB fetched")
        self.closed = True
