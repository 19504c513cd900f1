"""Figures from the tidy CSV, as SVG and PNG, the same to the bit when they are drawn again."""

from __future__ import annotations

from collections.abc import Callable
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


def draw(csv_path: str | Path, meta_path: str | Path, svg_path: str | Path, png_path: str | Path) -> None:
    """Draw a target as its JSON says under ``figure``.

    Parameters
    ----------
    csv_path : path
        The tidy CSV that holds the numbers to draw.
    meta_path : path
        The JSON beside it; ``figure.kind`` names the drawing: ``curves``, ``spectrum``, ``scatter`` or
        ``error_curves``.
    svg_path, png_path : path
        Where the two forms go.

    Raises
    ------
    UnknownNameError
        Where no drawing has the name ``figure.kind``.
    ShallowsError
        Where the rows do not hold what the drawing needs.
    """
    import matplotlib
    import seaborn

    target = read(csv_path, meta_path)
    kind = (target.meta.get("figure") or {}).get("kind", "")
    if kind not in KINDS:
        raise UnknownNameError("kind of figure", kind, KINDS)
    style = {**seaborn.axes_style("ticks"), **STYLE, "svg.hashsalt": target.id}
    with matplotlib.rc_context(style):
        figure = KINDS[kind](target)
        save(figure, svg_path, png_path, target.title)
