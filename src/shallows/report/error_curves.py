"""Error against epochs, measured beside published, in a grid of axes."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from shallows.errors import ShallowsError

from .numbers import is_number
from .sheet import DASHES, INK, PALETTE, empty_sheet, frame, legend, same_limits, say, sheet, silence
from .target import Target, ordered
from .wording import key_title, name_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def error_curves(target: Target) -> Figure:
    """Error against epochs: a column of axes a kernel, a row a metric, a colour a method.

    What was measured is solid with full marks, what the source prints is dashed with hollow ones.
    ``figure`` in the JSON may name other keys as ``x``, ``panels`` and ``lines``, and one ``metric`` instead of all.
    """
    spec = target.meta["figure"]
    x, facet, hue = spec.get("x", "epochs"), spec.get("panels", "kernel"), spec.get("lines", "method")
    table = frame(target, [x, facet, hue]).astype({x: float})
    if "metric" in spec:
        table = table[table["metric"] == spec["metric"]]
        if table.empty:
            raise ShallowsError(f"No row of {target.id} has the metric {spec['metric']!r}, which its figure draws.")
    if table["mean"].isna().all():
        return empty_sheet(target, silence(table))
    facets, metrics, methods = ordered(table[facet]), ordered(table["metric"]), ordered(table[hue])
    absent = [value for value in facets if table.loc[table[facet] == value, "mean"].isna().all()]
    facets = [value for value in facets if value not in absent]
    colours = dict(zip(methods, itertools.cycle(PALETTE), strict=False))

    titles = [_facet_title(target, facet, value) for value in absent]
    figure, axes = sheet(target, len(metrics), len(facets), width=3.1, height=2.5, legend=True, absent=titles)
    for row, metric in enumerate(metrics):
        values = table[table["metric"] == metric]
        for column, value in enumerate(facets):
            ax = axes[row][column]
            part = values[values[facet] == value]
            for method in methods:
                one = part[part[hue] == method].sort_values(x, kind="stable")
                _published_and_measured(ax, one, x, colours[method])
            ax.set_title(_facet_title(target, facet, value) if row == 0 else "", loc="left")
            ax.set_xlabel(key_title(target, x) if row == len(metrics) - 1 else "")
            ax.set_ylabel(name_of(target, "metric", metric) if column == 0 else "")
            _scale_axes(ax, values[x], values[["mean", "published"]].stack())
            if part["mean"].isna().all():
                say(ax, silence(part))
        same_limits(axes[row])

    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=colours[method], label=name_of(target, hue, method)) for method in methods]
    if table["mean"].notna().any():
        handles.append(Line2D([], [], color=INK, marker="o", label="measured"))
    if table["published"].notna().any():
        hollow = {"linestyle": (0, DASHES[1]), "marker": "o", "markerfacecolor": "white"}
        handles.append(Line2D([], [], color=INK, label="published", **hollow))
    legend(figure, handles)
    return figure


def _published_and_measured(ax: Axes, one: pandas.DataFrame, x: str, colour: str) -> None:
    import seaborn

    shared = {"data": one, "x": x, "color": colour, "ax": ax, "marker": "o", "estimator": None, "markeredgewidth": 1}
    if one["published"].notna().any():
        seaborn.lineplot(
            y="published",
            linestyle=(0, DASHES[1]),
            markerfacecolor="white",
            markeredgecolor=colour,
            linewidth=1.1,
            zorder=2,
            **shared,
        )
    measured = one.dropna(subset=["mean"])
    if len(measured):
        seaborn.lineplot(y="mean", markeredgecolor="white", zorder=3, **shared)
        spread = measured["sd"].fillna(0)
        if (spread > 0).any():
            below, above = measured["mean"] - spread, measured["mean"] + spread
            ax.fill_between(measured[x], below.clip(lower=0), above, color=colour, alpha=0.16, linewidth=0)


def _facet_title(target: Target, key: str, value: str) -> str:
    name, title = name_of(target, key, value), key_title(target, key)
    return f"{title} {name}" if is_number(value) else f"{name} {title}"


def _scale_axes(ax: Axes, x: pandas.Series, y: pandas.Series) -> None:
    """Logarithmic axes where the values span nearly a decade.

    An axis that holds zeros as well is linear at its lower end, two decades below its largest value, and its
    label says so.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    for axis, values in (("x", x.dropna()), ("y", y.dropna())):
        above = values[values > 0]
        if above.empty or values.min() < 0 or above.max() / above.min() < 8:
            ax.set_ylim(bottom=0) if axis == "y" else None
            continue
        one = getattr(ax, f"{axis}axis")
        if len(above) < len(values):
            floor = 10.0 ** (math.floor(math.log10(above.max())) - 2)
            getattr(ax, f"set_{axis}scale")("symlog", linthresh=floor, linscale=0.5)
            one.set_major_locator(FixedLocator([0, *(floor * 10**power for power in range(4))]))
            getattr(ax, f"set_{axis}lim")(-0.08 * floor, 1.6 * values.max())
            if one.get_label_text():
                one.set_label_text(f"{one.get_label_text()}\nlinear below {floor:g}")
        else:
            ax.set(**{f"{axis}scale": "log"})
            one.set_major_locator(LogLocator(subs=(1, 2, 5) if above.max() / above.min() < 200 else (1,)))
        one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        one.set_minor_locator(NullLocator())
        if axis == "x":
            marks = sorted(set(values))
            one.set_major_locator(FixedLocator(marks if len(marks) <= 8 else marks[:: -(-len(marks) // 8)]))
