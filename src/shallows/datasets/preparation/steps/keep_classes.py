"""The step ``keep_classes``: keep the rows of some classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.datasets.files import DatasetError
from shallows.datasets.parameter_rules import rule
from shallows.datasets.preparation.step import Size, Step
from shallows.errors import UnknownNameError

if TYPE_CHECKING:
    from shallows.datasets.preparation.working_table import Table


def _are_names(names: Any) -> bool:
    listed = isinstance(names, Sequence) and not isinstance(names, str)
    return listed and len(set(map(str, names))) == len(names) > 1


@dataclass
class KeepClasses(Step):
    """Keep the rows of some classes: a pair of digits, say.

    Attributes
    ----------
    classes : list of str
        Their names, in the order that they are to have: with ``[6, 8]`` and the step signs, 8 becomes +1.
    """

    name: ClassVar[str] = "keep_classes"
    classes: Sequence[str | int] = field(metadata=rule(_are_names, "two or more different names"))

    def size_after(self, size: Size) -> Size:
        share = len(self.classes) / max(size.n_classes, len(self.classes))
        return replace(size, n_train=round(size.n_train * share), n_test=round(size.n_test * share))

    def apply(self, table: Table) -> dict[str, Any]:
        import numpy as np

        if table.target_coding != "class indices":
            raise DatasetError(
                f"The step keep_classes needs class indices, and the targets are {table.target_coding}. Let it come "
                "first."
            )
        wanted = [str(name) for name in self.classes]
        for name in wanted:
            if name not in table.classes:
                raise UnknownNameError("class", name, table.classes)
        place = np.full(len(table.classes), -1, dtype=np.int64)
        place[[table.classes.index(name) for name in wanted]] = np.arange(len(wanted))
        table.codes = {part: place[codes] for part, codes in table.codes.items()}
        for part, (raw_part, rows) in table.rows.items():
            table.rows[part] = (raw_part, rows[table.codes[raw_part][rows] >= 0])
        table.classes = wanted
        counts = np.bincount(table.class_codes("train"), minlength=len(wanted))
        if not counts.all():
            raise DatasetError(f"No training row is of class {wanted[int(counts.argmin())]}.")
        return {"n_train": table.n_rows("train"), "n_test": table.n_rows("test")}
