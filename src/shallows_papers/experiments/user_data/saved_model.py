"""A model fitted to a user's data with its preparation, as a folder of files without code, and its predictions."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shallows import saving
from shallows.errors import MissingExtraError, ShallowsError
from shallows.saving import archive
from shallows.utils.atomic import replacing
from shallows_papers.datasets.files import DatasetError, digest, write_json
from shallows_papers.datasets.user_data.fitted_preparation import FittedPreparation
from shallows_papers.datasets.user_data.new_rows import column_name, columns_of, raw_rows

MissingExtraError.check("data", "A model of your own file", "pandas")

NAME = "model.json"
#: Version of the files; raised when older files would be read in another sense.
FORMAT = 3


@dataclass
class SavedModel:
    """A model with its preparation."""

    #: title of the data, label of the method, its parameters in words, n_train, and names of the targets
    about: dict[str, Any]
    columns: dict[str, Any]  # see `new_rows.columns_of`
    preparation: FittedPreparation
    estimator: Any

    @classmethod
    def of(
        cls, description: Mapping[str, Any], preparation: FittedPreparation, estimator: Any, n_train: int, **about: Any
    ) -> SavedModel:
        """The model of described data, of which `about` says more."""
        entry = description["entry"]
        known = {"title": entry["title"], "task": entry["task"], "targets": target_names(description)}
        return cls({**known, "n_train": int(n_train), **about}, columns_of(description), preparation, estimator)

    def predict(self, path: str | Path) -> np.ndarray:
        """Predict the rows of a file: names of classes, or numbers in the units of the target.

        An error names the column that does not fit, or the value that cannot be predicted from.
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
        """Predict the rows of a file into a CSV, in their order; return how many there are."""
        found = self.predict(path)
        table = found.reshape(len(found), -1)
        with replacing(out) as partial, open(partial, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow([f"predicted {name}" for name in self.about["targets"]])
            writer.writerows(table.tolist())
        return len(found)

    def save(self, folder: Path) -> None:
        """Write the model into a folder: ``model.json`` last, after the preparation and the estimator."""
        folder.mkdir(parents=True, exist_ok=True)
        names = {"preparation": "preparation.skops", "estimator": "estimator.skops"}
        archive.write(vars(self.preparation), folder / names["preparation"])
        saving.save(self.estimator, folder / names["estimator"])
        files = {part: {"name": name, "sha256": digest(folder / name)} for part, name in names.items()}
        write_json(folder / NAME, {"format": FORMAT, "about": self.about, "columns": self.columns, "files": files})


def load(place: str | Path) -> SavedModel:
    """Read a model that was saved, from its folder or ``model.json`` in it."""
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
    if not isinstance(content, Mapping) or not {"format", "about", "columns"} <= set(content):
        raise ShallowsError(f"{path} does not describe a saved model.")
    if content["format"] != FORMAT:
        raise ShallowsError(
            f"{path} was written by another version of shallows (format {content['format']}, not {FORMAT}). Fit "
            "the model again with this version, or predict with that one."
        )
    try:
        files = {part: _checked(path.parent, **file) for part, file in content["files"].items()}
        preparation = FittedPreparation(**archive.read(files["preparation"])[0])
        return SavedModel(content["about"], content["columns"], preparation, saving.load(files["estimator"]))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, ShallowsError):
            raise
        raise ShallowsError(f"The model in {path} cannot be read: {error}. Was it edited?") from error


def _checked(folder: Path, name: str, sha256: str) -> Path:
    """Return a file of a model, which must be the one that was written."""
    path = folder / Path(name).name
    if not path.is_file() or digest(path) != sha256:
        raise ShallowsError(
            f"{path} is missing, or is not the file that was written with the rest of the model. Copy the whole folder."
        )
    return path


def target_names(description: Mapping[str, Any]) -> list[str]:
    """The names of the targets; of files without names ``target``, or ``target 1`` and so on."""
    entry = description["entry"]
    options, width = entry["options"], entry["n_targets"]
    names = options["layout"].get("names") if "features" in options else None
    if names and options["layout"]["named"]:
        return [names[place] for place in options["targets"]]
    return ["target"] if width == 1 else [f"target {place + 1}" for place in range(width)]
