"""Eigenvalues against their index, for several datasets and for several sizes of a subsample."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .sheet import DASHES, PALETTE, frame, same_limits, say, sheet
from .target import Target, ordered
from .wording import name_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


def spectrum(target: Target) -> Figure:
    """Normalised eigenvalues against their index, on logarithmic axes.

    Rows with ``panel=a`` make one line a dataset, rows with ``panel=b`` one line a subsample size. Each line
    is divided by its own first eigenvalue, which changes nothing where the CSV holds ratios already.
    ``panel_titles`` under ``figure`` in the JSON are titles by panel.
    """
    import seaborn

    everything = frame(target, ["panel", "index", "subsample"])
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
            say(ax, "not run" + (f": {', '.join(absent)}" if absent else ""))
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
    given = target.meta["figure"].get("panel_titles", {}).get(panel)
    if panel == "b":
        return given or f"subsets of {', '.join(ordered(part['dataset']))}"
    sizes = ordered(part["subsample"])
    return (given or "datasets") + (f", N = {_sizes(sizes)}" if len(sizes) == 1 else "")


def _sizes(values: Any) -> str:
    return ", ".join(f"{int(float(value)):,}" for value in ordered(values) if value)
