"""Which files of a dataset lie here, whether they are right, and their removal."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from shallows.datasets.catalogue import Dataset
from shallows.datasets.download import checksum_lock, supplied_files
from shallows.datasets.download.verification import verify
from shallows.datasets.files import DatasetError


def presence(dataset: Dataset, root: Path) -> str:
    """Return "here", "in part" or "not here": what lies of a dataset below the folder of downloads.

    Parameters
    ----------
    dataset : Dataset
    root : Path
        The folder of downloads.

    Returns
    -------
    str
        "in the repository" for embedded data, "computed" for generated data that needs no file.
    """
    if dataset.state == "embedded":
        return "in the repository"
    if dataset.state == "generated" and not dataset.files:
        return "computed"
    folder = root / dataset.name
    there = [[(folder / file.name).is_file() for file in form.files] for form in dataset.all_forms if form.files]
    if any(all(files) for files in there):
        return "here"
    return "in part" if any(any(files) for files in there) else "not here"


def check_files(dataset: Dataset, root: Path, embedded_root: Path) -> Iterator[tuple[Path, str | None]]:
    """Hold the files that lie here against the catalogue, without fetching anything.

    Parameters
    ----------
    dataset : Dataset
    root : Path
        The folder of downloads.
    embedded_root : Path
        The folder of embedded datasets.

    Yields
    ------
    path : Path
    problem : str or None
        What is wrong with it, in words.
    """
    folder = (embedded_root if dataset.state == "embedded" else root) / dataset.name
    forms = [form for form in dataset.all_forms if any((folder / file.name).is_file() for file in form.files)]
    for form in forms[:1] or dataset.all_forms[:1]:
        for file in form.files:
            path = folder / file.name
            if not path.is_file():
                yield path, "it is not there"
                continue
            note = None if file.has_checksum else checksum_lock.pinned(root, dataset.name, file.name)
            yield path, verify(path, file if note is None else replace(file, sha256=note["sha256"]))[0]
        if dataset.state == "supplied" and all((folder / file.name).is_file() for file in form.files):
            try:
                supplied_files.check(dataset, form, folder)
            except DatasetError as error:
                yield folder, str(error)


def folders_of(dataset: Dataset, root: Path) -> list[Path]:
    """Return what can be removed of a dataset: its downloads and what was prepared of them."""
    prepared = root.parent / "prepared"
    return [folder for folder in (root / dataset.name, prepared / dataset.name) if folder.is_dir()]


def remove(folders: list[Path]) -> int:
    """Remove folders; return the bytes that were in them."""
    freed = 0
    for folder in folders:
        if folder.is_symlink():
            folder.unlink()
            continue
        freed += sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir())
        shutil.rmtree(folder)
    return freed
