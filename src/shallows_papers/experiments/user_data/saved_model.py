"""A model fitted to a user's data, saved with its preparation as a folder of files without code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from shallows import saving
from shallows.errors import MissingExtraError, ShallowsError
from shallows.utils.atomic import replacing
from shallows_papers.datasets.files import DatasetError, digest, write_json
from shallows_papers.datasets.user_data.fitted_preparation import FittedPreparation, column_name, columns_of, raw_rows

MissingExtraError.check("data", "A model of your own file", "pandas")

NAME, PIPELINE = "model.json", "model.skops"
#: Version of the file format; increase it when older files would be misread.
FORMAT = 4


@dataclass
class SavedModel:
    """A model with its preparation."""

    #: title of the data, label of the method, its parameters as text, n_train, and names of the targets
    about: dict[str, Any]
    columns: dict[str, Any]  # see `fitted_preparation.columns_of`
    preparation: FittedPreparation
    estimator: Any

    @classmethod
    def of(
        cls, description: Mapping[str, Any], preparation: FittedPreparation, estimator: Any, n_train: int, **about: Any
    ) -> Self:
        """Make the model of described data; `about` adds to the description."""
        entry = description["entry"]
        known = {"title": entry["title"], "task": entry["task"], "targets": target_names(description)}
        return cls({**known, "n_train": int(n_train), **about}, columns_of(description), preparation, estimator)

    def predict(self, path: str | Path) -> np.ndarray:
        """Predict the rows of a file: names of classes, or numbers in the units of the target.

        An error names the column that does not fit, or the value for which there is no prediction.
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
            raise ShallowsError(f"{path} has no rows.")
        return np.concatenate(found)

    def write_predictions(self, path: str | Path, out: Path) -> int:
        """Predict the rows of a file into a CSV in the same order; return the number of rows."""
        import pandas

        found = self.predict(path)
        names = [f"predicted {name}" for name in self.about["targets"]]
        with replacing(out) as partial:
            pandas.DataFrame(found.reshape(len(found), -1), columns=names).to_csv(partial, index=False)
        return len(found)

    def save(self, folder: Path) -> None:
        """Write the model into a folder: a pipeline of preparation and estimator, and then ``model.json``."""
        from sklearn.pipeline import Pipeline

        folder.mkdir(parents=True, exist_ok=True)
        known = vars(self.preparation)
        saving.save(Pipeline([*known["features"].steps, ("estimator", self.estimator)]), folder / PIPELINE)
        target = known["target"] and [np.asarray(one).tolist() for one in known["target"]]
        preparation = {"sparse": known["sparse"], "classes": known["classes"], "target": target}
        content = {"format": FORMAT, "about": self.about, "columns": self.columns, "preparation": preparation}
        write_json(folder / NAME, {**content, "sha256": digest(folder / PIPELINE)})


def load(place: str | Path) -> SavedModel:
    """Read a saved model from its folder or from the ``model.json`` in it."""
    place = Path(place)
    path = place / NAME if place.is_dir() else place
    if not path.is_file():
        raise ShallowsError(
            f"There is no model in {place}. Give the folder of a model that a comparison saved, such as "
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
    pipeline = path.with_name(PIPELINE)
    if not pipeline.is_file() or digest(pipeline) != content.get("sha256"):
        raise ShallowsError(f"{pipeline} is missing, or was not written with {NAME}. Copy the whole folder.")
    try:
        steps = saving.load(pipeline)
        preparation = FittedPreparation(steps[:-1], **content["preparation"])
        return SavedModel(content["about"], content["columns"], preparation, steps[-1])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, ShallowsError):
            raise
        raise ShallowsError(f"The model in {path} cannot be read: {error}. Was it edited?") from error


def target_names(description: Mapping[str, Any]) -> list[str]:
    """Return the names of the targets; for files without names ``target``, or ``target 1`` and so on."""
    entry = description["entry"]
    options, width = entry["options"], entry["n_targets"]
    names = options["layout"].get("names") if "features" in options else None
    if names and options["layout"]["named"]:
        return [names[place] for place in options["targets"]]
    return ["target"] if width == 1 else [f"target {place + 1}" for place in range(width)]
