"""The page of a comparison on one dataset, and its pictures: errors against costs, predictions, bandwidths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from . import figures, page, tables
from .figures import curves
from .sheet import INK, PALETTE, QUIET, empty_sheet, same_limits, sheet
from .target import Target
from .wording import name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osD^vP"
_LARGEST = 5000
#: With more classes than this, the fields have no numbers.
_NUMBERED = 15
#: The costs of a method, each with a panel of the picture and the label of its axis.
_COSTS = {
    "fit_seconds": "seconds of one fit",
    "predict_seconds": "seconds to predict the test rows",
    "model_kilobytes": "size of the model",
}


def write_page(csv_paths: Iterable[Path], out: str | Path, title: str = "") -> None:
    """Render the tables of a comparison, draw their pictures, and write the page with both."""
    targets = [(path, path.parents[1] / "figures" / f"{path.stem}.svg") for path in csv_paths]
    for table, picture in targets:
        tables.render(table)
        figures.draw(table, picture, KINDS)
    page.write(targets, out, title=title)


def error_against_costs(target: Target) -> Figure:
    """Draw the test error of each method against each of its costs, with its interval; a ring marks the recommended."""
    from matplotlib.ticker import EngFormatter, LogLocator

    found: dict[str, dict[str, float]] = {}
    for row in target.rows:
        if row.measured_mean is not None:
            found.setdefault(row.method, {})[row.metric] = row.measured_mean
    found = {name: one for name, one in found.items() if _COSTS.keys() <= one.keys()}
    if not found:
        return empty_sheet(target, "Not drawn: no method could be run.")
    is_class = any("test_error" in one for one in found.values())
    errors = {name: one["test_error"] if is_class else 1.0 - one["test_r2"] for name, one in found.items()}
    least = min((error for error in errors.values() if error > 0), default=1.0) / 2  # 0 has no logarithm
    figure, [axes] = sheet(target, rows=1, columns=len(_COSTS), width=3.6, height=max(3.6, 0.5 + 0.165 * len(found)))
    for ax, (cost, words) in zip(axes, _COSTS.items(), strict=True):
        ax.set(xscale="log", yscale="log", xlabel=words)
        points = {name: (one[cost], max(errors[name], least)) for name, one in found.items()}
        if cost == "model_kilobytes":
            points = {name: (1000 * kilobytes, error) for name, (kilobytes, error) in points.items()}
        for place, (name, point) in enumerate(points.items()):
            look = {"color": PALETTE[place % len(PALETTE)], "marker": _MARKERS[place % len(_MARKERS)]}
            bar = ax.errorbar(
                *point, yerr=found[name].get("interval"), elinewidth=0.8, linestyle="none", label=name, **look
            )
            for line in bar.lines[2]:
                line.set_alpha(0.5)
            if name == target.figure.get("recommended"):
                ax.plot(*point, "o", markersize=13, fillstyle="none", color=INK, zorder=4)
        front: list[tuple[float, float]] = []  # methods for which no other has both a lower error and a lower cost
        for point in sorted(points.values()):
            if not front or point[1] < front[-1][1]:
                front.append(point)
        ax.plot(*zip(*front, strict=True), color=QUIET, linewidth=0.8, zorder=2)
        ax.set_ylim(bottom=0.9 * min(error for _, error in points.values()))
        ax.set_xlim(_ends([cost for cost, _ in points.values()]))
        _plain_ticks(ax)
    same_limits(axes)
    axes[-1].xaxis.set_major_locator(LogLocator(numticks=5))  # few enough that the sizes do not touch
    axes[-1].xaxis.set_major_formatter(EngFormatter("B"))
    for ax in axes[1:]:
        ax.tick_params(labelleft=False)
    axes[0].set_ylabel("test error (%)" if is_class else "test, 1 − R²")
    # The best first; Matplotlib would put methods without a bar before the others.
    handles, labels = axes[-1].get_legend_handles_labels()
    shown = dict(zip(labels, handles, strict=True))
    handles = [shown[name] for name in found]
    axes[-1].legend(handles, found, loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0, handlelength=1.2)
    return figure


def _ends(values: list[float]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis with all values, and a margin that grows with their ratio."""
    low, high = min(values), max(values)
    margin = max(high / low, 3.0) ** 0.07
    return low / margin, high * margin


