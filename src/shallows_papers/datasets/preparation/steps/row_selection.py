"""The steps ``subset``, ``split``, ``fold`` and ``keep_classes``, which select rows and the test part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shallows.errors import UnknownNameError
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.parameter_rules import COUNT_OR_NULL, SEED, is_whole, rule
from shallows_papers.datasets.preparation.step import DataSize, PreparationStep
from shallows_papers.lazy_numpy import np

if TYPE_CHECKING:
    from shallows_papers.datasets.preparation.working_table import Table


@dataclass
class Subset(PreparationStep):
    """Keep a seeded draw of the rows.

    ``n_train, n_test``: number of rows to keep of each part; None keeps all.
    """

    name: ClassVar[str] = "subset"
    n_train: int | None = field(default=None, metadata=COUNT_OR_NULL)
    n_test: int | None = field(default=None, metadata=COUNT_OR_NULL)
    seed: int = field(default=0, metadata=SEED)
    stratify: bool | None = None  # Whether every class keeps its share; None: in classification

    def size_after(self, size: DataSize) -> DataSize:
        return replace(size, n_train=self.n_train or size.n_train, n_test=self.n_test or size.n_test)

    def apply(self, table: Table) -> dict[str, Any]:
        from shallows_papers.datasets.preparation.row_draws import draw_rows

        for part, n in (("train", self.n_train), ("test", self.n_test)):
            if n is None:
                continue
            available = table.n_rows(part)
            if n > available:
                raise DatasetError(
                    f"The step subset asks for n_{part} = {n:,} rows, but '{table.dataset.name}' has only "
                    f"{available:,} of them."
                )
            drawn = draw_rows(available, n, self.seed, f"subset/{part}", table.strata(part, self.stratify))
            table.rows[part] = table.rows[part][drawn]
        return _sizes(table)


class _HoldOut(PreparationStep):
    holds_out = True

    def n_held_out(self, n_rows: int) -> int:
        """Return the number of `n_rows` training rows that are held out."""
        raise NotImplementedError

    def size_after(self, size: DataSize) -> DataSize:
        held = self.n_held_out(size.n_train)
        return replace(size, n_train=size.n_train - held, n_test=held)

    def hold_out(self, rows: np.ndarray, table: Table) -> dict[str, Any]:
        """Make these training rows the test part."""
        kept = table.rows["train"]
        table.rows = {"train": np.delete(kept, rows), "test": kept[rows]}
        table.densities["test"] = table.densities["train"]
        return _sizes(table)


@dataclass
class Split(_HoldOut):
    """Hold out a seeded draw of the training rows as the test part.

    Use it for data without a test part, or to choose parameters without using the test part, which is then dropped.
    With ``pooled`` the rows of both parts are pooled and split again.
    """

    name: ClassVar[str] = "split"
    # Number of rows to hold out, or a share between 0 and 1
    n: int | float = field(
        metadata=rule(
            lambda n: is_whole(n, 1) or (isinstance(n, float) and 0 < n < 1),
            "a positive whole number or a share between 0 and 1",
        )
    )
    seed: int = field(default=0, metadata=SEED)
    stratify: bool | None = None  # Whether every class keeps its share; None: in classification
    pooled: bool = False  # Whether to draw from the publisher's test rows, too

    def size_after(self, size: DataSize) -> DataSize:
        return super().size_after(replace(size, n_train=size.n_train + size.n_test) if self.pooled else size)

    def n_held_out(self, n_rows: int) -> int:
        return round(self.n * n_rows) if isinstance(self.n, float) else self.n

    def apply(self, table: Table) -> dict[str, Any]:
        from shallows_papers.datasets.preparation.row_draws import draw_rows

        if self.pooled:
            table.rows["train"] = np.sort(np.concatenate([table.rows["train"], table.rows["test"]]))
            table.densities["train"] = (table.x.n_rows, table.x.n_values)
        available = table.n_rows("train")
        n_held = self.n_held_out(available)
        if not 0 < n_held < available:
            raise DatasetError(
                f"The step split should hold out {n_held:,} of the {available:,} training rows of "
                f"'{table.dataset.name}', but at least one must be held out and at least one must remain."
            )
        strata = table.strata("train", self.stratify)
        return self.hold_out(draw_rows(available, n_held, self.seed, "split", strata), table)


@dataclass
class Fold(_HoldOut):
    """Hold out one of several parts of the training rows as the test part, for cross-validation.

    The parts of a seed are disjoint and together contain all rows. Their sizes differ by at most one row, in every
    class and in total.
    """

    name: ClassVar[str] = "fold"
    fold: int  # Number of the part, from 1
    of: int = field(metadata=rule(lambda of: is_whole(of, 2), "a whole number above 1"))  # Number of parts
    seed: int = field(default=0, metadata=SEED)
    stratify: bool | None = None  # Whether every class keeps its share; None: in classification

    def check(self) -> str | None:
        if is_whole(self.of, 2) and not (is_whole(self.fold, 1) and self.fold <= self.of):
            return f"fold must be a whole number from 1 to {self.of}, not {self.fold!r}"
        return super().check()

    def n_held_out(self, n_rows: int) -> int:
        return len(range(self.fold - 1, n_rows, self.of))

    def apply(self, table: Table) -> dict[str, Any]:
        from shallows_papers.datasets.preparation.row_draws import draw_fold

        available = table.n_rows("train")
        if self.of > available:
            raise DatasetError(
                f"The step fold should make {self.of:,} parts of the {available:,} training rows of "
                f"'{table.dataset.name}', but each part needs at least one row."
            )
        strata = table.strata("train", self.stratify)
        return self.hold_out(draw_fold(available, self.fold, self.of, self.seed, "fold", strata), table)


def _are_names(names: Any) -> bool:
    listed = isinstance(names, Sequence) and not isinstance(names, str)
    return listed and len(set(map(str, names))) == len(names) > 1


@dataclass
class KeepClasses(PreparationStep):
    """Keep only the rows of some classes, such as a pair of digits."""

    name: ClassVar[str] = "keep_classes"
    # Names of the classes in their new order: with ``[6, 8]`` and the step signs, 8 becomes +1
    classes: Sequence[str | int] = field(metadata=rule(_are_names, "two or more different names"))

    def size_after(self, size: DataSize) -> DataSize:
        share = len(self.classes) / max(size.n_classes, len(self.classes))
        return replace(size, n_train=round(size.n_train * share), n_test=round(size.n_test * share))

    def apply(self, table: Table) -> dict[str, Any]:
        table.require_coding("class indices", self.name)
        wanted = [str(name) for name in self.classes]
        for name in wanted:
            if name not in table.classes:
                raise UnknownNameError("class", name, table.classes)
        place = np.full(len(table.classes), -1, dtype=np.int64)
        place[[table.classes.index(name) for name in wanted]] = np.arange(len(wanted))
        table.codes = place[table.codes]
        table.rows = {part: rows[table.codes[rows] >= 0] for part, rows in table.rows.items()}
        table.classes = wanted
        counts = np.bincount(table.class_codes("train"), minlength=len(wanted))
        if not counts.all():
            raise DatasetError(f"No training row is of class {wanted[int(counts.argmin())]}.")
        return _sizes(table)


def _sizes(table: Table) -> dict[str, int]:
    return {"n_train": table.n_rows("train"), "n_test": table.n_rows("test")}
