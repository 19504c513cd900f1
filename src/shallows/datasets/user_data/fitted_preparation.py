"""The preparation of a user's data as it was learned from all rows: applied to new rows, written as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shallows.datasets.files import DatasetError, digest
from shallows.datasets.preparation.row_store import Allowance
from shallows.datasets.preparation.steps import check_steps, step_class
from shallows.datasets.preparation.working_table import Table
from shallows.datasets.sources import Source, open_source
from shallows.datasets.user_data.describe import dataset_of
from shallows.datasets.user_data.summary import largest_of

#: What the steps learn, by the names of their attributes.
_LEARNED = {
    "impute": ("statistics_",),
    "zscore": ("scaler_",),
    "unit": ("low_", "spread_", "known_", "keeps_sparse"),
    "one_hot": ("columns_", "categories_", "others_"),
    "center_target": ("mean_", "scale_"),
}


@dataclass
class FittedPreparation:
    """What makes arrays of a user's rows, with everything that was learned from the training rows.

    Attributes
    ----------
    steps : list of Step
        Fitted; those of features first.
    sparse : bool
        Whether the arrays are CSR matrices.
    classes : list of str or None
        Names of the classes by their numbers; None in regression.
    """

    steps: list[Any]
    sparse: bool
    classes: list[str] | None

    @property
    def fills_missing(self) -> bool:
        """Whether missing values are filled in."""
        return any(step.fills_missing for step in self.steps)

    def transform(self, block: Any) -> Any:
        """Make features of raw rows.

        Parameters
        ----------
        block : ndarray or csr_matrix, shape (m, d)
            The columns as numbers: categories by their codes, missing values as NaN.

        Returns
        -------
        ndarray or csr_matrix of float32, shape (m, n_features)
        """
        block = block.astype(np.float64)
        for step in self.steps:
            if step.name != "center_target":
                block = step.transform(_dense_for(step, block))
        if not self.sparse and hasattr(block, "toarray"):
            block = block.toarray()
        with np.errstate(over="ignore"):  # The estimator refuses what is infinite then.
            return block.astype(np.float32)

    def farthest(self, block: Any) -> tuple[int, int]:
        """The row and the column of the value that is farthest from those of the training rows, in their scale."""
        for step in self.steps:
            if step.name in ("impute", "zscore", "unit"):
                block = step.transform(_dense_for(step, block))
        return largest_of(block)[1:]

    def decode(self, predictions: Any) -> np.ndarray:
        """Turn what an estimator predicts into classes by their names, or into numbers in the units of the target."""
        predictions = np.asarray(predictions)
        if self.classes is not None:
            return np.asarray(self.classes, dtype=object)[predictions.astype(int)]
        for step in self.steps:
            if step.name == "center_target":
                predictions = predictions * step.scale_ + step.mean_
        return predictions

    def as_data(self) -> dict[str, Any]:
        """The preparation in types that JSON holds exactly."""
        kept = []
        for step in self.steps:
            ((name, parameters),) = step.as_data().items()
            learned = {key: _plain(getattr(step, key)) for key in _LEARNED[name] if hasattr(step, key)}
            kept.append({"name": name, "parameters": parameters, "learned": learned})
        return {"steps": kept, "sparse": self.sparse, "classes": self.classes}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> FittedPreparation:
        """Restore what `as_data` gave.

        Raises
        ------
        DatasetError
            When a step, or what it learned, is none that a preparation of a user's data has.
        """
        steps = []
        for one in data["steps"]:
            if one["name"] not in _LEARNED or not set(one["learned"]) <= set(_LEARNED[one["name"]]):
                raise DatasetError(f"{one['name']} is no step of the preparation of a user's data.")
            step = step_class(one["name"])(**one["parameters"])
            for key, value in one["learned"].items():
                setattr(step, key, _restored(key, value))
            steps.append(step)
        return cls(steps, bool(data["sparse"]), data["classes"])


def fit_preparation(
    description: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], sparse: bool, folder: Path
) -> tuple[FittedPreparation, Any, np.ndarray]:
    """Learn a preparation from all training rows of a user's file.

    Parameters
    ----------
    description : mapping
        What `shallows.datasets.user_data.describe.write` left.
    steps : sequence of mappings
        Steps that hold no rows out.
    sparse : bool
        Whether the arrays are to be CSR matrices.
    folder : Path
        For what does not fit into memory meanwhile.

    Returns
    -------
    preparation : FittedPreparation
    x : ndarray or csr_matrix of float32, shape (n, n_features)
    y : ndarray, shape (n,) or (n, k)
        Numbers of classes, or targets.

    Raises
    ------
    DatasetError
        When a file has changed since it was described.
    """
    paths = {one["part"]: Path(one["path"]) for one in description["files"]}
    kept = next(one for one in description["files"] if one["part"] == "train")
    if not paths["train"].is_file() or digest(paths["train"]) != kept["sha256"]:
        raise DatasetError(f"{paths['train']} has changed since it was described. Start the comparison again.")
    dataset = dataset_of(description)
    source = Source(open_source(dataset, paths).train)
    table = Table.read(replace(dataset, n_test=0), source, Allowance(2**62), folder)
    todo = check_steps(steps)
    table.may_miss = any(step.fills_missing for step in todo)
    for step in todo:
        step.apply(table)
    if not sparse:
        table.make_dense()
    prepared = FittedPreparation(todo, table.sparse, table.classes)
    return prepared, _joined(table.blocks("train")), np.concatenate(list(table.target_blocks("train")))


def _joined(blocks: Iterable[Any]) -> Any:
    found = [block.astype(np.float32) for block in blocks]
    if hasattr(found[0], "toarray"):
        from scipy.sparse import vstack

        return vstack(found, format="csr")
    return np.concatenate(found)


def _dense_for(step: Any, block: Any) -> Any:
    return block.toarray() if hasattr(block, "toarray") and not step.keeps_sparse else block


def _plain(value: Any) -> Any:
    if hasattr(value, "with_mean"):  # a StandardScaler
        return {"mean": _plain(value.mean_), "scale": _plain(value.scale_)}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _restored(key: str, value: Any) -> Any:
    if key == "scaler_":
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler(with_mean=value["mean"] is not None)
        scaler.mean_ = None if value["mean"] is None else np.asarray(value["mean"])
        scaler.scale_ = np.asarray(value["scale"])
        scaler.n_features_in_ = len(scaler.scale_)
        return scaler
    if key == "categories_":
        return [np.asarray(one, dtype=np.float64) for one in value]
    if key in ("columns_", "known_", "keeps_sparse"):
        return value
    return np.asarray(value, dtype=np.int64 if key == "others_" else np.float64)
