"""The downloader: files from mirrors and canonical addresses, verified before they get their names."""

from __future__ import annotations

import os
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from shallows.datasets.catalogue import Dataset, File, Form, get
from shallows.datasets.download import checksum_lock, supplied_files
from shallows.datasets.download.addresses import MIRROR_VARIABLE, Address, addresses, in_a_mirror
from shallows.datasets.download.http_transfer import TransferError, download
from shallows.datasets.download.verification import expected_checksum, verify
from shallows.datasets.files import (
    DatasetError,
    DatasetWarning,
    digests,
    remove_partials,
    replacing,
    told_if_full,
    write_json,
)
from shallows.datasets.formats.containers import container_problem

STAMP = "verified.json"
_CHUNK = 1 << 18


class _SourceFailedError(Exception):
    """One source did not give the file; the message says how."""

    def __init__(self, message: str, wrong_content: bool = False):
        super().__init__(message)
        self.wrong_content = wrong_content


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

    For a generated dataset that is made from another (``made_from``), the files of that one are brought to
    that one's folder; for the others there is nothing to bring.

    Where nobody published a checksum, the first file that comes whole and can be read is trusted: its checksum
    is noted in ``root/checksums.lock.json``, which a warning tells, and a file that differs from it is refused
    from then on.

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
    SuppliedDataError
        When the data has to be supplied by its user and is not there, or not of the form asked for.
    DatasetError
        When a file cannot be had from any source, naming what each one said, or when the disk is full.
    """
    dataset = get(name) if isinstance(name, str) else name
    folder = Path(root) / dataset.name
    with told_if_full(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        remove_partials(folder)
        if dataset.state == "generated":
            records = _of_base(dataset, folder, mirror, progress, embedded_root)
        else:
            records = _brought(dataset, folder, mirror, progress, embedded_root)
        write_json(folder / STAMP, {"dataset": dataset.name, "files": records})
    return folder / STAMP


def _brought(
    dataset: Dataset, folder: Path, mirror: str | Path | None, progress: bool, embedded_root: str | Path
) -> list[dict[str, Any]]:
    if dataset.state == "embedded":
        place = _embedded_folder(dataset, Path(embedded_root))
        return [
            _record(file, place, folder, _verify_embedded(dataset, file, place / file.name)) for file in dataset.files
        ]
    if dataset.state == "supplied":
        return _supplied(dataset, folder, mirror, progress)
    return _any_form(dataset, folder, mirror, progress)


def _of_base(
    dataset: Dataset, folder: Path, mirror: str | Path | None, progress: bool, embedded_root: str | Path
) -> list[dict[str, Any]]:
    """Bring the files of what a generated dataset is made from to that one's own folder, if it is made from any."""
    if "made_from" not in dataset.generator:
        return []
    base = get(dataset.generator["made_from"])
    place = folder.parent / base.name
    place.mkdir(parents=True, exist_ok=True)
    with FileLock(place / ".lock"):
        remove_partials(place)
        records = _brought(base, place, mirror, progress, embedded_root)
    return [
        record | {"path": Path(os.path.relpath((place / record["path"]).resolve(), folder.resolve())).as_posix()}
        for record in records
    ]


def _record(file: File, place: Path, folder: Path, found: str) -> dict[str, Any]:
    path = place / file.name
    record = {
        "name": file.name,
        "part": file.part,
        # Both resolved: a relative path through a symbolic link would lead elsewhere.
        "path": Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix(),
        "size": path.stat().st_size,
        "sha256": found,
    }
    if found in file.accepted:
        record["note"] = file.accepted[found]
    return record


# Embedded datasets


def _embedded_folder(dataset: Dataset, root: Path) -> Path:
    # The second place serves one who runs Python elsewhere with the package installed from a clone.
    clone = Path(__file__).resolve().parents[4] / "data" / "embedded"
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


# Supplied datasets


def _supplied(dataset: Dataset, folder: Path, mirror: str | Path | None, progress: bool) -> list[dict[str, Any]]:
    form = next((form for form in dataset.all_forms if form.files and _lies_in(folder, form)), None)
    if form is None:
        mirrored = (form for form in dataset.all_forms if form.files and in_a_mirror(dataset, form, mirror))
        form = next(mirrored, None)
        if form is None:
            raise supplied_files.absent(dataset, folder)
        for file in form.files:
            _ensure(dataset, form, file, folder / file.name, mirror, progress)
    supplied_files.check(dataset, form, folder)
    return [_record(file, folder, folder, digests(folder / file.name, ["sha256"])["sha256"]) for file in form.files]


# Downloaded datasets


def _any_form(dataset: Dataset, folder: Path, mirror: str | Path | None, progress: bool) -> list[dict[str, Any]]:
    """Bring the first form that can be had: those at hand before those to download, in the catalogue's order."""
    at_hand = [form for form in dataset.all_forms if _lies_in(folder, form)]
    at_hand += [form for form in dataset.all_forms if form not in at_hand and in_a_mirror(dataset, form, mirror)]
    main, *others = dataset.all_forms
    addressed = [form for form in others if all(list(addresses(dataset, file, mirror, [])) for file in form.files)]
    forms = at_hand + [form for form in (main, *addressed) if form not in at_hand]
    errors = []
    for form in forms:
        try:
            return [
                _record(file, folder, folder, _ensure(dataset, form, file, folder / file.name, mirror, progress))
                for file in form.files
            ]
        except _NotToBeHadError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    raise DatasetError(
        "\n".join(
            [str(errors[0])] + [f"Nor could the same data be had in another form. {error}" for error in errors[1:]]
        )
    ) from errors[0]


