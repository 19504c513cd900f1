"""Eigenvalues against their index, for several datasets and for several sizes of a subsample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .sheet import DASHES, PALETTE, frame, repeated, same_limits, say, sheet
from .target import Target, ordered
from .wording import name_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


def spectrum(target: Target) -> Figure:
    """Normalised eigenvalues against their index, on logarithmic axes.

    Rows with ``panel=a`` make one line a dataset, rows with ``panel=b`` one line a subsample size. Each line
    is divided by its own first eigenvalue, which changes nothing where the CSV holds ratios already.
    ``figure`` in the JSON may name the metric that is drawn as ``y`` (else it is that of the rows with an
    index), the keys of the lines as ``lines`` and titles as ``panel_titles`` (both by panel), and labels of
    the axes as ``x_label`` and ``y_label``.
    """
    import seaborn

    spec = target.meta["figure"]
    x = spec.get("x", "index")
    everything = frame(target, ["panel", x, "subsample"])
    everything[["panel", "subsample"]] = everything[["panel", "subsample"]].fillna("")
    table = everything[everything["drawn"] & everything["mean"].notna()].copy()
    table[x] = table[x].astype(float)
    hues = {"a": "dataset", "b": "subsample", **(spec.get("lines") or {})}

    figure, axes = sheet(target, rows=1, columns=2, width=4.7, height=3.5)
    for ax, (panel, hue) in zip(axes[0], hues.items(), strict=True):
        part = table[table["panel"] == panel].sort_values(x, kind="stable")
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
            seaborn.lineplot(data=one, x=x, y="ratio", estimator=None, ax=ax, **look)
        ax.set_title(f"({panel})  {_panel_title(spec, panel, hue, part)}", loc="left")
        ax.set_xlabel(spec.get("x_label", "index of the eigenvalue, $i$"))
        ax.set_ylabel(spec.get("y_label", r"eigenvalue ratio, $\lambda_i / \lambda_1$") if panel == "a" else "")
        if lines:
            ax.set(xscale="log", yscale="log")
            title = f"not run: {', '.join(absent)}" if absent else None
            ax.legend(loc="lower left", title=title, alignment="left", handlelength=2.8)
        else:
            say(ax, "not run" + (f": {', '.join(absent)}" if absent else ""))
    same_limits([ax for ax in axes[0] if ax.lines], also_x=True)
    return figure


def _looks(target: Target, part: pandas.DataFrame, hue: str, lines: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour, dashes and name of each line. Sizes are ordered, so their colours are: from pale to dark."""
    import seaborn

    by_size = hue == "subsample"
    colours = seaborn.color_palette("flare", len(lines)).as_hex() if by_size else repeated(PALETTE, len(lines))
    sizes = {value: _sizes(part.loc[part[hue] == value, "subsample"]) for value in lines}
    names = {value: f"N = {sizes[value]}" if by_size else name_of(target, hue, value) for value in lines}
    if not by_size and len(set(sizes.values())) > 1:
        names = {value: f"{name}, N = {sizes[value]}" for value, name in names.items()}
    return {
        value: {"color": colour, "linestyle": (0, dash) if dash else "-", "label": names[value]}
        for value, colour, dash in zip(lines, colours, repeated(DASHES, len(lines)), strict=True)
    }


def _panel_title(spec: dict[str, Any], panel: str, hue: str, part: pandas.DataFrame) -> str:
    given = (spec.get("panel_titles") or {}).get(panel)
    if hue == "subsample":
        return given or f"subsets of {', '.join(ordered(part['dataset']))}"
    sizes = ordered(part["subsample"])
    return (given or "datasets") + (f", N = {_sizes(sizes)}" if len(sizes) == 1 else "")


def _sizes(values: Any) -> str:
    return ", ".join(f"{int(float(value)):,}" for value in ordered(values) if value)
