"""Figures from the tidy CSV, as SVG and PNG, the same to the bit when they are drawn again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.errors import UnknownNameError

from .curves import curves
from .eigenvalue_curves import spectrum
from .error_curves import error_curves
from .scatter import scatter
from .sheet import STYLE, save
from .target import Target, read

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: dict[str, Callable[[Target], Figure]] = {
    "error_curves": error_curves,
    "spectrum": spectrum,
    "curves": curves,
    "scatter": scatter,
}


def draw(
    csv_path: str | Path,
    meta_path: str | Path,
    svg_path: str | Path,
    png_path: str | Path,
    kinds: Mapping[str, Callable[[Target], Figure]] = KINDS,
) -> None:
    """Draw a target as SVG and PNG, as its JSON says under ``figure``, whose ``kind`` names the drawing."""
    import matplotlib
    import seaborn

    target = read(csv_path, meta_path)
    kind = (target.meta.get("figure") or {}).get("kind", "")
    if kind not in kinds:
        raise UnknownNameError("kind of figure", kind, kinds)
    style = {**seaborn.axes_style("ticks"), **STYLE, "svg.hashsalt": target.id}
    with matplotlib.rc_context(style):
        figure = kinds[kind](target)
        save(figure, svg_path, png_path, target.title)
