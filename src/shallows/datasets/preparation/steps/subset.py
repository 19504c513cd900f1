"""The step ``subset``: keep a seeded draw of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.datasets.files import DatasetError
from shallows.datasets.parameter_rules import COUNT_OR_NULL, SEED
from shallows.datasets.preparation.step import Size, Step

if TYPE_CHECKING:
    from shallows.datasets.preparation.working_table import Table


@dataclass
class Subset(Step):
    """Keep a seeded draw of the rows.

    Attributes
    ----------
    n_train, n_test : int or None
        Rows to keep of each part; None keeps them all.
    seed : int
    stratify : bool or None
        Whether every class keeps its share; None: in classification.
    """

    name: ClassVar[str] = "subset"
    n_train: int | None = field(default=None, metadata=COUNT_OR_NULL)
    n_test: int | None = field(default=None, metadata=COUNT_OR_NULL)
    seed: int = field(default=0, metadata=SEED)
    stratify: bool | None = None

    def size_after(self, size: Size) -> Size:
        return replace(size, n_train=self.n_train or size.n_train, n_test=self.n_test or size.n_test)

    def apply(self, table: Table) -> dict[str, Any]:
        from shallows.datasets.preparation.row_draws import draw_rows

        for part, n in (("train", self.n_train), ("test", self.n_test)):
            if n is None:
                continue
            available = table.n_rows(part)
            if n > available:
                raise DatasetError(
                    f"The step subset asks for n_{part} = {n:,} rows, and '{table.dataset.name}' has {available:,} "
                    "there."
                )
            drawn = draw_rows(available, n, self.seed, f"subset/{part}", table.strata(part, self.stratify))
            raw_part, rows = table.rows[part]
            table.rows[part] = (raw_part, rows[drawn])
        return {"n_train": table.n_rows("train"), "n_test": table.n_rows("test")}
