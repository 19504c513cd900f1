"""Describe a user's file. Task and scaling are guessed if they are not set, and all guesses are reported."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, File
from shallows_papers.datasets.files import DatasetError, digest, write_json
from shallows_papers.datasets.formats.containers import open_binary
from shallows_papers.datasets.user_data.file_forms import FORMS
from shallows_papers.datasets.user_data.request import FileRequest, form_of
from shallows_papers.datasets.user_data.summarise import summarise_arrays, summarise_table
from shallows_papers.datasets.user_data.summary import (
    LARGEST,
    LARGEST_UNSCALED,
    FileSummary,
    TargetSummary,
    cells_of,
    count_of,
    plain_value,
)

#: Sentence for a comparison; a fit uses all rows.
HELD_OUT = "A fifth of the rows is held out for the test. "
#: Fewer rows than this cannot be divided into three meaningful parts.
LEAST_ROWS = 20
# Whole numbers with at most this number of different values, each in several rows, are taken for classes.
_MOST_CLASSES = 30
_ROWS_PER_CLASS = 8
_NUMBER = rb"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?i:nan|inf)"
# A label and pairs of an index and a value. Words and lists of labels raise another error later. Numbers have no
# leading zeros, but times have.
_LIBSVM_ROW = re.compile(
    rb"(?:%b|[A-Za-z]\w*|\d+(?:,\d+)+)(\s+qid:\d+)?((?:\s+(?:0|[1-9]\d*):(?:%b))*)\s*(?:#.*)?" % (_NUMBER, _NUMBER)
)


def describe(request: FileRequest) -> dict[str, Any]:
    """Read the files of a request and describe them.

    The result has ``request``, the report (a paragraph, and lines on what was dropped or taken for missing),
    ``scaling``, ``missing`` (number of missing values), ``range`` and ``entry`` (the fields of a `Dataset`). Data that
    cannot be used raise a `DatasetError` that says what to do.
    """
    form = request.form or form_of(request.file)
    if form == "table" and request.form is None and Path(request.file).suffix.lower() != ".xlsx":
        form = _form_of_text(Path(request.file))
    if form not in ("table", "arff") and not (request.na_values is None and request.decimal is None):
        raise DatasetError(f"na_values and decimal are for tables of text; {request.file} is {FORMS[form].title}.")
    summary = (summarise_table if FORMS[form].read else summarise_arrays)(request, FORMS[form])
    if summary.n_train < LEAST_ROWS:
        raise DatasetError(
            f"{request.file} holds {count_of(summary.n_train, 'row')}; at least {LEAST_ROWS} are needed."
        )
    _check_magnitude(request, summary)
    if summary.n_features == 0:
        raise DatasetError(
            " ".join([f"{request.file} has no column of features in addition to the target.", *summary.notes])
        )
    words = _advice_on_words(summary)
    if summary.missing_in_target:
        raise DatasetError(
            f"The target of {request.file} is missing in {summary.missing_in_target}. Remove such rows.{words}"
        )
    if summary.missing and request.missing is None:
        cells = f" ({cells_of(summary.taken_for_missing, 6)})" if words else ""
        raise DatasetError(
            f"{request.file} lacks {count_of(summary.missing, 'value')}{cells}; the first is in "
            f"{summary.first_missing}. Fill them in, remove those rows, or set missing=mean, "
            f"missing=median, missing=most_frequent or a number, such as missing=0.{words}"
        )
    task = _guess_task(request, summary)
    scaling = _guess_scaling(request, summary)
    options = {**summary.options, "form": form, "text_target": summary.target.text}
    n_classes = len(summary.target.values) if task == "classification" and summary.target.values else 0
    paragraph = _paragraph(request, summary, form, task, n_classes)
    return {
        "schema_version": 1,
        "request": request.as_data(),
        "told": paragraph,
        "scaling": scaling,
        "missing": summary.missing,
        "range": _shared_range(summary),
        "entry": {
            "name": request.dataset,
            "title": request.title or Path(request.file).name,
            "state": "user",
            "task": task,
            "n_train": summary.n_train,
            "n_test": summary.n_test,
            "n_features": summary.n_features,
            "n_classes": n_classes,
            "licence": request.licence,
            "citation": request.citation,
            "homepage": "",
            "format": "user",
            "categorical": list(summary.categorical),
            "n_targets": summary.target.width,
            "options": options,
        },
    }


def write(request: FileRequest, out: str | Path) -> dict[str, Any]:
    """Write the description and the checksums of the files to `out`, the input of `datasets.prepare`.

    If the file and `out` are in the working folder, its path is written relative to the folder of `out`, so that
    results remain valid when the project is moved. Otherwise the path is absolute.
    """
    folder, project, files = Path(out).resolve().parent, Path.cwd(), []
    for part, path in zip(("train", "test"), request.files, strict=False):
        place = Path(path).resolve()
        moves = place.is_relative_to(project) and folder.is_relative_to(project)
        told = Path(os.path.relpath(place, folder)).as_posix() if moves else str(place)
        size, sha256 = place.stat().st_size, digest(place)
        files.append({"name": place.name, "part": part, "path": told, "size": size, "sha256": sha256})
    write_json(Path(out), {"dataset": request.dataset, "files": files, **describe(request)})
    return read(out)


def read(stamp: str | Path) -> dict[str, Any]:
    """Read a description written by `write`; the paths of the files are made absolute."""
    content = json.loads(Path(stamp).read_text(encoding="utf-8"))
    folder = Path(stamp).resolve().parent
    for file in content["files"]:
        file["path"] = str((folder / file["path"]).resolve())
    return content


def dataset_of(description: Mapping[str, Any]) -> Dataset:
    """Convert a description to an entry of the catalogue."""
    entry = dict(description["entry"])
    entry["categorical"] = tuple(entry["categorical"])
    files = tuple(
        File(one["name"], one["part"], size=one["size"], sha256=one["sha256"]) for one in description.get("files", ())
    )
    return Dataset(files=files, **entry)


def _form_of_text(path: Path) -> str:
    """Guess the form of a text file from its first lines; LIBSVM and ARFF files often end in .txt or have no ending."""
    with open_binary(path) as file:
        lines = [line.strip() for line in file.readlines(1 << 14)[:200]]
    lines = [line for line in lines if line and not line.startswith((b"#", b"%"))]
    if lines and re.match(rb"(?i)@(relation|attribute)\b", lines[0]):
        return "arff"
    rows = [_LIBSVM_ROW.fullmatch(line) for line in lines]
    # A LIBSVM file may have a few wrong lines. A wrong first line may be the header of a table.
    is_libsvm = rows and rows[0] and sum(map(bool, rows)) > 0.9 * len(rows) and any(row and row[2] for row in rows)
    return "libsvm" if is_libsvm else "table"


def _guess_task(request: FileRequest, summary: FileSummary) -> str:
    """Return the task and store the reason for a guess; refuse a target that does not fit the requested task."""
    target, stated = summary.target, request.task
    values = target.values
    if values is not None and len(values) == 1:
        raise DatasetError(
            f"The target of {request.file} is the same in all rows: {plain_value(next(iter(values)))}. Nothing can be "
            "learned from it. If another column is the target, set target=NAME or target=NUMBER."
        )
    if target.text and stated == "regression":
        first = next(iter(values)) if values else "text"
        raise DatasetError(
            f"task=regression is set, but the target of {request.file} is text, such as {first!r}. Regression "
            "needs numbers: set another target, or set task=classification."
        )
    rare = values is not None and len(values) > max(2, target.n_rows // _ROWS_PER_CLASS)
    few = values is not None and (len(values) <= 2 or (target.whole and len(values) <= _MOST_CLASSES and not rare))
    if target.width > 1:
        if stated == "classification":
            raise DatasetError("task=classification is set, but there are several targets. Name one of them.")
        guess = "regression"
        why = f"there are {target.width} targets"
    elif target.text or few:
        guess = "classification"
        why = f"the target has {len(values) if values else 'many'} different values"
    else:
        guess = "regression"
        why = f"the target has {target.how_many} different values"
    task = stated or guess
    if not stated:
        other = "regression" if guess == "classification" else "classification"
        possible = target.width == 1 and not target.text and (few or (values is not None and not rare))
        change = f"; task={other} would change that" if possible else ""
        summary.guesses.append(f"the task is {task}, since {why}{change}")
    if task == "classification":
        _check_classes(request, target)
    return task


def _check_classes(request: FileRequest, target: TargetSummary) -> None:
    if target.values is None or len(target.values) > max(2, target.n_rows // 2):
        raise DatasetError(
            f"The target of {request.file} has {target.how_many} different values in {target.n_rows:,} rows: too many "
            "for classes. " + ("Set another target." if target.text else "Set task=regression, or set another target.")
        )
    # One row each for training, validation and testing.
    least = min(target.values, key=lambda value: target.values[value])
    if target.values[least] < 3:
        raise DatasetError(
            f"The class {plain_value(least)} of {request.file} has {count_of(target.values[least], 'row')}, but needs "
            "three: one each for training, validation and testing. Remove it or merge it with another class"
            + ("." if target.text else ", or set task=regression.")
        )


def _shared_range(summary: FileSummary) -> list[float] | None:
    """Return the range that most features share, as with pixels."""
    if summary.low is None or len(summary.low) < 16 or summary.categorical:
        return None
    low, high = float(np.min(summary.low)), float(np.max(summary.high))
    filled = np.mean((summary.low == low) & (summary.high >= low + 0.9 * (high - low)))
    return [low, high] if high > low and filled >= 0.5 else None


def _guess_scaling(request: FileRequest, summary: FileSummary) -> str:
    """Return the scaling of the features, and store the reason."""
    if request.scaling is not None:
        return request.scaling
    if summary.sparse:
        summary.guesses.append("sparse features are left as they are")
        return "none"
    if (shared := _shared_range(summary)) is not None:
        summary.guesses.append(
            f"the features share the range {shared[0]:g} to {shared[1]:g}, as pixels do, and are scaled together"
        )
        return "unit"
    summary.guesses.append("numbers are scaled to mean 0 and variance 1, and columns of two values to 0 and 1")
    return "columns"


def _paragraph(request: FileRequest, summary: FileSummary, form: str, task: str, n_classes: int) -> str:
    rows = f"{count_of(summary.n_train, 'row')}" + (
        f" and {count_of(summary.n_test, 'test row')}" if summary.n_test else ""
    )
    classes = f" in {n_classes} classes" if n_classes else ""
    features = count_of(summary.n_features, "feature")
    text = f"{request.file} was read as {FORMS[form].title}: {rows} of {features}{classes}, {task}. "
    if summary.missing:
        gaps = count_of(summary.missing, "missing value").capitalize()
        text += f"{gaps} will be filled in as asked ({request.missing}). "
    if not summary.n_test:
        text += HELD_OUT
    lines = [text + "Guessed: " + "; ".join(summary.guesses) + ".", *summary.notes]
    if summary.taken_for_missing:
        lines.append(f"Taken for missing: {cells_of(summary.taken_for_missing)}.{_advice_on_words(summary)}")
    return "\n".join(lines)


def _check_magnitude(request: FileRequest, summary: FileSummary) -> None:
    """Refuse infinite numbers, and numbers that overflow or have overflowing distances; name row and column."""
    unscaled = request.scaling == "none" or (request.scaling is None and summary.sparse)
    limits = ((summary.largest_target, LARGEST), (summary.largest, LARGEST_UNSCALED if unscaled else LARGEST))
    for (value, place), most in limits:
        if value > most:
            where = " where features are not scaled" if most < LARGEST else ""
            raise DatasetError(
                f"{request.file} holds a number of the size {value:g} in {place}. Every number must be finite and at "
                f"most {most:.2g}{where}, since methods compute in single precision. Correct it, or change the "
                "unit of the column."
            )


def _advice_on_words(summary: FileSummary) -> str:
    """Return advice in case a word that was taken for missing is a value; "" if there was no such word."""
    words = " or ".join(dict.fromkeys(repr(word) for word, _, _ in summary.taken_for_missing if word))
    if not words:
        return ""
    return (
        f" If {words} is a value, list only the words for missing values: na_values='?,null' for these two, "
        "na_values='[]' for empty cells only."
    )
