"""What a user's file holds: read once, guessed where nothing is said, and described in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shallows.datasets.catalogue import Dataset, File
from shallows.datasets.files import DatasetError, digest, write_json
from shallows.datasets.formats.containers import open_binary
from shallows.datasets.user_data.file_forms import FORMS
from shallows.datasets.user_data.guesses import guess_scaling, guess_task, shared_range
from shallows.datasets.user_data.request import Request, form_of
from shallows.datasets.user_data.summarise_arrays import summarise_arrays
from shallows.datasets.user_data.summarise_table import summarise_table
from shallows.datasets.user_data.summary import LARGEST, LARGEST_UNSCALED, Summary, cells_of, count_of

#: Fewer rows than this cannot be divided into three parts that mean anything.
LEAST_ROWS = 20
_WORDS = (
    "If {} is a value, list the words that do stand for a missing one: na_values='?,null' for these two, "
    "na_values='[]' for none but an empty cell."
)


def describe(request: Request) -> dict[str, Any]:
    """Read the files of a request and describe them.

    Parameters
    ----------
    request : Request

    Returns
    -------
    dict
        ``request`` (what was asked), ``told`` (a paragraph, and lines on what was dropped or taken for missing),
        ``scaling``, ``missing`` (how many values), ``range``
        and ``entry`` (the fields of a `Dataset`).

    Raises
    ------
    DatasetError
        Wherever the data cannot be used as they are; it says what to do.
    """
    form = request.form or form_of(request.file)
    if form == "table" and request.form is None:
        form = _form_of_text(Path(request.file))
    if form not in ("table", "arff") and not (request.na_values is None and request.decimal is None):
        raise DatasetError(f"na_values and decimal are for tables of text; {request.file} is {FORMS[form].title}.")
    summary = (summarise_table if FORMS[form].frames else summarise_arrays)(request, FORMS[form])
    if summary.n_train < LEAST_ROWS:
        raise DatasetError(
            f"{request.file} holds {count_of(summary.n_train, 'row')}; at least {LEAST_ROWS} are needed."
        )
    _check_magnitude(request, summary)
    if summary.n_features == 0:
        raise DatasetError(" ".join([f"{request.file} has no column of features beside the target.", *summary.notes]))
    words = f" {_WORDS.format(words)}" if (words := _words_of(summary)) else ""
    if summary.missing_in_target:
        raise DatasetError(
            f"The target of {request.file} is missing in {summary.missing_in_target}. Remove such rows.{words}"
        )
    if summary.missing and request.missing is None:
        cells = f" ({cells_of(summary.taken_for_missing, 6)})" if words else ""
        raise DatasetError(
            f"{request.file} lacks {count_of(summary.missing, 'value')}{cells}; the first is in "
            f"{summary.first_missing}. Fill them in or remove those rows; or ask for it to be done: missing=mean, "
            "missing=median, missing=most_frequent or a number, such as --config dataset=... missing=median."
            f"{words}"
        )
    task = guess_task(request, summary)
    scaling = guess_scaling(request, summary)
    options = {**summary.options, "form": form, "text_target": summary.target.text}
    n_classes = len(summary.target.values) if task == "classification" and summary.target.values else 0
    paragraph = _paragraph(request, summary, form, task, scaling, n_classes)
    return {
        "schema_version": 1,
        "request": _plain(request.as_data()),
        "told": paragraph,
        "scaling": scaling,
        "missing": summary.missing,
        "range": shared_range(summary),
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


def write(request: Request, out: str | Path) -> dict[str, Any]:
    """Describe the files and leave the description as the stamp that `shallows.datasets.prepare` takes.

    Parameters
    ----------
    request : Request
    out : path
        Where ``verified.json`` goes.

    Returns
    -------
    dict
        Its content: what `describe` gives, and the checksums of the files.
    """
    files = []
    for part, path in zip(("train", "test"), request.files, strict=False):
        place = Path(path).resolve()
        files.append(
            {
                "name": place.name,
                "part": part,
                "path": str(place),
                "size": place.stat().st_size,
                "sha256": digest(place),
            }
        )
    content = {"dataset": request.dataset, "files": files, **describe(request)}
    write_json(Path(out), content)
    return content


def dataset_of(description: Mapping[str, Any]) -> Dataset:
    """Return the entry that a description stands for."""
    entry = dict(description["entry"])
    entry["categorical"] = tuple(entry["categorical"])
    files = tuple(
        File(one["name"], one["part"], size=one["size"], sha256=one["sha256"]) for one in description.get("files", ())
    )
    return Dataset(files=files, **entry)


def _form_of_text(path: Path) -> str:
    """The form of a text file by its first lines: LIBSVM and ARFF files often have the ending .txt, or none."""
    with open_binary(path) as file:
        lines = [line.strip() for line in file.readlines(1 << 14)[:50]]
    lines = [line for line in lines if line and not line.startswith((b"#", b"%"))][:5]
    if lines and re.match(rb"(?i)@(relation|attribute)\b", lines[0]):
        return "arff"
    pairs = [re.fullmatch(rb"\S+(\s+qid:\d+)?((\s+\d+:\S+)*)\s*(#.*)?", line) for line in lines]
    return "libsvm" if all(pairs) and any(pair[2] for pair in pairs) else "table"


def _paragraph(request: Request, summary: Summary, form: str, task: str, scaling: str, n_classes: int) -> str:
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
        text += "A fifth of the rows is held out for the test. "
    lines = [text + "Guessed: " + "; ".join(summary.guesses) + ".", *summary.notes]
    if summary.taken_for_missing:
        words = f" {_WORDS.format(words)}" if (words := _words_of(summary)) else ""
        lines.append(f"Taken for missing: {cells_of(summary.taken_for_missing)}.{words}")
    return "\n".join(lines)


def _check_magnitude(request: Request, summary: Summary) -> None:
    """Refuse numbers that are infinite, or so large that they, or distances of unscaled ones, overflow.

    Raises
    ------
    DatasetError
        It names the row and the column.
    """
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


def _words_of(summary: Summary) -> str:
    """The words that were taken for missing."""
    return " or ".join(dict.fromkeys(repr(word) for word, _, _ in summary.taken_for_missing if word))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return list(value) if isinstance(value, tuple) else value
