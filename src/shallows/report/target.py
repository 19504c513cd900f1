"""One target as the report sees it: the rows of its CSV, and what its JSON says besides."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from shallows.datasets.files import replacing
from shallows.errors import ShallowsError, UnknownNameError
from shallows.experiments.setting_text import parse_setting

#: Of a criterion that was set or moved after results had been looked at.
AFTER = "after a look"


@dataclass(frozen=True)
class Verdict:
    """A verdict with the mark that stands for it in a cell and the sentence that explains it."""

    name: str
    mark: str
    meaning: str

    @property
    def css(self) -> str:
        """The class that colours it."""
        return self.name.replace(" ", "-")


VERDICTS: dict[str, Verdict] = {
    verdict.name: verdict
    for verdict in (
        Verdict(
            "reproduced",
            "✓",
            "within the tolerance, or as the criterion asks: with several repetitions, for the whole 95 % interval",
        ),
        Verdict(
            "better",
            "▲",
            "a number beyond the tolerance, on the good side, of no method that the paper compares its own with",
        ),
        Verdict("agrees", "✓", "a fact that is the same here"),
        Verdict("deviates", "✗", "beyond the tolerance on the bad side, against the criterion, or not finite"),
        Verdict("undecided", "?", "the interval holds both what agrees and what does not, or there is none"),
        Verdict("not comparable", "○", "measured at another scale, on other data, or beside no printed number"),
        Verdict("not run", "", "not measured; the reason is given"),
        Verdict(
            "derivation", "∴", "follows from a formula or from the program itself, so that no run can contradict it"
        ),
        Verdict("measured", "", "measured on data beside which nothing is published"),
    )
}

#: What a printed item may be, and what that means.
KINDS = {
    "number": "printed and measured",
    "order": "which is larger, or what power, printed in words",
    "theorem": "a statement that a run could have contradicted",
    "fact": "a size or a parameter, which agrees or does not",
}

REQUIRED = (
    "target",
    "dataset",
    "n_train",
    "n_test",
    "method",
    "setting",
    "metric",
    "published",
    "measured_mean",
    "measured_sd",
    "seeds",
    "verdict",
    "scale",
)

NAMED_KEYS = ("dataset", "method", "metric")


@dataclass(frozen=True)
class Row:
    """One compared value.

    Attributes
    ----------
    keys : dict of str
        What tells the value apart: dataset, method, metric and whatever its setting names.
    published : str
        As printed; empty where the source prints nothing.
    mean, sd : float or None
        Measured, over the repetitions; the mean may be infinite or not a number, where that came out.
    verdict : str
        One of ``VERDICTS``.
    reason, unit, tolerance : str
        Optional words; empty where there are none.
    records : tuple of str
        Folders of the runs behind the value.
    evidence : str
        One of ``KINDS``, or ``derivation`` or ``own``; empty where the source says nothing.
    derived : str
        From which printed items the published value is derived, where it is; those are counted in its place.
    fixed : str
        When the criterion was set: ``first commit`` or ``after a look``.
    """

    keys: dict[str, str]
    published: str
    mean: float | None
    sd: float | None
    verdict: str
    reason: str = ""
    unit: str = ""
    tolerance: str = ""
    records: tuple[str, ...] = ()
    evidence: str = ""
    derived: str = ""
    fixed: str = ""

    @property
    def is_bound(self) -> bool:
        """Whether the true value is at least the mean, as the reason then says first."""
        return self.reason.startswith("at least this:")

    @property
    def published_value(self) -> float | None:
        """The printed number, or None where the source prints none or prints words."""
        try:
            return _number(self.published)
        except ValueError:
            return None


@dataclass(frozen=True)
class Target:
    """The rows of one target and what its JSON says besides them."""

    rows: tuple[Row, ...]
    meta: Mapping[str, Any]
    csv_path: Path

    @property
    def id(self) -> str:
        """The target's identifier."""
        return str(self.meta["id"])

    @property
    def title(self) -> str:
        """The target's title; its identifier where the JSON gives none."""
        return str(self.meta.get("title") or self.id)

    @property
    def source(self) -> str:
        """Where the source prints it: the paper's title and the place in it."""
        return ", ".join(str(self.meta[key]) for key in ("paper", "source") if self.meta.get(key))

    @property
    def scale(self) -> str:
        """The scale at which it was built."""
        return str(self.meta.get("scale") or self.meta.get("label", {}).get("scale", ""))

    @property
    def notes(self) -> list[str]:
        """What the JSON says under ``notes``, a paragraph or a list of them."""
        notes = self.meta.get("notes") or []
        return [notes] if isinstance(notes, str) else [str(note) for note in notes]

    def is_drawn(self, row: Row) -> bool:
        """Whether a row is a point of a curve, which a figure shows and a table need not."""
        figure = self.meta.get("figure") or {}
        if figure.get("kind") == "curves":
            shown = [*figure.get("y", []), *figure.get("bounds", [])]
            on_curve = any(row.keys.get(name) for name in self.meta.get("marks", []))
            return on_curve and not row.published and (not shown or row.keys["metric"] in shown)
        if "y" in figure:
            return row.keys["metric"] == figure["y"]
        return figure.get("kind") == "spectrum" and bool(row.keys.get(figure.get("x", "index")))

    @property
    def has_picture(self) -> bool:
        """Whether the target has a figure and anything was measured that it draws."""
        drawn = [row for row in self.rows if self.is_drawn(row)] or self.rows
        return bool(self.meta.get("figure")) and any(row.mean is not None for row in drawn)

    def is_before_end(self, row: Row) -> bool:
        """Whether a row is a point of a curve before its last one, and the layout has no place for the points."""
        figure, layout = self.meta.get("figure") or {}, self.meta.get("layout") or {}
        placed = {*layout.get("rows", ()), *layout.get("columns", ())}
        return (
            figure.get("kind") == "curves"
            and placed.isdisjoint(self.meta.get("marks", []))
            and not row.published
            and row.mean is not None
            and bool(self._point(row))
            and float(self._point(row)) < self._ends[self._series(row)]
        )

    def _point(self, row: Row) -> str:
        """The evaluation point of a row; empty for a number that belongs to a whole curve."""
        return next((row.keys[name] for name in self.meta.get("marks", []) if row.keys.get(name)), "")

    def _series(self, row: Row) -> tuple[tuple[str, str], ...]:
        marks = self.meta.get("marks", [])
        return tuple((name, value) for name, value in row.keys.items() if name not in marks)

    @cached_property
    def _ends(self) -> dict[tuple[tuple[str, str], ...], float]:
        """The last evaluation point of every curve."""
        ends: dict[tuple[tuple[str, str], ...], float] = {}
        for row in self.rows:
            if self._point(row) and row.mean is not None:
                series = self._series(row)
                ends[series] = max(ends.get(series, -math.inf), float(self._point(row)))
        return ends

    @property
    def paper_is_known(self) -> bool:
        """Whether a source stands beside the values, with which they are compared."""
        return bool(self.meta.get("source") or self.meta.get("paper"))

    def key_names(self) -> list[str]:
        """Names of all keys in the rows, in their order of appearance."""
        return list(dict.fromkeys(name for row in self.rows for name in row.keys))

    def values(self, key: str) -> list[str]:
        """Distinct values of a key: in numeric order where all are numbers, else in order of appearance."""
        return ordered(row.keys.get(key, "") for row in self.rows)

    def counts_by_kind(self) -> dict[str, dict[str, tuple[int, int]]]:
        """How many printed items of each kind carry each verdict, and how many of them by a criterion set after a look.

        Each item is counted once. What is derived from other items, what no run can contradict, and what the source
        does not print is no part of it.
        """
        given = self.meta.get("verdict_counts") or {}
        return {
            kind: {name: tuple(given[kind][name]) for name in VERDICTS if name in given[kind]}
            for kind in KINDS
            if kind in given
        }

    @property
    def is_measured(self) -> bool:
        """Whether any of its rows holds a measured number."""
        return any(row.mean is not None for row in self.rows)

    def counts(self) -> dict[str, int]:
        """How many printed items carry each verdict; verdicts without any are left out."""
        counted = Counter()
        for of_kind in self.counts_by_kind().values():
            counted.update({name: number for name, (number, _) in of_kind.items()})
        return {name: counted[name] for name in VERDICTS if counted[name]}


