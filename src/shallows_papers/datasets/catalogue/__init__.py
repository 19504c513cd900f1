"""The catalogue of datasets: what each one is, the addresses of its files, and their checksums."""

from __future__ import annotations

import copy
import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shallows.errors import MissingExtraError, UnknownNameError

try:
    import yaml
except ModuleNotFoundError:
    raise MissingExtraError("data", "The catalogue of datasets") from None

CATALOGUE_PATH = Path(__file__).parent
STATES = ("public", "embedded", "supplied", "generated")
SCHEMA_PATH = CATALOGUE_PATH / "schema.yaml"


@dataclass(frozen=True)
class File:
    r"""One file of a dataset.

    Attributes
    ----------
    name : str
        Name of the file, the same at every source.
    part : str
        Content of the file: ``"train"``, ``"test"``, ``"all"``, ``"train_images"``, ...
    urls : tuple of str
        Canonical addresses, tried in this order.
    size : int or None
        Size in bytes.
    sha256, md5, git_sha1 : str or None
        Checksums of the file. All known ones are compared. ``git_sha1`` is git's name of the content: the SHA-1 of
        ``blob <size>\0`` and the bytes.
    content_sha256 : str or None
        Checksum of the decompressed content. The same content in another container is accepted.
    accepted : mapping of str to str
        sha256 of known copies that differ from the publisher's file, each with the difference.
    arrays : mapping of str to mapping
        For supplied files: each array's ``shape`` (numbers, or ``n`` for the rows) and, if known, its ``low`` and
        ``high`` values.
    """

    name: str
    part: str
    urls: tuple[str, ...] = ()
    size: int | None = None
    sha256: str | None = None
    md5: str | None = None
    git_sha1: str | None = None
    content_sha256: str | None = None
    accepted: Mapping[str, str] = field(default_factory=dict)
    arrays: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def has_checksum(self) -> bool:
        """Whether any checksum is published."""
        return any((self.sha256, self.md5, self.git_sha1, self.content_sha256))


@dataclass(frozen=True)
class Form:
    """One form of a dataset: its files, the reader in `shallows_papers.datasets.formats`, and the reader's options."""

    files: tuple[File, ...]
    format: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """One entry of the catalogue.

    Attributes
    ----------
    name, title : str
        Key of the entry, and the name that reports show.
    state : {"public", "embedded", "supplied", "generated"}
        Where the data come from: a download, this repository, the user, or a generator.
    task : {"classification", "regression", "none"}
        With ``"none"``, the targets have no columns.
    n_train, n_test, n_features, n_classes : int or None
        Published size; None if unknown. ``n_test`` is 0 if the publisher made no split, ``n_classes`` is 0 in
        regression.
    licence, citation, homepage : str
        Shown with results.
    files : tuple of File
    format : str
        The reader in `shallows_papers.datasets.formats`.
    options : mapping
        Parameters of the reader.
    subset_of : str or None
        The dataset that an embedded dataset was drawn from.
    draw : mapping or None
        How it was drawn: ``seed``, ``n_train``, ``n_test``.
    value_range : (float, float) or None
        Range of every feature, if known beforehand (pixels).
    classes : tuple of str
        Names of the classes in the sorted order of the labels; empty if the labels are already names.
    categorical : tuple of int
        Columns whose numbers are codes of categories.
    mirror_folders : tuple of str
        Other folder names under which mirrors keep the files.
    forms : tuple of Form
        Other file formats of the same rows.
    class_counts : tuple of int
        Training rows of every class, if known. They help to recognize wrong files.
    n_targets : int
        Columns of the target: 1, or more in multivariate regression.
    exact : bool
        Whether the files have exactly ``n_train`` and ``n_test`` rows. If False, these are round numbers from a paper.
    also_called : mapping of str to str
        Names that the papers use, and how each relates to this entry ("" if it means the same data).
    used_by : tuple of str
        Short names of the documents that use it: dsg, eigenpro, cdsg, kpca, lecture.
    split : str
        Description of the split that the papers use.
    generator : mapping
        Name and parameters of the generator of a generated dataset.
    picture : mapping
        For images: ``height``, ``width``, ``channels`` and ``order`` of a row ("planar": one color after the other).
    licence_url, notes : str
    """

    name: str
    title: str
    state: str
    task: str
    n_train: int | None
    n_test: int | None
    n_features: int | None
    n_classes: int
    licence: str
    citation: str
    homepage: str
    files: tuple[File, ...]
    format: str
    options: Mapping[str, Any] = field(default_factory=dict)
    subset_of: str | None = None
    draw: Mapping[str, int] | None = None
    value_range: tuple[float, float] | None = None
    classes: tuple[str, ...] = ()
    categorical: tuple[int, ...] = ()
    mirror_folders: tuple[str, ...] = ()
    forms: tuple[Form, ...] = ()
    class_counts: tuple[int, ...] = ()
    n_targets: int = 1
    exact: bool = True
    also_called: Mapping[str, str] = field(default_factory=dict)
    used_by: tuple[str, ...] = ()
    split: str = ""
    generator: Mapping[str, Any] = field(default_factory=dict)
    picture: Mapping[str, Any] = field(default_factory=dict)
    licence_url: str = ""
    notes: str = ""

    @property
    def all_forms(self) -> tuple[Form, ...]:
        """All forms. The first one has the files in `files`."""
        return (Form(self.files, self.format, self.options), *self.forms)

    @property
    def size(self) -> int | None:
        """Total bytes of the files; None if the size of a file is unknown."""
        sizes = [file.size for file in self.files]
        return None if not sizes or None in sizes else sum(sizes)

    def form_with(self, parts: Collection[str]) -> Form | None:
        """Return the first form whose parts are all among `parts`."""
        return next((form for form in self.all_forms if {file.part for file in form.files} <= set(parts)), None)


