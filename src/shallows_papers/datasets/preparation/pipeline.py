"""Prepare a dataset: read its verified files or another preparation, apply the steps, write arrays and record.

A preparation that continues from the arrays of an earlier one reads them like any other source; their record has what
the arrays do not show. So an expensive preparation, such as training a net, runs once for all that build on it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shallows.arrays.memory import memory_budget, peak_memory, resident_memory
from shallows_papers.datasets import prepared
from shallows_papers.datasets.catalogue import Dataset, File, get
from shallows_papers.datasets.download.verification import verify
from shallows_papers.datasets.files import DatasetError, existing_parent, explaining_full_disk, replacing, write_json
from shallows_papers.datasets.preparation.step import PreparationStep
from shallows_papers.datasets.preparation.steps import check_steps
from shallows_papers.datasets.preparation.working_table import BLOCK_BYTES, Table
from shallows_papers.datasets.prepared import ARRAYS, CSR, RECORD, SECOND_VIEW
from shallows_papers.datasets.sources import ArrayPart, NpyRows, Source, open_source

# Features stay sparse if the dense array would be larger by this factor; otherwise a dense array is faster.
SPARSE_GAIN = 10
# Memory in addition to the stored rows: a few blocks and their transforms and, for every row, its number and its class.
# While rows are drawn, also their keys and their order.
_WORKING_BLOCKS = 10
_WORKING_BYTES_PER_ROW = 60
SCHEMA_VERSION = 1


def prepare(
    name: str | Dataset,
    verified: str | Path,
    out: str | Path,
    steps: Sequence[Mapping[str, Any]] = (),
    memory: int | float | str | None = None,
) -> dict[str, Any]:
    """Make the arrays of a dataset and their record.

    Rows are read once, block by block. Rows that exceed the memory budget are stored on disk. The arrays depend neither
    on the budget nor on the number of threads.

    Parameters
    ----------
    name : str or Dataset
        A name in the catalogue, or your own entry.
    verified : path
        The ``verified.json`` that `shallows_papers.datasets.fetch` wrote, or the folder of an earlier preparation of
        the dataset. The steps are then applied to its float32 arrays. The result differs from preparing with all steps
        at once only by this rounding, and the record lists all steps.
    out : path
        The folder for ``x_train.npy``, ``y_train.npy``, ``x_test.npy``, ``y_test.npy`` and, written last,
        ``prepared.json``. For sparse features, ``x_train.npy`` has the values, and ``x_train.indices.npy`` and
        ``x_train.indptr.npy`` have the other arrays of the CSR format. With two views, x is the first view, and
        ``z_train.npy`` and ``z_test.npy`` are the second.
    steps : sequence of mappings
        Applied in this order; see `shallows_papers.datasets.check_steps`. Statistics use only the training part.
    memory : int or str, optional
        Memory budget of the process in bytes, or a text such as ``"4GB"``. None: a share of the free memory.

    Returns
    -------
    dict
        The content of ``prepared.json``. It depends only on the files and the steps, except ``seconds`` and
        ``peak_memory_bytes``.

    Raises
    ------
    UnknownNameError
        For an unknown dataset, step or parameter.
    DatasetError
        If a file has changed since it was verified or has a value that is not finite, if a step cannot be applied to
        the data, or if the disk is full. Also if the earlier preparation is unfinished, belongs to another dataset or
        is in the folder `out`, or if a step cannot follow its steps.
    """
    dataset = get(name) if isinstance(name, str) else name
    stamp, out = Path(verified), Path(out)
    stamp = stamp / RECORD if stamp.is_dir() else stamp
    if stamp.name == RECORD:
        earlier, todo = begin(dataset, stamp, out, steps)
        return prepare_source(dataset, source_of(stamp.parent), [], out, todo, memory, earlier)
    todo = check_steps(steps)
    paths, sources = _verified_files(dataset, stamp)
    return prepare_source(dataset, open_source(dataset, paths), sources, out, todo, memory)


def prepare_source(
    dataset: Dataset,
    source: Source,
    sources: Sequence[Mapping[str, Any]],
    out: Path,
    todo: Sequence[PreparationStep],
    memory: int | float | str | None = None,
    earlier: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """As `prepare`, for the rows of any source.

    `sources` has the name, size and sha256 of its files. `earlier` is the record of a preparation to continue.
    """
    from threadpoolctl import threadpool_limits

    started = time.perf_counter()
    budget = memory_budget(memory)
    rows = (dataset.n_train or 0) + (dataset.n_test or 0)
    working = resident_memory() + _WORKING_BLOCKS * BLOCK_BYTES + _WORKING_BYTES_PER_ROW * rows
    # One thread, because the last digits of a product depend on the number of threads.
    with threadpool_limits(1, user_api="blas"), explaining_full_disk(out / "rows that do not fit into memory"):
        if earlier is None:
            table = Table.read(dataset, source, budget - working, out)
        else:
            table = read(dataset, earlier, source, budget - working, out)
        was_read = time.perf_counter()
        if any(step.fills_missing for step in todo):
            table.may_miss = True
        statistics = [{step.name: learned} for step in todo if (learned := step.apply(table))]
        if not table.n_rows("test"):
            raise DatasetError(
                f"The dataset '{dataset.name}' has no test part. Add the step split: for instance "
                "'split: {n: 0.2, seed: 0}', before the steps that learn statistics."
            )
        if not _worth_being_sparse(table):
            table.make_dense()
        # If this stops half-way, an old record must not describe new arrays.
        (out / RECORD).unlink(missing_ok=True)
        learned = time.perf_counter()
        arrays_written = _write_arrays(table, out)
    finished = time.perf_counter()
    record = {
        "schema_version": SCHEMA_VERSION,
        "dataset": dataset.name,
        "title": dataset.title,
        "subset_of": dataset.subset_of,
        "task": dataset.task,
        "classes": table.classes,
        "target_coding": table.target_coding,
        "n_train": table.n_rows("train"),
        "n_test": table.n_rows("test"),
        "n_features": table.n_features,
        "sparse": table.sparse,
        "views": [list(view) for view in table.views] if table.views else None,
        "steps": [*(earlier["steps"] if earlier else ()), *(step.as_data() for step in todo)],
        "statistics": [*(earlier["statistics"] if earlier else ()), *statistics],
        "after": {"n_steps": len(earlier["steps"]), "sha256": earlier["sha256"]} if earlier else None,
        "table": description_of(table),
        "sha256": _digest_of(arrays_written),
        "arrays": arrays_written,
        "sources": [dict(file) for file in (earlier["sources"] if earlier else sources)],
        "licence": dataset.licence,
        "citation": dataset.citation,
        "seconds": {
            "reading": round(was_read - started, 3),
            "statistics": round(learned - was_read, 3),
            "writing": round(finished - learned, 3),
            "total": round(finished - started, 3),
        },
        "peak_memory_bytes": peak_memory(),
    }
    write_json(out / RECORD, record)
    return record


def _digest_of(arrays: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the checksum of all arrays, x before z and training before test."""
    places = {name: place for place, name in enumerate((*ARRAYS, *SECOND_VIEW))}
    ordered = sorted(arrays, key=lambda key: (places[key.partition(".")[0]], key))
    return hashlib.sha256(" ".join(arrays[key]["sha256"] for key in ordered).encode()).hexdigest()


