"""The forms that a user's own file may have, each with how it is looked at and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from shallows.datasets.own import matrices, tables


@dataclass(frozen=True)
class Form:
    """One form.

    Attributes
    ----------
    layout : callable
        (path, request) -> how the data lie in the file.
    part : callable
        (path, description) -> `shallows.datasets.sources.Part`.
    count, chunks : callable or None
        For tables: how many rows there are, and the rows as data frames.
    """

    layout: Callable[..., Any]
    part: Callable[..., Any]
    count: Callable[..., int] | None = None
    chunks: Callable[..., Iterator[Any]] | None = None


FORMS = {
    "table": Form(tables.table_layout, tables.TablePart, tables.check_shape, tables.table_chunks),
    "arff": Form(tables.arff_layout, tables.TablePart, tables.check_shape, tables.table_chunks),
    "parquet": Form(tables.parquet_layout, tables.TablePart, tables.parquet_rows, tables.parquet_chunks),
    "npy": Form(matrices.arrays_layout, matrices.ArrayFilePart),
    "npz": Form(matrices.arrays_layout, matrices.ArrayFilePart),
    "matlab": Form(matrices.arrays_layout, matrices.ArrayFilePart),
    "libsvm": Form(matrices.libsvm_layout, matrices.LibsvmPart),
}