@functools.cache
def _content() -> Mapping[str, Mapping[str, Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content: dict[str, Any] = {}
    for state in STATES:
        with open(CATALOGUE_PATH / f"{state}.yaml", encoding="utf-8") as file:
            content |= yaml.load(file, Loader=loader)["datasets"]
    return content


@functools.cache
def _entries() -> Mapping[str, Dataset]:
    return {name: _dataset(name, entry) for name, entry in _content().items()}


@functools.cache
def _other_names() -> Mapping[str, str]:
    names: dict[str, str] = {}
    for dataset in _entries().values():
        for other in (dataset.name, *dataset.also_called):
            names.setdefault(_normalize_name(other), dataset.name)
    return names


def _normalize_name(name: str) -> str:
    """Return the letters and digits of a name in lower case, such as "hints" for "HINT-S"."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _dataset(name: str, entry: Mapping[str, Any]) -> Dataset:
    entry = dict(entry)
    entry["files"] = _files(entry, entry.pop("sources", ()))
    entry["forms"] = tuple(
        Form(_files(form, form.get("sources", ())), form.get("format", entry["format"]), form.get("options", {}))
        for form in entry.get("forms", ())
    )
    for key in ("value_range", "classes", "categorical", "mirror_folders", "class_counts", "used_by"):
        if key in entry:
            entry[key] = tuple(entry[key])
    return Dataset(name=name, **entry)


def _files(entry: Mapping[str, Any], sources: Iterable[str]) -> tuple[File, ...]:
    # `sources` are addresses of folders in which each file has its own name.
    return tuple(
        File(**{**file, "urls": (*(base + file["name"] for base in sources), *file.get("urls", ()))})
        for file in entry["files"]
    )


def catalogue() -> dict[str, Dataset]:
    """Return a new dictionary of all datasets by name. The YAML files are read once per process."""
    return dict(_entries())


def entry(name: str) -> dict[str, Any]:
    """Return the entry of a dataset as plain data, as in its YAML file. `name` is as in `get`."""
    return copy.deepcopy(dict(_content()[get(name).name]))


def get(name: str) -> Dataset:
    """Return the dataset called `name`.

    Parameters
    ----------
    name : str
        Key of the dataset, or a paper's name for it (`Dataset.also_called`). Case and hyphens are ignored.

    Raises
    ------
    UnknownNameError
        If there is no such dataset. The message suggests the most similar name.
    """
    entries = _entries()
    if name in entries:
        return entries[name]
    try:
        return entries[_other_names()[_normalize_name(str(name))]]
    except KeyError:
        raise UnknownNameError("dataset", name, entries) from None
