"""Base classes of the preparation steps: transformers with their parameters, fitted on the training part alone.

As scikit-learn's transformers, a step holds its parameters as they were given, `fit` learns from the training rows and
`transform` changes a block of rows of either part. It is fitted on a `Table` and not on an array, since the rows may
not fit into memory and some steps need classes, images or categories. Nothing here imports NumPy before a step is
fitted, so that a plan can check steps at no cost.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shallows_papers.datasets.parameter_rules import broken_rule
from shallows_papers.lazy_numpy import np

if TYPE_CHECKING:
    from shallows_papers.datasets.preparation.working_table import Table

# Longer statistics are recorded by their checksum.
_MAX_RECORDED = 4096


@dataclass(frozen=True)
class DataSize:
    """The size of a dataset at one point of a preparation, as far as it is known without reading it."""

    n_train: int
    n_test: int
    n_features: int
    n_classes: int
    image: Mapping[str, Any] | None

    def with_features(self, n_features: int, image: Mapping[str, Any] | None = None) -> DataSize:
        """Return the size after the features were replaced."""
        return replace(self, n_features=n_features, image=image)


@dataclass
class PreparationStep:
    """A step: a dataclass of its parameters, each with its rule as metadata.

    Rules are in `shallows_papers.datasets.parameter_rules`.

    ``learns, holds_out, fills_missing``: whether it takes statistics from the training part, whether it makes training
    rows the test part, and whether it takes features that may be NaN.
    """

    name: ClassVar[str]  # Its name in configurations
    learns: ClassVar[bool] = False
    holds_out: ClassVar[bool] = False
    fills_missing: ClassVar[bool] = False
    extra: ClassVar[str | None] = None  # The optional packages that it needs

    def check(self) -> str | None:
        """Return what is wrong with the parameters, or None."""
        return broken_rule(self)

    def as_data(self) -> dict[str, dict[str, Any]]:
        """Return the step with every parameter, in the form of a configuration."""
        return {self.name: asdict(self)}

    def size_after(self, size: DataSize) -> DataSize:
        """Return the size of a dataset after the step."""
        return size

    def apply(self, table: Table) -> dict[str, Any]:
        """Do the step to a table, in place; return what was learned or drawn, for the record."""
        raise NotImplementedError


class FeatureStep(PreparationStep):
    """A step that changes the features.

    ``keeps_sparse``: whether `transform` takes CSR blocks; others are made dense before it. ``transformer_``: made by
    `fit`, where the step does not define `transform` itself.
    """

    keeps_sparse = False

    def fit(self, table: Table) -> dict[str, Any]:
        """Learn from the training part of a table; return what the record says of it."""
        raise NotImplementedError

    def transform(self, block: Any) -> Any:
        """Return a block of rows of either part, changed."""
        return self.transformer_.transform(block)

    def describe_output(self, table: Table) -> None:
        """Set on the table what the step changed about its features."""

    def apply(self, table: Table) -> dict[str, Any]:
        """See `PreparationStep.apply`."""
        learned = self.fit(table)
        table.add(self.transform, keeps_sparse=self.keeps_sparse)
        self.describe_output(table)
        return learned


def recorded(statistic: np.ndarray) -> list | dict[str, Any]:
    """Return a statistic as a record holds it: its numbers, or the checksum of many of them."""
    if statistic.size <= _MAX_RECORDED:
        return statistic.tolist()
    content = np.ascontiguousarray(statistic, "<f8").tobytes()
    return {"shape": list(statistic.shape), "sha256": hashlib.sha256(content).hexdigest()}
