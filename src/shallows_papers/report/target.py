"""A target for the report: the rows of its CSV file and the description in its JSON file."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows_papers.datasets.files import replacing
from shallows_papers.experiments.comparing.table_rows import Row, read_rows

from .wording import is_number


@dataclass(frozen=True)
class Target:
    """The rows of one target and the content of its JSON file."""

    rows: tuple[Row, ...]
    meta: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The target's identifier."""
        return str(self.meta["id"])

    @property
    def title(self) -> str:
        """The target's title; its identifier if the JSON has none."""
        return str(self.meta.get("title") or self.id)

    @property
    def source(self) -> str:
        """Where the values are printed: the paper's title and the place in it."""
        return ", ".join(str(self.meta[key]) for key in ("paper", "source") if self.meta.get(key))

    @property
    def scale(self) -> str:
        """The scale of the results."""
        return self.meta.get("scale", "")

    @property
    def notes(self) -> list[str]:
        """Paragraphs below the table."""
        return self.meta.get("notes", [])

    @property
    def sources(self) -> list[tuple[str, str]]:
        """The settings of the authors' methods with their sources; settings with the same source share an entry."""
        given, methods = self.meta.get("sources") or {}, dict[tuple[str, str], list[str]]()
        for method, settings in given.items():
            for name, source in settings.items():
                methods.setdefault((name, source), []).append(method)
        return [
            (name if len(those) == len(given) else f"{name} ({', '.join(those)})", source)
            for (name, source), those in methods.items()
        ]

    @property
    def marks(self) -> list[str]:
        """Keys with evaluation points, along which curves run."""
        return self.meta.get("marks", [])

    @property
    def figure(self) -> Mapping[str, Any]:
        """How its figure is drawn; empty if it has none."""
        return self.meta.get("figure") or {}

    @property
    def decimals(self) -> Mapping[str, int]:
        """The decimals of measured values, by metric, where the target gives them."""
        return self.meta.get("decimals", {})

    @cached_property
    def units(self) -> Mapping[str, str]:
        """The units of metrics that have one."""
        return {row.metric: row.unit for row in reversed(self.rows) if row.unit}

    def is_drawn(self, row: Row) -> bool:
        """Whether the figure draws a row as a point of a curve, so that the table can leave it out."""
        if self.figure.get("kind") != "curves" or self.meta.get("kind") == "table":
            return False
        shown = [*self.figure.get("y", []), *self.figure.get("bounds", [])]
        return bool(self._point(row)) and not row.published and (not shown or row.metric in shown)

    @property
    def has_picture(self) -> bool:
        """Whether the target has a figure and any measured value for it."""
        drawn = [row for row in self.rows if self.is_drawn(row)] or self.rows
        return bool(self.figure) and any(row.measured_mean is not None for row in drawn)

    def is_before_end(self, row: Row) -> bool:
        """Whether a row is a point of a curve before its last one, and the layout has no place for points."""
        layout = self.meta.get("layout") or {}
        placed = {*layout.get("rows", ()), *layout.get("columns", ())}
        return (
            self.figure.get("kind") == "curves"
            and placed.isdisjoint(self.marks)
            and not row.published
            and row.measured_mean is not None
            and bool(self._point(row))
            and float(self._point(row)) < self._ends[self._series(row)]
        )

    def _point(self, row: Row) -> str:
        """Return the evaluation point of a row; empty for a number about a whole curve."""
        return next((row.keys[name] for name in self.marks if row.keys.get(name)), "")

    def _series(self, row: Row) -> tuple[tuple[str, str], ...]:
        return tuple((name, value) for name, value in row.keys.items() if name not in self.marks)

    @cached_property
    def _ends(self) -> dict[tuple[tuple[str, str], ...], float]:
        ends: dict[tuple[tuple[str, str], ...], float] = {}
        for row in self.rows:
            if self._point(row) and row.measured_mean is not None:
                series = self._series(row)
                ends[series] = max(ends.get(series, -math.inf), float(self._point(row)))
        return ends

    @property
    def paper_is_known(self) -> bool:
        """Whether the values are compared with a source."""
        return bool(self.meta.get("source") or self.meta.get("paper"))

    def key_names(self) -> list[str]:
        """Names of all keys in the rows, in order of appearance."""
        return list(dict.fromkeys(name for row in self.rows for name in row.keys))

    def values(self, key: str) -> list[str]:
        """Return the distinct values of a key: in numeric order if all are numbers, else in order of appearance."""
        return ordered(row.keys.get(key, "") for row in self.rows)

    @property
    def is_measured(self) -> bool:
        """Whether any row has a measured number."""
        return any(row.measured_mean is not None for row in self.rows)


def ordered(values: Iterable[str]) -> list[str]:
    """Return distinct values, sorted if all are numbers, else in order of appearance; an empty one comes last."""
    distinct = list(dict.fromkeys(values))
    filled = [value for value in distinct if value]
    if all(is_number(value) for value in filled):
        filled.sort(key=float)
    return filled + [""] * ("" in distinct)


def read(csv_path: str | Path) -> Target:
    """Read a target's tidy CSV and its JSON file, and check that they belong together."""
    meta_path = Path(csv_path).with_suffix(".json")
    meta, rows = json.loads(meta_path.read_text(encoding="utf-8")), read_rows(csv_path)
    for line, row in enumerate(rows, start=2):
        if row.target != meta["id"]:
            raise ShallowsError(
                f"{csv_path}, line {line} belongs to the target {row.target!r}, "
                f"but {meta_path} describes {meta['id']!r}."
            )
    return Target(tuple(rows), meta)


def write_text(path: str | Path, text: str) -> None:
    """Write a file that gets its name only when it is complete."""
    with replacing(Path(path)) as partial:
        partial.write_text(text, encoding="utf-8")
