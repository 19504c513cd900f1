"""Summarize a user's table, arrays or LIBSVM file: features, categories, target, ranges and missing values."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shallows.errors import UnknownNameError
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.user_data.array_files import libsvm_rows, of_test_arrays
from shallows_papers.datasets.user_data.file_forms import FORMS, FileForm
from shallows_papers.datasets.user_data.request import FileRequest
from shallows_papers.datasets.user_data.summary import FileSummary, count_of, some_of
from shallows_papers.datasets.user_data.table_columns import MOST_CATEGORIES, Column, odd_character
from shallows_papers.datasets.user_data.table_files import row_blocks

_TARGET_NAMES = ("target", "label", "class", "y")
_ROWS = 65_536


def summarise_table(request: FileRequest, form: FileForm) -> FileSummary:
    """Read and summarize the tables of a request."""
    layouts = [form.layout(path, request) for path in map(Path, request.files)]
    layout, other = layouts[0], layouts[-1]
    if other.names != layout.names:
        pairs = enumerate(zip(other.names, layout.names, strict=False))
        what = next((f"column {k} is {a!r} there and {b!r} here" for k, (a, b) in pairs if a != b), "")
        if len(other.names) != len(layout.names):
            what = f"{len(other.names)} against {len(layout.names)}"
        raise DatasetError(f"The columns of {request.test_file} differ from {request.file}: {what}.")
    summary, names = FileSummary(guesses=list(layout.guesses)), list(layout.names)
    targets = target_columns(request, names, summary)
    ignored = {_column(one, names, "ignore") for one in request.ignore}
    asked = {_column(one, names, "categorical") for one in request.categorical}
    if both := ignored & set(targets):
        raise DatasetError(f"The column {names[both.pop()]} is the target, so it cannot be left out.")
    declared = asked | (set(layout.declared) - set(targets if request.task == "regression" else ()))
    files, columns = _read(request, form, layouts, declared)
    summary.n_train = len(files[0][0].values)
    features = _features(request, layout, columns, targets, ignored, asked, summary)
    text_target = any(not columns[place].is_number for place in targets)
    text_target |= request.task != "regression" and len(targets) == 1 and columns[targets[0]].exceeds_integers
    if text_target and len(targets) > 1:
        raise DatasetError("Several targets must all be numbers.")
    summary.n_features = len(features)
    summary.options = {
        "layout": layout.as_data(),
        "test_layout": other.as_data(),
        "features": features,
        "targets": targets,
        "text_target": text_target,
    }
    summary.categorical = tuple(place for place, one in enumerate(features) if one["values"] is not None)
    for place, column in columns.items():
        if column.gaps.any() and place not in ignored:
            counts = [*column.taken.most_common(), ("", int(column.gaps.sum()) - column.taken.total())]
            summary.taken_for_missing += [(word, column.name, n) for word, n in counts if n]
    for place in targets:
        if columns[place].gaps.any():
            summary.missing_in_target = f"row {int(columns[place].gaps.argmax()) + 1:,}"
            return summary
        if columns[place].is_stray:
            row, value = columns[place].first_text
            raise DatasetError(
                f"The target {names[place]} holds {value!r} in row {row:,}, but the other targets are numbers. "
                + _remedy(value, names[place])
            )
    if not features:
        return summary
    summary.n_train = 0
    for number, found in enumerate(files):
        for block in row_blocks(found, summary.options, _ROWS):
            summary.add(block, bool(number), lambda place: _column_title(features[place]["name"]))
    numeric = [place for place, one in enumerate(features) if one["values"] is None]
    summary.low, summary.high = summary.low[numeric], summary.high[numeric]
    return summary


def _read(
    request: FileRequest, form: FileForm, layouts: Sequence[Any], declared: set[int]
) -> tuple[list[dict[int, Column]], dict[int, Column]]:
    """Return the columns of each file and of both files together. A column has words in both files or in neither."""
    import pandas

    paths = [Path(path) for path in request.files]
    files = [form.read(path, layout, declared) for path, layout in zip(paths, layouts, strict=True)]
    if len(files) > 1:
        words = {place for place in files[0] if not all(found[place].is_number for found in files)} - declared
        mixed = [place for place in words if any(found[place].is_number for found in files)]
        for found, path, layout in zip(files, paths, layouts, strict=True):
            found |= form.read(path, layout, mixed, mixed) if mixed else {}
    for found in files:
        for place in declared:
            found[place].is_declared = True
    joined = files[0]
    if len(files) > 1:
        joined = {
            place: Column(
                column.name,
                pandas.concat([found[place].values for found in files], ignore_index=True),
                column.is_declared,
                files[0][place].taken + files[1][place].taken,
                files[0][place].plain | files[1][place].plain,
            )
            for place, column in files[0].items()
        }
    return files, joined


def _features(
    request: FileRequest,
    layout: Any,
    columns: Mapping[int, Column],
    targets: Sequence[int],
    ignored: set[int],
    asked: set[int],
    summary: FileSummary,
) -> list[dict[str, Any]]:
    features, coded, mixed, left_out = [], [], [], []
    as_text = asked | set(layout.declared)
    for place, column in columns.items():
        if place in ignored or place in targets:
            continue
        if place < layout.index and place not in asked:
            left_out.append(f"{column.name} (the index of a data frame; categorical: {column.name} would use it)")
        elif column.n_values == 0:
            left_out.append(f"{column.name} (it has no value)")
        elif column.is_stray:
            row, value = column.first_text
            raise DatasetError(
                f"In {request.file}, {_column_title(column.name)} holds {value!r} in row {row:,}, but nearly all its "
                f"other values are numbers. {_remedy(value, column.name)} Or read the column as categories "
                "(categorical) or leave it out (ignore) with an entry under config/datasets/."
            )
        elif place in as_text and len(column.words) > MOST_CATEGORIES:
            if place in asked:
                raise DatasetError(f"The column {column.name} has more than {MOST_CATEGORIES:,} categories.")
            left_out.append(f"{column.name} (more than {MOST_CATEGORIES:,} categories)")
        elif place not in as_text and column.is_date:
            left_out.append(f"{column.name} (dates; numbers such as the year or the days since a day would be used)")
        elif place not in as_text and column.is_identifier:
            like = f", such as {column.first_text[1]!r}"
            if odd := odd_character(column.words, layout.decimal):
                like += f"; they are not numbers because of the character {odd}: remove it to use the column"
            left_out.append(f"{column.name} (nearly every row has a different text{like})")
        elif column.counts_rows and _is_row_number(column.name):
            left_out.append(f"{column.name} (it counts the rows)")
        elif column.is_number:
            features.append({"column": place, "name": column.name, "values": None})
        else:
            values = column.words
            features.append({"column": place, "name": column.name, "values": values})
            coded.append(f"{column.name} ({len(values)})")
            if place not in as_text and column.n_values > 2 * column.n_texts > 0:
                row, value = column.first_text
                mixed.append(f"{column.name} ({value!r} in row {row:,})")
    if coded:
        summary.guesses.append(f"categories in {count_of(len(coded), 'column')} are one-hot coded: {some_of(coded)}")
    if mixed:
        summary.notes.append(
            f"Read as categories, though most of their values are numbers: {some_of(mixed, 20)}. If that text means "
            "a missing value, name it: na_values=..."
        )
    if left_out:
        summary.notes.append(f"Left out: {some_of(left_out, 20)}.")
    if ignored:
        summary.guesses.append(f"left out as requested: {some_of([columns[place].name for place in sorted(ignored)])}")
    return features


def _column_title(name: str) -> str:
    return name if name.startswith("column ") else f"column {name}"


def _is_row_number(name: str) -> bool:
    return bool(re.fullmatch(r"(unnamed: ?)?(|#|id|index|row|nr|no|number|column 0)(\d*)", name.strip().lower()))


def _remedy(value: str, name: str) -> str:
    if value.strip() == name:
        return "That looks like a header in the middle of the data: remove that line."
    return "Correct that value or remove its row."


def target_columns(request: FileRequest, names: Sequence[str], summary: FileSummary) -> list[int]:
    """Return the column numbers of the target, and store how they were found."""
    wanted = request.target
    if wanted is None:
        lower = [name.lower() for name in names]
        named = next((lower.index(name) for name in _TARGET_NAMES if name in lower), None)
        place = len(names) - 1 if named is None else named
        why = "the last" if named is None else "by its name"
        where = names[place] if names[place] != f"column {place}" else f"number {place}, counted from 0"
        summary.guesses.append(f"the target is the column {where} ({why})")
        return [place]
    places = _columns(wanted, names)
    if len(places) > len(names) - 1:
        raise DatasetError(f"The target takes {len(places)} of {len(names)} columns and leaves no features.")
    if len(places) > 1:
        summary.guesses.append(f"the targets are {some_of([names[place] for place in places], 10)}, as requested")
    return places


def _columns(wanted: Any, names: Sequence[str]) -> list[int]:
    """Return the numbers of one column, several columns or a range of columns named by the user."""
    if isinstance(wanted, list | tuple):
        return list(dict.fromkeys(_column(one, names, "target") for one in wanted))
    text = str(wanted)
    if text in names or not isinstance(wanted, str):
        return [_column(wanted, names, "target")]
    if match := re.fullmatch(r"(-?\d*):(-?\d*)", text):
        start, stop = (int(part) if part else None for part in match.groups())
        if not (places := list(range(len(names))[start:stop])):
            raise DatasetError(f"The range {text} contains no column. There are {len(names)} columns.")
        return places
    return list(dict.fromkeys(_column(one, names, "target") for one in text.split(",")))


def _column(wanted: Any, names: Sequence[str], what: str) -> int:
    text = str(wanted).strip()
    if text in names:
        return names.index(text)
    if re.fullmatch(r"-?\d+", text):
        place = int(text)
        if not -len(names) <= place < len(names):
            raise DatasetError(
                f"{what} names column {place}, but there are {len(names)}: 0 to {len(names) - 1}, or from the end "
                f"-1 to {-len(names)}."
            )
        return place % len(names)
    lower = [name.lower() for name in names]
    if lower.count(text.lower()) == 1:
        return lower.index(text.lower())
    raise UnknownNameError("column", text, names)


_ROWS_OF_ARRAYS = 16_384
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
        for block in form.blocks(*part, _ROWS_OF_ARRAYS):
            summary.add(block, bool(number), lambda column: f"column {column}")
    return summary


def _read_libsvm(request: FileRequest, summary: FileSummary) -> None:
    widest, stated, n_zeros, found = 0, 0, 0, {"first_index": 0}
    for number, path in enumerate(request.files):
        for block in libsvm_rows(Path(path), found, _ROWS_OF_ARRAYS):
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
