"""The step ``center_target``: subtract the training mean from a regression target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.datasets.files import DatasetError
from shallows.datasets.preparation.step import Step

if TYPE_CHECKING:
    import numpy as np

    from shallows.datasets.preparation.working_table import Table


@dataclass
class CenterTarget(Step):
    """Subtract the training mean from a regression target.

    Attributes
    ----------
    scale : bool
        Whether to divide by the training standard deviation too, which standardises the target.
    """

    name: ClassVar[str] = "center_target"
    scale: bool = False

    def apply(self, table: Table) -> dict[str, Any]:
        import numpy as np

        if table.target_coding != "values":
            raise DatasetError(f"The step center_target is for regression; the targets are {table.target_coding}.")
        n = table.n_rows("train")
        mean = sum(block.sum(axis=0) for block in table.target_blocks("train")) / n
        scale = np.ones_like(mean)
        if self.scale:
            scale = np.sqrt(sum(((block - mean) ** 2).sum(axis=0) for block in table.target_blocks("train")) / n)
        if not np.all(scale > 0):
            raise DatasetError("The step center_target cannot scale: the training target is constant.")
        self.mean_, self.scale_ = mean, scale
        table.target_transforms.append(self.transform)
        return {"mean": np.asarray(mean).tolist(), "scale": np.asarray(scale).tolist()}

    def transform(self, block: np.ndarray) -> np.ndarray:
        """Return a block of targets, centred."""
        return (block - self.mean_) / self.scale_
