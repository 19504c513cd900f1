"""The places where a file may be had: mirrors first, then its canonical addresses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from shallows_papers.datasets.catalogue import Dataset, File, Form

MIRROR_VARIABLE = "SHALLOWS_MIRROR"


@dataclass(frozen=True)
class Address:
    """A URL, or a file in a mirror folder."""

    place: str | Path
    is_mirror: bool

    def __str__(self) -> str:
        return f"mirror {self.place}" if self.is_mirror else str(self.place)


def addresses(dataset: Dataset, file: File, mirror: str | Path | None, failures: list[str]) -> Iterator[Address]:
    """Give every address of a file, mirrors first; note in `failures` the mirror folders that lack the file."""
    names = (dataset.name, *dataset.mirror_folders)
    mirrors = [mirror, os.environ.get(MIRROR_VARIABLE)]
    for place in dict.fromkeys(str(place) for place in mirrors if place):
        parts = urlsplit(place)
        if parts.scheme in ("http", "https"):
            for name in names:
                yield Address(f"{place.rstrip('/')}/{name}/{file.name}", is_mirror=True)
            continue
        folder = Path(unquote(parts.path) if parts.scheme == "file" else place).expanduser()
        present = [path for name in names if (path := folder / name / file.name).is_file()]
        if not present:
            what = f"no {names[0]}/{file.name} in it" if folder.is_dir() else "there is no such folder"
            failures.append(f"mirror {folder}: {what}")
        for path in present:
            yield Address(path, is_mirror=True)
    for url in file.urls:
        yield Address(url, is_mirror=False)


def in_a_mirror(dataset: Dataset, form: Form, mirror: str | Path | None) -> bool:
    """Return whether a mirror folder holds all files of a form."""
    return all(
        any(isinstance(address.place, Path) for address in addresses(dataset, file, mirror, [])) for file in form.files
    )
