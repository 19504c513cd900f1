"""A card for each target: a small picture or a few of its values, and the words that a search looks through."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shallows.experiments.comparing.rows import Row, counts_by_kind

from .numbers import is_number, separated
from .pivot import writer
from .sheet import axes_place
from .target import Target, ordered
from .wording import key_title, name_of, quantity

#: Pixels of a small picture, which is shown at half of them.
WIDTH, HEIGHT = 520, 300
#: Values that stand on a card in place of a picture.
N_VALUES = 3


def card(target: Target, svg_path: str | Path | None) -> dict[str, Any]:
    """What a card shows and is filtered by; its picture is taken from the PNG beside the SVG, where there is one."""
    picture = Path(svg_path).with_suffix(".png") if svg_path and target.has_picture else None
    thumbnail = _thumbnail(picture) if picture and picture.exists() else ""
    return {
        "thumbnail": thumbnail,
        "values": [] if thumbnail else [*_values(target)],
        "items": [f"{kind}:{name}" for kind, counts in counts_by_kind(target.rows).items() for name in counts],
        "causes": ordered(row.cause for row in target.rows if row.cause),
        "words": _words(target),  # what a search looks through
    }


def _thumbnail(path: Path) -> str:
    """The axes of a figure, without its title and its label, as a small picture with few colours."""
    from PIL import Image

    with Image.open(path) as whole:
        bottom, height = axes_place(whole.info)
        image = whole.convert("RGB").crop(
            (0, round(whole.height * (1 - bottom - height)), whole.width, round(whole.height * (1 - bottom)))
        )
    image.thumbnail((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    data = io.BytesIO()
    # Maximum coverage keeps the colours of thin lines.
    few = image.quantize(64, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.convert("RGB").save(data, format="WEBP", lossless=True, method=6)
    return "data:image/webp;base64," + base64.b64encode(data.getvalue()).decode("ascii")


def _values(target: Target) -> Iterator[dict[str, str]]:
    compared = [row for row in target.rows if row.published and row.measured_mean is not None]
    varying = [key for key in target.key_names() if len({row.keys.get(key, "") for row in compared}) > 1]
    for row in compared[:N_VALUES]:
        measured = writer(target, row.keys["metric"])(row.measured_mean)
        yield {
            "name": _name(target, row, varying),
            "printed": quantity(separated(row.published), row.unit),
            "measured": quantity(measured, row.unit),
        }


def _name(target: Target, row: Row, varying: list[str]) -> str:
    """The keys in which a row differs from the others, or else its metric."""
    named = {key: row.keys[key] for key in varying if row.keys.get(key)}
    parts = [
        f"{key_title(target, key)} " * is_number(value) + name_of(target, key, value) for key, value in named.items()
    ]
    return ", ".join(parts) or name_of(target, "metric", row.keys["metric"])


def _words(target: Target) -> str:
    """The text in which a reader can search for a target."""
    named = [
        name_of(target, key, value)
        for key in ("dataset", "method", "metric")
        for value in ordered(row.keys[key] for row in target.rows)
        if value
    ]
    caption = str(target.meta.get("caption") or "")
    authors = str(target.meta.get("citation") or "")
    return " ".join([target.id, target.title, target.source, authors, caption, *named]).lower()
