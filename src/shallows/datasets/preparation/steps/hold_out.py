"""The steps ``split`` and ``fold``: hold out some of the training rows as the test part."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.datasets.files import DatasetError
from shallows.datasets.parameter_rules import SEED, is_whole, rule
from shallows.datasets.preparation.step import Size, Step

if TYPE_CHECKING:
    import numpy as np

    from shallows.datasets.preparation.working_table import Table


class _HoldOut(Step):
    holds_out = True

    def held_out(self, n_rows: int) -> int:
        """Return how many of `n_rows` training rows are held out."""
        raise NotImplementedError

    def size_after(self, size: Size) -> Size:
        held = self.held_out(size.n_train)
        return replace(size, n_train=size.n_train - held, n_test=held)


@dataclass
class Split(_HoldOut):
    """Hold out a seeded draw of the training rows as the test part.

    For data that has no test part, and for choosing parameters without a look at the test part, which is then
    left out. With ``pooled`` the publisher's test rows are drawn from as well.

    Attributes
    ----------
    n : int or float
        Rows to hold out: a number of them, or a share between 0 and 1.
    seed : int
    stratify : bool or None
        Whether every class keeps its share; None: in classification.
    pooled : bool
        Whether the rows of both parts are divided anew.
    """

    name: ClassVar[str] = "split"
    n: int | float = field(
        metadata=rule(
            lambda n: is_whole(n, 1) or (isinstance(n, float) and 0 < n < 1),
            "a positive whole number or a share between 0 and 1",
        )
    )
    seed: int = field(default=0, metadata=SEED)
    stratify: bool | None = None
    pooled: bool = False

    def size_after(self, size: Size) -> Size:
        return super().size_after(replace(size, n_train=size.n_train + size.n_test) if self.pooled else size)

    def held_out(self, n_rows: int) -> int:
        """Return how many of `n_rows` training rows are held out."""
        return round(self.n * n_rows) if isinstance(self.n, float) else self.n

    def apply(self, table: Table) -> dict[str, Any]:
        from shallows.datasets.preparation.row_draws import draw_rows

        if self.pooled:
            _pool(table)
        available = table.n_rows("train")
        n_held = self.held_out(available)
        if not 0 < n_held < available:
            raise DatasetError(
                f"The step split is to hold out {n_held:,} of the {available:,} training rows of "
                f"'{table.dataset.name}'; at least one must be held out and at least one be left."
            )
        return _hold_out(draw_rows(available, n_held, self.seed, "split", table.strata("train", self.stratify)), table)


@dataclass
class Fold(_HoldOut):
    """Hold out one of several parts of the training rows as the test part, for a cross validation.

    The parts of one seed have no row in common and are together all rows. Their sizes differ by one row at most, in
    every class as in all.

    Attributes
    ----------
    fold : int
        Which part, from 1.
    of : int
        How many parts there are.
    seed : int
    stratify : bool or None
        Whether every class keeps its share; None: in classification.
    """

    name: ClassVar[str] = "fold"
    fold: int
    of: int = field(metadata=rule(lambda of: is_whole(of, 2), "a whole number above 1"))
    seed: int = field(default=0, metadata=SEED)
    stratify: bool | None = None

    def check(self) -> str | None:
        if is_whole(self.of, 2) and not (is_whole(self.fold, 1) and self.fold <= self.of):
            return f"fold must be a whole number from 1 to {self.of}, not {self.fold!r}"
        return super().check()

    def held_out(self, n_rows: int) -> int:
        """Return how many of `n_rows` training rows are held out."""
        return len(range(self.fold - 1, n_rows, self.of))

    def apply(self, table: Table) -> dict[str, Any]:
        from shallows.datasets.preparation.row_draws import draw_fold

        available = table.n_rows("train")
        if self.of > available:
            raise DatasetError(
                f"The step fold is to make {self.of:,} parts of the {available:,} training rows of "
                f"'{table.dataset.name}'; each needs at least one."
            )
        strata = table.strata("train", self.stratify)
        return _hold_out(draw_fold(available, self.fold, self.of, self.seed, "fold", strata), table)


def _hold_out(held: np.ndarray, table: Table) -> dict[str, Any]:
    """Make these training rows the test part."""
    import numpy as np

    raw_part, rows = table.rows["train"]
    table.rows["test"] = (raw_part, rows[held])
    table.rows["train"] = (raw_part, np.delete(rows, held))
    return {"n_train": table.n_rows("train"), "n_test": table.n_rows("test")}


def _pool(table: Table) -> None:
    """Add the rows of the test part to the training part."""
    import numpy as np

    (raw_part, rows), (raw_test, test_rows) = table.rows["train"], table.rows["test"]
    if raw_part == raw_test:
        joined = np.sort(np.concatenate([rows, test_rows]))
    else:
        first = table.x[raw_part].n_rows
        for store in (table.x, table.y):
            if store[raw_test].n_rows:
                store[raw_part].append(store[raw_test].take(test_rows))
        if table.codes:
            table.codes[raw_part] = np.concatenate([table.codes[raw_part], table.codes[raw_test][test_rows]])
        joined = np.concatenate([rows, first + np.arange(len(test_rows))])
    table.rows["train"] = (raw_part, joined)
