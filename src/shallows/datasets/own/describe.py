"""What a user's file holds: read once, guessed where nothing is said, and told in one paragraph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shallows.datasets.catalogue import Dataset, File
from shallows.datasets.files import DatasetError, digest, write_json
from shallows.datasets.own.columns import MOST_CATEGORIES, Column, Target
from shallows.datasets.own.forms import FORMS
from shallows.datasets.own.request import Request, form_of
from shallows.errors import UnknownNameError

#: Fewer rows than this cannot be divided into three parts that mean anything.
LEAST_ROWS = 20
# Whole numbers of at most so many different values, each of them on several rows, are taken for classes.
_MOST_CLASSES = 30
_ROWS_PER_CLASS = 8
_TARGET_NAMES = ("target", "label", "class", "y")
_ROWS = 16_384
# A LIBSVM file that states more than this share of its values is not sparse in fact.
_DENSE_SHARE = 0.25
_MOST_MEASURED = 10_000
_KINDS = {
    "table": "a table",
    "arff": "an ARFF file",
    "parquet": "a Parquet file",
    "npy": "a NumPy file",
    "npz": "a NumPy file",
    "matlab": "a MATLAB file",
    "libsvm": "a LIBSVM file",
}


@dataclass
class _Seen:
    """What one reading of the files found."""

    n_train: int = 0
    n_test: int = 0
    n_features: int = 0
    target: Target = field(default_factory=Target)
    missing: int = 0
    first_missing: str = ""
    missing_in_target: str = ""
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    sparse: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    categorical: tuple[int, ...] = ()
    guesses: list[str] = field(default_factory=list)


def describe(request: Request) -> dict[str, Any]:
    """Read the files of a request and describe them.

    Parameters
    ----------
    request : Request

    Returns
    -------
    dict
        ``dataset`` (the fields of a `Dataset`), ``told`` (one paragraph), ``scaling``, ``missing``, and what was asked.

    Raises
    ------
    DatasetError
        Wherever the data cannot be used as they are; it says what to do.
    """
    form = request.form or form_of(request.file)
    # A LIBSVM file often has the ending .txt, or none.
    if form == "table" and request.form is None and _looks_like_libsvm(Path(request.file)):
        form = "libsvm"
    seen = _read_table(request, form) if FORMS[form].chunks else _read_matrix(request, form)
    if seen.n_train < LEAST_ROWS:
        raise DatasetError(
            f"{request.file} holds {_count(seen.n_train, 'row')}; a comparison needs at least {LEAST_ROWS}."
        )
    if seen.n_features == 0:
        why = next((f" ({guess})" for guess in seen.guesses if guess.startswith("left out")), "")
        raise DatasetError(f"{request.file} has no column of features beside the target{why}.")
    if seen.missing_in_target:
        raise DatasetError(f"The target of {request.file} is missing in {seen.missing_in_target}. Remove such rows.")
    if seen.missing and request.missing is None:
        raise DatasetError(
            f"{request.file} lacks {_count(seen.missing, 'value')}; the first is in {seen.first_missing}. Fill them in "
            "or remove those rows; or ask for it to be done: missing=mean, missing=median, missing=most_frequent or a "
            "number, such as --config dataset=... missing=median."
        )
    task = _task(request, seen)
    scaling = _scaling(request, seen)
    options = {**seen.options, "form": form, "text_target": seen.target.text}
    n_classes = len(seen.target.values) if task == "classification" and seen.target.values else 0
    paragraph = _paragraph(request, seen, form, task, scaling, n_classes)
    return {
        "schema_version": 1,
        "request": _plain(request.as_data()),
        "told": paragraph,
        "scaling": scaling,
        "missing": seen.missing,
        "range": _shared_range(seen),
        "entry": {
            "name": request.dataset,
            "title": request.title or Path(request.file).name,
            "state": "own",
            "task": task,
            "n_train": seen.n_train,
            "n_test": seen.n_test,
            "n_features": seen.n_features,
            "n_classes": n_classes,
            "licence": request.licence,
            "citation": request.citation,
            "homepage": "",
            "format": "own",
            "categorical": list(seen.categorical),
            "n_targets": seen.target.width,
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


# Tables ---------------------------------------------------------------------------------------------------------------


def _read_table(request: Request, form: str) -> _Seen:
    way = FORMS[form]
    path = Path(request.file)
    layout = way.layout(path, request)
    seen = _Seen(guesses=list(layout.guesses))
    seen.n_train = way.count(path, layout)
    if request.test_file:
        other = way.layout(Path(request.test_file), request)
        if other.names != layout.names:
            raise DatasetError(
                f"The columns of {request.test_file} are not those of {request.file}: "
                f"{_difference(other.names, layout.names)}."
            )
        seen.n_test = way.count(Path(request.test_file), other)
    names = list(layout.names)
    targets = _target_columns(request, names, seen)
    ignored = {_column(one, names, "ignore") for one in request.ignore}
    as_text = {_column(one, names, "categorical") for one in request.categorical}
    if both := ignored & set(targets):
        raise DatasetError(f"The column {names[both.pop()]} is the target, and cannot be left out.")
    columns = _look(request, way, layout, as_text)
    again = as_text | {
        place
        for place, one in enumerate(columns)
        if one.needs_its_text and not one.is_stray and not one.is_identifier and place not in ignored
    }
    if again != as_text:
        columns = _look(request, way, layout, again)
    features = _features(request, columns, targets, ignored, as_text, seen)
    text_target = any(not columns[place].is_number or columns[place].is_boolean for place in targets)
    if text_target and len(targets) > 1:
        raise DatasetError("Several targets must all be numbers.")
    seen.n_features = len(features)
    seen.options = {"layout": layout.as_data(), "features": features, "targets": targets, "text_target": text_target}
    seen.categorical = tuple(place for place, one in enumerate(features) if one["values"] is not None)
    for place in [one["column"] for one in features]:
        column = columns[place]
        if column.missing:
            seen.missing += column.missing
            seen.first_missing = seen.first_missing or f"row {column.first_missing + 1:,}, {_named(column)}"
    for place in targets:
        if columns[place].missing:
            seen.missing_in_target = f"row {columns[place].first_missing + 1:,}"
            return seen
    for place in targets:
        if columns[place].is_stray:
            row, value = columns[place].first_text
            raise DatasetError(
                f"The target {names[place]} holds {value!r} in row {row + 1:,}, where the others are numbers. "
                + _remedy(value, names[place])
            )
    numeric = [one["column"] for one in features if one["values"] is None]
    seen.low = np.array([columns[place].low for place in numeric])
    seen.high = np.array([columns[place].high for place in numeric])
    for block_y in _targets_of(request, way, layout, seen.options):
        seen.target.update(block_y)
    return seen


def _look(request: Request, way: Any, layout: Any, as_text: set[int]) -> list[Column]:
    columns = [Column(name, as_text=place in as_text) for place, name in enumerate(layout.names)]
    types = dict.fromkeys(as_text, str)
    for path in request.files:
        for table in way.chunks(Path(path), layout, types):
            for place, column in enumerate(columns):
                column.update(table[place])
    return columns


def _targets_of(request: Request, way: Any, layout: Any, options: Mapping[str, Any]) -> Any:
    types = dict.fromkeys(options["targets"], str if options["text_target"] else np.float64)
    for path in request.files:
        for table in way.chunks(Path(path), layout, types, only=options["targets"]):
            own = table[options["targets"]]
            values = own.astype(str) if options["text_target"] else own.astype(np.float64)
            yield values.to_numpy()[:, 0] if len(options["targets"]) == 1 else values.to_numpy()


def _features(
    request: Request,
    columns: Sequence[Column],
    targets: Sequence[int],
    ignored: set[int],
    as_text: set[int],
    seen: _Seen,
) -> list[dict[str, Any]]:
    features, coded, left_out = [], [], []
    for place, column in enumerate(columns):
        if place in ignored or place in targets:
            continue
        if column.numbers + column.texts == 0:
            left_out.append(f"{column.name} (it has no value at all)")
        elif column.is_stray:
            row, value = column.first_text
            raise DatasetError(
                f"In {request.file}, {_named(column)} holds {value!r} in row {row + 1:,}, where nearly all its "
                f"other values are numbers. {_remedy(value, column.name)} Or take the column as categories "
                "(categorical), or leave it out (ignore), by an entry under config/datasets/."
            )
        elif place in as_text and (column.n_different is None or column.n_different > MOST_CATEGORIES):
            raise DatasetError(f"The column {column.name} has more than {MOST_CATEGORIES:,} categories.")
        elif place not in as_text and column.is_identifier:
            left_out.append(f"{column.name} (nearly every row has a text of its own)")
        elif column.counts_rows and _is_row_number(column.name):
            left_out.append(f"{column.name} (it counts the rows)")
        elif column.is_number and not column.is_boolean:
            features.append({"column": place, "name": column.name, "values": None})
        else:
            values = sorted(column.values)
            features.append({"column": place, "name": column.name, "values": values})
            coded.append(f"{column.name} ({len(values)})")
    if coded:
        seen.guesses.append(f"categories in {_count(len(coded), 'column')} are one-hot coded: {_some(coded)}")
    if left_out:
        seen.guesses.append(f"left out: {_some(left_out)}")
    if ignored:
        seen.guesses.append(f"left out as asked: {_some([columns[place].name for place in sorted(ignored)])}")
    return features


def _named(column: Column) -> str:
    return column.name if column.name.startswith("column ") else f"column {column.name}"


def _is_row_number(name: str) -> bool:
    return bool(re.fullmatch(r"(unnamed: ?)?(|id|index|row|nr|no|number|column 0)(\d*)", name.strip().lower()))


def _remedy(value: str, name: str) -> str:
    if value.strip() == name:
        return "That looks like a header in the middle of the data: remove that line."
    return "Mend that value or remove its row."


def _target_columns(request: Request, names: Sequence[str], seen: _Seen) -> list[int]:
    asked = request.target
    if asked is None:
        lower = [name.lower() for name in names]
        named = next((lower.index(name) for name in _TARGET_NAMES if name in lower), None)
        place = len(names) - 1 if named is None else named
        why = "the last" if named is None else "by its name"
        where = names[place] if names[place] != f"column {place}" else f"number {place}, counted from 0"
        seen.guesses.append(f"the target is the column {where} ({why})")
        return [place]
    places = _columns(asked, names)
    if len(places) > len(names) - 1:
        raise DatasetError(f"The target takes {len(places)} of {len(names)} columns and leaves no features.")
    if len(places) > 1:
        seen.guesses.append(f"the targets are {_some([names[place] for place in places], 10)}, as asked")
    return places


def _columns(asked: Any, names: Sequence[str]) -> list[int]:
    """The numbers of the columns that a user names: one, several, or a range."""
    if isinstance(asked, list | tuple):
        return list(dict.fromkeys(_column(one, names, "target") for one in asked))
    text = str(asked)
    if text in names or not isinstance(asked, str):
        return [_column(asked, names, "target")]
    if match := re.fullmatch(r"(-?\d*):(-?\d*)", text):
        start, stop = (int(part) if part else None for part in match.groups())
        if not (places := list(range(len(names))[start:stop])):
            raise DatasetError(f"The range {text} holds none of the {len(names)} columns.")
        return places
    return list(dict.fromkeys(_column(one, names, "target") for one in text.split(",")))


def _column(asked: Any, names: Sequence[str], what: str) -> int:
    text = str(asked).strip()
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


# Matrices -------------------------------------------------------------------------------------------------------------


def _read_matrix(request: Request, form: str) -> _Seen:
    way = FORMS[form]
    path = Path(request.file)
    layout = way.layout(path, request)
    seen = _Seen(guesses=list(layout.pop("guesses")))
    seen.options = {"layout": layout}
    if request.categorical or request.ignore:
        raise DatasetError(f"categorical and ignore are for tables; {request.file} holds numbers only.")
    if form == "libsvm":
        _read_libsvm(request, seen)
        return seen
    options: dict[str, Any] = {"layout": layout}
    if layout["y"] is None:
        width = next(iter(way.part(path, {"layout": {**layout, "y": None}, "targets": []}).blocks(1)), None)
        if width is None or width.x.shape[1] < 2:
            raise DatasetError(f"{path} holds no rows of two columns or more.")
        names = [f"column {place}" for place in range(width.x.shape[1])]
        options["targets"] = _target_columns(request, names, seen)
    seen.options = options
    parts = [way.part(Path(one), options) for one in request.files]
    if "x_test" in layout:
        parts.append(type(parts[0])(path, options, "test"))
        seen.guesses.append(f"the test rows are the array {layout['x_test']}")
    for number, part in enumerate(parts):
        for block in part.blocks(_ROWS):
            _see_block(seen, block, number)
    return seen


def _read_libsvm(request: Request, seen: _Seen) -> None:
    way, lowest, widest, stated = FORMS["libsvm"], None, 0, 0
    for number, path in enumerate(request.files):
        for block in way.part(Path(path), {}).blocks(_ROWS):
            if block.x.nnz:
                least = int(block.x.indices.min())
                lowest = least if lowest is None else min(lowest, least)
            widest, stated = max(widest, block.x.shape[1]), stated + block.x.nnz
            if widest <= _MOST_MEASURED:
                _measure_sparse(seen, block.x)
            _see_block(seen, block, number)
    first = 0 if lowest == 0 else 1
    seen.n_features = widest - first
    seen.sparse = stated <= _DENSE_SHARE * (seen.n_train + seen.n_test) * max(1, seen.n_features)
    if seen.sparse or widest > _MOST_MEASURED:
        seen.low = seen.high = None
    elif seen.low is not None:
        seen.low, seen.high = seen.low[first:], seen.high[first:]
    seen.options |= {"width": widest, "first_index": first}
    seen.guesses.append(f"indices count from {first}")


def _measure_sparse(seen: _Seen, x: Any) -> None:
    from sklearn.utils.sparsefuncs import min_max_axis

    low, high = min_max_axis(x, axis=0)
    if seen.low is None:
        seen.low, seen.high = low, high
        return
    # A column that some rows do not reach is 0 there.
    width = max(len(low), len(seen.low))
    low, high, low_before, high_before = (
        np.pad(one, (0, width - len(one))) for one in (low, high, seen.low, seen.high)
    )
    seen.low, seen.high = np.minimum(low, low_before), np.maximum(high, high_before)


def _see_block(seen: _Seen, block: Any, number: int) -> None:
    before = seen.n_test if number else seen.n_train
    y = np.asarray(block.y)
    sparse = hasattr(block.x, "indptr")
    x = block.x.data if sparse else block.x
    gaps = np.isnan(x) if x.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if gaps.any():
        seen.missing += int(gaps.sum())
        place = "" if sparse else f", column {int(np.argwhere(gaps)[0][1])}"
        where = "" if sparse else f"row {before + int(np.argwhere(gaps)[0][0]) + 1:,}{place}"
        seen.first_missing = seen.first_missing or where or "one of its rows"
    if y.dtype.kind == "f" and np.isnan(y).any():
        row = int(np.argwhere(np.isnan(y))[0][0])
        seen.missing_in_target = seen.missing_in_target or f"row {before + row + 1:,}"
    else:
        seen.target.update(y)
    if not sparse:
        if seen.n_features and x.shape[1] != seen.n_features:
            raise DatasetError(
                f"The test rows have {x.shape[1]:,} features, and the training rows {seen.n_features:,}."
            )
        seen.n_features = x.shape[1]
        with np.errstate(invalid="ignore"):
            low, high = np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)
        seen.low = low if seen.low is None else np.fmin(seen.low, low)
        seen.high = high if seen.high is None else np.fmax(seen.high, high)
    if number:
        seen.n_test += len(y)
    else:
        seen.n_train += len(y)


def _looks_like_libsvm(path: Path) -> bool:
    from shallows.datasets.formats import open_binary

    with open_binary(path) as file:
        lines = [line for line in file.readlines(1 << 14)[:5] if line.strip()]
    return bool(lines) and all(re.match(rb"\S+(\s+\d+:\S+)+\s*(#.*)?$", line.strip()) for line in lines)


# Guesses --------------------------------------------------------------------------------------------------------------


def _task(request: Request, seen: _Seen) -> str:
    target, asked = seen.target, request.task
    values = target.values
    if values is not None and len(values) == 1:
        raise DatasetError(
            f"The target of {request.file} is the same in all rows: {_value(next(iter(values)))}. Nothing can be "
            "learned of it; is another column the target? Say target=NAME or target=NUMBER."
        )
    if target.text and asked == "regression":
        first = next(iter(values)) if values else "text"
        raise DatasetError(
            f"task=regression was asked for, and the target of {request.file} is text, such as {first!r}. Regression "
            "needs numbers: name another target, or say task=classification."
        )
    rare = values is not None and len(values) > max(2, target.n_rows // _ROWS_PER_CLASS)
    few = values is not None and (len(values) <= 2 or (target.whole and len(values) <= _MOST_CLASSES and not rare))
    if target.width > 1:
        if asked == "classification":
            raise DatasetError("task=classification was asked for, and there are several targets. Name one of them.")
        guess = "regression"
        why = f"there are {target.width} targets"
    elif target.text or few:
        guess = "classification"
        why = f"the target has {len(values) if values else 'many'} different values"
    else:
        guess = "regression"
        why = "the target has " + (f"{len(values):,}" if values else f"more than {Target.MOST:,}") + " different values"
    task = asked or guess
    if not asked:
        other = "regression" if guess == "classification" else "classification"
        possible = target.width == 1 and not target.text and (few or (values is not None and not rare))
        change = f"; task={other} would change that" if possible else ""
        seen.guesses.append(f"the task is {task}, since {why}{change}")
    if task == "classification":
        _check_classes(request, target)
    return task


def _check_classes(request: Request, target: Target) -> None:
    if target.values is None or len(target.values) > max(2, target.n_rows // 2):
        raise DatasetError(
            f"The target of {request.file} has "
            + (f"{len(target.values):,}" if target.values else f"more than {Target.MOST:,}")
            + f" different values in {target.n_rows:,} rows: those are no classes. "
            + ("Name another target." if target.text else "Say task=regression, or name another target.")
        )
    # One row each for training, for choosing and for testing.
    least = min(target.values, key=lambda value: target.values[value])
    if target.values[least] < 3:
        raise DatasetError(
            f"The class {_value(least)} of {request.file} has {_count(target.values[least], 'row')}, and needs three: "
            "one to learn from, one to choose by and one to test on. Remove it or join it with another"
            + ("." if target.text else ", or say task=regression.")
        )


def _shared_range(seen: _Seen) -> list[float] | None:
    """The one range that most features fill, as pixels do."""
    if seen.low is None or len(seen.low) < 16 or seen.categorical:
        return None
    low, high = float(np.min(seen.low)), float(np.max(seen.high))
    filled = np.mean((seen.low == low) & (seen.high >= low + 0.9 * (high - low)))
    return [low, high] if high > low and filled >= 0.5 else None


def _scaling(request: Request, seen: _Seen) -> str:
    if request.scaling is not None:
        return request.scaling
    if seen.sparse:
        seen.guesses.append("sparse features are left as they are")
        return "none"
    if (shared := _shared_range(seen)) is not None:
        seen.guesses.append(
            f"the features share the range {shared[0]:g} to {shared[1]:g}, as pixels do, and are scaled together"
        )
        return "unit"
    seen.guesses.append("each number is scaled to mean 0 and variance 1")
    return "zscore"


def _paragraph(request: Request, seen: _Seen, form: str, task: str, scaling: str, n_classes: int) -> str:
    rows = f"{_count(seen.n_train, 'row')}" + (f" and {_count(seen.n_test, 'test row')}" if seen.n_test else "")
    classes = f" in {n_classes} classes" if n_classes else ""
    kind = _KINDS[form]
    text = f"{request.file} was read as {kind}: {rows} of {_count(seen.n_features, 'feature')}{classes}, {task}. "
    if seen.missing:
        text += f"{_count(seen.missing, 'missing value').capitalize()} will be filled in as asked ({request.missing}). "
    if not seen.n_test:
        text += "A fifth of the rows is held out for the test. "
    return text + "Guessed: " + "; ".join(seen.guesses) + "."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _some(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _value(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else repr(value)


def _difference(ours: Sequence[str], theirs: Sequence[str]) -> str:
    if len(ours) != len(theirs):
        return f"{len(ours)} against {len(theirs)}"
    place = next(place for place, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
    return f"column {place} is {ours[place]!r} there and {theirs[place]!r} here"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return list(value) if isinstance(value, tuple) else value
