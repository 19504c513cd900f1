"""The description of a dataset for the command line: its catalogue entry, the contents of its files, a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import humanize

from shallows.errors import MissingExtraError
from shallows_papers.datasets.catalogue import Dataset, File
from shallows_papers.datasets.download import supplied_files
from shallows_papers.datasets.download.verification import pinned
from shallows_papers.datasets.files import replacing
from shallows_papers.datasets.listing.local_files import presence
from shallows_papers.datasets.sources import Block, label_text, open_verified
from shallows_papers.lazy_numpy import np

_BLOCK_ROWS = 16_384
#: Rows of a contact sheet, and images per row.
SHEET_ROWS = 10
_INK = " .:-=+*#%@"


def size_of(n_bytes: int | None) -> str:
    """Return bytes as text such as ``11.6 MB``, or "?" if the number is unknown."""
    return "?" if n_bytes is None else humanize.naturalsize(n_bytes)


def count(n: int | None, exact: bool = True) -> str:
    """Return a number of rows or columns with commas, with "about" if it is rounded; "?" if it is unknown."""
    if n is None:
        return "?"
    return f"{n:,}" if exact else f"about {n:,}"


def sizes(dataset: Dataset) -> tuple[str, str]:
    """Return the stated numbers of rows (training + test) and of features as text."""
    rows = " + ".join(count(n, dataset.exact) for n in (dataset.n_train, dataset.n_test))
    return rows, count(dataset.n_features)


@dataclass
class Contents:
    """The contents of a dataset's files: sizes, ranges, rows of each class, and the first images."""

    n_features: int
    n: dict[str, int] = field(default_factory=dict)
    range: tuple[float, float] | None = None
    classes: dict[Any, int] = field(default_factory=Counter)
    target_range: tuple[float, float] | None = None
    images: list[Any] = field(default_factory=list)


def read_contents(dataset: Dataset, stamp: Path) -> Contents:
    """Read all rows of a verified dataset in blocks. `stamp` is its ``verified.json``."""
    source, contents = open_verified(dataset, stamp), Contents(dataset.n_features or 0)
    for name, part in (("training", source.train), ("test", source.test)):
        if part is None:
            continue
        contents.n[name] = 0
        for block in part.blocks(_BLOCK_ROWS):
            contents.n[name] += block.x.shape[0]
            if name == "training":
                _add(contents, dataset, block)
    if dataset.task == "classification":
        labels = sorted(contents.classes)
        names = dataset.classes if len(dataset.classes) == len(labels) else [label_text(label) for label in labels]
        contents.classes = {str(name): contents.classes[label] for name, label in zip(names, labels, strict=True)}
    return contents


def _add(contents: Contents, dataset: Dataset, block: Block) -> None:
    x, y = block
    contents.n_features = x.shape[1]
    values = x.data if hasattr(x, "indptr") else x
    if values.dtype.kind in "iufb" and values.size:
        zero = [0.0] if values.size < x.shape[0] * x.shape[1] else []
        contents.range = _range([values.min(), values.max(), *zero, *(contents.range or ())])
    if dataset.task == "classification":
        contents.classes.update(y.tolist())
    else:
        contents.target_range = _range([y.min(), y.max(), *(contents.target_range or ())])
    wanted = SHEET_ROWS * SHEET_ROWS - len(contents.images)
    if dataset.picture and wanted > 0:
        rows = x[:wanted]
        contents.images.extend(rows.toarray() if hasattr(rows, "toarray") else rows)


def _range(values: list[Any]) -> tuple[float, float]:
    return float(min(values)), float(max(values))


