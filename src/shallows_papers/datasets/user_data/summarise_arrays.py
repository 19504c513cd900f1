"""Summarize a user's arrays or LIBSVM file: sizes, ranges, missing values and the first index."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.user_data.array_files import libsvm_rows, of_test_arrays
from shallows_papers.datasets.user_data.file_forms import FORMS, FileForm
from shallows_papers.datasets.user_data.request import FileRequest
from shallows_papers.datasets.user_data.summarise_table import target_columns
from shallows_papers.datasets.user_data.summary import FileSummary

_ROWS = 16_384
# A LIBSVM file with more than this share of nonzero values is treated as dense.
_DENSE_SHARE = 0.25


def summarise_arrays(request: FileRequest, form: FileForm) -> FileSummary:
    """Read and summarize the arrays of a request."""
    path = Path(request.file)
    layout = form.layout(path, request)
    summary = FileSummary(guesses=list(layout.pop("guesses")))
    summary.options = {"layout": layout}
    if request.categorical or request.ignore:
        raise DatasetError(f"categorical and ignore are for tables; {request.file} holds numbers only.")
    if form is FORMS["libsvm"]:
        _read_libsvm(request, summary)
        return summary
    if layout["y"] is None:
        first = next(form.blocks(path, {"layout": layout, "targets": []}, 1), None)
        if first is None or first.x.shape[1] < 2:
            raise DatasetError(f"{path} holds no rows of two columns or more.")
        names = [f"column {place}" for place in range(first.x.shape[1])]
        summary.options["targets"] = target_columns(request, names, summary)
    parts = [(Path(one), summary.options) for one in request.files]
    if "x_test" in layout:
        parts.append((path, of_test_arrays(summary.options)))
        summary.guesses.append(f"the test rows are the array {layout['x_test']}")
    for number, part in enumerate(parts):
        for block in form.blocks(*part, _ROWS):
            summary.add(block, bool(number), lambda column: f"column {column}")
    return summary


def _read_libsvm(request: FileRequest, summary: FileSummary) -> None:
    widest, stated, n_zeros, found = 0, 0, 0, {"first_index": 0}
    for number, path in enumerate(request.files):
        for block in libsvm_rows(Path(path), found, _ROWS):
            n_zeros += int(np.count_nonzero(block.x.indices == 0))
            widest, stated = max(widest, block.x.shape[1]), stated + block.x.nnz
            first = found["first_index"]
            summary.add(block, bool(number), lambda column, first=first: f"index {column + first}")
        if number == 0:
            first = found["first_index"] = int(n_zeros == 0)
            found["first_share"] = n_zeros / max(1, summary.n_train)
            widest -= first
            if summary.low is not None:
                summary.low, summary.high = summary.low[first:], summary.high[first:]
    summary.n_features = widest
    summary.sparse = stated <= _DENSE_SHARE * (summary.n_train + summary.n_test) * max(1, summary.n_features)
    if summary.sparse:
        summary.low = summary.high = None
    summary.options |= {"width": widest + first, **found}
    summary.guesses.append(f"indices count from {first}")