class _NotToBeHadError(DatasetError):
    """A file that no source gives."""


def _lies_in(folder: Path, form: Form) -> bool:
    return all((folder / file.name).is_file() for file in form.files)


def _ensure(dataset: Dataset, form: Form, file: File, target: Path, mirror: str | Path | None, progress: bool) -> str:
    """Return the sha256 of the file at `target`, which is right and was brought there if it was not."""
    root = target.parent.parent
    note = (
        None
        if file.has_checksum or dataset.state == "supplied"
        else checksum_lock.pinned(root, dataset.name, file.name)
    )
    known = file if note is None else replace(file, sha256=note["sha256"], size=note["size"])
    if target.exists():
        problem, found = verify(target, known)
        if not problem and note is None:
            problem = _trusted_problem(dataset, form, file, target)
        if not problem:
            _pin(dataset, file, target, found, note, "put there by hand")
            _tell_of_a_copy(file, found, target)
            return found
        aside = target.with_name(target.name + ".refused")
        os.replace(target, aside)
        warnings.warn(
            f"{target} was there, but {problem}{_since(root, note)}. It was moved to {aside.name} and is fetched "
            "again.",
            DatasetWarning,
            stacklevel=4,
        )
    failures = []
    for source in addresses(dataset, file, mirror, failures):
        try:
            with replacing(target) as partial:
                _bring(source, partial, f"{dataset.name}: {file.name}", progress)
                problem, found = verify(partial, known)
                if not problem and note is None:
                    problem = _trusted_problem(dataset, form, file, partial)
                if problem:
                    raise _SourceFailedError(problem + _since(root, note), wrong_content=True)
        except _SourceFailedError as failure:
            failures.append(f"{source}: {failure}")
            if source.is_mirror and failure.wrong_content:
                warnings.warn(f"The {source} was passed over: {failure}.", DatasetWarning, stacklevel=4)
            continue
        _pin(dataset, file, target, found, note, str(source))
        _tell_of_a_copy(file, found, target)
        return found
    raise _NotToBeHadError(_no_source_left(dataset, file, target, failures))


def _trusted_problem(dataset: Dataset, form: Form, file: File, path: Path) -> str | None:
    """Look into a file that is to be trusted without a checksum: whole, and of rows as the catalogue describes them."""
    if file.has_checksum or dataset.state == "supplied":
        return None
    from shallows.datasets.formats.source import peek

    return container_problem(path, file.name) or peek(dataset, form, path, file.name)


def _pin(dataset: Dataset, file: File, target: Path, found: str, note: dict[str, Any] | None, source: str) -> None:
    if file.has_checksum or note is not None or dataset.state == "supplied":
        return
    root = target.parent.parent
    checksum_lock.pin(root, dataset.name, file.name, found, target.stat().st_size, source)
    warnings.warn(
        f"Nobody published a checksum of {file.name} ('{dataset.name}'). This first copy is whole and can be read, so "
        f"it is trusted: its sha256 {found[:12]}... is noted in {root / checksum_lock.LOCK_NAME}, and a file that "
        "differs from it will be refused.",
        DatasetWarning,
        stacklevel=5,
    )


def _since(root: Path, note: dict[str, Any] | None) -> str:
    if note is None:
        return ""
    return (
        f" (it is held against the first copy, of {note['date']} from {note['source']}; if the publisher has changed "
        f"the file, remove its entry from {root / checksum_lock.LOCK_NAME})"
    )


def _tell_of_a_copy(file: File, found: str, target: Path) -> None:
    if found in file.accepted:
        warnings.warn(
            f"{target} is not the publisher's file but a known copy of it: {file.accepted[found]}.",
            DatasetWarning,
            stacklevel=5,
        )


def _no_source_left(dataset: Dataset, file: File, target: Path, failures: list[str]) -> str:
    tried = "".join(f"\n  - {failure}" for failure in failures) or "\n  - (the catalogue knows no address of it)"
    size = f"{file.size:,} bytes, " if file.size else ""
    checksum = f"sha256 {file.sha256}" if file.sha256 else f"checksum {expected_checksum(file)}"
    return (
        f"The file {file.name} of the dataset '{dataset.name}' could not be had. Tried:{tried}\n"
        "What to do: check the network and run it again; or name a mirror (a URL or a folder laid out as "
        f"<dataset>/<file>) as 'mirror' in config/config.yaml or in the environment as {MIRROR_VARIABLE}; "
        f"or put the file at {target} yourself ({size}{checksum}). Homepage: {dataset.homepage}"
    )


def _bring(source: Address, partial: Path, label: str, progress: bool) -> None:
    if isinstance(source.place, Path):
        _copy(source.place, partial)
        return
    try:
        download(source.place, partial, label, progress)
    except TransferError as error:
        raise _SourceFailedError(str(error)) from error


def _copy(path: Path, partial: Path) -> None:
    with open(partial, "wb") as copy:
        try:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, copy, _CHUNK)
        except PermissionError as error:  # the copy is open already: it is the source that may not be read
            raise _SourceFailedError(f"cannot be read: {error.strerror}") from error
