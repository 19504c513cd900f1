"""Fetches one file of a dataset from a mirror or an address, and verifies it before it gets its name."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shallows.datasets.catalogue import Dataset, File, Form
from shallows.datasets.download.addresses import MIRROR_VARIABLE, Address, addresses
from shallows.datasets.download.http_transfer import TransferError, download
from shallows.datasets.download.verification import LOCK_NAME, expected_checksum, pin, pinned, verify
from shallows.datasets.files import DatasetError, DatasetWarning, explaining_full_disk
from shallows.datasets.formats.containers import container_problem
from shallows.datasets.formats.source import problem_of_first_rows
from shallows.utils.atomic import PARTIAL_SUFFIX


class UnavailableError(DatasetError):
    """A file that no address gives."""


class _RefusedError(Exception):
    """The file of an address is not the right one; the message says why."""


@dataclass(frozen=True)
class FileFetcher:
    """Fetches one file of a form of a dataset into `folder`, the dataset's own.

    Where nobody published a checksum, the first copy that is whole and can be read is trusted and noted in the lock
    file; later copies are compared with that note.
    """

    dataset: Dataset
    form: Form
    file: File
    folder: Path
    mirror: str | Path | None
    progress: bool

    @property
    def target(self) -> Path:
        """The final place of the file."""
        return self.folder / self.file.name

    @property
    def trusts_first(self) -> bool:
        """Whether the first copy has to be trusted."""
        return not self.file.has_checksum and self.dataset.state != "supplied"

    def fetch(self) -> str:
        """Fetch the file to its place if the right one is not there yet; return its sha256."""
        note = pinned(self.folder.parent, self.dataset.name, self.file.name) if self.trusts_first else None
        if self.target.exists():
            problem, found = self._verify(self.target, note)
            if not problem:
                return self._accepted(found, note, "put there by hand")
            aside = self.target.with_name(self.target.name + ".refused")
            os.replace(self.target, aside)
            self._warn(f"{self.target} was there, but {problem}. It was moved to {aside.name} and is fetched again.")
        failures: list[str] = []
        for address in addresses(self.dataset, self.file, self.mirror, failures):
            try:
                return self._accepted(self._take(address, note), note, str(address))
            except (TransferError, _RefusedError) as failure:
                failures.append(f"{address}: {failure}")
                if address.is_mirror and isinstance(failure, _RefusedError):
                    self._warn(f"The {address} was passed over: {failure}.")
        raise UnavailableError(self._unavailable(failures))

    def _take(self, address: Address, note: dict[str, Any] | None) -> str:
        """Fetch a copy into a folder beside its place, verify it there and move it; return its sha256."""
        beside = tempfile.TemporaryDirectory(prefix=".", suffix=PARTIAL_SUFFIX, dir=self.folder)
        with explaining_full_disk(self.target), beside as place:
            copy = Path(place) / self.file.name
            self._copy_to(address, copy)
            problem, found = self._verify(copy, note)
            if problem:
                raise _RefusedError(problem)
            with open(copy, "rb") as file:
                os.fsync(file.fileno())  # some file systems report a full disk only here
            os.replace(copy, self.target)
        return found

    def _verify(self, path: Path, note: dict[str, Any] | None) -> tuple[str | None, str]:
        """Return what is wrong with a file, and its sha256."""
        if note is not None:
            problem, found = verify(path, replace(self.file, sha256=note["sha256"], size=note["size"]))
            since = (
                f" (it is held against the first copy, of {note['date']} from {note['source']}; if the publisher has "
                f"changed the file, remove its entry from {self.folder.parent / LOCK_NAME})"
            )
            return problem and problem + since, found
        problem, found = verify(path, self.file)
        if not problem and self.trusts_first:
            problem = container_problem(path) or problem_of_first_rows(self.dataset, self.form, self.file, path)
        return problem, found

    def _copy_to(self, address: Address, copy: Path) -> None:
        if not isinstance(address.place, Path):
            download(address.place, copy, f"{self.dataset.name}: {self.file.name}", self.progress)
            return
        with open(copy, "wb") as target:
            try:
                with open(address.place, "rb") as file:
                    shutil.copyfileobj(file, target, 1 << 18)
            except PermissionError as error:  # the copy is open already, so it is the source that may not be read
                raise TransferError(f"cannot be read: {error.strerror}") from error

    def _accepted(self, found: str, note: dict[str, Any] | None, source: str) -> str:
        """Note a first copy in the lock file, and warn of a file that is not the publisher's."""
        if self.trusts_first and note is None:
            root, size = self.folder.parent, self.target.stat().st_size
            pin(root, self.dataset.name, self.file.name, found, size, source)
            self._warn(
                f"Nobody published a checksum of {self.file.name} ('{self.dataset.name}'). This first copy is whole "
                f"and can be read, so it is trusted: its sha256 {found[:12]}... is noted in {root / LOCK_NAME}, and a "
                "file that differs from it will be refused."
            )
        if found in self.file.accepted:
            copy = self.file.accepted[found]
            self._warn(f"{self.target} is not the publisher's file but a known copy of it: {copy}.")
        return found

    def _warn(self, message: str) -> None:
        warnings.warn(message, DatasetWarning, stacklevel=6)

    def _unavailable(self, failures: list[str]) -> str:
        file = self.file
        tried = "".join(f"\n  - {failure}" for failure in failures) or "\n  - (the catalogue knows no address of it)"
        size = f"{file.size:,} bytes, " if file.size else ""
        checksum = f"sha256 {file.sha256}" if file.sha256 else f"checksum {expected_checksum(file)}"
        return (
            f"The file {file.name} of the dataset '{self.dataset.name}' could not be had. Tried:{tried}\n"
            "What to do: check the network and run it again; or name a mirror (a URL or a folder laid out as "
            f"<dataset>/<file>) as 'mirror' in config/config.yaml or in the environment as {MIRROR_VARIABLE}; "
            f"or put the file at {self.target} yourself ({size}{checksum}). Homepage: {self.dataset.homepage}"
        )