def _worth_being_sparse(table: Table) -> bool:
    if not table.sparse:
        return False
    stated = table.x.n_values / table.x.n_rows
    return SPARSE_GAIN * 8 * (stated + 1) <= 4 * table.n_features


def _verified_files(dataset: Dataset, stamp: Path) -> tuple[dict[str, Path], list[dict[str, Any]]]:
    try:
        content = json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{stamp} cannot be read: {error}. Fetch the dataset '{dataset.name}' first.") from error
    if content["dataset"] != dataset.name:
        raise DatasetError(f"{stamp} verifies the dataset '{content['dataset']}', not '{dataset.name}'.")
    paths, sources = {}, []
    for entry in content["files"]:
        path = stamp.resolve().parent / entry["path"]
        if not path.is_file():
            raise DatasetError(f"{path} was verified, but it does not exist any more. Fetch '{dataset.name}' again.")
        problem, _ = verify(path, File(entry["name"], entry["part"], size=entry["size"], sha256=entry["sha256"]))
        if problem:
            raise DatasetError(f"{path} has changed since it was verified: {problem}. Fetch '{dataset.name}' again.")
        paths[entry["part"]] = path
        sources.append({key: entry[key] for key in ("name", "size", "sha256")})
    if dataset.form_with(paths) is None:
        missing = [file.name for file in dataset.files if file.part not in paths]
        raise DatasetError(f"{stamp} does not list {', '.join(missing)}. Fetch '{dataset.name}' again.")
    return paths, sources


