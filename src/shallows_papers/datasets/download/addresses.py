"""The addresses of a file: mirrors first, then its canonical addresses."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from shallows_papers.datasets.catalogue import Dataset, File, Form

MIRROR_VARIABLE = "SHALLOWS_MIRROR"


@dataclass(frozen=True)
class Address:
    """A URL, or a path in a mirror folder. If a mirror folder lacks the file, `absence` is the reason."""

    place: str | Path
    is_mirror: bool = False
    absence: str = ""

    def __str__(self) -> str:
        return f"mirror {self.place}" if self.is_mirror else str(self.place)


def addresses(dataset: Dataset, file: File, mirror: str | Path | None) -> list[Address]:
    """Return every address of a file, mirrors first."""
    names, found = (dataset.name, *dataset.mirror_folders), []
    mirrors = [mirror, os.environ.get(MIRROR_VARIABLE)]
    for place in dict.fromkeys(str(place) for place in mirrors if place):
        parts = urlsplit(place)
        if parts.scheme in ("http", "https"):
            found += [Address(f"{place.rstrip('/')}/{name}/{file.name}", True) for name in names]
            continue
        folder = Path(unquote(parts.path) if parts.scheme == "file" else place).expanduser()
        present = [path for name in names if (path := folder / name / file.name).is_file()]
        what = f"no {names[0]}/{file.name} in it" if folder.is_dir() else "there is no such folder"
        found += [Address(path, True) for path in present] or [Address(folder, True, what)]
    return [*found, *map(Address, file.urls)]


def in_a_mirror(dataset: Dataset, form: Form, mirror: str | Path | None) -> bool:
    """Return whether a mirror folder has all files of a form."""
    return all(
        any(isinstance(one.place, Path) and not one.absence for one in addresses(dataset, file, mirror))
        for file in form.files
    )
