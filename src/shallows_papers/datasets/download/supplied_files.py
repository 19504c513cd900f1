"""Files that a user has to supply: which belong where, and whether those that are there have the right form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shallows_papers.datasets.catalogue import Dataset, File, Form
from shallows_papers.datasets.download.addresses import in_a_mirror
from shallows_papers.datasets.files import DatasetError, SuppliedDataError
from shallows_papers.lazy_numpy import np

_BLOCK_BYTES = 16 << 20


def how_to_supply(dataset: Dataset, folder: Path) -> str:
    """Say which files of what form a user has to put into a folder."""
    if not dataset.files:
        return (
            f"Nothing is known of the form of '{dataset.name}': {dataset.notes} "
            "Data of your own of this kind can be compared: see docs/own_data.md."
        )
    lines = [f"Put into {folder}:"]
    for number, form in enumerate(dataset.all_forms):
        if number:
            lines.append("or, instead:")
        lines += [f"  - {_form_in_words(dataset, form, file)}" for file in form.files]
    return "\n".join(lines)


def not_run(dataset: Dataset, folder: Path) -> str:
    """Return the reason, in a line, of a table's row whose data nobody has put into the folder."""
    if not dataset.files:
        return f"supply {dataset.title}: nothing is known of its form"
    names = " or ".join(", ".join(file.name for file in form.files) for form in dataset.all_forms)
    return (
        f"supply {names} in {folder}; 'shallows data describe {dataset.name}' tells their form. "
        f"Licence: {dataset.licence}"
    )


def is_there(dataset: Dataset, folder: Path, mirror: str | Path | None = None) -> bool:
    """Return whether the files of any form are in the dataset's folder or in a mirror; they are not opened."""
    return any(
        all((folder / file.name).is_file() for file in form.files) or in_a_mirror(dataset, form, mirror)
        for form in dataset.all_forms
        if form.files
    )


def _form_in_words(dataset: Dataset, form: Form, file: File) -> str:
    if not file.arrays:
        return f"{file.name} ({form.format} format, {dataset.n_features:,} features)"
    kinds = [
        f"{name} of shape ({', '.join(map(str, spec['shape']))}){_range(spec)}" for name, spec in file.arrays.items()
    ]
    return f"{file.name}: {'; '.join(kinds)}"


def _range(spec: Mapping[str, Any]) -> str:
    if "low" not in spec:
        return ", finite numbers"
    return f", {'whole numbers' if spec.get('whole') else 'numbers'} from {spec['low']:g} to {spec['high']:g}"


def absence_error(dataset: Dataset, folder: Path) -> SuppliedDataError:
    """Return the error that supplied data is not there."""
    there = sorted(path.name for path in folder.glob("*") if not path.name.startswith((".", "verified"))) or ["nothing"]
    return SuppliedDataError(
        f"The dataset '{dataset.name}' ({dataset.title}) has to be supplied by its user: {dataset.licence}. "
        f"{how_to_supply(dataset, folder)}\nThere now: {', '.join(there)}. Homepage: {dataset.homepage}"
    )


def check(dataset: Dataset, form: Form, folder: Path) -> None:
    """Refuse supplied files of another form: shapes, rows that belong together, finite values, ranges and classes."""
    from shallows_papers.datasets.sources import open_source

    paths = {file.part: folder / file.name for file in form.files}
    try:
        if any(file.arrays for file in form.files):
            _check_arrays(form, paths)
        source = open_source(dataset, paths)
        for part in filter(None, (source.train, source.test)):
            for _ in part.blocks(65_536) if form.format != "arrays" else ():
                pass
    except (DatasetError, ValueError, OSError) as error:
        raise SuppliedDataError(
            f"The files of '{dataset.name}' in {folder} are not of the form asked for: {error}\n"
            f"{how_to_supply(dataset, folder)}"
        ) from error


def _check_arrays(form: Form, paths: Mapping[str, Path]) -> None:
    from shallows_papers.datasets.formats.arrays import named_arrays

    try:
        arrays = named_arrays(paths)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(
            f"{', '.join(path.name for path in paths.values())} cannot be read as arrays: {error}"
        ) from error
    for file in form.files:
        for name, spec in file.arrays.items():
            if name not in arrays:
                raise ValueError(f"{file.name} holds no array {name}; it holds {', '.join(arrays) or 'none'}")
            shape, wanted = arrays[name].shape, spec["shape"]
            # A word in the stated shape stands for any number.
            fits = [isinstance(size, str) or size == found for size, found in zip(wanted, shape, strict=False)]
            if len(shape) != len(wanted) or not all(fits) or shape[0] == 0:
                raise ValueError(f"{name} in {file.name} has the shape {shape}, not ({', '.join(map(str, wanted))})")
            _check_values(name, file.name, arrays[name], spec)
    for part in ("train", "test"):
        n, n_targets = len(arrays[f"x_{part}"]), len(arrays[f"y_{part}"])
        if n != n_targets:
            raise ValueError(f"x_{part} has {n:,} rows and y_{part} {n_targets:,}")


def _check_values(name: str, file: str, array: Any, spec: Mapping[str, Any]) -> None:
    if array.dtype.kind not in "iufb":
        raise ValueError(f"{name} in {file} is of the type {array.dtype}; numbers are asked for")
    n_block = max(1, _BLOCK_BYTES // max(1, 8 * int(np.prod(array.shape[1:]))))
    for start in range(0, len(array), n_block):
        block = np.asarray(array[start : start + n_block]).reshape(min(n_block, len(array) - start), -1)
        bad = ~np.isfinite(block)
        what = "is no finite number"
        if "low" in spec:
            bad |= (block < spec["low"]) | (block > spec["high"])
            what = f"is outside {spec['low']:g} to {spec['high']:g}"
        if spec.get("whole") and not bad.any():
            bad, what = block != np.rint(block), "is no whole number"
        if bad.any():
            row, column = np.argwhere(bad)[0]
            where = f"row {start + row + 1:,}, column {column + 1:,}"
            raise ValueError(f"{name} in {file}: the value {block[row, column]} in {where} {what}")
