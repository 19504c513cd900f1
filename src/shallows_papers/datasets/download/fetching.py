"""Fetch and verify the files of a dataset, from mirrors, public addresses, the repository or the user."""

import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from filelock import FileLock

from shallows.errors import MissingExtraError
from shallows.utils.atomic import PARTIAL_SUFFIX
from shallows_papers import project
from shallows_papers.datasets.catalogue import Dataset, File, Form, get
from shallows_papers.datasets.download import supplied_files
from shallows_papers.datasets.download.addresses import MIRROR_VARIABLE, Address, addresses, in_a_mirror
from shallows_papers.datasets.download.verification import LOCK_NAME, expected_checksum, pin, pinned, verify
from shallows_papers.datasets.files import (
    DatasetError,
    DatasetWarning,
    digest,
    explaining_full_disk,
    remove_partials,
    write_json,
)
from shallows_papers.datasets.formats.containers import container_problem
from shallows_papers.datasets.formats.source import problem_of_first_rows

STAMP = "verified.json"


class UnavailableError(DatasetError):
    """A file that no address provides."""


def fetch(
    name: str | Dataset,
    root: str | Path,
    mirror: str | Path | None = None,
    progress: bool = True,
    embedded_root: str | Path = "data/embedded",
) -> Path:
    """Fetch the files of a dataset to ``root/<name>/`` and verify them.

    A correct file that already exists is kept. A wrong file is renamed, with a warning, and fetched again. Mirrors are
    tried first (the argument, then the environment variable ``SHALLOWS_MIRROR``), then the canonical addresses. A file
    gets its name only after it was verified. Processes that fetch the same dataset at once wait for each other.

    If a generated dataset is made from another dataset (``made_from``), the files of the other dataset are fetched to
    the other dataset's folder. Other generated datasets have no files.

    If no checksum is published, the first complete and readable copy is trusted. A warning is shown and the checksum is
    stored in ``root/checksums.lock.json``. Later files that differ from it are refused.

    Parameters
    ----------
    name : str or Dataset
        A name in the catalogue, or your own entry.
    root : path
        The folder of downloads, ``data/raw`` in the workflow.
    mirror : str or path, optional
        A URL or a folder with files at ``<dataset>/<file>``.
    progress : bool, default=True
        Whether to show a progress bar for every download (plain lines if stderr is not a terminal).
    embedded_root : path
        A folder of embedded datasets with files at ``<dataset>/<file>``. Datasets that it lacks are read from the
        installed package. The files are verified without copying them.

    Returns
    -------
    Path
        ``root/<name>/verified.json``, written last. It has the dataset's name and, for every file, its name, part, path
        (relative to this JSON file), size and sha256.

    Raises
    ------
    UnknownNameError
        If the catalogue has no such dataset.
    SuppliedDataError
        If the user has to supply the data and they are missing or have another form.
    DatasetError
        If no source provides a file (the message lists their answers), or if the disk is full.
    """
    dataset = get(name) if isinstance(name, str) else name
    folder = Path(root) / dataset.name
    with explaining_full_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
    fetcher = _Fetcher(dataset, folder, mirror, progress, Path(embedded_root))
    with FileLock(folder / ".lock"):
        remove_partials(folder)
        write_json(folder / STAMP, {"dataset": dataset.name, "files": fetcher.records()})
    return folder / STAMP


