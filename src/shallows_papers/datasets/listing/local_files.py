"""Find, check and remove the files of a dataset on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from shallows_papers import project
from shallows_papers.datasets.catalogue import Dataset
from shallows_papers.datasets.download import supplied_files
from shallows_papers.datasets.download.verification import pinned, verify
from shallows_papers.datasets.files import DatasetError


def presence(dataset: Dataset, root: Path) -> str:
    """Return whether the files of a dataset are in the folder of downloads: "here", "in part" or "not here".

    For embedded data it returns "in the repository", for generated data without files "computed".
    """
    if dataset.state == "embedded":
        return "in the repository"
    if dataset.state == "generated" and not dataset.files:
        return "computed"
    folder = root / dataset.name
    there = [[(folder / file.name).is_file() for file in form.files] for form in dataset.all_forms if form.files]
    if any(map(all, there)):
        return "here"
    return "in part" if any(map(any, there)) else "not here"


def check_files(dataset: Dataset, root: Path, embedded_root: Path) -> Iterator[tuple[Path, str | None]]:
    """Verify the files without fetching any. Yield each path with a description of its fault, or None."""
    is_embedded = dataset.state == "embedded"
    folder = project.embedded(dataset.name, embedded_root) if is_embedded else root / dataset.name
    present = (form for form in dataset.all_forms if any((folder / file.name).is_file() for file in form.files))
    form = next(present, dataset.all_forms[0])
    for file in form.files:
        path = folder / file.name
        if not path.is_file():
            yield path, "it is missing"
            continue
        note = None if file.has_checksum else pinned(root, dataset.name, file.name)
        yield path, verify(path, file if note is None else replace(file, sha256=note["sha256"]))[0]
    if dataset.state == "supplied" and all((folder / file.name).is_file() for file in form.files):
        try:
            supplied_files.check(dataset, form, folder)
        except DatasetError as error:
            yield folder, str(error)


def folders_of(dataset: Dataset, root: Path) -> list[Path]:
    """Return the folders that can be removed: the dataset's downloads and its prepared arrays."""
    folders = (root / dataset.name, root.parent / "prepared" / dataset.name)
    return [folder for folder in folders if folder.is_dir()]


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
