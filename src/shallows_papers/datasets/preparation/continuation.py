"""Preparations that continue from the arrays of an earlier one instead of the files.

So an expensive preparation, such as training a net, runs once for all variants that build on it. The arrays are read
like any other source. Their record has what the arrays do not show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
