"""The page of all figures: drawn from the stored results of the laptop scale when the book is built."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from page_parts import heading, literal

from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.reference.held import Reference
from shallows_papers.report import figures, page, sheet
from shallows_papers.report.target import Target

SCALE = "laptop"
#: Pixels across a figure, and figures next to each other.
WIDTH, COLUMNS = 900, 3


def figure_page(plan: Plan, project: Path, folder: Path) -> str:
    """Draw every figure into ``figures`` in a folder, and return the page that shows them."""
    held = Reference(plan, SCALE, project / "results" / "reference" / SCALE)
    lines = heading("All figures", "=")
    lines += [
        f"Each figure is drawn from the stored results of the {SCALE} scale. Below it is its target, a",
        "link to what the paper prints. ``shallows reproduce NAME`` computes it again at the demo scale, with",
        f"``--scale {SCALE}`` as it is here. ``make report SCALE={SCALE}`` draws all of them without training. A click",
        "enlarges a figure.",
        "",
    ]
    absent = []
    for paper, targets in plan.papers.items():
        cells = []
        for target in map(held.table, targets):
            if not target.figure:
                continue
            if held.runs_of(target.id) and target.has_picture:
                cells.append(_cell(target, _drawn(target, folder)))
            else:
                absent.append(target.id)
        if cells:
            lines += [*heading(literal(plan.configuration.papers[paper]["title"]), "-"), *_grid(cells)]
    if absent:
        names = ", ".join(f"``{name}``" for name in absent)
        lines += [f"Without a stored result at the {SCALE} scale: {names}.", ""]
    return "\n".join(lines)


def _grid(cells: list[list[str]]) -> list[str]:
    lines = [".. list-table::", f"   :widths: {' '.join(['1'] * COLUMNS)}", "   :class: figures", ""]
    cells = cells + [[""]] * (-len(cells) % COLUMNS)
    for place, (first, *others) in enumerate(cells):
        lines.append(f"   {'  -' if place % COLUMNS else '* -'} {first}".rstrip())
        lines += [f"       {line}".rstrip() for line in others]
    return [*lines, ""]


def _cell(target: Target, path: str) -> list[str]:
    about = page.alternative(target).removesuffix(" The table that follows has the numbers.")
    picture = [f".. image:: {path}", f"   :alt: {about}", "   :width: 100%"]
    return [*picture, "", literal(target.title), "", f"``{target.id}``"]


def _drawn(target: Target, folder: Path) -> str:
    """Draw a figure, unless it is there from the same rows and the same code; return its path below the folder."""
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(figures.__file__).parent.glob("*.py")))
    digest = hashlib.sha256((code + repr(target.rows) + json.dumps(target.meta, default=str)).encode()).hexdigest()
    path = folder / "figures" / f"{target.id}.png"
    mark = path.with_suffix(".txt")
    if not path.exists() or not mark.exists() or mark.read_text() != digest:
        path.parent.mkdir(exist_ok=True)
        with sheet.styled(target.id):
            sheet.save(figures.KINDS[target.figure["kind"]](target), path.with_suffix(".svg"), target.title)
        _reduce(path)
        mark.write_text(digest)
    return f"figures/{path.name}"


def _reduce(path: Path) -> None:
    """Make a picture smaller, so that the page is."""
    from PIL import Image

    with Image.open(path) as whole:
        picture = whole.convert("RGB")
    picture.thumbnail((WIDTH, 10 * WIDTH), Image.Resampling.LANCZOS)
    picture.quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
    path.with_suffix(".svg").unlink()
