"""Summary of a user's table: its features, categories and target, and what is missing in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shallows.errors import UnknownNameError
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.user_data.file_forms import FileForm
from shallows_papers.datasets.user_data.number_text import odd_character, plain_number
from shallows_papers.datasets.user_data.request import FileRequest
from shallows_papers.datasets.user_data.summary import MOST_CATEGORIES, ColumnSummary, FileSummary, count_of, some_of
from shallows_papers.datasets.user_data.table_files import targets_of

#: The files of a request, each with its layout.
_Files = Sequence[tuple[Path, Any]]
_TARGET_NAMES = ("target", "label", "class", "y")


def summarise_table(request: FileRequest, form: FileForm) -> FileSummary:
    """Read the tables of a request once, twice where categories looked like numbers, and the target once more."""
    files = [(path, form.layout(path, request)) for path in map(Path, request.files)]
    layout, other = files[0][1], files[-1][1]
    if other.names != layout.names:
        pairs = enumerate(zip(other.names, layout.names, strict=False))
        what = next((f"column {k} is {a!r} there and {b!r} here" for k, (a, b) in pairs if a != b), "")
        if len(other.names) != len(layout.names):
            what = f"{len(other.names)} against {len(layout.names)}"
        raise DatasetError(f"The columns of {request.test_file} are not those of {request.file}: {what}.")
    summary = FileSummary(guesses=list(layout.guesses))
    summary.n_train, summary.n_test = ([form.count(*one) for one in files] + [0])[:2]
    names = list(layout.names)
    targets = target_columns(request, names, summary)
    ignored = {_column(one, names, "ignore") for one in request.ignore}
    asked = {_column(one, names, "categorical") for one in request.categorical}
    as_text = asked | (set(layout.declared) - set(targets if request.task == "regression" else ()))
    if both := ignored & set(targets):
        raise DatasetError(f"The column {names[both.pop()]} is the target, and cannot be left out.")
    columns = _summaries(form, files, as_text)
    again = as_text | {
        place
        for place, one in enumerate(columns)
        if one.needs_its_text and not one.is_stray and not one.is_identifier and place not in ignored
    }
    if again != as_text:
        columns = _summaries(form, files, again)
    features = _features(request, layout, columns, targets, ignored, asked, summary)
    text_target = any(not columns[place].is_number or columns[place].is_boolean for place in targets)
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
    gaps = [place for place, one in enumerate(columns) if one.missing and place not in ignored]
    summary.taken_for_missing = _taken_for_missing(form, files, columns, gaps)
    summary.largest = _largest(columns[one["column"]] for one in features)
    summary.largest_target = _largest(columns[place] for place in targets)
    for place in [one["column"] for one in features]:
        column = columns[place]
        if column.missing:
            summary.missing += column.missing
            summary.first_missing = summary.first_missing or f"row {column.first_missing + 1:,}, {_named(column)}"
    for place in targets:
        if columns[place].missing:
            summary.missing_in_target = f"row {columns[place].first_missing + 1:,}"
            return summary
    for place in targets:
        if columns[place].is_stray:
            row, value = columns[place].first_text
            raise DatasetError(
                f"The target {names[place]} holds {value!r} in row {row + 1:,}, where the others are numbers. "
                + _remedy(value, names[place])
            )
    numeric = [one["column"] for one in features if one["values"] is None]
    summary.low = np.array([columns[place].low for place in numeric])
    summary.high = np.array([columns[place].high for place in numeric])
    types = dict.fromkeys(targets, str) if text_target else {}
    for path, own in files:
        for table in form.frames(path, own, types, only=targets):
            summary.target.update(targets_of(table, targets, text=text_target))
    return summary


def _summaries(form: FileForm, files: _Files, as_text: set[int]) -> list[ColumnSummary]:
    columns = [ColumnSummary(name, as_text=place in as_text) for place, name in enumerate(files[0][1].names)]
    types = dict.fromkeys(as_text, str)
    for path, layout in files:
        for table in form.frames(path, layout, types):
            for place, column in enumerate(columns):
                column.update(table[place])
    return columns


def _largest(columns: Iterable[ColumnSummary]) -> tuple[float, str]:
    """Return the largest magnitude in columns of numbers, and its place."""
    found = [(one.largest[0], f"row {one.largest[1] + 1:,}, {_named(one)}") for one in columns if one.is_number]
    return max(found, key=lambda one: one[0], default=(0.0, ""))


def _taken_for_missing(
    form: FileForm, files: _Files, columns: Sequence[ColumnSummary], gaps: Sequence[int]
) -> list[tuple[str, str, int]]:
    """Return the words that were taken for missing (empty for an empty cell), their columns and numbers of cells."""
    import pandas

    counts: dict[int, Counter[str]] = {place: Counter() for place in gaps}
    missing = files[0][1].na_values
    if gaps and missing:
        # Where -999 stands for a missing value, pandas takes -999.0 for one, too.
        numbers = pandas.to_numeric(pandas.Series(missing), errors="coerce").dropna()
        for path, own in files:
            for table in form.frames(path, replace(own, na_values=()), dict.fromkeys(gaps, str), only=gaps):
                for place in gaps:
                    words = table[place].dropna()
                    words = words.map({word: plain_number(word, own.decimal) or word for word in words.unique()})
                    same = words.isin(missing) | pandas.to_numeric(words, errors="coerce").isin(numbers)
                    counts[place].update(words[same])
    found = [(word, columns[place].name, n) for place in gaps for word, n in counts[place].most_common()]
    empty = [("", columns[place].name, columns[place].missing - counts[place].total()) for place in gaps]
    return found + [one for one in empty if one[2]]


def _features(
    request: FileRequest,
    layout: Any,
    columns: Sequence[ColumnSummary],
    targets: Sequence[int],
    ignored: set[int],
    asked: set[int],
    summary: FileSummary,
) -> list[dict[str, Any]]:
    features, coded, mixed, left_out = [], [], [], []
    as_text = asked | set(layout.declared)
    for place, column in enumerate(columns):
        if place in ignored or place in targets:
            continue
        if place < layout.index and place not in asked:
            left_out.append(f"{column.name} (the index of a data frame; categorical: {column.name} would use it)")
        elif column.numbers + column.texts == 0:
            left_out.append(f"{column.name} (it has no value at all)")
        elif column.is_stray:
            row, value = column.first_text
            raise DatasetError(
                f"In {request.file}, {_named(column)} holds {value!r} in row {row + 1:,}, where nearly all its "
                f"other values are numbers. {_remedy(value, column.name)} Or take the column as categories "
                "(categorical), or leave it out (ignore), by an entry under config/datasets/."
            )
        elif place in as_text and column.has_too_many_categories:
            if place in asked:
                raise DatasetError(f"The column {column.name} has more than {MOST_CATEGORIES:,} categories.")
            left_out.append(f"{column.name} (more than {MOST_CATEGORIES:,} categories)")
        elif place not in as_text and column.is_date:
            left_out.append(f"{column.name} (dates; numbers such as the year or the days since a day would be used)")
        elif place not in as_text and column.is_identifier:
            like = f", such as {next(iter(column.values))!r}" if column.values else ""
            if odd := odd_character(column.values or (), layout.decimal):
                like += f"; they are no numbers because of the character {odd}: write them without it to use them"
            left_out.append(f"{column.name} (nearly every row has a text of its own{like})")
        elif column.counts_rows and _is_row_number(column.name):
            left_out.append(f"{column.name} (it counts the rows)")
        elif column.is_number and not column.is_boolean:
            features.append({"column": place, "name": column.name, "values": None})
        else:
            values = sorted(column.values)
            features.append({"column": place, "name": column.name, "values": values})
            coded.append(f"{column.name} ({len(values)})")
            if place not in as_text and column.numbers > column.texts > 0:
                row, value = column.first_text
                mixed.append(f"{column.name} ({value!r} in row {row + 1:,})")
    if coded:
        summary.guesses.append(f"categories in {count_of(len(coded), 'column')} are one-hot coded: {some_of(coded)}")
    if mixed:
        summary.notes.append(
            f"Read as categories, though most of their values are numbers: {some_of(mixed, 20)}. If that text stands "
            "for a missing value, name it: na_values=..."
        )
    if left_out:
        summary.notes.append(f"Left out: {some_of(left_out, 20)}.")
    if ignored:
        summary.guesses.append(f"left out as asked: {some_of([columns[place].name for place in sorted(ignored)])}")
    return features


def _named(column: ColumnSummary) -> str:
    return column.name if column.name.startswith("column ") else f"column {column.name}"


def _is_row_number(name: str) -> bool:
    return bool(re.fullmatch(r"(unnamed: ?)?(|#|id|index|row|nr|no|number|column 0)(\d*)", name.strip().lower()))


def _remedy(value: str, name: str) -> str:
    if value.strip() == name:
        return "That looks like a header in the middle of the data: remove that line."
    return "Mend that value or remove its row."


def target_columns(request: FileRequest, names: Sequence[str], summary: FileSummary) -> list[int]:
    """Return the numbers of the columns of the target, and note how they were found."""
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
        summary.guesses.append(f"the targets are {some_of([names[place] for place in places], 10)}, as asked")
    return places


def _columns(wanted: Any, names: Sequence[str]) -> list[int]:
    """Return the numbers of the columns that a user names: one, several, or a range."""
    if isinstance(wanted, list | tuple):
        return list(dict.fromkeys(_column(one, names, "target") for one in wanted))
    text = str(wanted)
    if text in names or not isinstance(wanted, str):
        return [_column(wanted, names, "target")]
    if match := re.fullmatch(r"(-?\d*):(-?\d*)", text):
        start, stop = (int(part) if part else None for part in match.groups())
        if not (places := list(range(len(names))[start:stop])):
            raise DatasetError(f"The range {text} holds none of the {len(names)} columns.")
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
                f"{what} names column {place}, and there are {len(names)}: 0 to {len(names) - 1}, or from the end "
                f"-1 to {-len(names)}."
            )
        return place % len(names)
    lower = [name.lower() for name in names]
    if lower.count(text.lower()) == 1:
        return lower.index(text.lower())
    raise UnknownNameError("column", text, names)
