"""A contact sheet of deformed digits, to judge by eye what the endless MNIST looks like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .sheet import INK, QUIET, save, styled

_COLUMNS = 10  # deformed digits of a class


def draw(
    plain: Sequence[Any], deformed: Sequence[Sequence[Any]], svg_path: str | Path, *, title: str, footer: str
) -> None:
    """Draw rows of byte images, each after the plain image from which it is made."""
    from matplotlib.figure import Figure

    columns = max(map(len, deformed))
    with styled(title):
        figure = Figure(figsize=(6.4, 1.1 + 5.7 * len(plain) / (columns + 1.5)))
        # An empty column separates the plain digits from the deformed ones.
        ratios = {"width_ratios": [1, 0.3, *[1] * columns], "wspace": 0.1, "hspace": 0.1}
        axes = figure.subplots(len(plain), 2 + columns, squeeze=False, gridspec_kw=ratios)
        figure.subplots_adjust(left=0.02, right=0.98, bottom=0.08, top=0.88)
        for line, image, others in zip(axes, plain, deformed, strict=True):
            for ax, shown in zip(line, [image, None, *others], strict=False):
                ax.set_axis_off()
                if shown is not None:
                    ax.imshow(shown, cmap="gray_r", vmin=0, vmax=255, interpolation="nearest")
        for ax, text in ((axes[0][0], "plain"), (axes[0][2 + columns // 2], "deformed")):
            ax.set_title(text, fontsize=8, color=QUIET)
        figure.text(0.02, 0.98, title, va="top", fontsize=10.5, fontweight="bold", color=INK)
        figure.text(0.02, 0.02, footer, va="bottom", fontsize=6.8, color=QUIET, linespacing=1.3)
        save(figure, svg_path, title)


def of_digits(digits: Any, svg_path: str | Path, *, source: str) -> None:
    """Draw the first digit of every class of a generator and its first deformations; the footer names the source."""
    n, side = len(digits.images), digits.side
    firsts = [int((digits.labels == label).argmax()) for label in range(digits.n_classes)]
    deformed = [
        [digits.block(first + turn * n, first + turn * n + 1)[0].reshape(side, side) for turn in range(1, _COLUMNS + 1)]
        for first in firsts
    ]
    how = digits.deformation
    footer = (
        f"Data: {source}. Seed: {digits.seed}. Uniform in ± translation {how.translation:g} pixels, rotation "
        f"{how.rotation:g}°, size {how.scaling:.0%}, stretch {how.stretch:.0%}, shear {how.shear:g};\n"
        f"elastic displacement of {how.displacement:g} pixels (root mean square in each direction), smooth over "
        f"{how.smoothness:g} pixels."
    )
    draw(
        [digits.images[first] for first in firsts],
        deformed,
        svg_path,
        title=f"Endless MNIST: {_COLUMNS} deformations of the first digit of every class",
        footer=footer,
    )


def of_dataset(name: str, verified: str | Path, svg_path: str | Path) -> None:
    """Draw the sheet of an endless dataset of the catalogue, from the ``verified.json`` that was written for it."""
    from shallows_papers.datasets import get
    from shallows_papers.datasets.sources import open_verified

    dataset = get(name)
    source = open_verified(dataset, Path(verified))
    of_digits(source.train.part.generator, svg_path, source=get(dataset.generator["made_from"]).title)
