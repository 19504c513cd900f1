"""The rows of a target's table with their measured values, and functions that read, write and count such rows."""

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
    """Values of the repetitions of a measurement, or only their statistics where the values were not kept.

    The mean and the deviation are computed from the values, if given. A single repetition has None as its
    deviation, and a value that is not finite makes it NaN.
    """

    values: tuple[float, ...] = ()  # one for each repetition that gave one
    repetitions: int = 0  # number of repetitions; by default the number of values
    passed: int | None = None  # number of repetitions that passed the level; None for a metric without a level
    is_bound: bool = False  # whether some repetitions never passed it, so that the values are lower bounds
    left_out: tuple[str, ...] = ()  # series in which some repetitions never passed it, for a number over several series
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
        """Number of repetitions behind the mean."""
        return len(self.values) or self.repetitions

    @property
    def n_without(self) -> int:
        """Number of repetitions that gave no value."""
        known = self.values or self.mean is None
        return self.repetitions - len(self.values) if known else 0

    @property
    def n_unpassed(self) -> int:
        """Number of repetitions that never passed the level."""
        return 0 if self.passed is None else self.repetitions - self.passed

    @property
    def is_finite(self) -> bool:
        """Whether there is a value, and all are finite."""
        return all(one is None or math.isfinite(one) for one in (self.mean, self.deviation)) and self.mean is not None


NOTHING = Measured()


#: Columns that every row has and that, together with the settings, identify a row.
NAMED_KEYS = ("dataset", "method", "metric")
#: The two kinds of series whose algorithm is not the printed one.
OURS, AUTHORS = "ours", "authors"


def _digits(number: int) -> Any:
    """Make a column of numbers that are written with this number of significant digits."""
    return field(default=None, metadata={"digits": number})


@dataclass(frozen=True, kw_only=True)
class Row:
    """One compared value. The fields are the columns of a table in order; add a new field at the end."""

    target: str
    dataset: str  # the dataset that was used
    n_train: int | None = None
    n_test: int | None = None
    method: str
    setting: str = ""  # see `setting_text.parse_setting`
    metric: str
    published: str = ""  # as printed; empty where the source prints nothing
    #: over the repetitions; infinite or NaN where the values are; None for a number that is not shown
    measured_mean: float | None = _digits(8)
    measured_sd: float | None = _digits(8)
    seeds: str = ""
    verdict: Verdict
    scale: str
    reason: str = ""  # text for readers; no program evaluates it, nor `tolerance`
    unit: str = ""
    tolerance: str = ""
    records: tuple[str, ...] = ()  # folders or identifiers of the runs behind the value
    evidence: str = ""  # one of `verdicts.KINDS`, "derivation" or "own"; empty where the source says nothing
    item: str = ""  # the printed item that the row is about; several rows of an item are counted once
    derived: str = ""  # the printed items from which the published value is derived; they are counted instead of it
    fixed: str = ""  # when the criterion was set: "first commit" or "after a look"
    margin: float | None = _digits(4)  # how much the mean may differ from the published number
    low: float | None = _digits(6)  # the interval that was judged
    high: float | None = _digits(6)
    values: tuple[float, ...] = ()  # this and the next four: see `Measured`
    repetitions: int | None = None
    passed: int | None = None
    is_bound: bool = False
    left_out: tuple[str, ...] = ()
    printed_data: tuple[str, ...] = ()  # the paper's words for the data
    #: whether to copy the verdict from the collection, since the values to judge it again were not kept
    as_collected: bool = False
    cause: str = ""  # one of `verdicts.CAUSES` where the value deviates or is refuted
    series: str = ""  # OURS for our method instead of the paper's, AUTHORS for one as its authors ran it
    ratio: float | None = _digits(4)  # our method's mean over the authors' method's, on the same data and settings

    @cached_property
    def keys(self) -> dict[str, str]:
        """The identity of the value: dataset, method, metric and its settings."""
        return {**{name: getattr(self, name) for name in NAMED_KEYS}, **parse_setting(self.setting)}

    @property
    def published_value(self) -> float | None:
        """The printed number, or None where the source prints no number."""
        return number_in(self.published)

    @property
    def measured(self) -> Measured:
        """The measured values of the row."""
        statistics = {"mean": self.measured_mean, "deviation": self.measured_sd}
        return Measured(self.values, self.repetitions or 0, self.passed, self.is_bound, self.left_out, **statistics)

    def as_text(self) -> dict[str, str]:
        """The row as text for a CSV."""
        return {one.name: _written(getattr(self, one.name), one.metadata.get("digits")) for one in _FIELDS}

    @classmethod
    def from_text(cls, text: Mapping[str, str | None]) -> Self:
        """Make a row from the text of a CSV; raise a ValueError that says what is wrong with it."""
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
    """Read the number of a published text; None where the text is empty or not a number."""
    try:
        return float(text)
    except ValueError:
        return None


def read_rows(path: str | Path) -> list[Row]:
    """Read the rows of a table that this version of the package wrote."""
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
    """Write rows as a CSV, which gets its name only when it is complete."""
    with replacing(Path(path)) as partial, open(partial, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row.as_text() for row in rows)


def counts_by_kind(rows: Iterable[Row]) -> dict[str, dict[Verdict, tuple[int, int]]]:
    """Count the printed items of each kind by verdict, and those among them whose criterion was set after a look.

    An item with several rows is counted once, with the first of their verdicts in `verdicts.PRECEDENCE`. Derivations
    are not counted, and neither are values derived from items that are counted elsewhere.
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
