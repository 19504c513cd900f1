"""Figures from the tidy CSV, as SVG and PNG, the same to the bit when they are drawn again."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.datasets.files import replacing
from shallows.errors import ShallowsError, UnknownNameError

from .tables import key_title, name_of
from .target import Target, is_number, label, ordered, read

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which remain apart for colour-blind readers; their yellow is too pale on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("", (5, 1.6), (1.4, 1.4), (6, 1.5, 1.4, 1.5), (3, 1.2), (8, 2, 3, 2), (1, 1))
INK, QUIET, RULE = "#1a1a1a", "#5c5c5c", "#dddddd"
PNG_DPI = 200
MARGIN = 0.1  # inches, left of the title and the label

STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib, so that the picture is the same on every machine
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlepad": 8,
    "axes.labelsize": 9,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.title_fontsize": 8,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "svg.fonttype": "path",
}


def draw(csv_path: str | Path, meta_path: str | Path, svg_path: str | Path, png_path: str | Path) -> None:
    """Draw a target as its JSON says under ``figure``.

    Parameters
    ----------
    csv_path : path
        The tidy CSV that holds the numbers to draw.
    meta_path : path
        The JSON beside it; ``figure.kind`` names the drawing: ``curves``, ``spectrum`` or ``error_curves``.
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
        for path, form, metadata in (
            (svg_path, "svg", {"Date": None, "Creator": None, "Title": target.title}),
            (png_path, "png", {"Software": None, "Title": target.title}),
        ):
            with replacing(Path(path)) as partial:
                figure.savefig(partial, format=form, dpi=PNG_DPI, metadata=metadata)


def frame(target: Target, needed: Sequence[str]) -> pandas.DataFrame:
    """The rows that hold a number, one column a key, with ``published``, ``mean`` and ``sd`` beside them.

    Raises
    ------
    ShallowsError
        Where a needed key is missing.
    """
    import pandas

    missing = [key for key in needed if key not in target.key_names()]
    if missing:
        raise ShallowsError(
            f"The rows of {target.id} hold no {', '.join(missing)}, which its figure is drawn by: "
            "look at the column 'setting'."
        )
    rows = [
        {
            **row.keys,
            "published": row.published_value,
            "mean": row.mean,
            "sd": row.sd,
            "verdict": row.verdict,
            "drawn": target.is_drawn(row),
        }
        for row in target.rows
    ]
    table = pandas.DataFrame(rows)
    return table.astype({"published": float, "mean": float, "sd": float})


# Error against epochs -------------------------------------------------------------------------------------


def error_curves(target: Target) -> Figure:
    """Error against epochs: a column of axes a kernel, a row a metric, a colour a method.

    What was measured is solid with full marks, what the source prints is dashed with hollow ones.
    ``figure`` in the JSON may name other keys as ``x``, ``panels`` and ``lines``, one ``metric`` instead of
    all, and labels of the axes as ``x_label`` and ``y_label``.
    """
    spec = target.meta["figure"]
    x, facet, hue = spec.get("x", "epochs"), spec.get("panels", "kernel"), spec.get("lines", "method")
    table = frame(target, [x, facet, hue]).astype({x: float})
    if "metric" in spec:
        table = table[table["metric"] == spec["metric"]]
        if table.empty:
            raise ShallowsError(f"No row of {target.id} has the metric {spec['metric']!r}, which its figure draws.")
    facets, metrics, methods = ordered(table[facet]), ordered(table["metric"]), ordered(table[hue])
    colours = dict(zip(methods, repeated(PALETTE, len(methods)), strict=True))

    figure, axes = sheet(target, rows=len(metrics), columns=len(facets), width=3.1, height=2.5, legend=True)
    for row, metric in enumerate(metrics):
        values = table[table["metric"] == metric]
        for column, value in enumerate(facets):
            ax = axes[row][column]
            part = values[values[facet] == value]
            for method in methods:
                one = part[part[hue] == method].sort_values(x)
                _published_and_measured(ax, one, x, colours[method])
            ax.set_title(_facet_title(target, facet, value) if row == 0 else "", loc="left")
            ax.set_xlabel(spec.get("x_label", key_title(target, x)) if row == len(metrics) - 1 else "")
            ax.set_ylabel(spec.get("y_label", name_of(target, "metric", metric)) if column == 0 else "")
            _scale_axes(ax, values[x], values[["mean", "published"]].stack(), spec)
            if part["mean"].isna().all():
                say(ax, "not run" if (part["verdict"] == "not run").all() else "nothing measured")
        same_limits(axes[row])

    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=colours[method], label=name_of(target, hue, method)) for method in methods]
    if table["mean"].notna().any():
        handles.append(Line2D([], [], color=INK, marker="o", label="measured"))
    if table["published"].notna().any():
        handles.append(
            Line2D(
                [],
                [],
                color=INK,
                linestyle=(0, DASHES[1]),
                marker="o",
                markerfacecolor="white",
                label="published",
            )
        )
    legend(figure, handles)
    return figure


def _published_and_measured(ax: Axes, one: pandas.DataFrame, x: str, colour: str) -> None:
    import seaborn

    shared = {
        "data": one,
        "x": x,
        "color": colour,
        "ax": ax,
        "marker": "o",
        "estimator": None,
        "markeredgewidth": 1,
    }
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