@dataclass(frozen=True)
class _Fetcher:
    """Fetches the files of one dataset into its folder."""

    dataset: Dataset
    folder: Path
    mirror: str | Path | None
    progress: bool
    embedded_root: Path

    def records(self) -> list[dict[str, Any]]:
        """Fetch and verify the files; return their entries for ``verified.json``."""
        if self.dataset.state == "generated":
            return self._of_base()
        if self.dataset.state == "embedded":
            return [self._check_embedded(file) for file in self.dataset.files]
        return self._supplied() if self.dataset.state == "supplied" else self._any_form()

    def _of_base(self) -> list[dict[str, Any]]:
        """If the dataset is made from another dataset, fetch the other dataset's files to its folder."""
        if "made_from" not in self.dataset.generator:
            return []
        base = get(self.dataset.generator["made_from"])
        place = self.folder.parent / base.name
        place.mkdir(parents=True, exist_ok=True)
        with FileLock(place / ".lock"):
            remove_partials(place)
            records = replace(self, dataset=base, folder=place).records()
        return [record | {"path": _relative(place / record["path"], self.folder)} for record in records]

    def _check_embedded(self, file: File) -> dict[str, Any]:
        path = project.embedded(self.dataset.name, self.embedded_root) / file.name
        restore = "Restore it: git checkout -- data/embedded in a clone, else install shallows again."
        if not path.exists():
            raise DatasetError(f"{path}, a file of the embedded dataset '{self.dataset.name}', is missing. {restore}")
        problem, found = verify(path, file)
        if problem:
            raise DatasetError(f"{path} is not the file that the catalogue describes: {problem}. {restore}")
        return self._record(file, path, found)

    def _supplied(self) -> list[dict[str, Any]]:
        forms = [form for form in sorted(self.dataset.all_forms, key=self._rank) if form.files]
        if not forms or self._rank(forms[0]) > 1:
            raise supplied_files.absence_error(self.dataset, self.folder)
        if self._rank(forms[0]) == 1:
            self._form(forms[0])
        supplied_files.check(self.dataset, forms[0], self.folder)
        return [self._record(file, path := self.folder / file.name, digest(path)) for file in forms[0].files]

    def _any_form(self) -> list[dict[str, Any]]:
        """Fetch the first available form. Forms on this machine come before forms to download."""
        errors = []
        for form in sorted((form for form in self.dataset.all_forms if self._rank(form) < 3), key=self._rank):
            try:
                return self._form(form)
            except UnavailableError as error:
                errors.append(error)
        others = [f"Another form of the same data is not available either. {error}" for error in errors[1:]]
        raise UnavailableError("\n".join([str(errors[0]), *others])) from errors[0]

    def _rank(self, form: Form) -> int:
        """Return 0 if the files of a form exist, 1 if a mirror folder has them, 2 if they have an address, else 3."""
        if all((self.folder / file.name).is_file() for file in form.files):
            return 0
        if in_a_mirror(self.dataset, form, self.mirror):
            return 1
        places = [addresses(self.dataset, file, self.mirror) for file in form.files]
        has_addresses = all(any(not one.absence for one in found) for found in places)
        return 2 if has_addresses or form == self.dataset.all_forms[0] else 3

    def _form(self, form: Form) -> list[dict[str, Any]]:
        return [self._record(file, self.folder / file.name, self._fetch(form, file)) for file in form.files]

    def _fetch(self, form: Form, file: File) -> str:
        """Fetch a file unless a correct copy exists; return its sha256."""
        target = self.folder / file.name
        trusts_first = not file.has_checksum and self.dataset.state != "supplied"
        note = pinned(self.folder.parent, self.dataset.name, file.name) if trusts_first else None

        def verified(path: Path) -> tuple[str | None, str]:
            if note is not None:
                problem, found = verify(path, replace(file, sha256=note["sha256"], size=note["size"]))
                since = (
                    f" (compared with the first copy, of {note['date']} from {note['source']}; if the publisher "
                    f"has changed the file, remove its entry from {self.folder.parent / LOCK_NAME})"
                )
                return problem and problem + since, found
            problem, found = verify(path, file)
            if not problem and trusts_first:
                problem = container_problem(path) or problem_of_first_rows(self.dataset, form, file, path)
            return problem, found

        source = "put there by hand"
        problem, found = verified(target) if target.exists() else (None, None)
        if problem:
            aside = target.with_name(target.name + ".refused")
            os.replace(target, aside)
            _warn(f"{target} was there, but {problem}. It was moved to {aside.name} and is fetched again.")
        if problem or found is None:
            source, found = self._download(file, verified)
        if trusts_first and note is None:
            root = self.folder.parent
            pin(root, self.dataset.name, file.name, found, target.stat().st_size, source)
            _warn(
                f"No checksum is published for {file.name} ('{self.dataset.name}'). This first copy is complete "
                f"and readable, so it is trusted. Its sha256 {found[:12]}... is stored in {root / LOCK_NAME}, and a "
                "file that differs from it will be refused."
            )
        if found in file.accepted:
            _warn(f"{target} is not the publisher's file but a known copy of it: {file.accepted[found]}.")
        return found

    def _download(self, file: File, verified: Callable[[Path], tuple[str | None, str]]) -> tuple[str, str]:
        """Download a correct copy; return its address and its sha256."""
        failures = []
        for address in addresses(self.dataset, file, self.mirror):
            beside = tempfile.TemporaryDirectory(prefix=".", suffix=PARTIAL_SUFFIX, dir=self.folder)
            with explaining_full_disk(self.folder / file.name), beside as place:
                copy, problem = Path(place) / file.name, address.absence
                try:
                    if not problem:
                        self._copy(address, copy)
                        problem, found = verified(copy)
                        if problem and address.is_mirror:
                            _warn(f"The {address} was skipped: {problem}.")
                except TransferError as failure:
                    problem = failure
                if not problem:
                    with open(copy, "rb") as written:
                        os.fsync(written.fileno())  # some file systems report a full disk only here
                    os.replace(copy, self.folder / file.name)
                    return str(address), found
                failures.append(f"\n  - {address}: {problem}")
        tried = "".join(failures) or "\n  - (the catalogue has no address for it)"
        size = f"{file.size:,} bytes, " if file.size else ""
        checksum = f"sha256 {file.sha256}" if file.sha256 else f"checksum {expected_checksum(file)}"
        raise UnavailableError(
            f"The file {file.name} of the dataset '{self.dataset.name}' is not available. Tried:{tried}\n"
            "What to do: check the network and run it again; or set a mirror (a URL or a folder with files at "
            f"<dataset>/<file>) as 'mirror' in config/config.yaml or as the environment variable {MIRROR_VARIABLE}; "
            f"or put the file at {self.folder / file.name} yourself ({size}{checksum}). "
            f"Homepage: {self.dataset.homepage}"
        )

    def _copy(self, address: Address, copy: Path) -> None:
        if not isinstance(address.place, Path):
            ResumingDownloader(f"{self.dataset.name}: {copy.name}", self.progress)(address.place, copy)
        elif not os.access(address.place, os.R_OK):
            raise TransferError("cannot be read: Permission denied")
        else:
            with open(address.place, "rb") as file, open(copy, "wb") as target:
                shutil.copyfileobj(file, target, 1 << 18)

    def _record(self, file: File, path: Path, found: str) -> dict[str, Any]:
        place, size = _relative(path, self.folder), path.stat().st_size
        record = {"name": file.name, "part": file.part, "path": place, "size": size, "sha256": found}
        return record | ({"note": file.accepted[found]} if found in file.accepted else {})