def ordered(values: Iterable[str]) -> list[str]:
    """Distinct values, by number where all are numbers, else by first appearance; an empty one comes last."""
    distinct = list(dict.fromkeys(values))
    filled = [value for value in distinct if value]
    if all(is_number(value) for value in filled):
        filled.sort(key=float)
    return filled + [""] * ("" in distinct)


def is_number(text: str) -> bool:
    """Tell whether the text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _number(text: str) -> float | None:
    text = text.strip()
    return float(text) if text and text.lower() != "none" else None


def read(csv_path: str | Path, meta_path: str | Path) -> Target:
    """Read a target's tidy CSV and its JSON.

    Raises
    ------
    ShallowsError
        Where a required column is missing, a number is none, or the JSON is that of another target.
    UnknownNameError
        Where a verdict is none of ``VERDICTS``.
    """
    csv_path, meta_path = Path(csv_path), Path(meta_path)
    meta = json.loads(meta_path.read_text(encoding="utf-8"))
    with csv_path.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        missing = [column for column in REQUIRED if column not in (reader.fieldnames or ())]
        if missing:
            raise ShallowsError(f"{csv_path} lacks the columns {', '.join(missing)}.")
        rows = []
        for line, raw in enumerate(reader, start=2):
            try:
                rows.append(_row(raw))
            except ValueError as error:
                if isinstance(error, ShallowsError):
                    raise
                raise ShallowsError(f"{csv_path}, line {line}: {error}.") from None
            if raw["target"] != meta["id"]:
                raise ShallowsError(
                    f"{csv_path}, line {line} belongs to the target {raw['target']!r}, "
                    f"but {meta_path} describes {meta['id']!r}."
                )
    return Target(tuple(rows), meta, csv_path)


def _row(raw: Mapping[str, str | None]) -> Row:
    text = {name: (value or "").strip() for name, value in raw.items() if name is not None}
    if text["verdict"] not in VERDICTS:
        raise UnknownNameError("verdict", text["verdict"], VERDICTS)
    published = text["published"]
    return Row(
        keys={**{name: text[name] for name in NAMED_KEYS}, **parse_setting(text["setting"])},
        published="" if published.lower() in ("nan", "none") else published,
        mean=_number(text["measured_mean"]),
        sd=_finite(_number(text["measured_sd"])),
        verdict=text["verdict"],
        reason=text.get("reason", ""),
        unit=text.get("unit", ""),
        tolerance=text.get("tolerance", ""),
        evidence=text.get("evidence", ""),
        derived=text.get("derived", ""),
        fixed=text.get("fixed", ""),
        records=tuple(part.strip() for part in text.get("records", "").split(";") if part.strip()),
    )


def _finite(number: float | None) -> float | None:
    return number if number is None or math.isfinite(number) else None


def write_text(path: str | Path, text: str) -> None:
    """Write a file that carries its name only when it is whole."""
    with replacing(Path(path)) as partial:
        partial.write_text(text, encoding="utf-8")
