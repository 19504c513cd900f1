"""Fetches the files of a dataset and verifies them: from mirrors, public addresses, the repository or their user."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from shallows.utils.atomic import PARTIAL_SUFFIX
from shallows_papers import project
from shallows_papers.datasets.catalogue import Dataset, File, Form, get
from shallows_papers.datasets.download import supplied_files
from shallows_papers.datasets.download.addresses import MIRROR_VARIABLE, Address, addresses, in_a_mirror
from shallows_papers.datasets.download.http_transfer import ResumingDownloader, TransferError
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

    Where no checksum is published, the first whole and readable copy is trusted: its checksum is noted in
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
        if self.dataset.state == "generated":
            return self._of_base()
        if self.dataset.state == "embedded":
            return [self._embedded(file) for file in self.dataset.files]
        return self._supplied() if self.dataset.state == "supplied" else self._any_form()

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

    def _embedded(self, file: File) -> dict[str, Any]:
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
        """Fetch the first form that is available: those on this machine first, then those to download."""
        errors = []
        for form in sorted((form for form in self.dataset.all_forms if self._rank(form) < 3), key=self._rank):
            try:
                return self._form(form)
            except UnavailableError as error:
                errors.append(error)
        others = [f"Nor could the same data be had in another form. {error}" for error in errors[1:]]
        raise UnavailableError("\n".join([str(errors[0]), *others])) from errors[0]

    def _rank(self, form: Form) -> int:
        """Return 0 for a form whose files are here, 1 in a mirror folder, 2 at an address, and 3 without addresses."""
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
        """Fetch a file to its place if the right one is not there yet; return its sha256."""
        target = self.folder / file.name
        trusts_first = not file.has_checksum and self.dataset.state != "supplied"
        note = pinned(self.folder.parent, self.dataset.name, file.name) if trusts_first else None

        def verified(path: Path) -> tuple[str | None, str]:
            if note is not None:
                problem, found = verify(path, replace(file, sha256=note["sha256"], size=note["size"]))
                since = (
                    f" (it is held against the first copy, of {note['date']} from {note['source']}; if the publisher "
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
                f"Nobody published a checksum of {file.name} ('{self.dataset.name}'). This first copy is whole "
                f"and can be read, so it is trusted: its sha256 {found[:12]}... is noted in {root / LOCK_NAME}, and a "
                "file that differs from it will be refused."
            )
        if found in file.accepted:
            _warn(f"{target} is not the publisher's file but a known copy of it: {file.accepted[found]}.")
        return found

    def _download(self, file: File, verified: Callable[[Path], tuple[str | None, str]]) -> tuple[str, str]:
        """Bring a right copy to its place; return its address and its sha256."""
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
                            _warn(f"The {address} was passed over: {problem}.")
                except TransferError as failure:
                    problem = failure
                if not problem:
                    with open(copy, "rb") as written:
                        os.fsync(written.fileno())  # some file systems report a full disk only here
                    os.replace(copy, self.folder / file.name)
                    return str(address), found
                failures.append(f"\n  - {address}: {problem}")
        tried = "".join(failures) or "\n  - (the catalogue knows no address of it)"
        size = f"{file.size:,} bytes, " if file.size else ""
        checksum = f"sha256 {file.sha256}" if file.sha256 else f"checksum {expected_checksum(file)}"
        raise UnavailableError(
            f"The file {file.name} of the dataset '{self.dataset.name}' could not be had. Tried:{tried}\n"
            "What to do: check the network and run it again; or name a mirror (a URL or a folder laid out as "
            f"<dataset>/<file>) as 'mirror' in config/config.yaml or in the environment as {MIRROR_VARIABLE}; "
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
    # Both resolved: a relative path through a symbolic link would lead elsewhere.
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
