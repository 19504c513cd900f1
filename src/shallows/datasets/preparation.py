"""Preparation: from verified files to the arrays that training maps into memory, and their record."""

from __future__ import annotations

import contextlib
import hashlib
import json
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shallows.datasets import formats
from shallows.datasets.catalogue import Dataset, File, get
from shallows.datasets.download import verify
from shallows.datasets.files import DatasetError, replacing, write_json
from shallows.datasets.steps import check_steps
from shallows.datasets.transforms import Table, apply_step

RECORD = "prepared.json"
ARRAYS = ("x_train", "y_train", "x_test", "y_test")
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Prepared:
    """Prepared data, mapped into memory: nothing is read before it is used.

    Attributes
    ----------
    x_train, x_test : ndarray of float32, shape (n, d)
        Features, rows contiguous, read-only.
    y_train, y_test : ndarray, shape (n,) or (n, k)
        Class indices (int64), or signs, or regression targets (float64).
    info : dict
        The content of ``prepared.json``: dataset, title, task, classes, n_train, n_test, n_features, steps,
        statistics, sha256 (of the content of all four arrays), seconds, peak_memory_bytes, sources, licence.
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    info: dict[str, Any]


def prepare(
    name: str | Dataset, verified: str | Path, out: str | Path, steps: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Make the arrays of a dataset and their record.

    Parameters
    ----------
    name : str or Dataset
        A name of the catalogue, or an entry of one's own.
    verified : path
        The ``verified.json`` that `shallows.datasets.fetch` wrote.
    out : path
        The folder for ``x_train.npy``, ``y_train.npy``, ``x_test.npy``, ``y_test.npy`` and, written last,
        ``prepared.json``.
    steps : sequence of mappings
        What to do, in this order; see `shallows.datasets.check_steps`. Statistics come from the training part
        alone.

    Returns
    -------
    dict
        The content of ``prepared.json``. All but ``seconds`` and ``peak_memory_bytes`` is a function of the
        files and the steps.

    Raises
    ------
    UnknownNameError
        For an unknown dataset, step or parameter.
    DatasetError
        When a file is not the verified one any more, when it holds something that is not a finite number,
        when a step cannot be done on this data, or when the disk is full.
    """
    started = time.perf_counter()
    dataset = get(name) if isinstance(name, str) else name
    todo = check_steps(steps)
    out = Path(out)
    paths, sources = _verified_files(dataset, Path(verified))
    table = Table.of(dataset, formats.read(dataset, paths))
    was_read = time.perf_counter()
    statistics = [{step.name: learned} for step in todo if (learned := apply_step(step, table))]
    if not table.n_rows("test"):
        raise DatasetError(
            f"The dataset '{dataset.name}' has no test part of its own. Add the step split: for instance "
            "'split: {n: 0.2, seed: 0}', before the steps that learn statistics."
        )
    # A record of earlier arrays must not vouch for the new ones, should this stop half-way.
    (out / RECORD).unlink(missing_ok=True)
    learned = time.perf_counter()
    arrays = _write_arrays(table, out)
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
        "steps": [step.as_data() for step in todo],
        "statistics": statistics,
        "sha256": _combined([arrays[key]["sha256"] for key in ARRAYS]),
        "arrays": arrays,
        "sources": sources,
        "licence": dataset.licence,
        "citation": dataset.citation,
        "seconds": {
            "reading": round(was_read - started, 3),
            "statistics": round(learned - was_read, 3),
            "writing": round(finished - learned, 3),
            "total": round(finished - started, 3),
        },
        "peak_memory_bytes": _peak_memory(),
    }
    write_json(out / RECORD, record)
    return record


def load(folder: str | Path) -> Prepared:
    """Map prepared data into memory.

    Parameters
    ----------
    folder : path
        Where `prepare` wrote.

    Returns
    -------
    Prepared

    Raises
    ------
    DatasetError
        When the record or an array is missing, or they do not agree.
    """
    folder = Path(folder)
    try:
        info = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DatasetError(
            f"{folder} holds no finished preparation ({RECORD} is missing). Prepare the dataset first."
        ) from None
    except ValueError as error:
        raise DatasetError(f"{folder / RECORD} is not a record: {error}. Prepare the dataset again.") from error
    arrays = {}
    for key in ARRAYS:
        path = folder / f"{key}.npy"
        try:
            arrays[key] = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise DatasetError(f"{path} cannot be read: {error}. Prepare the dataset again.") from error
        told = info["arrays"][key]
        if list(arrays[key].shape) != told["shape"] or arrays[key].dtype.str != told["dtype"]:
            raise DatasetError(
                f"{path} holds {arrays[key].dtype.str} of shape {arrays[key].shape}, and its record says "
                f"{told['dtype']} of shape {tuple(told['shape'])}. Prepare the dataset again."
            )
    return Prepared(**arrays, info=info)


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
            raise DatasetError(f"{path} was verified and is not there any more. Fetch '{dataset.name}' again.")
        problem, _ = verify(path, File(entry["name"], entry["part"], size=entry["size"], sha256=entry["sha256"]))
        if problem:
            raise DatasetError(f"{path} has changed since it was verified: {problem}. Fetch '{dataset.name}' again.")
        paths[entry["part"]] = path
        sources.append({key: entry[key] for key in ("name", "size", "sha256")})
    missing = [file.name for file in dataset.files if file.part not in paths]
    if missing:
        raise DatasetError(f"{stamp} does not list {', '.join(missing)}. Fetch '{dataset.name}' again.")
    return paths, sources


def _write_arrays(table: Table, out: Path) -> dict[str, dict[str, Any]]:
    """Write the four arrays beside their places and move them there together."""
    written = {}
    with ExitStack() as places:
        for part in ("train", "test"):
            y = table.targets(part)
            for key, shape, dtype, blocks in (
                (f"x_{part}", (len(y), table.n_features), np.dtype("<f4"), table.blocks(part)),
                (f"y_{part}", y.shape, y.dtype, [y]),
            ):
                partial = places.enter_context(replacing(out / f"{key}.npy"))
                written[key] = _write_array(partial, shape, dtype, blocks)
    return written


def _write_array(
    path: Path, shape: tuple[int, ...], dtype: np.dtype, blocks: Iterator[np.ndarray] | Sequence[np.ndarray]
) -> dict[str, Any]:
    # Written as a plain stream: a memory map tells of a full disk by killing the process.
    header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    content = hashlib.sha256(f"{dtype.str} {shape}".encode())
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks:
            data = np.ascontiguousarray(block, dtype)
            if data.dtype.kind == "f" and not np.isfinite(data).all():
                raise DatasetError("A prepared value is too large for single precision. Scale it: add zscore or unit.")
            content.update(data)
            file.write(data.data)
    return {"shape": list(shape), "dtype": dtype.str, "sha256": content.hexdigest()}


def _combined(digests: list[str]) -> str:
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()


def _peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes."""
    # Linux's rusage counts what the process was before it began this program; the status file does not.
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
