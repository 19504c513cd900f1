"""A model fitted to a user's data with its preparation, as a folder of files without code, and its predictions."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shallows.atomic import replacing
from shallows.datasets.files import DatasetError, write_json
from shallows.datasets.user_data.fitted_preparation import FittedPreparation
from shallows.datasets.user_data.new_rows import column_name, raw_rows
from shallows.errors import ShallowsError

from . import estimator_files

NAME = "model.json"
FORMAT = 1


@dataclass
class SavedModel:
    """A model with its preparation.

    Attributes
    ----------
    about : dict
        ``title`` of the data, ``label`` of the method, its ``parameters`` in words, ``n_train`` and the ``targets`` by
        their names.
    columns : dict
        What `shallows.datasets.user_data.new_rows.columns_of` gave.
    preparation : FittedPreparation
    estimator : estimator
        Fitted.
    """

    about: dict[str, Any]
    columns: dict[str, Any]
    preparation: FittedPreparation
    estimator: Any

    def predict(self, path: str | Path) -> np.ndarray:
        """Predict the rows of a file.

        Parameters
        ----------
        path : path
            As `shallows.datasets.user_data.new_rows.raw_rows` takes it.

        Returns
        -------
        ndarray, shape (n,) or (n, n_targets)
            Names of classes, or numbers in the units of the target.

        Raises
        ------
        DatasetError
            When a column does not fit, or a value cannot be predicted from; it names the column.
        """
        found: list[np.ndarray] = []
        for x in raw_rows(path, self.columns, fills_missing=self.preparation.fills_missing):
            try:
                predicted = self.estimator.predict(self.preparation.transform(x))
            except (ShallowsError, ValueError, ArithmeticError) as error:
                row, column = self.preparation.farthest(x)
                raise DatasetError(
                    f"{path} cannot be predicted: {error} The value that is farthest from the training rows is "
                    f"{x[row, column]:g} in row {sum(map(len, found)) + row + 1:,}, "
                    f"{column_name(self.columns, column)}."
                ) from error
            found.append(self.preparation.decode(predicted))
        if not found:
            raise ShallowsError(f"{path} holds no rows.")
        return np.concatenate(found)

    def write_predictions(self, path: str | Path, out: Path) -> int:
        """Predict the rows of a file into a CSV, a line a row in their order; return how many there are."""
        found = self.predict(path)
        table = found.reshape(len(found), -1)
        with replacing(out) as partial, open(partial, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow([f"predicted {name}" for name in self.about["targets"]])
            writer.writerows(table.tolist())
        return len(found)


def save(model: SavedModel, x: Any, y: np.ndarray, folder: Path) -> None:
    """Write a model into a folder, what is told of it last.

    Parameters
    ----------
    model : SavedModel
    x, y : array or csr_matrix
        The prepared rows that its estimator was fitted to.
    folder : Path
    """
    content = {
        "format": FORMAT,
        "about": model.about,
        "columns": model.columns,
        "preparation": model.preparation.as_data(),
        "estimator": estimator_files.save(model.estimator, x, y, folder),
    }
    write_json(folder / NAME, content)


def load(place: str | Path) -> SavedModel:
    """Read a model that `save` wrote.

    Parameters
    ----------
    place : path
        The folder, or ``model.json`` in it.

    Raises
    ------
    ShallowsError
        When there is none, or a file of it cannot be read.
    """
    place = Path(place)
    path = place / NAME if place.is_dir() else place
    if not path.is_file():
        raise ShallowsError(
            f"There is no model in {place}. Give the folder that a comparison left, such as "
            "results/own/my-4142d71b/model."
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ShallowsError(f"{path} cannot be read as a model: {error}.") from error
    needed = {"format", "about", "columns", "preparation", "estimator"}
    if not isinstance(content, Mapping) or not needed <= set(content):
        raise ShallowsError(f"{path} is no model that a comparison left.")
    if content["format"] != FORMAT:
        raise ShallowsError(f"{path} was written by another version of shallows (form {content['format']}).")
    try:
        preparation = FittedPreparation.from_data(content["preparation"])
        estimator = estimator_files.load(content["estimator"], path.parent)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, ShallowsError):
            raise
        raise ShallowsError(f"The model in {path} cannot be read: {error}. Was it edited?") from error
    return SavedModel(content["about"], content["columns"], preparation, estimator)
