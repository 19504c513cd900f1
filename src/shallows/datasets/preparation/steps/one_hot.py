"""The step ``one_hot``: one 0/1 column for each value of a categorical column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.datasets.files import DatasetError
from shallows.datasets.parameter_rules import is_whole, rule
from shallows.datasets.preparation.step import FeatureStep, recorded

if TYPE_CHECKING:
    import numpy as np

    from shallows.datasets.preparation.working_table import Table


@dataclass
class OneHot(FeatureStep):
    """Replace every categorical column by one 0/1 column for each value of the training part.

    The new columns come after the others. A value that only the test part has becomes a row of zeros. By hand, since
    scikit-learn's OneHotEncoder wants all rows at once.

    Attributes
    ----------
    columns : list of int or None
        Numbers of the columns; None: those that the catalogue calls categorical.
    """

    name: ClassVar[str] = "one_hot"
    learns: ClassVar[bool] = True
    columns: Sequence[int] | None = field(
        default=None,
        metadata=rule(lambda columns: columns is None or all(map(is_whole, columns)), "column numbers from 0"),
    )

    def fit(self, table: Table) -> dict[str, Any]:
        import numpy as np

        columns = sorted(set(table.categorical if self.columns is None else self.columns))
        if not columns:
            raise DatasetError(
                f"The step one_hot has no columns to work on: the catalogue calls none of "
                f"'{table.dataset.name}' categorical. Name them: 'one_hot: {{columns: [...]}}'."
            )
        if columns[-1] >= table.n_features:
            raise DatasetError(
                f"The step one_hot names column {columns[-1]}, and there are {table.n_features} (counted from 0)."
            )
        table.make_dense()
        values = [np.empty(0)] * len(columns)
        for block in table.blocks("train"):
            values = [np.union1d(seen, block[:, column]) for seen, column in zip(values, columns, strict=True)]
        self.columns_, self.categories_ = columns, values
        self.others_ = np.delete(np.arange(table.n_features), columns)
        return {"columns": columns, "values": [recorded(seen) for seen in values]}

    def transform(self, block: np.ndarray) -> np.ndarray:
        import numpy as np

        coded = [block[:, [column]] == seen for column, seen in zip(self.columns_, self.categories_, strict=True)]
        return np.hstack([block[:, self.others_], *coded])

    def describe_output(self, table: Table) -> None:
        import numpy as np

        left = [column for column in table.categorical if column not in self.columns_]
        table.categorical = tuple(int(np.searchsorted(self.others_, column)) for column in left)
        table.n_features, table.image, table.views = len(self.others_) + sum(map(len, self.categories_)), None, None
        table.value_range = table.value_range if table.value_range == (0.0, 1.0) else None