def _write_arrays(table: Table, out: Path) -> dict[str, dict[str, Any]]:
    """Write all arrays to temporary files, then rename them together; return their entries for the record."""
    _refuse_without_room(table, out)
    views = dict(zip("xz", table.views, strict=True)) if table.views else {"x": (0, table.n_features)}
    # Indices and row ends have the same type, because otherwise SciPy would convert one of them by a copy.
    most = max(table.n_features, table.x.n_values)
    index = np.dtype("<i4" if most < 2**31 else "<i8")
    written = {}
    with ExitStack() as files:

        def array(name: str, dtype: np.dtype | str, shape: tuple[int, ...] = ()) -> _ArrayFile:
            path = files.enter_context(replacing(out / f"{name}.npy"))
            written[name] = files.enter_context(_ArrayFile(path, np.dtype(dtype), shape))
            return written[name]

        for part in ("train", "test"):
            for view, (first, last) in views.items():
                blocks = (block[:, first:last] if table.views else block for block in table.blocks(part))
                if table.sparse:
                    kinds = zip(CSR, ("<f4", index, index), strict=True)
                    values, columns, ends = (array(f"{view}_{part}{ending}", kind) for ending, kind in kinds)
                    ends.append(np.zeros(1, index))
                    for block in blocks:
                        ends.append(block.indptr[1:].astype(np.int64) + values.length)
                        values.append(block.data)
                        columns.append(block.indices)
                else:
                    x = array(f"{view}_{part}", "<f4", (last - first,))
                    for block in blocks:
                        x.append(block)
            y = array(f"y_{part}", table.target_dtype, table.target_shape)
            for block in table.target_blocks(part):
                y.append(block)
        return {name: file.finish() for name, file in written.items()}


def _refuse_without_room(table: Table, out: Path) -> None:
    """Refuse dense arrays that are too large for the disk, before writing them."""
    if table.sparse:
        return
    needed = 4 * table.n_features * (table.n_rows("train") + table.n_rows("test"))
    free = shutil.disk_usage(existing_parent(out)).free
    if needed > free:
        raise DatasetError(
            f"The prepared features need {needed / 1e9:,.1f} GB in {out}, but only {free / 1e9:,.1f} GB are free. "
            "Free space, or take fewer rows (subset) or features (pca)."
        )


