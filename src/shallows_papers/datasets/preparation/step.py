"""Base classes of the preparation steps: transformers that are fitted on the training part only.

Steps are similar to scikit-learn's transformers: a step stores its parameters as given, `fit` learns from the training
rows, and `transform` changes a block of rows of either part. A step is fitted on a `Table` instead of an array, because
the rows may not fit into memory and some steps need classes, images or categories. NumPy is imported when a step is
fitted, so a plan can check steps quickly.
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

# Of longer statistics, the record has only the checksum.
_MAX_RECORDED = 4096


@dataclass(frozen=True)
class DataSize:
    """The size of a dataset before or after a step, as far as it is known without reading the data."""

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
    """A step: a dataclass of parameters whose rules are metadata (see `shallows_papers.datasets.parameter_rules`).

    ``learns``: whether it computes statistics from the training part. ``holds_out``: whether it turns training rows
    into the test part. ``fills_missing``: whether it accepts features that may be NaN.
    """

    name: ClassVar[str]  # Name in configurations
    learns: ClassVar[bool] = False
    holds_out: ClassVar[bool] = False
    fills_missing: ClassVar[bool] = False
    extra: ClassVar[str | None] = None  # The extra (optional packages) that it needs

    def check(self) -> str | None:
        """Return what is wrong with the parameters, or None."""
        return broken_rule(self)

    def as_data(self) -> dict[str, dict[str, Any]]:
        """Return the step with all parameters, as a configuration has it."""
        return {self.name: asdict(self)}

    def size_after(self, size: DataSize) -> DataSize:
        """Return the size of a dataset after the step."""
        return size

    def apply(self, table: Table) -> dict[str, Any]:
        """Apply the step to a table in place; return what was learned or drawn, for the record."""
        raise NotImplementedError


class FeatureStep(PreparationStep):
    """A step that changes the features.

    ``keeps_sparse``: whether `transform` accepts CSR blocks; otherwise blocks are made dense first. ``transformer_``:
    set by `fit` in steps that do not define `transform`.
    """

    keeps_sparse = False

    def fit(self, table: Table) -> dict[str, Any]:
        """Learn from the training part of a table; return an entry for the record."""
        raise NotImplementedError

    def transform(self, block: Any) -> Any:
        """Return a block of rows of either part after the step."""
        return self.transformer_.transform(block)

    def describe_output(self, table: Table) -> None:
        """Update the table's description of its features."""

    def apply(self, table: Table) -> dict[str, Any]:
        """See `PreparationStep.apply`."""
        learned = self.fit(table)
        table.add(self.transform, keeps_sparse=self.keeps_sparse)
        self.describe_output(table)
        return learned


def recorded(statistic: np.ndarray) -> list | dict[str, Any]:
    """Return a statistic for the record: its numbers, or their checksum if there are many."""
    if statistic.size <= _MAX_RECORDED:
        return statistic.tolist()
    content = np.ascontiguousarray(statistic, "<f8").tobytes()
    return {"shape": list(statistic.shape), "sha256": hashlib.sha256(content).hexdigest()}