def _plain_ticks(ax: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        steps = (1,) if high >= 100 * low else (1, 2, 5) if high >= 8 * low else (1, 1.5, 2, 3, 4, 5, 7)
        axis.set_major_locator(LogLocator(subs=steps))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def predicted_against_true(target: Target) -> Figure:
    """Draw the confusion matrix of classes, or predicted against true numbers."""
    if target.figure.get("points"):
        return _scatter(target)
    counts = [row for row in target.rows if row.measured_mean is not None]
    if not counts:
        return empty_sheet(target, f"Not drawn: {target.rows[0].reason or 'nothing was predicted'}.")
    return _confusion(target, list(dict.fromkeys(row.keys["true"] for row in counts)))


def _confusion(target: Target, names: list[str]) -> Figure:
    import seaborn

    values = {(row.keys["true"], row.keys["predicted"]): row.measured_mean for row in target.rows}
    table = np.array([[values.get((a, b), 0.0) for b in names] for a in names])
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    side = min(max(2.6, 0.36 * len(names) + 1.0), 7.5)
    figure, [[ax]] = sheet(target, rows=1, columns=1, width=side + 1.6, height=side)
    labels = [_short(name_of(target, "true", name)) for name in names]
    numbered = len(names) <= _NUMBERED
    seaborn.heatmap(
        shares,
        ax=ax,
        vmin=0,
        vmax=1,
        cmap="Blues",
        square=True,
        linewidths=0.5,
        annot=table if numbered else None,
        fmt=".0f",
        annot_kws={"fontsize": 8},
        xticklabels=labels,
        yticklabels=labels,
        cbar_kws={"label": "share of the true class", "shrink": 0.8},
    )
    ax.tick_params(length=0)
    ax.tick_params(axis="y", rotation=0)
    if len(names) > 8 or max(map(len, labels)) > 6:
        ax.tick_params(axis="x", rotation=90)
    ax.grid(visible=False)
    ax.set(xlabel="predicted", ylabel="true")
    return figure


def _short(name: str) -> str:
    return name if len(name) <= 18 else name[:17] + "…"


def _scatter(target: Target) -> Figure:
    with np.load(target.figure["points"], allow_pickle=False) as held:
        true, predicted = (held[name].reshape(len(held[name]), -1) for name in ("true", "predicted"))
    names = target.figure["names"]
    shown, step = names[:4], max(1, math.ceil(len(true) / _LARGEST))
    figure, [axes] = sheet(target, rows=1, columns=len(shown), width=4.2 if len(shown) == 1 else 3.1, height=3.6)
    for place, (ax, name) in enumerate(zip(axes, shown, strict=True)):
        pair = true[::step, place], predicted[::step, place]
        ax.scatter(*pair, s=9, alpha=0.5, color=PALETTE[0], linewidths=0, rasterized=len(pair[0]) > 1000)
        ends = [min(map(np.min, pair)), max(map(np.max, pair))]
        ax.plot(ends, ends, color=QUIET, linewidth=0.9, zorder=1)
        more = f" (the first 4 of {len(names)} targets)" if place == 0 and len(names) > 4 else ""
        ax.set(xlabel=f"true {_short(name)}{more}", ylabel=f"predicted {_short(name)}" if place == 0 else "")
    return figure


def bandwidths(target: Target) -> Figure:
    """Draw the validation error over the bandwidth, with a line for each of the best methods, or the reason why not."""
    if any(row.measured_mean is not None for row in target.rows):
        # The best on the test rows come first; the number of line styles limits how many are shown.
        shown = list(dict.fromkeys(row.method for row in target.rows))[: len(PALETTE)]
        return curves(replace(target, rows=tuple(row for row in target.rows if row.method in shown)))
    return empty_sheet(target, f"Not drawn: {target.rows[0].reason}.")


KINDS: dict[str, Callable[[Target], Figure]] = {
    "error_against_costs": error_against_costs,
    "predicted_against_true": predicted_against_true,
    "curves": bandwidths,
}
