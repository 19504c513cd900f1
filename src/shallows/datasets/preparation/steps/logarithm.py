"""The step ``logarithm``: take logarithms of features, or of a regression target, that spread over many sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.datasets.files import DatasetError
from shallows.datasets.preparation.step import Step

if TYPE_CHECKING:
    import numpy as np

    from shallows.datasets.preparation.working_table import Table


@dataclass
class Logarithm(Step):
    """Replace numbers v by sign(v) log(1 + |v|): counts, times and prices that spread over many sizes.

    It learns nothing, so that it may stand before rows are held out.

    Attributes
    ----------
    features : bool
        Whether those of all columns but categories are replaced.
    target : bool
        Whether the target of a regression is. Errors are then those of the logarithm.
    """

    name: ClassVar[str] = "logarithm"
    features: bool = True
    target: bool = False

    def check(self) -> str | None:
        if not (self.features or self.target):
            return "features, target or both must be true"
        return super().check()

    def apply(self, table: Table) -> dict[str, Any]:
        import numpy as np

        if self.target:
            if table.target_coding != "values":
                raise DatasetError(f"The step logarithm is for regression targets; these are {table.target_coding}.")
            table.target_transforms.append(_compressed)
        if self.features:
            self.replaced_ = np.setdiff1d(np.arange(table.n_features), table.categorical)
            table.add(self.transform, keeps_sparse=True)
            table.value_range = None
        return {}

    def transform(self, block: Any) -> Any:
        """Return a block of features of either part, as logarithms."""
        if hasattr(block, "indptr"):
            block = block.copy()
            block.data = _compressed(block.data)  # categories are codes in dense tables alone, and log(1 + 0) is 0
            return block
        block = block.copy()
        block[:, self.replaced_] = _compressed(block[:, self.replaced_])
        return block


def _compressed(values: np.ndarray) -> np.ndarray:
    import numpy as np

    return np.sign(values) * np.log1p(np.abs(values))
