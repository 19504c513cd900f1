"""Fetches the files of a dataset and verifies them: from mirrors, public addresses, the repository or their user."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from shallows.utils.atomic import PARTIAL_SUFFIX
from shallows_papers import project
from shallows_papers.datasets.catalogue import Dataset, File, Form, get
from shallows_papers.datasets.download import supplied_files
from shallows_papers.datasets.download.addresses import MIRROR_VARIABLE, Address, addresses, in_a_mirror
from shallows_papers.datasets.download.http_transfer import TransferError, download
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
    """A file that no address gives."""


class _RefusedError(Exception):
    """The file of an address is not the right one; the message says why."""


def fetch(
    name: str | Dataset,
    root: str | Path,
    mirror: str | Path | None = None,
    progress: bool = True,
    embedded_root: str | Path = "data/embedded",
) -> Path:
    """Fetch the files of a dataset to ``root/<name>/`` and verify them.

    A right file that is there is left alone; a wrong one is moved aside, with a warning, and fetched again. Mirrors are
    tried first (the argument, then the environment's ``SHALLOWS_MIRROR``), then the canonical addresses. A file gets
    its name only after it was verified. Processes that fetch the same dataset at once wait for each other.

    For a generated dataset that is made from another (``made_from``), the files of that one are brought to its own
    folder; other generated datasets have no files.

    Where nobody published a checksum, the first whole and readable copy is trusted: its checksum is noted in
    ``root/checksums.lock.json``, with a warning, and a later file that differs from it is refused.

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
        A folder of embedded datasets, laid out as ``<dataset>/<file>``; those that it lacks are taken from where the
        package has them. They are verified in their place.

    Returns
    -------
    Path
        ``root/<name>/verified.json``, written last: dataset, and for every file its name, part, path
        (relative to this file), size and sha256.

    Raises
    ------
    UnknownNameError
        When the catalogue has no such dataset.
    SuppliedDataError
        When the user has to supply the data, and they are not there or have another form.
    DatasetError
        When a file cannot be had, with what each source answered, or when the disk is full.
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
        """Fetch and verify the files; return their entries in the stamp."""
        by_state = {"embedded": self._embedded, "supplied": self._supplied, "generated": self._of_base}
        return by_state.get(self.dataset.state, self._any_form)()

    def _of_base(self) -> list[dict[str, Any]]:
        """Fetch the files of the dataset that a generated one is made from, if any, to that dataset's folder."""
        if "made_from" not in self.dataset.generator:
            return []
        base = get(self.dataset.generator["made_from"])
        place = self.folder.parent / base.name
        place.mkdir(parents=True, exist_ok=True)
        with FileLock(place / ".lock"):
            remove_partials(place)
            records = replace(self, dataset=base, folder=place).records()
        return [record | {"path": _relative(place / record["path"], self.folder)} for record in records]

    def _embedded(self) -> list[dict[str, Any]]:
        folder, records = project.embedded(self.dataset.name, self.embedded_root), []
        restore = "Restore it: git checkout -- data/embedded in a clone, else install shallows again."
        for file in self.dataset.files:
            path = folder / file.name
            if not path.exists():
                raise DatasetError(
                    f"{path}, a file of the embedded dataset '{self.dataset.name}', is missing. {restore}"
                )
            problem, found = verify(path, file)
            if problem:
                raise DatasetError(f"{path} is not the file that the catalogue describes: {problem}. {restore}")
            records.append(self._record(file, path, found))
        return records

    def _supplied(self) -> list[dict[str, Any]]:
        forms = [form for form in self.dataset.all_forms if form.files]
        form = next(filter(self._lies_here, forms), None)
        if form is None:
            form = next((one for one in forms if in_a_mirror(self.dataset, one, self.mirror)), None)
            if form is None:
                raise supplied_files.absence_error(self.dataset, self.folder)
            self._form(form)
        supplied_files.check(self.dataset, form, self.folder)
        return [self._record(file, path := self.folder / file.name, digest(path)) for file in form.files]

    def _any_form(self) -> list[dict[str, Any]]:
        """Fetch the first form that can be had: those on this machine first, then those to download."""
        dataset, errors = self.dataset, []

        def rank(form: Form) -> int:
            if self._lies_here(form):
                return 0
            if in_a_mirror(dataset, form, self.mirror):
                return 1
            addressed = all(list(addresses(dataset, file, self.mirror, [])) for file in form.files)
            return 2 if addressed or form == dataset.all_forms[0] else 3

        for form in sorted((form for form in dataset.all_forms if rank(form) < 3), key=rank):
            try:
                return self._form(form)
            except UnavailableError as error:
                errors.append(error)
        if len(errors) == 1:
            raise errors[0]
        others = [f"Nor could the same data be had in another form. {error}" for error in errors[1:]]
        raise DatasetError("\n".join([str(errors[0]), *others])) from errors[0]

    def _lies_here(self, form: Form) -> bool:
        return all((self.folder / file.name).is_file() for file in form.files)

    def _form(self, form: Form) -> list[dict[str, Any]]:
        """Fetch the files of a form."""
        records = []
        for file in form.files:
            fetcher = _FileFetcher(self.dataset, form, file, self.folder, self.mirror, self.progress)
            records.append(self._record(file, fetcher.target, fetcher.fetch()))
        return records

    def _record(self, file: File, path: Path, found: str) -> dict[str, Any]:
        place, size = _relative(path, self.folder), path.stat().st_size
        record = {"name": file.name, "part": file.part, "path": place, "size": size, "sha256": found}
        return record | ({"note": file.accepted[found]} if found in file.accepted else {})


@dataclass(frozen=True)
class _FileFetcher:
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


def _relative(path: Path, folder: Path) -> str:
    # Both resolved: a relative path through a symbolic link would lead elsewhere.
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
