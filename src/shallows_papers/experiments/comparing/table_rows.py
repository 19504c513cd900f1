"""A row of a target's table with what was measured, and the CSV files of such rows: read, written and counted."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from shallows.errors import ShallowsError
from shallows.utils.atomic import replacing

from ..setting_text import parse_setting
from .verdicts import AFTER, KINDS, PRECEDENCE, Verdict


@dataclass(frozen=True)
class Measured:
    """Values of the repetitions of one measurement, or their statistics where the values were not kept.

    The mean and the deviation follow from the values. Without values they are what is known of them; the deviation is
    None for one repetition, and not a number where a value is not finite.
    """

    values: tuple[float, ...] = ()  # one for each repetition that gave one
    repetitions: int = 0  # how many there were; by default as many as there are values
    passed: int | None = None  # how many passed the level that the number is about; None where it is about none
    is_bound: bool = False  # whether some never passed it, so that the values are lower bounds
    left_out: tuple[str, ...] = ()  # series in which some never passed it, where the number is made of several
    mean: float | None = None
    deviation: float | None = None

    def __post_init__(self) -> None:
        values = tuple(map(float, self.values))
        known = {"values": values, "repetitions": self.repetitions or len(values)}
        if values:
            deviation = statistics.stdev if all(map(math.isfinite, values)) else lambda _: math.nan
            known |= {"mean": statistics.fmean(values), "deviation": deviation(values) if len(values) > 1 else None}
        for name, value in known.items():
            object.__setattr__(self, name, value)

    @property
    def count(self) -> int:
        """Over how many repetitions the mean is."""
        return len(self.values) or self.repetitions

    @property
    def n_without(self) -> int:
        """How many repetitions gave no value."""
        known = self.values or self.mean is None
        return self.repetitions - len(self.values) if known else 0

    @property
    def n_unpassed(self) -> int:
        """How many repetitions never passed the level."""
        return 0 if self.passed is None else self.repetitions - self.passed

    @property
    def is_finite(self) -> bool:
        """Whether there is a value, and all are finite."""
        return all(one is None or math.isfinite(one) for one in (self.mean, self.deviation)) and self.mean is not None


NOTHING = Measured()


#: Columns that every row has, and that tell rows apart beside the settings.
NAMED_KEYS = ("dataset", "method", "metric")
#: The two series of a target where our algorithm is not the printed one.
OURS, AUTHORS = "ours", "authors"


def _digits(number: int) -> Any:
    """A column of numbers that are written with so many significant digits."""
    return field(default=None, metadata={"digits": number})


@dataclass(frozen=True, kw_only=True)
class Row:
    """One compared value. The fields are the columns of a table, in their order; a new one is added at the end."""

    target: str
    dataset: str  # the one that was used
    n_train: int | None = None
    n_test: int | None = None
    method: str
    setting: str = ""  # see `setting_text.parse_setting`
    metric: str
    published: str = ""  # as printed; empty where the source prints nothing
    #: over the repetitions, infinite or NaN where that came out; None for what is not shown
    measured_mean: float | None = _digits(8)
    measured_sd: float | None = _digits(8)
    seeds: str = ""
    verdict: Verdict
    scale: str
    reason: str = ""  # words for people, from which nothing follows, as in `tolerance`
    unit: str = ""
    tolerance: str = ""
    records: tuple[str, ...] = ()  # folders or identifiers of the runs behind the value
    evidence: str = ""  # one of `verdicts.KINDS`, "derivation" or "own"; empty where the source says nothing
    item: str = ""  # the printed item that it is about, by which several rows are counted as one
    derived: str = ""  # the printed items from which the published value is derived; they are counted in its place
    fixed: str = ""  # when the criterion was set: "first commit" or "after a look"
    margin: float | None = _digits(4)  # how far the mean may lie from the published number
    low: float | None = _digits(6)  # the interval by which it was judged
    high: float | None = _digits(6)
    values: tuple[float, ...] = ()  # this and the next four: see `Measured`
    repetitions: int | None = None
    passed: int | None = None
    is_bound: bool = False
    left_out: tuple[str, ...] = ()
    printed_data: tuple[str, ...] = ()  # the paper's words for the data
    #: whether the verdict is that of its collection, since judging it again would take values that were not kept
    as_collected: bool = False
    cause: str = ""  # one of `verdicts.CAUSES` where the value deviates or is refuted
    series: str = ""  # OURS for a method of our own in the place of the paper's, AUTHORS for one as its authors ran it
    ratio: float | None = _digits(4)  # a mean of ours over that of the authors' method, on the same data and settings

    @cached_property
    def keys(self) -> dict[str, str]:
        """The identity of the value: dataset, method, metric and its settings."""
        return {**{name: getattr(self, name) for name in NAMED_KEYS}, **parse_setting(self.setting)}

    @property
    def published_value(self) -> float | None:
        """The printed number, or None where the source prints none or prints words."""
        return number_in(self.published)

    @property
    def measured(self) -> Measured:
        """What was measured, as it is judged."""
        statistics = {"mean": self.measured_mean, "deviation": self.measured_sd}
        return Measured(self.values, self.repetitions or 0, self.passed, self.is_bound, self.left_out, **statistics)

    def as_text(self) -> dict[str, str]:
        """The row as a CSV holds it."""
        return {one.name: _written(getattr(self, one.name), one.metadata.get("digits")) for one in _FIELDS}

    @classmethod
    def from_text(cls, text: Mapping[str, str | None]) -> Self:
        """The row that a CSV holds; a ValueError says what is wrong with it."""
        return cls(**{one.name: _READ[one.type]((text[one.name] or "").strip()) for one in _FIELDS})


_FIELDS = fields(Row)
COLUMNS = tuple(one.name for one in _FIELDS)


def _written(value: Any, digits: int | None = None) -> str:
    if value is None or value is False:
        return ""
    if isinstance(value, tuple):
        return ";".join(map(str, value))
    return f"{value:.{digits}g}" if digits else "yes" if value is True else str(value)


def _yes(text: str) -> bool:
    if text not in ("", "yes"):
        raise ValueError(f"{text!r} is neither 'yes' nor empty")
    return text == "yes"


_READ: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "bool": _yes,
    "int | None": lambda text: int(text) if text else None,
    "float | None": lambda text: float(text) if text else None,
    "tuple[str, ...]": lambda text: tuple(filter(None, text.split(";"))),
    "tuple[float, ...]": lambda text: tuple(map(float, filter(None, text.split(";")))),
    "Verdict": Verdict,
}


def number_in(text: str) -> float | None:
    """The number that a published text is, or None where it is empty or words."""
    try:
        return float(text)
    except ValueError:
        return None


def read_rows(path: str | Path) -> list[Row]:
    """Read the rows of a table of this version."""
    with open(path, newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
        if missing:
            raise ShallowsError(
                f"{path} lacks the columns {', '.join(missing)}: another version of this package wrote it. Delete "
                "it, and run the workflow to make it again."
            )
        rows = []
        for line, raw in enumerate(reader, start=2):
            try:
                rows.append(Row.from_text(raw))
            except ShallowsError:
                raise
            except ValueError as error:
                raise ShallowsError(f"{path}, line {line}: {error}.") from None
    return rows


def write_rows(path: str | Path, rows: Iterable[Row]) -> None:
    """Write rows as a CSV, which carries its name only when it is whole."""
    with replacing(Path(path)) as partial, open(partial, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row.as_text() for row in rows)


def counts_by_kind(rows: Iterable[Row]) -> dict[str, dict[Verdict, tuple[int, int]]]:
    """How many printed items of each kind have which verdict, and how many of them by a criterion set after a look.

    An item beside which several rows stand is counted once, with the verdict that `verdicts.PRECEDENCE` names first.
    What is derived from items that are counted elsewhere, and derivations, are counted nowhere.
    """
    items: dict[Any, list[Row]] = {}
    for place, row in enumerate(rows):
        if row.published and row.evidence in KINDS and not row.derived:
            items.setdefault((row.evidence, row.target, row.item or place), []).append(row)
    counted: dict[tuple[str, Verdict], list[bool]] = {}
    for (kind, *_), of_item in items.items():
        verdict = min((row.verdict for row in of_item), key=PRECEDENCE.index)
        after = any(row.fixed == AFTER for row in of_item if row.verdict == verdict)
        decided = verdict not in (Verdict.NOT_COMPARABLE, Verdict.NOT_RUN)
        counted.setdefault((kind, verdict), []).append(decided and after)
    found = {
        kind: {one: (len(its), sum(its)) for one in Verdict if (its := counted.get((kind, one)))} for kind in KINDS
    }
    return {kind: counts for kind, counts in found.items() if counts}
