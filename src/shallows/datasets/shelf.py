"""What a person asks of the datasets: which there are, what each is, and whether what lies here is right."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shallows.datasets.catalogue import Dataset, File, catalogue
from shallows.datasets.download import checksum_lock, supplied_files
from shallows.datasets.files import DatasetError, replacing

PICTURE_ROWS, PICTURE_COLUMNS = 10, 10
_INK = " .:-=+*#%@"
_BLOCK_ROWS = 16_384


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


def human_size(size: int | None) -> str:
    """Return bytes as a person writes them: ``11.6 MB``."""
    if size is None:
        return "?"
    for unit, value in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= value:
            return f"{size / value:.1f} {unit}"
    return f"{size} B"


def count(n: int | None, exact: bool = True) -> str:
    """Return a number of rows or columns with its commas, "about" where it is a round one, "?" where nobody says it."""
    if n is None:
        return "?"
    return f"{n:,}" if exact else f"about {n:,}"


# Describing


@dataclass
class Seen:
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


def look_through(dataset: Dataset, stamp: Path) -> Seen:
    """Read every row of a verified dataset once, in blocks.

    Parameters
    ----------
    dataset : Dataset
    stamp : Path
        Its ``verified.json``.
    """
    import numpy as np

    from shallows.datasets.sources import open_source

    record = json.loads(stamp.read_text(encoding="utf-8"))
    source = open_source(dataset, {file["part"]: stamp.resolve().parent / file["path"] for file in record["files"]})
    seen = Seen({}, dataset.n_features or 0, None, None, {}, None, [])
    for name, part in (("training", source.train), ("test", source.test)):
        if part is None:
            continue
        n = 0
        for block in part.blocks(_BLOCK_ROWS):
            n += block.x.shape[0]
            if name == "training":
                _add(seen, dataset, block, np)
        seen.n[name] = n
    if dataset.task == "classification":
        labels = sorted(seen.classes)
        names = dataset.classes if len(dataset.classes) == len(labels) else [_label(label) for label in labels]
        seen.classes = {str(name): seen.classes[label] for name, label in zip(names, labels, strict=True)}
    return seen


def _add(seen: Seen, dataset: Dataset, block: Any, np: Any) -> None:
    seen.n_features = block.x.shape[1]
    values = block.x.data if hasattr(block.x, "indptr") else block.x
    if values.dtype.kind in "iufb" and values.size:
        zero = [0.0] if hasattr(block.x, "indptr") and block.x.nnz < block.x.shape[0] * block.x.shape[1] else []
        low, high = min([float(values.min()), *zero]), max([float(values.max()), *zero])
        seen.low = low if seen.low is None else min(seen.low, low)
        seen.high = high if seen.high is None else max(seen.high, high)
    if dataset.task == "classification":
        for label, times in zip(*np.unique(block.y, return_counts=True), strict=True):
            key = label.item() if hasattr(label, "item") else label
            seen.classes[key] = seen.classes.get(key, 0) + int(times)
    else:
        low, high = float(block.y.min()), float(block.y.max())
        before = seen.target_range or (low, high)
        seen.target_range = (min(before[0], low), max(before[1], high))
    wanted = PICTURE_ROWS * PICTURE_COLUMNS - len(seen.images)
    if dataset.picture and wanted > 0:
        rows = block.x[:wanted]
        seen.images.extend(rows.toarray() if hasattr(rows, "toarray") else rows)


def _label(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def describe(dataset: Dataset, root: Path, seen: Seen | None = None) -> Iterator[str]:
    """Give the lines that tell what a dataset is.

    Parameters
    ----------
    dataset : Dataset
    root : Path
        The folder of downloads.
    seen : Seen, optional
        What was found in its files.
    """
    yield f"{dataset.name}: {dataset.title}"
    yield f"  state      {dataset.state}; {presence(dataset, root)}"
    yield f"  task       {dataset.task}" + (f" of {dataset.n_targets} targets" if dataset.n_targets > 1 else "")
    yield (
        f"  stated     n = {count(dataset.n_train, dataset.exact)} + {count(dataset.n_test, dataset.exact)}, "
        f"d = {count(dataset.n_features)}" + (f", {dataset.n_classes} classes" if dataset.n_classes else "")
    )
    if seen is not None:
        rows = " + ".join(f"{n:,}" for n in seen.n.values())
        yield f"  found      n = {rows}, d = {seen.n_features:,}"
        if seen.low is not None:
            yield f"  features   from {seen.low:g} to {seen.high:g}"
        if seen.target_range is not None:
            yield f"  target     from {seen.target_range[0]:g} to {seen.target_range[1]:g}"
        if seen.classes:
            listed = ", ".join(f"{name}: {n:,}" for name, n in list(seen.classes.items())[:20])
            yield f"  classes    {listed}" + (f", and {len(seen.classes) - 20} more" if len(seen.classes) > 20 else "")
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
        yield f"  file       {file.name} ({human_size(file.size)}; {held})"
    if dataset.state == "supplied":
        yield "  " + supplied_files.how_to_supply(dataset, root / dataset.name).replace("\n", "\n  ")


def _pinned(dataset: Dataset, file: File, root: Path) -> str:
    note = checksum_lock.pinned(root, dataset.name, file.name)
    return f"pinned on {note['date']}" if note else "no checksum published"


# Pictures


def contact_sheet(dataset: Dataset, images: list[Any]) -> Any:
    """Return the first images in rows of ten as one array of bytes, shape (height, width, 3)."""
    import numpy as np

    height, width, channels = (dataset.picture[key] for key in ("height", "width", "channels"))
    low, high = dataset.value_range or (min(map(np.min, images)), max(map(np.max, images)))
    sheet = np.full((PICTURE_ROWS * (height + 1) + 1, PICTURE_COLUMNS * (width + 1) + 1, 3), 128, np.uint8)
    for number, image in enumerate(images[: PICTURE_ROWS * PICTURE_COLUMNS]):
        pixels = np.asarray(image, np.float64).reshape(channels, height, width).transpose(1, 2, 0)
        top = 1 + (number // PICTURE_COLUMNS) * (height + 1)
        left = 1 + (number % PICTURE_COLUMNS) * (width + 1)
        scaled = np.clip((pixels - low) / ((high - low) or 1.0), 0.0, 1.0)
        sheet[top : top + height, left : left + width] = np.rint(255 * scaled)
    return sheet


def save_picture(dataset: Dataset, images: list[Any], path: Path) -> None:
    """Save the contact sheet of a dataset's first images as a PNG."""
    from PIL import Image

    with replacing(path) as partial:
        Image.fromarray(contact_sheet(dataset, images)).save(partial, format="PNG")


