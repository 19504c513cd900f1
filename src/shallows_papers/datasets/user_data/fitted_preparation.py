"""The preparation of a user's data by scikit-learn transformers, fitted on all rows, and the new rows for it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows_papers.datasets.files import DatasetError, digest
from shallows_papers.datasets.preparation.step import FeatureStep
from shallows_papers.datasets.preparation.steps import check_steps
from shallows_papers.datasets.preparation.working_table import Table
from shallows_papers.datasets.sources import Source, open_source
from shallows_papers.datasets.user_data.describe import dataset_of
from shallows_papers.datasets.user_data.file_forms import FORMS
from shallows_papers.datasets.user_data.request import FileRequest, form_of
from shallows_papers.datasets.user_data.summary import LARGEST, largest_of, some_of
from shallows_papers.datasets.user_data.table_columns import Column
from shallows_papers.datasets.user_data.table_files import codes_of

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


@dataclass
class FittedPreparation:
    """A fitted preparation of a user's rows.

    The pipeline has, if the data need them, an imputer ``impute``, a scaler ``scale_columns``, ``zscore`` or ``unit``,
    and the encoder ``one_hot`` of categories (a ``ColumnTransformer``). In regression, `target` has the mean and the
    standard deviation of the target.
    """

    features: Pipeline
    sparse: bool
    classes: list[str] | None
    target: tuple[np.ndarray, np.ndarray] | None

    @property
    def fills_missing(self) -> bool:
        """Whether missing values are filled in."""
        return "impute" in self.features.named_steps

    def transform(self, block: Any) -> Any:
        """Convert raw rows (categories as codes, missing values as NaN) to float32 features."""
        features = self.features.transform(self._numbers(block))
        with np.errstate(over="ignore"):  # the estimator refuses infinite features
            return features.astype(np.float32)

    def farthest(self, block: Any) -> tuple[int, int]:
        """Return row and column of the value that is farthest from the training rows, after scaling."""
        block = self._numbers(block)
        for name, transformer in self.features.steps:
            if name != "one_hot":
                block = transformer.transform(block)
        return largest_of(block)[1:]

    def decode(self, predictions: Any) -> np.ndarray:
        """Convert an estimator's predictions to class names, or to numbers in the units of the target."""
        predictions = np.asarray(predictions)
        if self.classes is not None:
            return np.asarray(self.classes, dtype=object)[predictions.astype(int)]
        mean, scale = map(np.asarray, self.target)
        return predictions * scale + mean

    def _numbers(self, block: Any) -> Any:
        return (block.toarray() if hasattr(block, "toarray") and not self.sparse else block).astype(np.float64)


def fit_preparation(
    description: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], sparse: bool, folder: Path
) -> tuple[FittedPreparation, Any, np.ndarray]:
    """Fit a preparation to all training rows of a user's file.

    The steps hold out no rows. With `sparse`, sparse features stay CSR. Rows that do not fit into memory go to
    `folder`. Returns the preparation, the float32 features, and class indices or targets. A file that has changed since
    it was described raises a `DatasetError`.
    """
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer

    files = {file["part"]: file for file in description["files"]}
    paths = {part: Path(file["path"]) for part, file in files.items()}
    if not paths["train"].is_file() or digest(paths["train"]) != files["train"]["sha256"]:
        raise DatasetError(f"{paths['train']} has changed since it was described. Start the comparison again.")
    dataset = dataset_of(description)
    source = Source(open_source(dataset, paths).train)
    table = Table.read(replace(dataset, n_test=0), source, 2**62, folder)
    todo = check_steps(steps)
    table.may_miss = any(step.fills_missing for step in todo)
    for step in todo:
        step.apply(table)
    if not sparse:
        table.make_dense()
    features = [(step.name, step.transformer_) for step in todo if isinstance(step, FeatureStep)]
    features = Pipeline(features or [("unchanged", FunctionTransformer())])
    target = next(((step.mean_, step.scale_) for step in todo if step.name == "center_target"), None)
    preparation = FittedPreparation(features, table.sparse, table.classes, target)
    return preparation, _join(table.blocks("train")), np.concatenate(list(table.target_blocks("train")))


