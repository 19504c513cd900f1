"""The list of all printed items, ``published/items.yaml``: each has rows, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..setting_text import selects
from . import configuration
from .configuration import ConfigurationError, placed

NAME = "items.yaml"

Items = Mapping[str, Sequence[Mapping[str, Any]]]


def read(folder: Path, schemas: Path) -> Items:
    """The items of each target; none where the folder of published files has no such list."""
    path = folder / NAME
    if not path.exists():
        return {}
    contents = configuration.read_yaml(path)
    configuration.check(contents, schemas / "items.schema.yaml", path.as_posix())
    return contents


def check(items: Items, published: Mapping[str, Sequence[Mapping[str, str]]]) -> None:
    """Check that each printed item has as many rows as it says, and that each row belongs to one item."""
    for target, rows in published.items():
        with placed(f"target {target}, {NAME}"):
            owners: list[list[str]] = [[] for _ in rows]
            for item in (one for one in items[target] if "rows" in one):
                places = [place for place, row in enumerate(rows) if selects(item["rows"], row)]
                counted = {rows[place]["item"] for place in places if not rows[place]["derived"]}
                if not places or len(counted) != item["count"]:
                    raise ConfigurationError(
                        f"The item {item['item']!r} says that it has {item['count']} printed items; "
                        f"its {len(places)} rows have {len(counted)}."
                    )
                for place in places:
                    owners[place].append(item["item"])
            for row, of_row in zip(rows, owners, strict=True):
                if len(of_row) != 1:
                    said = " and ".join(map(repr, of_row)) or "no item"
                    raise ConfigurationError(f"The row {row['dataset']}, {row['metric']} belongs to {said}.")