def _warn(message: str) -> None:
    warnings.warn(message, DatasetWarning, stacklevel=6)


def _relative(path: Path, folder: Path) -> str:
    # Resolve both: a relative path through a symbolic link would point to another place.
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


try:
    import requests
    import urllib3
    from pooch import HTTPDownloader
    from tqdm.utils import CallbackIOWrapper
except ModuleNotFoundError:
    raise MissingExtraError("data", "A download") from None

#: Two more attempts after a temporary failure, with increasing waits.
RETRIES = urllib3.Retry(total=2, backoff_factor=1.5, status_forcelist={408, 425, 429, 500, 502, 503, 504})
TIMEOUTS = (10, 60)  # seconds to connect, and between two chunks of bytes
BLOCK = 1 << 14  # bytes per read; an incomplete block is lost when the connection breaks


class TransferError(Exception):
    """An address did not provide the file; the message says why."""


class _PassingError(Exception):
    """A temporary failure."""


class ResumingDownloader:
    """Downloads one file by pooch's HTTPDownloader, with a progress bar named `label`.

    After a temporary failure it waits and tries again. It resumes if the server supports that and its file is still the
    same, and otherwise starts again. It gives up after three attempts in a row without new bytes. It does not check the
    content.
    """

    def __init__(self, label: str, progress: bool):
        self.label, self.progress = label, progress
        self.validator: str | None = None  # shows at the next attempt whether the server's file is still the same
        self.resumed = False

    def __call__(self, url: str, output_file: str | Path, pooch: Any = None) -> None:
        """Download an address to a path, or raise `TransferError`."""
        retries, self.bar = RETRIES, progress_bar(self.label, urlsplit(url).netloc, self.progress)
        with closing(self.bar), open(output_file, "wb") as self.file:
            while True:
                before, self.resumed = self.file.tell(), False
                try:
                    return self._try(url)
                except _PassingError as fault:
                    have = self.file.tell()
                    if self.resumed and have > before:
                        retries = RETRIES
                    try:
                        retries = retries.increment("GET", url, error=fault)
                    except urllib3.exceptions.MaxRetryError:
                        raise TransferError(f"{fault} ({len(retries.history) + 1} tries)") from fault
                    onwards = f" from byte {have:,}" if have and self.validator else ""
                    if self.progress:
                        _say(f"{self.label}: {fault}; trying again{onwards} in {retries.get_backoff_time():g} s")
                    retries.sleep()

    def _try(self, url: str) -> None:
        # "identity" forbids compression in transit. Some servers also label .gz files as an encoding of other content.
        headers = {"Accept-Encoding": "identity"}
        if self.validator and self.file.tell():
            headers |= {"Range": f"bytes={self.file.tell()}-", "If-Range": self.validator}
        hooks = {"response": self._begin}
        transfer = HTTPDownloader(chunk_size=BLOCK, headers=headers, timeout=TIMEOUTS, hooks=hooks)
        try:
            transfer(url, CallbackIOWrapper(self.bar.update, self.file, "write"), None)
        except requests.HTTPError as error:
            status = error.response.status_code
            kind = _PassingError if RETRIES.is_retry("GET", status) else TransferError
            raise kind(f"HTTP {status} {error.response.reason}") from error
        except ValueError as error:
            raise TransferError(f"not an address: {error}") from error
        except requests.exceptions.ChunkedEncodingError as error:
            raise _PassingError("the connection broke off before the end") from error
        except requests.RequestException as error:
            cause = _innermost(error)
            words = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
            timeout = isinstance(cause, TimeoutError)
            raise _PassingError("no answer in time" if timeout else f"no connection ({words})") from error

    def _begin(self, answer: requests.Response, **_: Any) -> None:
        """Move to the position of the next bytes in the file; requests calls this for every response."""
        have = self.file.tell()
        first = answer.headers.get("Content-Range", "").removeprefix("bytes").strip().partition("-")[0]
        self.resumed = answer.status_code == 206 and first == str(have)
        if self.resumed or answer.is_redirect or (not answer.ok and answer.status_code != 416):
            return
        self.file.truncate(self.file.seek(0))
        self.validator = None
        if answer.status_code == 416:  # the server's file is shorter than ours, so it has changed
            raise _PassingError("the server's file has changed")
        if answer.status_code == 206:
            raise _PassingError("the server continued at the wrong position")
        # Servers often call a compressed file an encoding of its content; it is kept compressed.
        if urlsplit(answer.url).path.endswith((".gz", ".tgz")):
            answer.raw.headers.pop("Content-Encoding", None)
        encoded = answer.raw.headers.get("Content-Encoding", "identity").lower() not in ("", "identity")
        etag, length = answer.headers.get("ETag", ""), answer.headers.get("Content-Length", "")
        strong = etag if etag and not etag.startswith("W/") else None
        self.validator = None if encoded else strong or answer.headers.get("Last-Modified")
        self.bar.n, self.bar.total = 0, None if encoded or not length.isdigit() else int(length)