def _join(blocks: Iterable[Any]) -> Any:
    rows = [block.astype(np.float32) for block in blocks]
    if hasattr(rows[0], "toarray"):
        from scipy.sparse import vstack

        return vstack(rows, format="csr")
    return np.concatenate(rows)


_ROWS = 16_384
_MAGNITUDE = f"Every value must be a finite number of at most {LARGEST:.2g}."


def columns_of(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return, as plain data, what is needed to find the columns of a user's file in a file of new rows."""
    entry, request = description["entry"], description["request"]
    options = {key: value for key, value in entry["options"].items() if key != "test_layout"}
    stated = {key: request.get(key) for key in ("separator", "decimal")}
    # A Parquet file has no words for missing values, but a table of new rows may have the usual words.
    stated["na_values"] = None if options["form"] == "parquet" else options["layout"].get("na_values")
    file = description["files"][0]["name"]
    return {"file": file, "n_features": entry["n_features"], "options": options, "stated": stated}


def column_name(columns: Mapping[str, Any], column: int) -> str:
    """Return the name of a column of the rows in the file."""
    options = columns["options"]
    if "features" in options:
        return f"column {options['features'][column]['name']}"
    first = options.get("first_index")
    return f"column {column}" if first is None else f"index {column + first}"


def raw_rows(path: str | Path, columns: Mapping[str, Any], *, fills_missing: bool) -> Iterator[Any]:
    """Yield the rows of a file in blocks of numbers: categories as codes, missing values as NaN.

    Tables may be text, ARFF or Parquet. Columns are found by their names, in any order, and other columns are ignored.
    Without names, the columns must have the same number and order; the target may be omitted. A value or column that
    does not fit raises a `DatasetError` with the column and the row.
    """
    path = Path(path)
    if not path.is_file():
        raise DatasetError(f"There is no file {path}.")
    if "features" in columns["options"]:
        return _table_rows(path, columns, fills_missing)
    return _array_rows(path, columns, fills_missing)


# Tables ---------------------------------------------------------------------------------------------------------------


def _table_rows(path: Path, columns: Mapping[str, Any], fills_missing: bool) -> Iterator[np.ndarray]:
    form = FORMS[form_of(path)]
    if form.read is None:
        raise DatasetError(f"{path} is {form.title}, but the model was fitted to a table, {columns['file']}.")
    features, named = columns["options"]["features"], columns["options"]["layout"]["named"]
    asked = FileRequest(name="new", file=str(path), header=named or None, **columns["stated"])
    layout = form.layout(path, asked)
    places = _places(path, columns, list(layout.names), named=layout.named and named)
    words = {place for one, place in zip(features, places, strict=True) if one["values"] is not None}
    found = form.read(path, layout, words, sorted(set(places)))
    for one, place in zip(features, places, strict=True):
        _check_column(path, one, found[place], fills_missing)
    for start in range(0, len(found[places[0]].values), _ROWS):
        part = slice(start, start + _ROWS)
        pairs = zip(features, places, strict=True)
        yield np.column_stack([codes_of(found[place], one["values"], part) for one, place in pairs])


def _places(path: Path, columns: Mapping[str, Any], names: Sequence[str], *, named: bool) -> list[int]:
    """Return the column of a new file for each feature."""
    options, n_columns = columns["options"], len(columns["options"]["layout"]["names"])
    features, targets = options["features"], options["targets"]
    if named:
        missing = [one["name"] for one in features if one["name"] not in names]
        if missing:
            others = [name for name in names if name not in {one["name"] for one in features}]
            raise DatasetError(_lacking(path, columns["file"], missing, names, others))
        return [names.index(one["name"]) for one in features]
    if len(names) == n_columns:
        return [one["column"] for one in features]
    if len(names) == n_columns - len(targets):  # the same columns without the target
        return [one["column"] - sum(target < one["column"] for target in targets) for one in features]
    raise DatasetError(
        f"{path} has {len(names)} columns, but the model was fitted to {columns['file']}, which has {n_columns} "
        "with the target, and no column names. Give the new rows the same columns in the same order."
    )


def _lacking(path: Path, fitted_to: str, missing: Sequence[str], names: Sequence[str], others: Sequence[str]) -> str:
    what = f"column {missing[0]}" if len(missing) == 1 else f"columns {some_of(missing)}"
    by_lower = {name.lower(): name for name in others}
    near = difflib.get_close_matches(missing[0].lower(), by_lower, n=1, cutoff=0.6)
    hint = f" If {by_lower[near[0]]} is {missing[0]}, rename that column." if near else ""
    if not near and len(others) == len(names):
        hint = " The first line must contain the column names."
    return (
        f"{path} lacks the {what}, which the model needs (it was fitted to {fitted_to}). Its columns are "
        f"{some_of(names, 10)}.{hint}"
    )


def _check_column(path: Path, feature: Mapping[str, Any], column: Column, fills_missing: bool) -> None:
    """Refuse a column with a value that the model does not accept; name the row."""

    def refuse(wrong: np.ndarray, what: str, why: str) -> None:
        if wrong.any():
            row = int(wrong.argmax())
            value = what.format(str(column.values.iloc[row]), column.numbers[row])
            raise DatasetError(f"In {path}, the column {feature['name']} holds {value} in row {row + 1:,}{why}")

    known = feature["values"]
    if not fills_missing:
        refuse(
            column.gaps,
            "no value",
            ", but the training rows had no missing values, so the model cannot fill it in. Fill it in, "
            "or compare again with missing=median.",
        )
    if known is not None:
        strange = np.isnan(codes_of(column, known)) & ~column.gaps
        why = f", a category that the training rows did not have. Known are {some_of(known, 10)}."
        refuse(strange, "{0!r}", why)
        return
    refuse(column.is_text, "{0!r}", ", but the model needs a number. Correct that value.")
    refuse(np.abs(column.numbers) > LARGEST, "{1:g}", f". {_MAGNITUDE}")


# Arrays ---------------------------------------------------------------------------------------------------------------


def _array_rows(path: Path, columns: Mapping[str, Any], fills_missing: bool) -> Iterator[Any]:
    options, width = columns["options"], columns["n_features"]
    layout, targets = {**options["layout"], "y": None}, options.get("targets") or []
    fitted, form = FORMS[options["form"]], FORMS[form_of(path)]
    if options["form"] == "libsvm":
        form = fitted
    else:
        if form.title not in ("a NumPy file", "a MATLAB file"):
            raise DatasetError(f"{path} is {form.title}, but the model was fitted to {fitted.title}.")
        first_block = next(form.blocks(path, {"layout": layout, "targets": []}, 1), None)
        n_columns = 0 if first_block is None else first_block.x.shape[1]
        if n_columns not in (width, width + len(targets)):
            raise DatasetError(
                f"{path} has {n_columns:,} columns of features, but the model was fitted to {width:,} "
                f"(in {columns['file']})."
            )
        options = {"layout": layout, "targets": targets if n_columns > width else []}
    first = 1
    for block in form.blocks(path, options, _ROWS):
        value, row, column = largest_of(block.x, nan=0.0 if fills_missing else np.inf)
        if value > LARGEST:
            what = f"{value:g}" if value < np.inf else "a value that is not finite"
            place = f"row {first + row:,}, {column_name(columns, column)}"
            raise DatasetError(f"{path} holds {what} in {place}. {_MAGNITUDE}")
        yield block.x
        first += block.x.shape[0]
