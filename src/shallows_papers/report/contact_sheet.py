"""A contact sheet of deformed digits: what the endless MNIST looks like, to be judged by eye."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .sheet import INK, QUIET, save, styled

_COLUMNS = 10  # deformed digits of a class
_GAP = 4  # pixels of paper between two digits
_ASIDE = 12  # and between the plain digits and the deformed ones


def draw(
    plain: Sequence[Any], deformed: Sequence[Sequence[Any]], svg_path: str | Path, *, title: str, footer: str
) -> None:
    """Draw rows of images of bytes, each led by the plain one that it is made of; drawn again, the same to the bit."""
    from matplotlib.figure import Figure

    sheet, centres = _mosaic(plain, deformed)
    height, width = sheet.shape
    across = 6.2  # inches, as the other figures
    tall = across * height / width
    top, bottom = 0.62, 0.42
    left, whole = 0.1 / (across + 0.2), tall + top + bottom
    with styled(title):
        figure = Figure(figsize=(across + 0.2, whole))
        ax = figure.add_axes((left, bottom / whole, across / (across + 0.2), tall / whole))
        ax.imshow(sheet, cmap="gray_r", vmin=0, vmax=255, interpolation="nearest", aspect="auto")
        ax.set_axis_off()
        figure.text(left, 1 - 0.1 / whole, title, va="top", fontsize=10.5, fontweight="bold", color=INK)
        for place, text in zip(centres, ("plain", "deformed"), strict=True):
            at = left + place / width * across / (across + 0.2)
            figure.text(at, 1 - (top - 0.1) / whole, text, ha="center", va="bottom", fontsize=8, color=QUIET)
        figure.text(left, 0.1 / whole, footer, va="bottom", fontsize=6.8, color=QUIET, linespacing=1.3)
        save(figure, svg_path, title)


def of_digits(digits: Any, svg_path: str | Path, *, source: str) -> None:
    """Draw the first digit of every class of a generator and its first deformations; the footer names their source."""
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
    """Draw the sheet of an endless dataset of the catalogue, by the ``verified.json`` that was written for it."""
    from shallows_papers.datasets import get
    from shallows_papers.datasets.sources import open_verified

    dataset = get(name)
    source = open_verified(dataset, Path(verified))
    of_digits(source.train.part.generator, svg_path, source=get(dataset.generator["made_from"]).title)


def _mosaic(plain: Sequence[Any], deformed: Sequence[Sequence[Any]]) -> tuple[Any, tuple[float, float]]:
    """The sheet as one image, and where the middles of its two parts are."""
    import numpy as np

    side = plain[0].shape[0]
    step = side + _GAP
    columns = max(map(len, deformed))
    sheet = np.zeros((step * len(plain) - _GAP, side + _ASIDE + step * columns - _GAP), np.uint8)
    for row, (one, others) in enumerate(zip(plain, deformed, strict=True)):
        lines = slice(row * step, row * step + side)
        sheet[lines, :side] = one
        for column, image in enumerate(others):
            start = side + _ASIDE + column * step
            sheet[lines, start : start + side] = image
    return sheet, (side / 2, side + _ASIDE + (step * columns - _GAP) / 2)
