"""Where the axes of a figure stand between its title and its label, as its PNG says, so that they can be cut out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEY = "Axes"


def metadata(figure: Figure) -> dict[str, str]:
    """What the PNG of a figure is to say: the lower end and the height of its axes, as shares of the whole.

    Nothing where the figure is no `sheet`.
    """
    engine = figure.get_layout_engine()
    _, bottom, _, height = engine.get().get("rect", (0, 0, 1, 1)) if engine else (0, 0, 1, 1)
    return {KEY: f"{bottom:.4f} {height:.4f}"}


def read(info: Mapping[str, Any]) -> tuple[float, float]:
    """The lower end and the height of the axes, from the texts in a PNG; all of it where it has none."""
    bottom, height = map(float, str(info.get(KEY, "0 1")).split())
    return bottom, height
