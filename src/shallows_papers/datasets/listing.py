"""Listing, description and verification of datasets for the command line."""

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import humanize

from shallows.errors import MissingExtraError
from shallows_papers import project
from shallows_papers.datasets.catalogue import Dataset, File, catalogue
from shallows_papers.datasets.download import supplied_files
from shallows_papers.datasets.download.verification import pinned, verify
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.sources import Block, label_text, open_verified

MissingExtraError.check("data", "The list of datasets", "humanize")


_BLOCK_ROWS = 16_384


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
    """The contents of a dataset's files: sizes, ranges and rows of each class."""

    n_features: int
    n: dict[str, int] = field(default_factory=dict)
    range: tuple[float, float] | None = None
    classes: dict[Any, int] = field(default_factory=Counter)
    target_range: tuple[float, float] | None = None


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


_TEMPLATE = Path(__file__).with_name("overview.md")
_STATES = {
    "public": "downloaded",
    "embedded": "bundled",
    "supplied": "supplied by the user",
    "generated": "generated",
}


def table() -> str:
    """Return the table of all datasets as Markdown."""
    MissingExtraError.check("workflow", "The table of all datasets", "jinja2")

    import jinja2

    datasets = catalogue().values()
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    environment.filters["row"] = lambda cells: " | ".join(str(cell).replace("|", "\\|") for cell in cells)
    names = [(other, f"`{one.name}`", how or "the same") for one in datasets for other, how in one.also_called.items()]
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(rows=map(_row, datasets), names=names)


def _row(dataset: Dataset) -> list[str]:
    files = dataset.files if dataset.state in ("public", "embedded") else ()
    n, d = sizes(dataset)
    return [
        f"`{dataset.name}`",
        f"[{dataset.title}]({dataset.homepage})",
        _STATES[dataset.state],
        ", ".join(dataset.used_by) or "—",
        n,
        d,
        str(dataset.n_classes or "") or (f"{dataset.n_targets} targets" if dataset.n_targets > 1 else "—"),
        dataset.format,
        size_of(dataset.size) if files else "—",
        "—" if not files else "yes" if all(file.has_checksum for file in files) else "no",
        dataset.licence,
    ]
