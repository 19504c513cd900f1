"""The catalogue: what each dataset is, where its files lie, and how one knows that they are right."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from shallows.errors import UnknownNameError

CATALOGUE_PATH = Path(__file__).with_name("catalogue.yaml")
SCHEMA_PATH = Path(__file__).with_name("catalogue.schema.json")


@dataclass(frozen=True)
class File:
    """One file of a dataset.

    Attributes
    ----------
    name : str
        Its name, the same at every source.
    part : str
        What it holds: ``"train"``, ``"test"``, ``"all"``, ``"train_images"``, ...
    urls : tuple of str
        Canonical addresses, tried in this order.
    size : int or None
        Bytes.
    sha256, md5 : str or None
        Checksums of the file as it lies. sha256 is used where both are known.
    content_sha256 : str or None
        Checksum of what a compressed file holds. A file in another container with the same content is the
        same data.
    """

    name: str
    part: str
    urls: tuple[str, ...] = ()
    size: int | None = None
    sha256: str | None = None
    md5: str | None = None
    content_sha256: str | None = None


@dataclass(frozen=True)
class Dataset:
    """One entry of the catalogue.

    Attributes
    ----------
    name, title : str
        Its key, and its name for people.
    state : {"public", "embedded", "supplied", "generated"}
        Where it comes from: a download, the repository itself, its user, or a program.
    task : {"classification", "regression"}
    n_train, n_test, n_features, n_classes : int
        Its size as published. ``n_test`` is 0 where the publisher made no split, ``n_classes`` for
        regression.
    licence, citation, homepage : str
        What a reader of a result must be able to find.
    files : tuple of File
    format : str
        The reader in `shallows.datasets.formats`.
    options : mapping
        Parameters of the reader.
    subset_of : str or None
        The dataset that an embedded one is drawn from.
    draw : mapping or None
        How it is drawn: ``seed``, ``n_train``, ``n_test``.
    value_range : (float, float) or None
        The range of every feature, where it is known beforehand (pixels).
    classes : tuple of str
        Names of the classes in the sorted order of the labels; empty where the labels say it themselves.
    categorical : tuple of int
        Columns whose numbers are codes.
    mirror_folders : tuple of str
        Other folder names under which mirrors keep the files.
    licence_url, notes : str
    """

    name: str
    title: str
    state: str
    task: str
    n_train: int
    n_test: int
    n_features: int
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
    licence_url: str = ""
    notes: str = ""


@functools.cache
def _entries() -> Mapping[str, Dataset]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with open(CATALOGUE_PATH, encoding="utf-8") as file:
        content = yaml.load(file, Loader=loader)
    return {name: _dataset(name, entry) for name, entry in content["datasets"].items()}


def _dataset(name: str, entry: Mapping[str, Any]) -> Dataset:
    entry = dict(entry)
    # `sources` are addresses of folders: each file lies there under its own name.
    sources = entry.pop("sources", ())
    files = tuple(
        File(**{**file, "urls": tuple(base + file["name"] for base in sources) + tuple(file.get("urls", ()))})
        for file in entry.pop("files")
    )
    for key in ("value_range", "classes", "categorical", "mirror_folders"):
        if key in entry:
            entry[key] = tuple(entry[key])
    return Dataset(name=name, files=files, **entry)


def catalogue() -> dict[str, Dataset]:
    """Return every dataset by its name.

    Returns
    -------
    dict of str to Dataset
        A new dictionary; the file behind it is read once in a process.
    """
    return dict(_entries())


def get(name: str) -> Dataset:
    """Return the dataset called `name`.

    Raises
    ------
    UnknownNameError
        When there is none; the message names the nearest right one.
    """
    try:
        return _entries()[name]
    except KeyError:
        raise UnknownNameError("dataset", name, _entries()) from None
