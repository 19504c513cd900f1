"""Parts of generated pages in reStructuredText."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def heading(text: str, line: str) -> list[str]:
    """A heading of reStructuredText, with an empty line after it."""
    return [text, line * len(text), ""]


def table(titles: Sequence[str], widths: Sequence[int], rows: Iterable[Sequence[str]]) -> list[str]:
    """A list table of reStructuredText; cells may have several lines."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {' '.join(map(str, widths))}", ""]
    for row in (titles, *rows):
        for place, cell in enumerate(row):
            first, *others = cell.splitlines() or [""]
            lines.append(f"   {'* -' if place == 0 else '  -'} {first}".rstrip())
            lines += [f"       {line}".rstrip() for line in others]
    return [*lines, ""]


def literal(text: str) -> str:
    """Text in which nothing is taken as markup."""
    for sign in "\\*`|":
        text = text.replace(sign, "\\" + sign)
    return text.replace("_ ", "\\_ ").removesuffix("_")