# Spectra --------------------------------------------------------------------------------------------------


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
        part = table[table["panel"] == panel].sort_values(x)
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


# The sheet ------------------------------------------------------------------------------------------------


def sheet(
    target: Target, rows: int, columns: int, width: float, height: float, legend: bool = False
) -> tuple[Figure, list[list[Axes]]]:
    """Axes under a title, and a legend where asked, and over the label that every figure carries."""
    from matplotlib.figure import Figure

    across = max(columns * width, 6.2)
    footer = footer_lines(target, int(across * 16.5))
    heading = textwrap.wrap(target.title, int(across * 10.5))
    top, bottom = 0.16 + 0.2 * len(heading) + 0.24 * legend, 0.14 + 0.135 * len(footer)  # inches
    tall = rows * height + top + bottom + 0.3
    figure = Figure(figsize=(across, tall), layout="constrained")
    figure.get_layout_engine().set(
        rect=(0, bottom / tall, 1, 1 - (top + bottom) / tall),
        w_pad=0.06,
        h_pad=0.05,
        wspace=0.03,
        hspace=0.03,
    )
    axes = figure.subplots(rows, columns, squeeze=False)
    left = MARGIN / across
    figure.text(
        left,
        1 - 0.1 / tall,
        "\n".join(heading),
        va="top",
        ha="left",
        fontsize=10.5,
        fontweight="bold",
        color=INK,
    )
    figure.text(
        left,
        0.08 / tall,
        "\n".join(footer),
        va="bottom",
        ha="left",
        fontsize=6.8,
        color=QUIET,
        linespacing=1.3,
    )
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, [list(line) for line in axes]


def legend(figure: Figure, handles: Sequence[Any]) -> None:
    """One legend for all axes, in a line of its own between the title and the axes."""
    across, tall = figure.get_size_inches()
    lines = figure.texts[0].get_text().count("\n") + 1
    legend = figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(MARGIN / across, 1 - (0.14 + 0.2 * lines) / tall),
        ncols=len(handles),
        handlelength=2.8,
        columnspacing=1.8,
        borderpad=0,
        borderaxespad=0,
    )
    legend.set_in_layout(False)  # the sheet has kept its place free


def fits_a_line(handles: Sequence[Any], across: float) -> bool:
    """Tell whether a legend of these handles, side by side, is no wider than so many inches."""
    return sum(0.6 + 0.066 * len(handle.get_label()) for handle in handles) <= max(across, 6.2) - MARGIN


def _facet_title(target: Target, key: str, value: str) -> str:
    name, title = name_of(target, key, value), key_title(target, key)
    return f"{title} {name}" if is_number(value) else f"{name} {title}"


def footer_lines(target: Target, width: int) -> list[str]:
    """The label of a figure, broken between its parts where they fit a line."""
    lines: list[str] = []
    for name, value in label(target.meta):
        part = f"{name}: {value}."
        if lines and len(lines[-1]) + len(part) + 3 <= width:
            lines[-1] += f"   {part}"
        else:
            lines += textwrap.wrap(part, width, break_long_words=False)
    return lines


def repeated(values: Sequence[Any], count: int) -> list[Any]:
    """As many as are asked for, from the first again where there are fewer."""
    return [values[place % len(values)] for place in range(count)]


def say(ax: Axes, text: str) -> None:
    """Words in the middle of axes that have nothing to show, and no ticks, which would say that there was something."""
    ax.set(xticks=[], yticks=[])
    ax.minorticks_off()
    ax.text(
        0.5,
        0.5,
        textwrap.fill(text, 34),
        transform=ax.transAxes,
        ha="center",
        va="center",
        color=QUIET,
        fontsize=8.5,
    )


def _scale_axes(ax: Axes, x: pandas.Series, y: pandas.Series, spec: dict[str, Any]) -> None:
    """Logarithmic axes where the values span nearly a decade, unless ``x_scale`` or ``y_scale`` says otherwise.

    An axis that holds zeros as well is linear at its lower end, two decades below its largest value, and its
    label says so.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    for axis, values in (("x", x.dropna()), ("y", y.dropna())):
        above = values[values > 0]
        apt = len(above) > 0 and values.min() >= 0 and above.max() / above.min() >= 8
        if spec.get(f"{axis}_scale", "log" if apt else "linear") != "log":
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


def same_limits(axes: Sequence[Axes], also_x: bool = False) -> None:
    """Equal limits over axes that are read beside each other."""
    for direction in ("x", "y") if also_x else ("y",):
        filled = [
            ax
            for ax in axes
            if ax.lines and getattr(ax, f"get_{direction}scale")() == getattr(axes[0], f"get_{direction}scale")()
        ]
        if len(filled) < 2:
            continue
        limits = [getattr(ax, f"get_{direction}lim")() for ax in filled]
        for ax in filled:
            getattr(ax, f"set_{direction}lim")(min(low for low, _ in limits), max(high for _, high in limits))


def _curves(target: Target) -> Figure:
    from .curves import curves

    return curves(target)


KINDS: dict[str, Callable[[Target], Figure]] = {"error_curves": error_curves, "spectrum": spectrum, "curves": _curves}
