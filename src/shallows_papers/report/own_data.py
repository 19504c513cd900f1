"""The page of a comparison on one dataset, and its pictures: errors against costs, predictions, bandwidths."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from . import figures, page, tables
from .figures import curves
from .sheet import PALETTE, QUIET, empty_sheet, sheet
from .target import Target
from .wording import name_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LARGEST = 5000
#: With more classes than this, the fields have no numbers.
_NUMBERED = 15
#: The costs of a method, each with a panel of the picture and the label of its axis.
_COSTS = {
    "fit_seconds": "seconds of one fit",
    "predict_seconds": "seconds to predict",
    "model_kilobytes": "size of the model (bytes)",
}


def write_page(csv_paths: Iterable[Path], out: str | Path, title: str = "") -> None:
    """Render the tables of a comparison, draw their pictures, and write the page with both."""
    targets = [(path, path.parents[1] / "figures" / f"{path.stem}.svg") for path in csv_paths]
    for table, picture in targets:
        tables.render(table)
        figures.draw(table, picture, KINDS)
    page.write(targets, out, title=title)


def error_against_costs(target: Target) -> Figure:
    """Draw error and costs of each method as dots, the lowest error first; the recommended has another color."""
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter

    found: dict[str, dict[str, float]] = {}
    for row in target.rows:
        if row.measured_mean is not None:
            found.setdefault(row.method, {})[row.metric] = row.measured_mean
    found = {name: one for name, one in found.items() if _COSTS.keys() <= one.keys()}
    if not found:
        return empty_sheet(target, "Not drawn: no method could be run.")
    is_class = any("test_error" in one for one in found.values())
    errors = {name: one["test_error"] if is_class else 1.0 - one["test_r2"] for name, one in found.items()}
    names = sorted(found, key=lambda name: errors[name])
    places = [*range(len(names))]
    colors = [PALETTE[name == target.figure.get("recommended")] for name in names]
    panels = {"error": "test error (%)" if is_class else "test, 1 − R²", **_COSTS}
    figure, [axes] = sheet(target, rows=1, columns=len(panels), width=2.0, height=1.0 + 0.21 * len(names))
    for ax, (what, words) in zip(axes, panels.items(), strict=True):
        values = [errors[name] if what == "error" else found[name][what] for name in names]
        # 0 has no logarithm.
        least = min((value for value in values if value > 0), default=1.0) / 2
        values = [max(value, least) * (1000 if what == "model_kilobytes" else 1) for value in values]
        if what == "error":
            bars = [found[name].get("interval", 0.0) for name in names]
            ax.errorbar(values, places, xerr=bars, linestyle="none", ecolor=QUIET, elinewidth=0.8, zorder=1)
        ax.scatter(values, places, c=colors, s=22, zorder=3)
        ax.set(xscale="log", xlabel=words, ylim=(len(names) - 0.5, -0.5), xlim=_ends(values))
        ax.set_yticks(
            places, [textwrap.fill(name, 30, break_on_hyphens=False) for name in names] if ax is axes[0] else []
        )
        ax.tick_params(axis="y", length=0, labelsize=7)
        ratio = ax.get_xlim()[1] / ax.get_xlim()[0]
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if ratio < 100 else (1,), numticks=4))
        ax.xaxis.set_major_formatter(
            EngFormatter("B") if what == "model_kilobytes" else FuncFormatter(lambda value, _: f"{value:g}")
        )
        ax.xaxis.set_minor_formatter(NullFormatter())
    return figure


def _ends(values: list[float]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis with all values, and a margin that grows with their ratio."""
    low, high = min(values), max(values)
    margin = max(high / low, 3.0) ** 0.07
    return low / margin, high * margin


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
