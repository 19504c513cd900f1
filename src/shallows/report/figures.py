"""Figures from the tidy CSV, as SVG and PNG, the same to the bit when they are drawn again."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.atomic import replacing
from shallows.errors import UnknownNameError

from .curves import curves
from .eigenvalue_curves import spectrum
from .error_curves import error_curves
from .scatter import scatter
from .sheet import STYLE, save
from .target import Target, read

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: dict[str, Callable[[Target], Figure]] = {
    "error_curves": error_curves,
    "spectrum": spectrum,
    "curves": curves,
    "scatter": scatter,
}


def draw(csv_path: str | Path, meta_path: str | Path, svg_path: str | Path, png_path: str | Path) -> None:
    """Draw a target as its JSON says under ``figure``.

    Parameters
    ----------
    csv_path : path
        The tidy CSV that holds the numbers to draw.
    meta_path : path
        The JSON beside it; ``figure.kind`` names the drawing: ``curves``, ``spectrum``, ``scatter`` or
        ``error_curves``.
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
        save(figure, svg_path, png_path, target.title)


def folder_of(numbers: str | Path, meta: str | Path, kept: str | Path, code: str) -> Path:
    """Where the figure of a table is kept until its own job comes for it, named by all that the figure depends on.

    Parameters
    ----------
    numbers, meta : path
        The table as CSV, whose name is the target's, and the JSON beside it.
    kept : path
        Folder for figures that are drawn before their own jobs.
    code : str
        Digest of the code that draws.

    Raises
    ------
    FileNotFoundError
        Where one of the two does not exist.
    """
    found = hashlib.sha256(code.encode())
    for path in map(Path, (numbers, meta)):
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return Path(kept) / f"{Path(numbers).stem}-{found.hexdigest()[:16]}"


def is_drawn(folder: Path) -> bool:
    """Whether both forms of a figure lie in its folder."""
    return all((folder / f"{folder.name.rpartition('-')[0]}.{form}").exists() for form in ("svg", "png"))


class FigureTask:
    """A figure in its two forms, as `shallows.experiments.running.shared_process.work` does it.

    To start a process and to import Matplotlib takes longer than to draw most figures, so one process draws several.

    Parameters
    ----------
    numbers, meta : path
        The table as CSV and the JSON beside it.
    kept : path
        Folder for figures that are drawn before their own jobs.
    code : str
        Digest of the code that draws.
    out : tuple of path
        Where SVG and PNG go; empty for a figure that is only drawn for its own job to find.
    """

    def __init__(
        self, numbers: str | Path, meta: str | Path, kept: str | Path, code: str, out: Iterable[str | Path] = ()
    ):
        self.numbers, self.meta, self.out = numbers, meta, [Path(path) for path in out]
        self.folder = folder_of(numbers, meta, kept, code)

    def is_finished(self) -> bool:
        """Whether it is drawn."""
        return is_drawn(self.folder)

    def compute(self) -> None:
        """Draw it into its folder, and remove what was drawn of earlier numbers."""
        for earlier in self.folder.parent.glob(f"{Path(self.numbers).stem}-{'?' * 16}"):
            shutil.rmtree(earlier, ignore_errors=True)
        draw(self.numbers, self.meta, *(self.folder / f"{Path(self.numbers).stem}.{form}" for form in ("svg", "png")))

    def deliver(self) -> None:
        """Copy both forms to where they belong."""
        for path in self.out:
            with replacing(path) as partial:
                shutil.copyfile(self.folder / path.name, partial)
