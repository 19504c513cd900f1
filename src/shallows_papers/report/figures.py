"""Draw figures from the tidy CSV, as SVG and PNG, the same to the bit when they are drawn again."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.errors import ShallowsError, UnknownNameError
from shallows_papers.experiments.comparing.verdicts import Verdict

from . import sheet, ticks
from .target import Target, ordered, read
from .wording import is_number, key_title, name_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
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
    table = sheet.frame(target, key)
    if table["mean"].notna().any() and (not marks or marks[0] not in table):
        raise ShallowsError(f"The figure of {target.id} needs a mark, which says which rows belong to one point.")
    values = table.loc[table["metric"] == hue, "mean"].dropna()
    if values.empty:
        return sheet.empty_sheet(target, _why_empty(target, table))
    is_class = values.nunique() <= MOST_CLASSES
    if is_class:
        names = [f"{value:g}" for value in sorted(values.unique())]
        look = {"hue_order": names, "palette": seaborn.color_palette("tab10", len(names))}
    else:
        look = {"hue_norm": (values.min(), values.max()), "palette": "viridis"}
    panels = [value for value in ordered(table[key]) if value] or [""]
    figure, [axes] = sheet.sheet(target, rows=1, columns=len(panels), width=3.1, height=2.8)
    for ax, panel in zip(axes, panels, strict=True):
        part = table[(table[key] == panel) & table["mean"].notna()]
        ax.set_title(name_of(target, key, panel) if panel else "", loc="left")
        ax.grid(visible=False)
        if not len(part):
            sheet.write_inside(ax, "not run")
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


#: A line with more points than this has no markers.
MARKED = 16
#: The legend of a single panel with more lines than this, or too long for one line of text, is at the side.
WIDE = 4
#: More panels than this are drawn in several lines.
MOST_ACROSS = 4
#: Letters of an axis's name or title in an inch.
LETTERS = 13
#: Dashes of bounds that belong to no line.
BOUNDS = ((4, 2), (1.2, 1.6), (7, 2, 1.2, 2))


def curves(target: Target) -> Figure:
    """Draw curves as ``figure`` in the target's JSON says.

    - ``x``: the key along which curves run (by default the first of the target's marks), or a metric.
    - ``best_so_far``: each value is the smallest up to there, for errors that jump.
    - ``y``: the metric that is drawn.
    - ``lines``, ``columns``, ``rows``: the keys that differ between lines and between axes (``metric`` is a key).
      The lines of two keys have a color for each value of the first and dashes for each value of the second.
    - ``bounds``: metrics drawn thin and dashed, in the color of their line.
    - ``levels``: horizontal lines with a label. ``powers``: thin lines that fall as a power of x, with a label.
    - ``x_scale``, ``y_scale``: ``log`` or ``linear``.
    - ``x_label`` (also by column), ``y_label``, ``y_limits``, ``titles`` (of axes, by value): replace the default texts
      and limits.
    - ``points``: values are points without lines between them, for independent values.
    - ``zeros``: y axes begin at 0, also logarithmic ones with a zero.
    """
    spec = target.figure
    x = spec.get("x") or next(iter(target.marks), "")
    table = _table(target, x)
    rows, columns = spec.get("rows"), spec.get("columns")
    lines = spec.get("lines", "method")
    pairs: dict[str, tuple[str, ...]] = {}
    if isinstance(lines, list):
        names = {key: {value: _title(target, key, value) for value in target.values(key) if value} for key in lines}
        parts = [*zip(*(table[key].map(names[key]).fillna("") for key in lines), strict=True)]
        lines, table["line"] = "line", [", ".join(filter(None, of_row)) for of_row in parts]
        pairs = dict(zip(table["line"], parts, strict=True))
    if table["mean"].isna().all():
        return sheet.empty_sheet(target, _why_empty(target, table))
    (down, no_rows), (across, no_columns) = _values(table, rows), _values(table, columns)
    absent = [_title(target, rows, value) for value in no_rows]
    absent += [_title(target, columns, value) for value in no_columns]
    names = [value for value in ordered(table[lines]) if value] if lines in table else [""]
    names.sort(key=lambda name: name in spec.get("bounds", []))
    looks = _looks(names, pairs)
    not_drawn = [
        name for name in names if name and table.loc[table[lines] == name, ["mean", "published"]].isna().all(axis=None)
    ]
    absent += [_title(target, lines, name) for name in not_drawn if name not in spec.get("bounds", [])]

    in_panels = table[table["at"].notna()]
    for key, values in ((rows, down), (columns, across)):
        in_panels = in_panels[in_panels[key].isin(values)] if key in table else in_panels
    handles = _handles(target, in_panels, lines, {name: look for name, look in looks.items() if name not in not_drawn})
    wide = math.ceil(len(across) / math.ceil(len(across) / MOST_ACROSS))
    placed = [(row, across[start : start + wide]) for row in down for start in range(0, len(across), wide)]
    width = spec.get("width", 3.1 if wide > 1 else 6.0)
    above = sheet.legend_lines(handles, wide * width)
    if wide == 1 and (above > 1 or len(names) > WIDE):
        above = 0
    height = spec.get("height", 2.5 if wide > 1 else 3.3)
    figure, axes = sheet.sheet(target, len(placed), wide, width, height, legend=above, absent=absent)
    for line, (row, shown) in enumerate(placed):
        for ax in axes[line][len(shown) :]:
            ax.set_axis_off()
        for place, column in enumerate(shown):
            ax = axes[line][place]
            part = _where(_where(table, rows, row), columns, column)
            for name in names:
                _draw(ax, _where(part, lines, name), looks[name], spec)
            # The name of a metric is the title of its y axis.
            keys = ((columns, column), (rows if rows != "metric" else "", row))
            titles = [_title(target, key, value) for key, value in keys if key]
            title = ", ".join(filter(None, titles if wide == 1 else titles[:1]))
            ax.set_title(textwrap.fill(title, int(_width(ax) * LETTERS) + 2), loc="left")
            x_label = spec.get("x_label", key_title(target, x))
            ax.set_xlabel("" if row != down[-1] else x_label if isinstance(x_label, str) else x_label[column])
            drawn = [row] if rows == "metric" else spec.get("y") or []
            named = name_of(target, "metric", drawn[0]) if len(drawn) == 1 else ""
            y_label = named if rows == "metric" else spec.get("y_label", named)
            y_label += ", best so far" * bool(spec.get("best_so_far"))
            # Without a place in the titles, the value of a row stands at its left.
            beside = [_title(target, rows, row)] if rows and rows != "metric" and wide > 1 else []
            lines_of_label = [*beside, textwrap.fill(y_label, int(height * LETTERS))]
            ax.set_ylabel("" if place else "\n".join(filter(None, lines_of_label)))
            _set_scales(ax, part, part if spec.get("free_y") else _where(table, rows, row), spec)
            if part["mean"].isna().all():
                sheet.write_inside(ax, _why_empty(target, part))
    if not spec.get("free_y"):
        for row in down:
            sheet.same_limits([ax for (its, shown), of in zip(placed, axes, strict=True) if its == row for ax in of])
    if above:
        sheet.legend(figure, handles, above)
    elif handles:
        place = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0, "handlelength": 2.6}
        axes[0][-1].legend(*sheet.entries(handles), handler_map=sheet.side_by_side(), **place)
    return figure


def _table(target: Target, x: str) -> pandas.DataFrame:
    """Return the rows that are drawn, with their position on the x axis as ``at``."""
    wanted = [*target.figure.get("y", []), *target.figure.get("bounds", [])]
    metrics, table = target.values("metric"), sheet.frame(target)
    along = x if x not in metrics else next(iter(target.marks), "")
    if along not in table and table["mean"].isna().all():
        table[along] = ""  # nothing was measured, which the picture says
    if along not in table:
        raise ShallowsError(f"The figure of {target.id} runs along {x!r}, and no row of the target has such a key.")
    table[along] = table[along].replace("", math.nan).astype(float)
    if not wanted:
        on_curves = table.loc[table[along].notna(), "metric"]
        wanted = [next(iter(on_curves), metrics[0])]
    keys = [key for key in target.key_names() if key not in ("metric", along)]
    table["at"] = table[along]
    if x in metrics:  # one metric against another: values at the same mark belong together
        places = table[table["metric"] == x].set_index([*keys, along])["mean"]
        table["at"] = [places.get(tuple(row), math.nan) for row in table[[*keys, along]].itertuples(index=False)]
    unknown = [one for one in wanted if one not in metrics]
    if unknown and len(unknown) == len(wanted):
        raise ShallowsError(f"No row of {target.id} has the metrics {', '.join(unknown)}, which its figure draws.")
    chosen = table[table["metric"].isin(wanted)]
    return chosen[chosen["at"].notna() | chosen["mean"].isna()].fillna(dict.fromkeys(keys, ""))


def _values(table: pandas.DataFrame, key: str | None) -> tuple[list[str], list[str]]:
    """Split the values of a key for axes into measured ones and others; without a key, a single empty value."""
    values = [value for value in ordered(table[key]) if value] if key in table else []
    measured, others = [], []
    for value in values or [""]:
        (measured if _where(table, key, value)["mean"].notna().any() else others).append(value)
    return measured, others


def _where(table: pandas.DataFrame, key: str | None, value: str) -> pandas.DataFrame:
    return table[table[key] == value] if key in table and value else table


def _looks(names: Sequence[str], pairs: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, Any]]:
    """Return color and dashes of each line; if two keys are crossed, the first has colors and the second dashes."""
    colors, dashes = itertools.cycle(sheet.PALETTE), itertools.cycle(sheet.DASHES)
    first, second = ([*dict.fromkeys(pairs[name][place] for name in names)] if pairs else [] for place in (0, 1))
    if len(names) > 3 and all(map(_is_size, names)):
        import seaborn

        # Sizes are ordered, so their colors are ordered too: from pale to dark.
        colors, dashes = seaborn.color_palette("flare", len(names)).as_hex(), itertools.repeat("")
    elif min(len(first), len(second)) > 1 and len(first) * len(second) == len(names):
        colors = [sheet.PALETTE[first.index(pairs[name][0]) % len(sheet.PALETTE)] for name in names]
        dashes = [sheet.DASHES[second.index(pairs[name][1]) % len(sheet.DASHES)] for name in names]
    return {
        name: {"color": color, "linestyle": (0, dash) if dash else "-"}
        for name, color, dash in zip(names, colors, dashes, strict=False)
    }


def _is_size(text: str) -> bool:
    return is_number(text) and float(text) >= 0


def _draw(ax: Axes, part: pandas.DataFrame, look: Mapping[str, Any], spec: Mapping[str, Any]) -> None:
    """Draw the lines of one name: measured values with their band, bounds, printed numbers."""
    bounds = spec.get("bounds", [])
    other = [key for key in part if key not in ("mean", "sd", "published", "verdict", "drawn", "at")]
    # The x axis has numbers, one for each position.
    shaped = part.groupby([key for key in other if part[key].dtype.kind != "f"], dropna=False, sort=False)
    for _, one in shaped:
        one = one.sort_values("at", kind="stable")
        one = one[one["mean"].map(math.isfinite) | one["mean"].isna()]
        measured = one.dropna(subset=["mean"])
        if spec.get("best_so_far"):
            best = measured["mean"].cummin()
            measured = measured.assign(mean=best, sd=measured["sd"].where(measured["mean"] == best).ffill())
        if one["metric"].isin(bounds).all():
            own = spec.get("lines") == "metric"  # if there are several lines, it belongs to none and is drawn on top
            thin = _bound(bounds.index(one["metric"].iloc[0]) if own else 0, sheet.INK if own else look["color"])
            ax.plot(measured["at"], measured["mean"], zorder=5 if own else 2, **thin)
            continue
        marker = "o" if len(measured) <= MARKED or spec.get("points") else None
        line = {**look, "linestyle": ""} if spec.get("points") else look
        ax.plot(measured["at"], measured["mean"], marker=marker, markeredgecolor="white", zorder=3, **line)
        spread = measured["sd"].fillna(0)
        if (spread > 0).any():
            below = (measured["mean"] - spread).clip(lower=measured["mean"] / 10)
            above = measured["mean"] + spread
            ax.fill_between(measured["at"], below, above, color=look["color"], alpha=0.16, linewidth=0)
        printed = one.dropna(subset=["published"])
        if len(printed):
            hollow = {"marker": "o", "markerfacecolor": "white", "linestyle": (0, sheet.DASHES[1]), "linewidth": 1.0}
            ax.plot(printed["at"], printed["published"], color=look["color"], zorder=4, **hollow)


def _bound(place: int, color: str) -> dict[str, Any]:
    """Return the look of a bound, by its place among those that belong to no line."""
    return {"color": color, "linestyle": (0, BOUNDS[place % len(BOUNDS)]), "linewidth": 0.9}


def _set_scales(ax: Axes, part: pandas.DataFrame, sharing: pandas.DataFrame, spec: Mapping[str, Any]) -> None:
    """Set the scales and limits of axes and draw their levels; ``sharing`` has all rows with the same y axis."""
    import pandas

    finite = part[part["mean"].map(math.isfinite)]
    y = pandas.concat([sharing.loc[sharing["mean"].map(math.isfinite), "mean"], sharing["published"].dropna()])
    for axis, values in (("x", finite["at"]), ("y", y if len(finite) else finite["mean"])):
        above = values[values > 0]
        apt = len(above) > 0 and values.min() > 0 and above.max() / above.min() >= 20
        if len(above) and spec.get(f"{axis}_scale", "log" if apt else "linear") == "log":
            getattr(ax, f"set_{axis}scale")("log", nonpositive="mask")
            ticks.logarithmic_ticks(ax, axis, above, _width(ax))
        elif axis == "y" and spec.get("zeros"):
            ax.set_ylim(bottom=0)
            if len(above) and values.min() == 0 and above.max() / above.min() >= 20:
                ticks.logarithmic_from_zero(ax, above.max())
        elif axis == "x" and (values == values.round()).all():
            ax.xaxis.get_major_locator().set_params(integer=True)
    for level in spec.get("levels", []):
        ax.axhline(level["value"], color=sheet.QUIET, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
        right = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
        ax.annotate(level.get("label", ""), (1.0, level["value"]), fontsize=7.5, color=sheet.QUIET, **right)
    for one in spec.get("powers", []):
        measured = finite[~finite["metric"].isin(spec.get("bounds", []))]
        _draw_power(ax, measured, one["power"], one.get("label", ""))
    if "y_limits" in spec:
        ax.set_ylim(*spec["y_limits"])


def _width(ax: Axes) -> float:
    """Return about how wide axes will be, in inches, without the labels of the y axis."""
    return ax.figure.get_figwidth() / ax.get_gridspec().ncols - 0.75


def _draw_power(ax: Axes, part: pandas.DataFrame, power: float, label: str) -> None:
    """Draw a line that falls as a power of x, from the highest value at most to the middle of the last values."""
    shown = part[(part["at"] > 0) & (part["mean"] > 0)]
    if shown.empty or power >= 0:
        return
    end, highest = shown["at"].max(), shown["mean"].max()
    last = math.exp(shown.loc[shown["at"] == end, "mean"].map(math.log).mean())
    start = max(shown["at"].min(), end * (highest / last) ** (1 / power))
    level = last * (start / end) ** power
    ax.plot([start, end], [level, last], color=sheet.QUIET, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
    below = {"xytext": (-2, -4), "textcoords": "offset points", "ha": "right", "va": "top"}  # where no curve is
    ax.annotate(label, (end, last), fontsize=7.5, color=sheet.QUIET, **below)


def _title(target: Target, key: str, value: str) -> str:
    given = (target.figure.get("titles") or {}).get(value)
    if given is not None:
        return str(given)
    name = name_of(target, key, value)
    if not _is_size(value):
        return name
    title = key_title(target, key)
    return f"{title} = {name}" if len(title) == 1 else f"{title} {name}"


def _why_empty(target: Target, part: pandas.DataFrame) -> str:
    """Say why axes for these rows are empty, and for which data."""
    why = Verdict.NOT_RUN if (part["verdict"] == Verdict.NOT_RUN).all() else "nothing measured"
    absent = [name_of(target, "dataset", value) for value in ordered(part["dataset"]) if value]
    return why + (f": {', '.join(absent)}" if absent else "")


def _handles(
    target: Target, table: pandas.DataFrame, lines: str, looks: Mapping[str, Mapping[str, Any]]
) -> list[sheet.Entry]:
    """Return the entries of the legend, of the lines that are drawn."""
    from matplotlib.lines import Line2D

    entries, bounds, spec = [], [*dict.fromkeys(target.figure.get("bounds", []))], target.figure
    has_bounds, has_printed = table["metric"].isin(bounds).any(), table["published"].notna().any()
    for name, look in looks.items() if len(looks) > 1 or has_bounds or has_printed else ():
        if lines != "metric" or name not in bounds:
            # A single line has the name of what it shows.
            title = _title(target, lines, name) if len(looks) > 1 else name_of(target, "metric", _main(table, bounds))
            shape = {"marker": "o", "linestyle": ""} if spec.get("points") else {}
            entries.append((title, (Line2D([], [], **{**look, **shape}),)))
    for place, bound in enumerate(bounds):
        shown = table[(table["metric"] == bound) & table["mean"].notna()]
        if len(shown):
            own = lines == "metric" or lines not in table
            colors = (
                dict.fromkeys(looks[name]["color"] for name in ordered(shown[lines]) if name in looks)
                if not own
                else {}
            )
            of_lines = [Line2D([], [], **_bound(0, color)) for color in [*colors][:3]]
            entries.append(
                (name_of(target, "metric", bound), (*of_lines,) or (Line2D([], [], **_bound(place, sheet.INK)),))
            )
    if has_printed:
        hollow = {"marker": "o", "markerfacecolor": "white", "linestyle": (0, sheet.DASHES[1]), "linewidth": 1.0}
        entries.append(("published", (Line2D([], [], color=sheet.INK, **hollow),)))
    return entries


def _main(table: pandas.DataFrame, bounds: Sequence[str]) -> str:
    """Return the first metric that is no bound."""
    return next(metric for metric in table["metric"] if metric not in bounds)


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
    with sheet.styled(target.id):
        sheet.save(kinds[kind](target), svg_path, target.title)
