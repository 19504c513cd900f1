"""The steps ``signs``, which codes classes, and ``center_target``, which scales targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.errors import UnknownNameError
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.preparation.step import PreparationStep
from shallows_papers.lazy_numpy import np

if TYPE_CHECKING:
    from shallows_papers.datasets.preparation.working_table import Table


@dataclass
class Signs(PreparationStep):
    """Code the classes as -1 and +1.

    With two classes the second one is +1. With more classes, `positive` names the classes that are +1 (one against the
    rest); without it, the targets become a matrix with one column per class.
    """

    name: ClassVar[str] = "signs"
    positive: Sequence[str] | None = None  # Names of classes

    def apply(self, table: Table) -> dict[str, Any]:
        codes = self.codes(table)
        table.target_transforms.append(lambda indices: codes[indices.astype(np.int64)])
        table.target_coding, table.target_dtype = self.name, codes.dtype.newbyteorder("<")
        table.target_shape += codes.shape[1:]
        table.classes_coded = table.classes_coded or table.codes is not None
        return {"codes": codes.tolist()}

    def codes(self, table: Table) -> np.ndarray:
        """Return the number or the row of numbers for each class."""
        if table.target_coding == "indicators":
            return np.array([-1, 1])
        table.require_coding("class indices", self.name)
        n_classes = len(table.classes)
        positive = self.positive
        if positive is None and n_classes == 2:
            positive = [table.classes[1]]
        if positive is None:
            return 2 * np.eye(n_classes, dtype=np.float64) - 1
        chosen = {str(name) for name in positive}
        for name in chosen:
            if name not in table.classes:
                raise UnknownNameError("class", name, table.classes)
        codes = np.array([1 if name in chosen else -1 for name in table.classes], dtype=np.int64)
        if abs(codes.sum()) == n_classes:
            raise DatasetError("The step signs would leave only one class: 'positive' must name some of the classes.")
        return codes


@dataclass
class CenterTarget(PreparationStep):
    """Subtract the training mean from a regression target."""

    name: ClassVar[str] = "center_target"
    scale: bool = False  # Whether to divide by the training standard deviation, too

    def apply(self, table: Table) -> dict[str, Any]:
        table.require_coding("values", self.name)
        n = table.n_rows("train")
        mean = sum(block.sum(axis=0) for block in table.target_blocks("train")) / n
        scale = np.ones_like(mean)
        if self.scale:
            scale = np.sqrt(sum(((block - mean) ** 2).sum(axis=0) for block in table.target_blocks("train")) / n)
        if not np.all(scale > 0):
            raise DatasetError("The step center_target cannot scale: the training target is constant.")
        self.mean_, self.scale_ = mean, scale
        table.target_transforms.append(lambda block: (block - mean) / scale)
        return {"mean": np.asarray(mean).tolist(), "scale": np.asarray(scale).tolist()}
