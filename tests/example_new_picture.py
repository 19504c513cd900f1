"""Bars: a few numbers side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shallows_papers.report.sheet import PALETTE, frame, sheet
from shallows_papers.report.target import Target
from shallows_papers.report.wording import key_title, name_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def bars(target: Target) -> Figure:
    """The mean of one metric (``figure.metric``), a bar for each value of one key (``figure.x``)."""
    metric, key = target.figure["metric"], target.figure["x"]
    table = frame(target, key)
    table = table[(table["metric"] == metric) & table["mean"].notna()]
    figure, [[ax]] = sheet(target, rows=1, columns=1, width=5.0, height=2.5)
    ax.bar([name_of(target, key, value) for value in table[key]], table["mean"], yerr=table["sd"], color=PALETTE[0])
    ax.set_xlabel(key_title(target, key))
    ax.set_ylabel(name_of(target, "metric", metric))
    return figure
