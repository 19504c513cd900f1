"""Preparations that continue from the arrays of an earlier one instead of the files.

A costly variant (a net is trained) is so prepared once, however many variants follow it. The arrays are read as any
source is; what they do not show themselves is in their record.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shallows_papers.datasets import prepared
from shallows_papers.datasets.catalogue import Dataset
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.preparation.step import PreparationStep
from shallows_papers.datasets.preparation.steps import check_steps
from shallows_papers.datasets.preparation.working_table import Table
from shallows_papers.datasets.sources import ArrayPart, NpyRows, Source


@dataclass(frozen=True)
class Beginning:
    """The rows that a preparation begins with, and what its record says of the way to them.

    `read` makes a `Table` of the bytes that it may keep in memory and a folder for more; `after` is the number of the
    earlier steps and the checksum of the earlier arrays.
    """

    read: Callable[[int, Path], Table]
    sources: Sequence[Mapping[str, Any]]
    steps: Sequence[Mapping[str, Any]] = ()
    statistics: Sequence[Mapping[str, Any]] = ()
    after: Mapping[str, Any] | None = None


def begin(
    dataset: Dataset, record: Path, out: Path, steps: Sequence[Mapping[str, Any]]
) -> tuple[Beginning, list[PreparationStep]]:
    """Begin from the arrays beside an earlier ``prepared.json`` of a dataset.

    The further steps are checked as the rest of one list that the earlier ones began.
    """
    folder = record.parent
    if folder.resolve() == out.resolve():
        raise DatasetError(f"{folder} holds the arrays to begin from. Let the new ones go to another folder.")
    info = prepared.load(folder).info
    if info["dataset"] != dataset.name:
        raise DatasetError(f"{record} is of the dataset '{info['dataset']}', not '{dataset.name}'.")
    if "table" not in info:
        raise DatasetError(f"{record} is by an earlier version, from which none can begin. Prepare it again.")
    todo = check_steps([*info["steps"], *steps])[len(info["steps"]) :]
    if any(step.fills_missing for step in todo):
        raise DatasetError(
            "The step impute must be the first that changes features: prepared values are never missing. Let it be "
            "among the steps of the variant that this one stands after."
        )
    read = functools.partial(_read, dataset, folder, info)
    after = {"n_steps": len(info["steps"]), "sha256": info["sha256"]}
    return Beginning(read, info["sources"], info["steps"], info["statistics"], after), todo


def description_of(table: Table) -> dict[str, Any]:
    """Return what a record must have of a table, beside its arrays, for further steps to continue from it."""
    return {
        "value_range": list(table.value_range) if table.value_range else None,
        "image": dict(table.image) if table.image else None,
        "categorical": list(table.categorical),
        "classes_coded": table.classes_coded,
    }


def _read(dataset: Dataset, folder: Path, info: Mapping[str, Any], memory: int, place: Path) -> Table:
    # As numbers: class indices are kept as they are, also where a subset has left no training row of a class.
    as_left = replace(
        dataset,
        task="regression",
        n_train=info["n_train"],
        n_test=info["n_test"],
        n_features=info["n_features"],
        exact=True,
    )
    parts = (ArrayPart(_Features(folder, part), NpyRows(folder / f"y_{part}.npy")) for part in ("train", "test"))
    table = Table.read(as_left, Source(*parts), memory, place)
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
    """The features of a part, the views side by side; mapped anew for every block, as in `NpyRows`."""

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
