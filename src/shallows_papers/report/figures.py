"""Figures from the tidy CSV, as SVG and PNG, the same to the bit when they are drawn again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.errors import ShallowsError, UnknownNameError

from .curves import curves
from .sheet import frame, save, sheet, styled, write_inside
from .target import Target, ordered, read
from .wording import name_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def scatter(target: Target) -> Figure:
    """Draw points as the target's JSON says under ``figure``.

    ``x`` and ``metric`` name the metrics on the axes, ``lines`` the metric of the colour, and ``columns`` the key by
    which axes differ (the method, where nothing is said). Rows belong to one point where they agree in the target's
    mark.
    """
    spec, marks = target.figure, target.marks
    key, across, up, colour = spec.get("columns", "method"), spec["x"], spec["metric"], spec["lines"]
    table = frame(target, key)
    classes = np.sort(table.loc[table["metric"] == colour, "mean"].dropna().unique())
    classes = classes if 1 < len(classes) <= 10 else None  # few values get a colour each
    if table["mean"].notna().any() and (not marks or marks[0] not in table):
        raise ShallowsError(f"The figure of {target.id} needs a mark, the key by which rows belong to one point.")
    panels = [value for value in ordered(table[key]) if value] or [""]
    figure, [axes] = sheet(target, rows=1, columns=len(panels), width=3.1, height=2.8)
    for ax, panel in zip(axes, panels, strict=True):
        part = table[(table[key] == panel) & table["mean"].notna()]
        ax.set_title(name_of(target, key, panel) if panel else "", loc="left")
        ax.grid(visible=False)
        if not len(part):
            write_inside(ax, "not run")
            continue
        places = part.pivot_table(index=marks[0], columns="metric", values="mean").dropna(subset=[across, up, colour])
        dots = ax.scatter(places[across], places[up], c=places[colour], s=9, linewidths=0, **_colours(classes))
        ax.set_xlabel(name_of(target, "metric", across))
        ax.set_ylabel(name_of(target, "metric", up) if ax is axes[0] else "")
        if ax is axes[-1]:
            name = name_of(target, "metric", colour)
            figure.colorbar(dots, ax=list(axes), label=name, shrink=0.8, ticks=classes, spacing="uniform")
    return figure


def _colours(classes: np.ndarray | None) -> dict[str, Any]:
    from matplotlib import colormaps
    from matplotlib.colors import BoundaryNorm, ListedColormap

    if classes is None:
        return {"cmap": "viridis"}
    between = (classes[1:] + classes[:-1]) / 2
    edges = np.concatenate([[2 * classes[0] - between[0]], between, [2 * classes[-1] - between[-1]]])
    colours = ListedColormap(colormaps["tab10"].colors[: len(classes)])
    return {"cmap": colours, "norm": BoundaryNorm(edges, len(classes))}


KINDS: dict[str, Callable[[Target], Figure]] = {
    "curves": curves,
    "scatter": scatter,
}


def draw(csv_path: str | Path, svg_path: str | Path, kinds: Mapping[str, Callable[[Target], Figure]] = KINDS) -> None:
    """Draw a target as SVG, and as PNG beside it, as its JSON says under ``figure``: ``kind`` names the drawing."""
    target = read(csv_path)
    kind = target.figure.get("kind", "")
    if kind not in kinds:
        raise UnknownNameError("kind of figure", kind, kinds)
    with styled(target.id):
        save(kinds[kind](target), svg_path, target.title)