def _innermost(error: BaseException) -> BaseException:
    """Return the first error in a chain of library errors, such as "Connection refused"."""
    while (below := error.__cause__ or error.__context__) is not None:
        error = below
    return error


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def progress_bar(label: str, host: str, shown: bool = True) -> Any:
    """Return a progress bar: drawn by tqdm on a terminal, plain lines elsewhere, silent if not `shown`."""
    from tqdm import tqdm

    if not shown or sys.stderr.isatty():
        return tqdm(desc=label, unit="B", unit_scale=True, disable=not shown)
    return _PlainBar(label, host)


class _PlainBar:
    """Progress for log files, where tqdm's bar would be unreadable: a line every ten seconds."""

    every_seconds = 10.0

    def __init__(self, label: str, host: str):
        self.label, self.total, self.n = label, None, 0
        self.said = time.monotonic()
        _say(f"{label}: fetching from {host}")

    def update(self, n: int) -> None:
        """Count `n` more bytes."""
        self.n += n
        if time.monotonic() - self.said >= self.every_seconds:
            self.said = time.monotonic()
            share = f" of {self.total / 1e6:.1f} MB ({self.n / self.total:.0%})" if self.total else " MB"
            _say(f"{self.label}: {self.n / 1e6:.1f}{share}")

    def close(self) -> None:
        """Print a last line if the file is complete."""
        if self.n and self.n >= (self.total or 0):
            _say(f"{self.label}: {self.n / 1e6:.1f} MB fetched")
