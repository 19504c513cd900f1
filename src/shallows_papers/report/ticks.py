"""Ticks that people can read: plain numbers on logarithmic axes, and no labels that overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

#: Inches of a letter of a tick's label, and the least space between two labels.
LETTER, SPACE = 0.07, 0.06
#: Up to this number of places on a logarithmic x axis, each has a tick.
FEW = 7


def logarithmic_ticks(ax: Axes, axis: str, values: pandas.Series, width: float) -> None:
    """Put ticks at the points if there are few; else plain numbers over few decades, and powers of ten over more.

    ``width`` is the width of the axes in inches.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    one = getattr(ax, f"{axis}axis")
    places = sorted(set(values))
    span = places[-1] / places[0]
    # Measured values, such as seconds, have more digits than a tick can show.
    if axis == "x" and len(places) <= FEW and all(float(f"{place:.4g}") == place for place in places):
        one.set_major_locator(FixedLocator(apart(places, width)))
        one.set_minor_locator(NullLocator())
        one.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    elif span < 200 or (span < 1e5 and places[0] >= 1e-3 and places[-1] <= 1e5):
        subs = (1, 1.5, 2, 3, 4, 5, 6, 8) if span < 6 else (1, 2, 5) if span < 200 else (1,)
        one.set_major_locator(LogLocator(subs=subs))
        if axis == "x":
            between = [factor * 10.0**power for power in decades(places) for factor in subs]
            shown = [place for place in between if places[0] * 0.9 <= place <= places[-1] * 1.1]
            one.set_major_locator(FixedLocator(apart(shown, width)))
        one.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
        one.set_minor_locator(LogLocator(subs=(2, 5)) if subs == (1,) else NullLocator())
    one.set_minor_formatter(NullFormatter())


def decades(places: Sequence[float]) -> range:
    """Return the powers of ten from the one below the lowest place to the one below the highest."""
    return range(math.floor(math.log10(places[0])), math.floor(math.log10(places[-1])) + 1)


def apart(places: Sequence[float], width: float) -> list[float]:
    """Return those of the rising places on a logarithmic axis whose labels do not overlap, the largest first."""
    inches = width / math.log(places[-1] / places[0]) if len(places) > 1 else 0.0
    kept: list[float] = []
    for place in reversed(places):
        letters = 0.0 if not kept else (len(label(place)) + len(label(kept[-1]))) / 2
        if not kept or math.log(kept[-1] / place) * inches >= LETTER * letters + SPACE:
            kept.append(place)
    return kept[::-1]


def label(value: float) -> str:
    """Write the number of a tick; from a million on as a multiple of a power of ten."""
    if value < 1e6:
        return f"{value:,.10g}"
    power = math.floor(math.log10(value) + 1e-9)
    factor = value / 10**power
    return f"{'' if abs(factor - 1) < 1e-9 else f'{factor:.3g}·'}10{str(power).translate(RAISED)}"


RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def logarithmic_from_zero(ax: Axes, highest: float) -> None:
    """Make the y axis linear up to two decades below the highest value, as its label says, and logarithmic above."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    floor = 10.0 ** (math.floor(math.log10(highest)) - 2)
    ax.set_yscale("symlog", linthresh=floor, linscale=0.5)
    ax.set_ylim(-0.08 * floor, 1.6 * highest)
    ax.yaxis.set_major_locator(FixedLocator([0, *(floor * 10**power for power in range(4))]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(NullLocator())
    if ax.get_ylabel():
        ax.set_ylabel(f"{ax.get_ylabel()}\nlinear below {floor:g}")
