"""A picture of all judged numbers: the distance of each from the printed one, in units of its margin, by cause."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from shallows_papers.experiments.comparing.table_rows import Row
from shallows_papers.experiments.comparing.verdicts import CAUSES, UNEXPLAINED, Verdict

from .headlines import judged
from .sheet import INK, PALETTE, QUIET, RULE, styled, svg_of
from .target import Target

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

#: What a color means, in addition to the causes of deviations.
OUTCOMES = {
    Verdict.REPRODUCED: "reproduced",
    Verdict.ONE_SEED: "reproduced, one seed",
    Verdict.UNDECIDED: "undecided",
}
OTHER = "other papers"
COLOURS = {
    **dict(zip(OUTCOMES.values(), ("#5f5f5f", "#9c9c9c", "#c2a33a"), strict=True)),
    **dict(zip(CAUSES, PALETTE, strict=True)),
}


def table(targets: Iterable[Target], papers: Mapping[str, str]) -> pandas.DataFrame:
    """Return a row for each judged number: its ``paper``, its signed ``distance`` in margins, and its ``cause``.

    The cause of a number that does not deviate is its verdict. If ``is_bound``, the distance is at least this large,
    as for a level that was never reached. A number that is not finite has an infinite distance. Numbers without a
    margin, calibrated numbers and derived numbers are left out. ``papers`` has short names of papers by their titles,
    in the order of the picture.
    """
    import pandas

    lines = [
        (
            papers.get(str(target.meta.get("paper")), OTHER),
            (_measured(row) - row.published_value) / row.margin,
            OUTCOMES.get(row.verdict) or row.cause or UNEXPLAINED,
            row.is_bound or row.measured_mean is None or not math.isfinite(row.measured_mean),
        )
        for target in targets
        for row in judged(target.rows)
        if row.margin and row.published_value is not None
    ]
    numbers = pandas.DataFrame(lines, columns=["paper", "distance", "cause", "is_bound"])
    present = [name for name in [*papers.values(), OTHER] if (numbers["paper"] == name).any()]
    return numbers.assign(paper=pandas.Categorical(numbers["paper"], present))


def _measured(row: Row) -> float:
    """Return the mean, or its lower bound if a level was never reached; infinite if it is not a number."""
    value = row.low if row.measured_mean is None else row.measured_mean
    return math.inf if value is None or math.isnan(value) else value


def counts(numbers: pandas.DataFrame) -> dict[str, int]:
    """Count the numbers by outcome: `OUTCOMES`, and ``deviates``."""
    found = {name: int((numbers["cause"] == name).sum()) for name in OUTCOMES.values()}
    return {**found, "deviates": len(numbers) - sum(found.values())}


def draw(numbers: pandas.DataFrame) -> Figure:
    """Draw a dot for each number, in the row of its paper and the color of its cause; the band is the margin.

    A triangle instead of a dot points to a number that is at least this distant.
    """
    import seaborn
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    papers, causes = numbers["paper"].cat.categories, [one for one in COLOURS if (numbers["cause"] == one).any()]
    # If a paper has many numbers, use smaller dots in higher rows, so that all of them fit.
    crowded = numbers["paper"].value_counts().max() > 50
    figure = Figure(figsize=(9.3, 1.2 + (1.2 if crowded else 0.6) * len(papers)), layout="constrained")
    ax = figure.subplots()
    finite = numbers["distance"].map(math.isfinite)
    far = max(2.0, 1.3 * numbers["distance"][finite].abs().max()) if finite.any() else 2.0
    numbers = numbers.assign(distance=numbers["distance"].clip(-far / 1.05, far / 1.05))
    ax.set_xscale("symlog", linthresh=2, linscale=1.5)
    ax.set_xlim(-far, far)
    powers = [10.0**power for power in range(1, math.floor(math.log10(far)) + 1)]
    ax.xaxis.set_major_locator(FixedLocator([*(-power for power in reversed(powers)), -2, -1, 0, 1, 2, *powers]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+,g}".replace("-", "−") if value else "0"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.axvspan(-1, 1, color=RULE, alpha=0.55, linewidth=0)
    ax.axvline(0, color=QUIET, linewidth=0.7)
    seaborn.swarmplot(
        numbers[~numbers["is_bound"]],
        x="distance",
        y="paper",
        hue="cause",
        hue_order=causes,
        palette=COLOURS,
        order=papers,
        size=2.0 if crowded else 4.2,
        ax=ax,
    )
    rows, size = ax.get_ylim(), ax.collections[0].get_sizes()[0] if ax.collections else 0.0
    for one in numbers[numbers["is_bound"]].itertuples():
        marker, place = (">" if one.distance > 0 else "<"), list(papers).index(one.paper)
        ax.scatter(one.distance, place, marker=marker, s=6 * size, color=COLOURS[one.cause], zorder=3)
    ax.set_ylim(rows)
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
    """Return the picture as the text of an SVG, the same to the bit whenever it is drawn."""
    with styled("distances"):
        return svg_of(draw(numbers))
