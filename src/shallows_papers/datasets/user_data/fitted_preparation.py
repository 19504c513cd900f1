"""The preparation of a user's data by scikit-learn transformers, fitted on all rows and applied to new rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from shallows_papers.datasets.user_data.summary import largest_of

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


@dataclass
class FittedPreparation:
    """A fitted preparation of a user's rows.

    The pipeline has, if the data need them, an imputer ``impute``, a scaler ``zscore`` or ``unit``, and the encoder
    ``one_hot`` of categories (a ``ColumnTransformer``). In regression, `target` has the mean and the standard deviation
    of the target.
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
