"""The steps ``signs`` and ``indicators``: code the classes as -1 and +1, or as 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.datasets.files import DatasetError
from shallows.datasets.preparation.step import Step
from shallows.errors import UnknownNameError

if TYPE_CHECKING:
    import numpy as np

    from shallows.datasets.preparation.working_table import Table


class _ClassCoding(Step):
    def codes(self, table: Table) -> np.ndarray:
        """Return the number, or the row of numbers, that each class becomes."""
        raise NotImplementedError

    def apply(self, table: Table) -> dict[str, Any]:
        import numpy as np

        codes = self.codes(table)
        table.target_transforms.append(lambda indices: codes[indices.astype(np.int64)])
        table.target_coding, table.target_dtype = self.name, codes.dtype.newbyteorder("<")
        table.target_shape += codes.shape[1:]
        table.classes_coded = table.classes_coded or bool(table.codes)
        return {"codes": codes.tolist()}


@dataclass
class Signs(_ClassCoding):
    """Code the classes as -1 and +1.

    With two classes the second one is +1. With more, `positive` names the classes that are +1 (one against
    the rest); without it the targets become a matrix of one column a class.

    Attributes
    ----------
    positive : list of str or None
        Names of classes.
    """

    name: ClassVar[str] = "signs"
    positive: Sequence[str] | None = None

    def codes(self, table: Table) -> np.ndarray:
        import numpy as np

        if table.target_coding == "indicators":
            return np.array([-1, 1])
        if table.target_coding != "class indices":
            raise DatasetError(f"The step signs needs class indices, and the targets are {table.target_coding}.")
        n_classes = len(table.classes)
        positive = self.positive
        if positive is None and n_classes == 2:
            positive = [table.classes[1]]
        if positive is None:
            return 2 * np.eye(n_classes, dtype=np.float64) - 1
        for name in positive:
            if str(name) not in table.classes:
                raise UnknownNameError("class", name, table.classes)
        chosen = {str(name) for name in positive}
        codes = np.array([1 if name in chosen else -1 for name in table.classes], dtype=np.int64)
        if abs(codes.sum()) == n_classes:
            raise DatasetError("The step signs leaves one class only: 'positive' must name some of the classes.")
        return codes


@dataclass
class Indicators(_ClassCoding):
    """Code the classes as 0 and 1: one column of the targets a class."""

    name: ClassVar[str] = "indicators"

    def codes(self, table: Table) -> np.ndarray:
        import numpy as np

        if table.target_coding != "class indices":
            raise DatasetError(f"The step indicators needs class indices, and the targets are {table.target_coding}.")
        return np.eye(len(table.classes), dtype=np.float64)
