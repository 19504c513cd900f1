"""Draw figures from the tidy CSV, as SVG and PNG, the same to the bit when they are drawn again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.errors import ShallowsError, UnknownNameError

from .curves import curves
from .sheet import frame, save, sheet, styled, write_inside
from .target import Target, ordered, read
from .wording import name_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Up to this number of different values, each has its own color.
MOST_CLASSES = 10


def scatter(target: Target) -> Figure:
    """Draw points as ``figure`` in the target's JSON says.

    ``x`` and ``metric`` name the metrics on the axes, ``lines`` the metric of the color, and ``columns`` the key that
    differs between axes (the method by default). Rows with the same value of the target's mark are one point.
    """
    import seaborn

    spec, marks = target.figure, target.marks
    key, across, up, hue = spec.get("columns", "method"), spec["x"], spec["metric"], spec["lines"]
    table = frame(target, key)
    if table["mean"].notna().any() and (not marks or marks[0] not in table):
        raise ShallowsError(f"The figure of {target.id} needs a mark, the key by which rows belong to one point.")
    values = table.loc[table["metric"] == hue, "mean"].dropna()
    is_class = values.nunique() <= MOST_CLASSES
    if is_class:
        names = [f"{value:g}" for value in sorted(values.unique())]
        look = {"hue_order": names, "palette": seaborn.color_palette("tab10", len(names))}
    else:
        look = {"hue_norm": (values.min(), values.max()), "palette": "viridis"}
    panels = [value for value in ordered(table[key]) if value] or [""]
    figure, [axes] = sheet(target, rows=1, columns=len(panels), width=3.1, height=2.8)
    for ax, panel in zip(axes, panels, strict=True):
        part = table[(table[key] == panel) & table["mean"].notna()]
        ax.set_title(name_of(target, key, panel) if panel else "", loc="left")
        ax.grid(visible=False)
        if not len(part):
            write_inside(ax, "not run")
            continue
        points = part.pivot_table(index=marks[0], columns="metric", values="mean").dropna(subset=[across, up, hue])
        if is_class:
            points[hue] = points[hue].map("{:g}".format)
        shown = {"data": points, "x": across, "y": up, "hue": hue, "legend": "auto" if ax is axes[-1] else False}
        seaborn.scatterplot(**shown, **look, s=9, linewidth=0, ax=ax)
        ax.set_xlabel(name_of(target, "metric", across))
        ax.set_ylabel(name_of(target, "metric", up) if ax is axes[0] else "")
        if ax is axes[-1]:
            title = name_of(target, "metric", hue)
            seaborn.move_legend(ax, "upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0, title=title)
    return figure


KINDS: dict[str, Callable[[Target], Figure]] = {
    "curves": curves,
    "scatter": scatter,
}


def draw(csv_path: str | Path, svg_path: str | Path, kinds: Mapping[str, Callable[[Target], Figure]] = KINDS) -> None:
    """Draw a target as SVG and PNG, as ``figure`` in its JSON says: ``kind`` names the type of figure."""
    target = read(csv_path)
    kind = target.figure.get("kind", "")
    if kind not in kinds:
        raise UnknownNameError("kind of figure", kind, kinds)
    with styled(target.id):
        save(kinds[kind](target), svg_path, target.title)