def describe(dataset: Dataset, root: Path, contents: Contents | None = None) -> Iterator[str]:
    """Yield the lines that describe a dataset. Downloads are in `root`."""
    yield f"{dataset.name}: {dataset.title}"
    yield f"  state      {dataset.state}; {presence(dataset, root)}"
    yield f"  task       {dataset.task}" + (f" of {dataset.n_targets} targets" if dataset.n_targets > 1 else "")
    n, d = sizes(dataset)
    yield f"  stated     n = {n}, d = {d}" + (f", {dataset.n_classes} classes" if dataset.n_classes else "")
    if contents is not None:
        yield f"  found      n = {' + '.join(map(count, contents.n.values()))}, d = {contents.n_features:,}"
        if contents.range is not None:
            yield "  features   from {:g} to {:g}".format(*contents.range)
        if contents.target_range is not None:
            yield "  target     from {:g} to {:g}".format(*contents.target_range)
        if contents.classes:
            listed = ", ".join(f"{name}: {n:,}" for name, n in list(contents.classes.items())[:20])
            more = f", and {len(contents.classes) - 20} more" if len(contents.classes) > 20 else ""
            yield f"  classes    {listed}{more}"
    elif dataset.classes:
        yield f"  classes    {', '.join(dataset.classes)}"
    texts = {
        "split": [dataset.split],
        "used by": [", ".join(dataset.used_by)],
        "also": [name + (f": {how}" if how else "") for name, how in dataset.also_called.items()],
        "licence": [dataset.licence + (f" ({dataset.licence_url})" if dataset.licence_url else "")],
        "citation": [dataset.citation],
        "homepage": [dataset.homepage],
        "notes": [dataset.notes],
    }
    yield from (f"  {label:<11}{text}" for label, found in texts.items() for text in found if text)
    if dataset.state == "supplied":
        yield "  " + supplied_files.how_to_supply(dataset, root / dataset.name).replace("\n", "\n  ")
        return
    for file in dataset.files:
        yield f"  file       {file.name} ({size_of(file.size)}; {_checksums(dataset, file, root)})"


def _checksums(dataset: Dataset, file: File, root: Path) -> str:
    if known := [kind for kind in ("sha256", "md5", "git_sha1") if getattr(file, kind)]:
        return f"{', '.join(known)} published"
    note = pinned(root, dataset.name, file.name)
    return f"pinned on {note['date']}" if note else "no checksum published"


def contact_sheet(dataset: Dataset, images: list[Any]) -> Any:
    """Return the first images, ten per row, as one uint8 array of shape (height, width, 3)."""
    height, width, channels = (dataset.picture[key] for key in ("height", "width", "channels"))
    low, high = dataset.value_range or (min(map(np.min, images)), max(map(np.max, images)))
    sheet = np.full((SHEET_ROWS * (height + 1) + 1, SHEET_ROWS * (width + 1) + 1, 3), 128, np.uint8)
    for number, image in enumerate(images[: SHEET_ROWS * SHEET_ROWS]):
        pixels = np.asarray(image, np.float64).reshape(channels, height, width).transpose(1, 2, 0)
        top = 1 + (number // SHEET_ROWS) * (height + 1)
        left = 1 + (number % SHEET_ROWS) * (width + 1)
        scaled = np.clip((pixels - low) / ((high - low) or 1.0), 0.0, 1.0)
        sheet[top : top + height, left : left + width] = np.rint(255 * scaled)
    return sheet


def save_picture(dataset: Dataset, images: list[Any], path: Path) -> None:
    """Save the contact sheet of a dataset's first images as a PNG."""
    MissingExtraError.check("plots", "A picture of the first images", "PIL")

    from PIL import Image

    with replacing(path) as partial:
        Image.fromarray(contact_sheet(dataset, images)).save(partial, format="PNG")


def thumbnail(dataset: Dataset, image: Any) -> Iterator[str]:
    """Yield an image as text, one line for two rows of pixels."""
    height, width, channels = (dataset.picture[key] for key in ("height", "width", "channels"))
    pixels = np.asarray(image, np.float64).reshape(channels, height, width).mean(axis=0)
    low, high = pixels.min(), pixels.max()
    level = np.rint((pixels - low) / ((high - low) or 1.0) * (len(_INK) - 1)).astype(int)
    for row in range(0, height - 1, 2):
        yield "".join(_INK[value] for value in np.maximum(level[row], level[row + 1])).rstrip()
