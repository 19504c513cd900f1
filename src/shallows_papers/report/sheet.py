"""The layout of every figure: its style, axes, title, legend and label, and its files."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.errors import ShallowsError
from shallows_papers.datasets.files import replacing

from .target import Target, write_text
from .wording import label

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colors, which color-blind readers can distinguish; their yellow is too pale on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("", (5, 1.6), (1.4, 1.4), (6, 1.5, 1.4, 1.5), (3, 1.2), (8, 2, 3, 2), (1, 1))
INK, QUIET, RULE = "#1a1a1a", "#5c5c5c", "#dddddd"
PNG_DPI = 200
MARGIN = 0.1  # inches, left of the title and the label
NARROWEST, WIDEST = 6.2, 8.0  # inches of a figure: 1,240 and 1,600 pixels of a PNG

#: An entry of a legend: its text, and the lines that it shows side by side.
Entry = tuple[str, tuple[Any, ...]]

STYLE: dict[str, Any] = {
    "font.family": "sans-serif",  # DejaVu Sans, which comes with Matplotlib; an SVG falls back to Verdana, equally wide
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
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
    "svg.fonttype": "none",  # letters as paths would take seven tenths of a file
}


def styled(salt: str) -> AbstractContextManager[None]:
    """Return the style of every figure; with the same ``salt`` the parts of an SVG get the same names again."""
    import matplotlib
    import seaborn

    return matplotlib.rc_context({**seaborn.axes_style("ticks"), **STYLE, "svg.hashsalt": salt})


def frame(target: Target, *needed: str) -> pandas.DataFrame:
    """Return the rows as a table with a column for each key, and ``published``, ``mean``, ``sd`` and ``verdict``."""
    import pandas

    missing = [key for key in needed if key not in target.key_names()]
    if missing:
        raise ShallowsError(
            f"The figure of {target.id} needs {', '.join(missing)}, which no row has: look at the column 'setting'."
        )
    rows = [
        {
            **row.keys,
            "published": row.published_value,
            "mean": row.measured_mean,
            "sd": row.measured_sd,
            "verdict": row.verdict,
            "drawn": target.is_drawn(row),
        }
        for row in target.rows
    ]
    return pandas.DataFrame(rows).astype({"published": float, "mean": float, "sd": float})


def sheet(
    target: Target,
    rows: int,
    columns: int,
    width: float,
    height: float,
    legend: int = 0,
    absent: Sequence[str] = (),
) -> tuple[Figure, list[list[Axes]]]:
    """Return axes below a title (and a legend of some lines) and above the label that every figure has.

    What is ``absent`` was not measured: it has no axes, and one line names it.
    """
    from matplotlib.figure import Figure

    across = min(max(columns * width, NARROWEST), WIDEST)
    footer = footer_lines(target, int(across * 16.5), absent)
    heading = textwrap.wrap(target.title, int(across * 10.5))
    top, bottom = (
        0.16 + 0.2 * len(heading) + (0.05 + 0.19 * legend if legend else 0),
        0.14 + 0.135 * len(footer),
    )  # inches
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
    figure.text(left, 1 - 0.1 / tall, "\n".join(heading), va="top", fontsize=10.5, fontweight="bold", color=INK)
    figure.text(left, 0.08 / tall, "\n".join(footer), va="bottom", fontsize=6.8, color=QUIET, linespacing=1.3)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, [list(line) for line in axes]


def legend(figure: Figure, of: Sequence[Entry], lines: int) -> None:
    """Draw one legend for all axes, in this number of lines between the title and the axes."""
    across, tall = figure.get_size_inches()
    above = figure.texts[0].get_text().count("\n") + 1
    legend = figure.legend(
        *entries(of),
        handler_map=side_by_side(),
        loc="upper left",
        bbox_to_anchor=(MARGIN / across, 1 - (0.14 + 0.2 * above) / tall),
        ncols=math.ceil(len(of) / lines),
        handlelength=2.8,
        columnspacing=1.8,
        borderpad=0,
        borderaxespad=0,
    )
    legend.set_in_layout(False)  # the sheet has reserved its place


def entries(of: Sequence[Entry]) -> tuple[list[Any], list[str]]:
    """Return what a legend shows, and its texts."""
    return [lines if len(lines) > 1 else lines[0] for _, lines in of], [text for text, _ in of]


def side_by_side() -> dict[type, Any]:
    """Return what draws several lines of one entry next to each other."""
    from matplotlib.legend_handler import HandlerTuple

    return {tuple: HandlerTuple(ndivide=None, pad=0.4)}


def legend_lines(of: Sequence[Entry], across: float) -> int:
    """Return the number of lines that a legend of these entries needs if it is this wide, in inches."""
    widths = [0.6 + 0.066 * len(text) for text, _ in of]
    room = min(max(across, NARROWEST), WIDEST) - MARGIN
    if sum(widths) <= room:
        return int(bool(of))
    return math.ceil(len(of) / max(1, int(room / max(widths))))


def empty_sheet(target: Target, text: str) -> Figure:
    """Return a sheet with text instead of axes, for a figure without measured values."""
    figure, [[ax]] = sheet(target, rows=1, columns=1, width=6.2, height=0.6)
    ax.spines[:].set_visible(False)
    write_inside(ax, text, width=90)
    return figure


def footer_lines(target: Target, width: int, absent: Sequence[str] = ()) -> list[str]:
    """Return lines that name what was not measured, and the lines of the label, which break between its parts."""
    lines = textwrap.wrap(f"Not measured here: {', '.join(absent)}.", width) if absent else []
    n_before = len(lines)
    measured = target.meta.get("label", {}).get("seeds")
    for name, value in label(target.meta)[: None if measured else 1]:
        part = f"{name}: {value}."
        if len(lines) > n_before and len(lines[-1]) + len(part) + 3 <= width:
            lines[-1] += f"   {part}"
        else:
            lines += textwrap.wrap(part, width, break_long_words=False)
    return lines


def write_inside(ax: Axes, text: str, width: int = 34) -> None:
    """Write a text into the middle of axes that have nothing to show, and remove their ticks."""
    ax.set(xticks=[], yticks=[])
    ax.minorticks_off()
    centered = {"transform": ax.transAxes, "ha": "center", "va": "center"}
    ax.text(0.5, 0.5, textwrap.fill(text, width), color=QUIET, fontsize=8.5, **centered)


def same_limits(axes: Sequence[Axes]) -> None:
    """Set equal limits of y axes that are read next to each other."""
    filled = [ax for ax in axes if ax.lines and ax.get_yscale() == axes[0].get_yscale()]
    if not filled:
        return
    limits = [ax.get_ylim() for ax in filled]
    low, high = min(low for low, _ in limits), max(high for _, high in limits)
    if filled[0].get_yscale() == "log":  # limits of a line that hardly changes have hardly a margin
        low, high = low * (low / high) ** 0.02, high * (high / low) ** 0.02
    for ax in filled:
        ax.set_ylim(low, high)


def save(figure: Figure, svg_path: str | Path, title: str) -> None:
    """Write a figure as SVG and as PNG into the same folder.

    Dates and versions are left out, so that the files are the same to the bit when the figure is drawn again.
    """
    svg_path, engine = Path(svg_path), figure.get_layout_engine()
    # Lower end and height of the axes of a `sheet`, as shares of the figure; for another figure all of it.
    _, bottom, _, height = engine.get().get("rect", (0, 0, 1, 1)) if engine else (0, 0, 1, 1)
    fix_layout(figure)
    with replacing(svg_path.with_suffix(".png")) as partial:
        metadata = {"Software": None, "Title": title, _AXES: f"{bottom:.4f} {height:.4f}"}
        figure.savefig(partial, format="png", dpi=PNG_DPI, metadata=metadata)
    write_text(svg_path, svg_of(figure, title))


def fix_layout(figure: Figure) -> None:
    """Place the axes once for all forms of a figure, since this takes 0.4 of the time of drawing it.

    The places are rounded: their last digits depend on addresses in memory, by which the solver of Matplotlib sorts,
    and an SVG names its clipping rectangles after all digits.
    """
    figure.set_dpi(PNG_DPI)
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine(None)
    for ax in figure.axes:
        place = ax.get_position(original=True)
        ax.set_position([round(value, 9) for value in place.bounds])


def svg_of(figure: Figure, title: str | None = None) -> str:
    """Return a figure as the text of an SVG."""
    text, metadata = io.StringIO(), {"Date": None, "Creator": None} | ({"Title": title} if title else {})
    figure.savefig(text, format="svg", dpi=PNG_DPI, metadata=metadata)
    return text.getvalue()


#: The text in a PNG that says where its axes are, between the title and the label.
_AXES = "Axes"


def axes_place(info: Mapping[str, Any]) -> tuple[float, float]:
    """Return the lower end and the height of the axes from the texts in a PNG; without them, all of the picture."""
    bottom, height = map(float, str(info.get(_AXES, "0 1")).split())
    return bottom, height
