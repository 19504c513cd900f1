"""Files that the user has to supply: instructions where to put them, and checks of their form."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shallows_papers.datasets.catalogue import Dataset, File, Form
from shallows_papers.datasets.download.addresses import in_a_mirror
from shallows_papers.datasets.files import DatasetError, SuppliedDataError
from shallows_papers.lazy_numpy import np

_BLOCK_BYTES = 16 << 20


def how_to_supply(dataset: Dataset, folder: Path) -> str:
    """Return instructions: which files, in which form, the user has to put into a folder."""
    if not dataset.files:
        return (
            f"The form of '{dataset.name}' is unknown: {dataset.notes} "
            "You can compare methods on similar data that you have: see docs/own_data.md."
        )
    lines = [f"Put into {folder}:"]
    for number, form in enumerate(dataset.all_forms):
        if number:
            lines.append("or, instead:")
        lines += [f"  - {_form_in_words(dataset, form, file)}" for file in form.files]
    return "\n".join(lines)


def not_run(dataset: Dataset, folder: Path) -> str:
    """Return one line that says why a table's row was not run: its data have not been supplied."""
    if not dataset.files:
        return f"supply {dataset.title}: its form is unknown"
    names = " or ".join(", ".join(file.name for file in form.files) for form in dataset.all_forms)
    return (
        f"supply {names} in {folder}; 'shallows data describe {dataset.name}' shows their form. "
        f"Licence: {dataset.licence}"
    )


def is_there(dataset: Dataset, folder: Path, mirror: str | Path | None = None) -> bool:
    """Return whether the files of any form exist in the dataset's folder or in a mirror, without opening them."""
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
    """Return the error for supplied data that are missing."""
    there = sorted(path.name for path in folder.glob("*") if not path.name.startswith((".", "verified"))) or ["nothing"]
    return SuppliedDataError(
        f"The dataset '{dataset.name}' ({dataset.title}) has to be supplied by the user: {dataset.licence}. "
        f"{how_to_supply(dataset, folder)}\nThere now: {', '.join(there)}. Homepage: {dataset.homepage}"
    )


def check(dataset: Dataset, form: Form, folder: Path) -> None:
    """Refuse supplied files with wrong shapes, numbers of rows, non-finite values, wrong ranges or classes."""
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
            f"The files of '{dataset.name}' in {folder} do not have the expected form: {error}\n"
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
                raise ValueError(f"{file.name} has no array {name}; it has {', '.join(arrays) or 'none'}")
            shape, wanted = arrays[name].shape, spec["shape"]
            # A word in the stated shape means any number.
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
        raise ValueError(f"{name} in {file} has the type {array.dtype}; numbers are expected")
    n_block = max(1, _BLOCK_BYTES // max(1, 8 * int(np.prod(array.shape[1:]))))
    for start in range(0, len(array), n_block):
        block = np.asarray(array[start : start + n_block]).reshape(min(n_block, len(array) - start), -1)
        bad = ~np.isfinite(block)
        what = "is not a finite number"
        if "low" in spec:
            bad |= (block < spec["low"]) | (block > spec["high"])
            what = f"is outside {spec['low']:g} to {spec['high']:g}"
        if spec.get("whole") and not bad.any():
            bad, what = block != np.rint(block), "is not a whole number"
        if bad.any():
            row, column = np.argwhere(bad)[0]
            where = f"row {start + row + 1:,}, column {column + 1:,}"
            raise ValueError(f"{name} in {file}: the value {block[row, column]} in {where} {what}")
