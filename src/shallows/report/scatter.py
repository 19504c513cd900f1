"""Points in a plane: two metrics against each other and a third as colour, with axes for each value of a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.errors import ShallowsError

from .sheet import frame, say, sheet
from .target import Target, ordered
from .wording import name_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def scatter(target: Target) -> Figure:
    """Points as the JSON says under ``figure``.

    ``x`` and ``metric`` name the metrics on the axes, ``lines`` the metric of the colour, and ``columns`` the key by
    which axes differ (the method, where nothing is said). Rows belong to one point where they agree in the target's
    mark.
    """
    spec = target.meta["figure"]
    marks = list(target.meta.get("marks", []))
    key, across, up, colour = spec.get("columns", "method"), spec["x"], spec["metric"], spec["lines"]
    table = frame(target, [key])
    classes = np.sort(table.loc[table["metric"] == colour, "mean"].dropna().unique())
    classes = classes if 1 < len(classes) <= 10 else None  # few values get a colour each
    if table["mean"].notna().any() and (not marks or marks[0] not in table):
        raise ShallowsError(f"The points of {target.id} have no mark by which they belong together.")
    panels = [value for value in ordered(table[key]) if value] or [""]
    figure, [axes] = sheet(target, rows=1, columns=len(panels), width=3.1, height=2.8)
    for ax, panel in zip(axes, panels, strict=True):
        part = table[(table[key] == panel) & table["mean"].notna()]
        ax.set_title(name_of(target, key, panel) if panel else "", loc="left")
        ax.grid(visible=False)
        if not len(part):
            say(ax, "not run")
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