def thumbnail(dataset: Dataset, image: Any) -> Iterator[str]:
    """Give an image in characters, one line for two rows of pixels."""
    import numpy as np

    height, width, channels = (dataset.picture[key] for key in ("height", "width", "channels"))
    pixels = np.asarray(image, np.float64).reshape(channels, height, width).mean(axis=0)
    low, high = pixels.min(), pixels.max()
    level = np.rint((pixels - low) / ((high - low) or 1.0) * (len(_INK) - 1)).astype(int)
    for row in range(0, height - 1, 2):
        yield "".join(_INK[value] for value in np.maximum(level[row], level[row + 1])).rstrip()


# Verifying and removing


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
    from shallows.datasets.download.verification import verify

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


# The table of all datasets

MEASURED_NAME = "measured.json"
_STATES = {
    "public": "downloaded",
    "embedded": "bundled",
    "supplied": "supplied by the user",
    "generated": "generated",
}


def table(measured: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of all datasets as Markdown.

    Parameters
    ----------
    measured : mapping of str to mapping
        For datasets that were at hand: ``rows``, ``columns``, ``seconds``, ``peak_memory_bytes``, ``what`` was read.
    """
    lines = [
        "# The datasets",
        "",
        "Made by `shallows data table` from the catalogue (`src/shallows/datasets/catalogue/`) and from",
        "`data/measured.json`, which `shallows data table --measure` writes. `shallows data describe NAME` tells more.",
        "",
        "States: *downloaded* from its public address (or taken from a mirror) and verified; *bundled* with the",
        "repository; *generated* by a program; *supplied by the user*, where a licence or its owner forbids the rest.",
        "`no` under *checksum*: nobody published one, so the first copy that comes is trusted and noted in",
        "`data/raw/checksums.lock.json`, and a file that differs from it is refused.",
        "",
    ]
    lines += _markdown(
        [
            "name",
            "dataset",
            "state",
            "used by",
            "n (training + test)",
            "d",
            "classes",
            "format",
            "size",
            "checksum",
            "licence",
        ],
        [_static_row(dataset) for dataset in catalogue().values()],
    )
    lines += ["", "## Names that the papers use", ""]
    lines += _markdown(
        ["in the papers", "here", "how it relates"],
        [
            [other, f"`{dataset.name}`", how or "the same"]
            for dataset in catalogue().values()
            for other, how in dataset.also_called.items()
        ],
    )
    lines += [
        "",
        "## As parsed and prepared",
        "",
        "Rows and columns as the reader gave them; the time and the largest memory of a process that reads the files,",
        "learns the statistics of `unit` (images) or `zscore`, and writes the arrays. Two cores; not an idle machine.",
        "",
    ]
    lines += _markdown(
        ["name", "what was read", "rows (training + test)", "columns", "preparation", "peak memory"],
        [
            [
                f"`{name}`",
                one["what"],
                one["rows"],
                f"{one['columns']:,}",
                f"{one['seconds']:.1f} s" if one.get("seconds") is not None else "not prepared",
                human_size(one.get("peak_memory_bytes")) if one.get("peak_memory_bytes") else "",
            ]
            for name, one in measured.items()
        ],
    )
    unseen = [name for name, dataset in catalogue().items() if name not in measured and dataset.state == "public"]
    absent = [name for name, dataset in catalogue().items() if name not in measured and dataset.state == "supplied"]
    lines += [
        "",
        "Not measured, since the files were not at hand: " + ", ".join(f"`{name}`" for name in unseen) + ".",
        "Their readers are tried by the tests on small files of the same form.",
        "",
        "To be supplied, and not at hand: " + ", ".join(f"`{name}`" for name in absent) + ".",
    ]
    return "\n".join(lines) + "\n"


def _static_row(dataset: Dataset) -> list[str]:
    files = dataset.files if dataset.state in ("public", "embedded") else ()
    held = "yes" if files and all(file.has_checksum for file in files) else "no" if files else "—"
    return [
        f"`{dataset.name}`",
        f"[{dataset.title}]({dataset.homepage})",
        _STATES[dataset.state],
        ", ".join(dataset.used_by) or "—",
        f"{count(dataset.n_train, dataset.exact)} + {count(dataset.n_test, dataset.exact)}",
        count(dataset.n_features),
        str(dataset.n_classes)
        if dataset.n_classes
        else f"{dataset.n_targets} targets"
        if dataset.n_targets > 1
        else "—",
        dataset.format,
        human_size(dataset.size) if files else "—",
        held,
        dataset.licence,
    ]


def _classes_or_targets(dataset: Dataset) -> str:
    if dataset.n_classes:
        return str(dataset.n_classes)
    return f"{dataset.n_targets} targets" if dataset.n_targets > 1 else "—"


def _markdown(head: list[str], rows: list[list[str]]) -> list[str]:
    made = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *made)]


def measure(dataset: Dataset, root: Path, mirror: str | None) -> dict[str, Any]:
    """Fetch, read and prepare a dataset in a process of its own; return what the table tells of it.

    Raises
    ------
    DatasetError
        When it cannot be had or prepared.
    """
    import subprocess
    import sys

    code = (
        "import json, sys, warnings; warnings.simplefilter('ignore'); from shallows.datasets import shelf; "
        "print(json.dumps(shelf.measure_here(sys.argv[1], sys.argv[2], sys.argv[3] or None)))"
    )
    command = [sys.executable, "-c", code, dataset.name, str(root), mirror or ""]
    told = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TQDM_DISABLE": "1"})
    if told.returncode:
        raise DatasetError(f"'{dataset.name}' was not measured: {told.stderr.strip().splitlines()[-1]}")
    return json.loads(told.stdout.splitlines()[-1])


def measure_here(name: str, root: str, mirror: str | None) -> dict[str, Any]:
    """Do the work of `measure`."""
    import tempfile

    from shallows import datasets

    dataset = datasets.get(name)
    stamp = datasets.fetch(name, root, mirror, progress=False)
    copies = [file["note"] for file in json.loads(stamp.read_text(encoding="utf-8"))["files"] if "note" in file]
    what = {"public": "the real file", "embedded": "the real file", "generated": "generated rows"}.get(
        dataset.state, "the supplied file"
    )
    if copies:
        what = f"{'generated rows, of ' if dataset.state == 'generated' else ''}a copy: {copies[0]}"
    if dataset.format == "smiles":
        seen = look_through(dataset, stamp)
        return {"what": what, "rows": " + ".join(f"{n:,}" for n in seen.n.values()), "columns": seen.n_features}
    steps: list[dict[str, Any]] = [] if dataset.n_test else [{"split": {"n": 0.1}}]
    if not _is_wide(dataset):
        steps.append({"unit": {}} if dataset.value_range else {"zscore": {}})
    with tempfile.TemporaryDirectory(dir=root) as out:
        info = datasets.prepare(name, stamp, Path(out) / "prepared", steps)
    rows = [info["n_train"], info["n_test"]] if dataset.n_test else [info["n_train"] + info["n_test"]]
    return {
        "what": what,
        "rows": " + ".join(f"{n:,}" for n in rows),
        "columns": info["n_features"],
        "seconds": round(info["seconds"]["total"], 1),
        "peak_memory_bytes": info["peak_memory_bytes"],
    }


def _is_wide(dataset: Dataset) -> bool:
    """Whether its rows are sparse and so many columns wide that statistics of each would fill them."""
    return (dataset.n_features or 0) > 5_000