class _ArrayFile:
    """An .npy file that is written as a stream, because a full disk would kill a process with a memory map.

    Each row has the shape `shape`. The number of rows is written last; NumPy leaves space for it in the header.
    """

    def __init__(self, path: Path, dtype: np.dtype, shape: tuple[int, ...]):
        self.dtype, self.shape, self.length = dtype, shape, 0
        self.content = hashlib.sha256()
        self.file = open(path, "wb")  # noqa: SIM115 (closed by __exit__)
        self._write_header()

    def __enter__(self) -> _ArrayFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def _write_header(self) -> None:
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length, *self.shape)}
        np.lib.format.write_array_header_1_0(self.file, header)

    def append(self, block: np.ndarray) -> None:
        data = np.ascontiguousarray(block, self.dtype)
        if data.dtype.kind == "f" and not np.isfinite(data).all():
            raise DatasetError("A prepared value is too large for single precision. Scale it: add zscore or unit.")
        self.content.update(data)
        self.file.write(data.data)
        self.length += len(data)

    def finish(self) -> dict[str, Any]:
        """Complete the header and return the entry of the record."""
        self.file.seek(0)
        self._write_header()
        shape = (self.length, *self.shape)
        self.content.update(f"{self.dtype.str} {shape}".encode())
        return {"shape": list(shape), "dtype": self.dtype.str, "sha256": self.content.hexdigest()}


def begin(
    dataset: Dataset, record: Path, out: Path, steps: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], list[PreparationStep]]:
    """Return an earlier ``prepared.json`` and the further steps, checked as one list with the earlier steps."""
    folder = record.parent
    if folder.resolve() == out.resolve():
        raise DatasetError(f"{folder} holds the arrays to continue from. Choose another folder for the new arrays.")
    info = prepared.load(folder).info
    if info["dataset"] != dataset.name:
        raise DatasetError(f"{record} describes the dataset '{info['dataset']}', not '{dataset.name}'.")
    if "table" not in info:
        raise DatasetError(f"{record} was written by an earlier version and cannot be continued. Prepare it again.")
    todo = check_steps([*info["steps"], *steps])[len(info["steps"]) :]
    if any(step.fills_missing for step in todo):
        raise DatasetError(
            "The step impute must be the first that changes features: prepared values are never missing. Move "
            "it to the steps of the variant that this variant continues."
        )
    return info, todo


def description_of(table: Table) -> dict[str, Any]:
    """Return what further steps need to know about a table in addition to its arrays."""
    return {
        "value_range": list(table.value_range) if table.value_range else None,
        "image": dict(table.image) if table.image else None,
        "categorical": list(table.categorical),
        "classes_coded": table.classes_coded,
    }


def source_of(folder: Path) -> Source:
    """Open the arrays of an earlier preparation."""
    return Source(
        *(ArrayPart(_Features(folder, part), NpyRows(folder / f"y_{part}.npy")) for part in ("train", "test"))
    )


def read(dataset: Dataset, info: Mapping[str, Any], source: Source, memory: int, place: Path) -> Table:
    """Read the arrays of an earlier preparation, as `Table.read` does, and restore the table from their record."""
    # Read as numbers, so that class indices stay the same even if a subset has no training row of some class.
    table = Table.read(replace(dataset, task="regression", n_features=info["n_features"]), source, memory, place)
    left = info["table"]
    table.dataset, table.classes, table.target_coding = dataset, info["classes"], info["target_coding"]
    table.target_dtype = np.dtype(info["arrays"]["y_train"]["dtype"])
    if table.target_coding == "class indices":
        table.codes = table.y.take(np.arange(table.y.n_rows)).astype(np.int64)
    table.value_range = left["value_range"] and tuple(left["value_range"])
    table.image, table.categorical = left["image"], tuple(left["categorical"])
    table.views = info["views"] and [tuple(view) for view in info["views"]]
    table.classes_coded = left["classes_coded"]
    return table


@dataclass(frozen=True)
class _Features:
    """The features of a part, with both views side by side. Mapped again for every block, as in `NpyRows`."""

    folder: Path
    part: str

    def __getitem__(self, rows: slice) -> Any:
        found = prepared.load(self.folder)
        arrays = (getattr(found, f"{view}_{self.part}") for view in prepared.view_widths(found.info))
        views = [array[rows] for array in arrays]
        if not found.info["sparse"]:
            return np.hstack(views)
        from scipy.sparse import hstack

        return hstack(views, format="csr")
