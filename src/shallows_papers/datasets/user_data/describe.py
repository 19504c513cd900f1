"""The description of a user's file: task and scaling are guessed where nothing is said, and all is said in words."""

from __future__ import annotations

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
from shallows_papers.datasets.user_data.summarise_arrays import summarise_arrays
from shallows_papers.datasets.user_data.summarise_table import summarise_table
from shallows_papers.datasets.user_data.summary import (
    LARGEST,
    LARGEST_UNSCALED,
    FileSummary,
    TargetSummary,
    cells_of,
    count_of,
    plain_value,
)

#: What a comparison does with the rows, and a fit to all of them does not.
HELD_OUT = "A fifth of the rows is held out for the test. "
#: Fewer rows than this cannot be divided into three parts that mean anything.
LEAST_ROWS = 20
# Whole numbers of at most so many different values, each of them on several rows, are taken for classes.
_MOST_CLASSES = 30
_ROWS_PER_CLASS = 8
_NUMBER = rb"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?i:nan|inf)"
# A label and pairs of an index and a value. Words and lists of labels have an error of their own. Numbers have no
# leading zeros, and times have.
_LIBSVM_ROW = re.compile(
    rb"(?:%b|[A-Za-z]\w*|\d+(?:,\d+)+)(\s+qid:\d+)?((?:\s+(?:0|[1-9]\d*):(?:%b))*)\s*(?:#.*)?" % (_NUMBER, _NUMBER)
)


def describe(request: FileRequest) -> dict[str, Any]:
    """Read the files of a request and describe them.

    The result has ``request``, ``told`` (a paragraph, and lines on what was dropped or taken for missing), ``scaling``,
    ``missing`` (how many values), ``range`` and ``entry`` (the fields of a `Dataset`). Data that cannot be used are a
    `DatasetError` that says what to do.
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
        raise DatasetError(" ".join([f"{request.file} has no column of features beside the target.", *summary.notes]))
    words = _advice_on_words(summary)
    if summary.missing_in_target:
        raise DatasetError(
            f"The target of {request.file} is missing in {summary.missing_in_target}. Remove such rows.{words}"
        )
    if summary.missing and request.missing is None:
        cells = f" ({cells_of(summary.taken_for_missing, 6)})" if words else ""
        raise DatasetError(
            f"{request.file} lacks {count_of(summary.missing, 'value')}{cells}; the first is in "
            f"{summary.first_missing}. Fill them in or remove those rows; or ask for it to be done: missing=mean, "
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
    """Write the description and the checksums of the files to `out`, the stamp that `datasets.prepare` takes.

    A project that is moved keeps what was made of a file in it: the path is written relative to the stamp's folder
    where both lie in the working folder, and absolute elsewhere.
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
    """The description that `write` wrote, with the absolute paths of the files."""
    content = json.loads(Path(stamp).read_text(encoding="utf-8"))
    folder = Path(stamp).resolve().parent
    for file in content["files"]:
        file["path"] = str((folder / file["path"]).resolve())
    return content


def dataset_of(description: Mapping[str, Any]) -> Dataset:
    """Return a description as an entry of the catalogue."""
    entry = dict(description["entry"])
    entry["categorical"] = tuple(entry["categorical"])
    files = tuple(
        File(one["name"], one["part"], size=one["size"], sha256=one["sha256"]) for one in description.get("files", ())
    )
    return Dataset(files=files, **entry)


def _form_of_text(path: Path) -> str:
    """Return the form of a text file by its first lines: LIBSVM and ARFF files often have the ending .txt, or none."""
    with open_binary(path) as file:
        lines = [line.strip() for line in file.readlines(1 << 14)[:200]]
    lines = [line for line in lines if line and not line.startswith((b"#", b"%"))]
    if lines and re.match(rb"(?i)@(relation|attribute)\b", lines[0]):
        return "arff"
    rows = [_LIBSVM_ROW.fullmatch(line) for line in lines]
    # A few wrong lines do not make a table of a LIBSVM file; a wrong first line may be the header of a table.
    is_libsvm = rows and rows[0] and sum(map(bool, rows)) > 0.9 * len(rows) and any(row and row[2] for row in rows)
    return "libsvm" if is_libsvm else "table"


def _guess_task(request: FileRequest, summary: FileSummary) -> str:
    """Return the task, and note why it was guessed; refuse a target that does not suit the task asked for."""
    target, stated = summary.target, request.task
    values = target.values
    if values is not None and len(values) == 1:
        raise DatasetError(
            f"The target of {request.file} is the same in all rows: {plain_value(next(iter(values)))}. Nothing can be "
            "learned of it; is another column the target? Say target=NAME or target=NUMBER."
        )
    if target.text and stated == "regression":
        first = next(iter(values)) if values else "text"
        raise DatasetError(
            f"task=regression was asked for, and the target of {request.file} is text, such as {first!r}. Regression "
            "needs numbers: name another target, or say task=classification."
        )
    rare = values is not None and len(values) > max(2, target.n_rows // _ROWS_PER_CLASS)
    few = values is not None and (len(values) <= 2 or (target.whole and len(values) <= _MOST_CLASSES and not rare))
    if target.width > 1:
        if stated == "classification":
            raise DatasetError("task=classification was asked for, and there are several targets. Name one of them.")
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
            f"The target of {request.file} has {target.how_many} different values in {target.n_rows:,} rows: those are "
            "no classes. " + ("Name another target." if target.text else "Say task=regression, or name another target.")
        )
    # One row each for training, for choosing and for testing.
    least = min(target.values, key=lambda value: target.values[value])
    if target.values[least] < 3:
        raise DatasetError(
            f"The class {plain_value(least)} of {request.file} has {count_of(target.values[least], 'row')}, and needs "
            "three: one to learn from, one to choose by and one to test on. Remove it or join it with another"
            + ("." if target.text else ", or say task=regression.")
        )


def _shared_range(summary: FileSummary) -> list[float] | None:
    """Return the range that most features share, as pixels do."""
    if summary.low is None or len(summary.low) < 16 or summary.categorical:
        return None
    low, high = float(np.min(summary.low)), float(np.max(summary.high))
    filled = np.mean((summary.low == low) & (summary.high >= low + 0.9 * (high - low)))
    return [low, high] if high > low and filled >= 0.5 else None


def _guess_scaling(request: FileRequest, summary: FileSummary) -> str:
    """Return the scaling of the features, and note why."""
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
    summary.guesses.append("each number is scaled to mean 0 and variance 1")
    return "zscore"


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
    """Refuse infinite numbers and those that overflow, themselves or in distances, by their row and column."""
    unscaled = request.scaling == "none" or (request.scaling is None and summary.sparse)
    limits = ((summary.largest_target, LARGEST), (summary.largest, LARGEST_UNSCALED if unscaled else LARGEST))
    for (value, place), most in limits:
        if value > most:
            where = " where features are not scaled" if most < LARGEST else ""
            raise DatasetError(
                f"{request.file} holds a number of the size {value:g} in {place}. Every number must be finite and at "
                f"most {most:.2g}{where}, since methods compute in single precision. Mend it, or give the column "
                "another unit."
            )


def _advice_on_words(summary: FileSummary) -> str:
    """Return what to do if a word that was taken for missing is a value; nothing where there was no word."""
    words = " or ".join(dict.fromkeys(repr(word) for word, _, _ in summary.taken_for_missing if word))
    if not words:
        return ""
    return (
        f" If {words} is a value, list the words that do stand for a missing one: na_values='?,null' for these two, "
        "na_values='[]' for none but an empty cell."
    )
