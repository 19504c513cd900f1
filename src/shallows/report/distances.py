"""One picture of all judged numbers: how far each lies from the printed one, in units of its margin, by cause."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from shallows.experiments.comparing.verdicts import CAUSES, UNEXPLAINED, Verdict

from .sheet import INK, PALETTE, QUIET, RULE, styled, svg_of
from .target import Target

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

WITHIN, OTHER = "within the margin", "other papers"
COLOURS = {WITHIN: "#8a8a8a", **dict(zip(CAUSES, PALETTE, strict=True))}


def table(targets: Iterable[Target], papers: Mapping[str, str]) -> pandas.DataFrame:
    """A line for each judged number: its ``paper``, its signed ``distance`` in margins, the ``cause`` of a deviation.

    Numbers without a margin are left out, as are those that are derived from others. ``papers`` has short names of
    papers by their titles, in the order of the picture.
    """
    import pandas

    lines = [
        (
            papers.get(str(target.meta.get("paper")), OTHER),
            (row.measured_mean - row.published_value) / row.margin,
            WITHIN if row.verdict == Verdict.REPRODUCED else row.cause or UNEXPLAINED,
        )
        for target in targets
        for row in target.rows
        if row.evidence == "number"
        and row.verdict in (Verdict.REPRODUCED, Verdict.DEVIATES, Verdict.REFUTED)
        and not row.derived
        and row.margin
        and row.published_value is not None
        and math.isfinite(row.measured_mean if row.measured_mean is not None else math.nan)
    ]
    numbers = pandas.DataFrame(lines, columns=["paper", "distance", "cause"])
    present = [name for name in [*papers.values(), OTHER] if (numbers["paper"] == name).any()]
    return numbers.assign(paper=pandas.Categorical(numbers["paper"], present))


def draw(numbers: pandas.DataFrame) -> Figure:
    """Draw a dot for each number, in the row of its paper and the colour of its cause; the band is the margin."""
    import seaborn
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    papers, causes = numbers["paper"].cat.categories, [one for one in COLOURS if (numbers["cause"] == one).any()]
    # Where a paper has many numbers, smaller dots in higher rows, so that all of them find room.
    crowded = numbers["paper"].value_counts().max() > 100
    figure = Figure(figsize=(9.3, 1.2 + (0.8 if crowded else 0.6) * len(papers)), layout="constrained")
    ax = figure.subplots()
    far = max(2.0, 1.3 * numbers["distance"].abs().max())
    ax.set_xscale("symlog", linthresh=2, linscale=1.5)
    ax.set_xlim(-far, far)
    powers = [10.0**power for power in range(1, math.floor(math.log10(far)) + 1)]
    ax.xaxis.set_major_locator(FixedLocator([*(-power for power in reversed(powers)), -2, -1, 0, 1, 2, *powers]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+,g}".replace("-", "−") if value else "0"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.axvspan(-1, 1, color=RULE, alpha=0.55, linewidth=0)
    ax.axvline(0, color=QUIET, linewidth=0.7)
    seaborn.swarmplot(
        numbers,
        x="distance",
        y="paper",
        hue="cause",
        hue_order=causes,
        palette=COLOURS,
        order=papers,
        size=2.4 if crowded else 4.2,
        ax=ax,
    )
    ax.set(xlabel="(measured − printed) / margin", ylabel="")
    ax.grid(visible=False, axis="y")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0, labelsize=9, labelcolor=INK)
    handles, _ = ax.get_legend_handles_labels()
    names = [f"{cause} ({(numbers['cause'] == cause).sum()})" for cause in causes]
    ax.get_legend().remove()
    figure.legend(handles, names, loc="outside upper left", ncols=4, borderaxespad=0.2, handletextpad=0.2)
    return figure


def svg(numbers: pandas.DataFrame) -> str:
    """The picture as the text of an SVG, the same to the bit when it is drawn again."""
    with styled("distances"):
        return svg_of(draw(numbers))
