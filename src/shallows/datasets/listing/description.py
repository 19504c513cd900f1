"""The lines that describe a dataset: what the catalogue says of it, and what is in its files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import humanize

from shallows.datasets.catalogue import Dataset, File
from shallows.datasets.download import checksum_lock, supplied_files
from shallows.datasets.listing.local_files import presence
from shallows.datasets.listing.pictures import ROWS
from shallows.datasets.sources import label_text, open_source

_BLOCK_ROWS = 16_384


def size_of(n_bytes: int | None) -> str:
    """Return bytes as a person writes them: ``11.6 MB``, "?" where nobody says it."""
    return "?" if n_bytes is None else humanize.naturalsize(n_bytes)


def count(n: int | None, exact: bool = True) -> str:
    """Return a number of rows or columns with its commas, "about" where it is a round one, "?" where nobody says it."""
    if n is None:
        return "?"
    return f"{n:,}" if exact else f"about {n:,}"


@dataclass
class Contents:
    """What was found by reading a dataset's rows.

    Attributes
    ----------
    n : dict of str to int
        Rows of "training" and "test".
    n_features : int
    low, high : float or None
        Range of all features of the training part; None where they are text.
    classes : dict of str to int
        Training rows of every class.
    target_range : (float, float) or None
    images : list
        The first rows, for a picture.
    """

    n: dict[str, int]
    n_features: int
    low: float | None
    high: float | None
    classes: dict[str, int]
    target_range: tuple[float, float] | None
    images: list[Any]


def read_contents(dataset: Dataset, stamp: Path) -> Contents:
    """Read every row of a verified dataset once, in blocks.

    Parameters
    ----------
    dataset : Dataset
    stamp : Path
        Its ``verified.json``.
    """
    import numpy as np

    record = json.loads(stamp.read_text(encoding="utf-8"))
    source = open_source(dataset, {file["part"]: stamp.resolve().parent / file["path"] for file in record["files"]})
    found = Contents({}, dataset.n_features or 0, None, None, {}, None, [])
    for name, part in (("training", source.train), ("test", source.test)):
        if part is None:
            continue
        n = 0
        for block in part.blocks(_BLOCK_ROWS):
            n += block.x.shape[0]
            if name == "training":
                _add(found, dataset, block, np)
        found.n[name] = n
    if dataset.task == "classification":
        labels = sorted(found.classes)
        names = dataset.classes if len(dataset.classes) == len(labels) else [label_text(label) for label in labels]
        found.classes = {str(name): found.classes[label] for name, label in zip(names, labels, strict=True)}
    return found


def _add(found: Contents, dataset: Dataset, block: Any, np: Any) -> None:
    found.n_features = block.x.shape[1]
    values = block.x.data if hasattr(block.x, "indptr") else block.x
    if values.dtype.kind in "iufb" and values.size:
        zero = [0.0] if hasattr(block.x, "indptr") and block.x.nnz < block.x.shape[0] * block.x.shape[1] else []
        low, high = min([float(values.min()), *zero]), max([float(values.max()), *zero])
        found.low = low if found.low is None else min(found.low, low)
        found.high = high if found.high is None else max(found.high, high)
    if dataset.task == "classification":
        for label, times in zip(*np.unique(block.y, return_counts=True), strict=True):
            key = label.item() if hasattr(label, "item") else label
            found.classes[key] = found.classes.get(key, 0) + int(times)
    else:
        low, high = float(block.y.min()), float(block.y.max())
        before = found.target_range or (low, high)
        found.target_range = (min(before[0], low), max(before[1], high))
    wanted = ROWS * ROWS - len(found.images)
    if dataset.picture and wanted > 0:
        rows = block.x[:wanted]
        found.images.extend(rows.toarray() if hasattr(rows, "toarray") else rows)


def describe(dataset: Dataset, root: Path, found: Contents | None = None) -> Iterator[str]:
    """Give the lines that tell what a dataset is.

    Parameters
    ----------
    dataset : Dataset
    root : Path
        The folder of downloads.
    found : Contents, optional
        What was found in its files.
    """
    yield f"{dataset.name}: {dataset.title}"
    yield f"  state      {dataset.state}; {presence(dataset, root)}"
    yield f"  task       {dataset.task}" + (f" of {dataset.n_targets} targets" if dataset.n_targets > 1 else "")
    yield (
        f"  stated     n = {count(dataset.n_train, dataset.exact)} + {count(dataset.n_test, dataset.exact)}, "
        f"d = {count(dataset.n_features)}" + (f", {dataset.n_classes} classes" if dataset.n_classes else "")
    )
    if found is not None:
        rows = " + ".join(f"{n:,}" for n in found.n.values())
        yield f"  found      n = {rows}, d = {found.n_features:,}"
        if found.low is not None:
            yield f"  features   from {found.low:g} to {found.high:g}"
        if found.target_range is not None:
            yield f"  target     from {found.target_range[0]:g} to {found.target_range[1]:g}"
        if found.classes:
            listed = ", ".join(f"{name}: {n:,}" for name, n in list(found.classes.items())[:20])
            yield f"  classes    {listed}" + (
                f", and {len(found.classes) - 20} more" if len(found.classes) > 20 else ""
            )
    elif dataset.classes:
        yield f"  classes    {', '.join(dataset.classes)}"
    if dataset.split:
        yield f"  split      {dataset.split}"
    if dataset.used_by:
        yield f"  used by    {', '.join(dataset.used_by)}"
    for name, how in dataset.also_called.items():
        yield f"  also       {name}" + (f": {how}" if how else "")
    yield f"  licence    {dataset.licence}" + (f" ({dataset.licence_url})" if dataset.licence_url else "")
    yield f"  citation   {dataset.citation}"
    yield f"  homepage   {dataset.homepage}"
    if dataset.notes:
        yield f"  notes      {dataset.notes}"
    for file in dataset.files if dataset.state != "supplied" else ():
        known = [kind for kind in ("sha256", "md5", "git_sha1") if getattr(file, kind)]
        held = f"{', '.join(known)} published" if known else _pinned(dataset, file, root)
        yield f"  file       {file.name} ({size_of(file.size)}; {held})"
    if dataset.state == "supplied":
        yield "  " + supplied_files.how_to_supply(dataset, root / dataset.name).replace("\n", "\n  ")


def _pinned(dataset: Dataset, file: File, root: Path) -> str:
    note = checksum_lock.pinned(root, dataset.name, file.name)
    return f"pinned on {note['date']}" if note else "no checksum published"
