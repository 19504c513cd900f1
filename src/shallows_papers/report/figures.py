"""Figures from the tidy CSV, as SVG and PNG, the same to the bit when they are drawn again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.errors import ShallowsError, UnknownNameError

from .curves import curves
from .numbers import is_number
from .sheet import DASHES, PALETTE, frame, same_limits, save, sheet, styled, write_inside
from .target import Target, ordered, read
from .wording import key_title, name_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


def error_curves(target: Target) -> Figure:
    """Error against epochs as `curves`: axes in a column for each kernel and a row for each metric, a line a method.

    ``figure`` in the JSON may name other keys as ``x``, ``panels`` and ``lines``, and one ``metric`` instead of all.
    """
    spec = target.figure
    panels = spec.get("panels", "kernel")
    words = (value for value in target.values(panels) if not is_number(value))
    titles = {value: f"{name_of(target, panels, value)} {key_title(target, panels)}" for value in words}
    y = [spec["metric"]] if "metric" in spec else target.values("metric")
    ours = {"x": "epochs", "y": y, "rows": "metric", "columns": panels, "titles": titles, "zeros": True}
    return curves(replace(target, meta={**target.meta, "figure": {**ours, **spec}}))


def spectrum(target: Target) -> Figure:
    """Draw normalised eigenvalues against their index, on logarithmic axes.

    Rows with ``panel=a`` make one line a dataset, rows with ``panel=b`` one line a subsample size. Each line
    is divided by its own first eigenvalue, which changes nothing where the CSV holds ratios already.
    ``panel_titles`` under ``figure`` in the JSON are titles by panel.
    """
    import seaborn

    everything = frame(target, "panel", "index", "subsample")
    everything[["panel", "subsample"]] = everything[["panel", "subsample"]].fillna("")
    table = everything[everything["drawn"] & everything["mean"].notna()].astype({"index": float})

    figure, [axes] = sheet(target, rows=1, columns=2, width=4.7, height=3.5)
    for ax, panel, hue in zip(axes, "ab", ("dataset", "subsample"), strict=True):
        part = table[table["panel"] == panel].sort_values("index", kind="stable")
        lines = ordered(part[hue])
        absent = [
            name_of(target, hue, value)
            for value in ordered(everything.loc[everything["panel"].isin([panel, ""]), hue])
            if value and value not in lines and (everything.loc[everything[hue] == value, "mean"].isna().all())
        ]
        for value, look in _looks(target, part, hue, lines).items():
            one = part[part[hue] == value]
            one = one.assign(ratio=one["mean"] / one["mean"].iloc[0])
            one = one[one["ratio"] > 0]  # a logarithm has no place for the zeros of a deficient rank
            seaborn.lineplot(data=one, x="index", y="ratio", estimator=None, ax=ax, **look)
        ax.set_title(f"({panel})  {_panel_title(target, panel, part)}", loc="left")
        ax.set_xlabel("index of the eigenvalue, $i$")
        ax.set_ylabel(r"eigenvalue ratio, $\lambda_i / \lambda_1$" if panel == "a" else "")
        if lines:
            ax.set(xscale="log", yscale="log")
            title = f"not run: {', '.join(absent)}" if absent else None
            ax.legend(loc="lower left", title=title, alignment="left", handlelength=2.8)
        else:
            write_inside(ax, "not run" + (f": {', '.join(absent)}" if absent else ""))
    same_limits([ax for ax in axes if ax.lines], also_x=True)
    return figure


def _looks(target: Target, part: pandas.DataFrame, hue: str, lines: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour, dashes and name of each line. Sizes are ordered, so their colours are: from pale to dark."""
    import seaborn

    by_size = hue == "subsample"
    colours = seaborn.color_palette("flare", len(lines)).as_hex() if by_size else itertools.cycle(PALETTE)
    sizes = {value: _sizes(part.loc[part[hue] == value, "subsample"]) for value in lines}
    names = {value: f"N = {sizes[value]}" if by_size else name_of(target, hue, value) for value in lines}
    if not by_size and len(set(sizes.values())) > 1:
        names = {value: f"{name}, N = {sizes[value]}" for value, name in names.items()}
    return {
        value: {"color": colour, "linestyle": (0, dash) if dash else "-", "label": names[value]}
        for value, colour, dash in zip(lines, colours, itertools.cycle(DASHES), strict=False)
    }


def _panel_title(target: Target, panel: str, part: pandas.DataFrame) -> str:
    given = target.figure.get("panel_titles", {}).get(panel)
    if panel == "b":
        return given or f"subsets of {', '.join(ordered(part['dataset']))}"
    sizes = ordered(part["subsample"])
    return (given or "datasets") + (f", N = {_sizes(sizes)}" if len(sizes) == 1 else "")


def _sizes(values: Any) -> str:
    return ", ".join(f"{int(float(value)):,}" for value in ordered(values) if value)


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
    "error_curves": error_curves,
    "spectrum": spectrum,
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
