"""Check that relative links of Markdown and reStructuredText lead to files and headings that exist.

``python .ci/links.py`` fails if one does not. Addresses on the web and generated pages are not checked.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

LINKS = {
    ".md": re.compile(r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)|^\[[^\]]+\]: (\S+)", re.MULTILINE),
    ".rst": re.compile(
        r":doc:`(?:[^`<]*<)?([^`>]+)>?`|`[^`<]*<([^`>]+)>`_|^ *\.\. (?:figure|image|include|literalinclude):: (\S+)",
        re.MULTILINE,
    ),
}


def broken(root: Path, name: str) -> Iterator[str]:
    """Yield a sentence for each link of a file that leads nowhere."""
    path = root / name
    text = without_code(path.read_text(encoding="utf-8"), path.suffix)
    for found in links(text, path.suffix):
        target, _, anchor = found.partition("#")
        if re.match(r"\w+:|(?:\.\./)*_(?:pages|gallery|explanations)/|/", target) or "*" in target:
            continue
        place = path if not target else path.parent / target
        if not place.suffix and not place.exists():
            place = next((p for p in (place.with_name(place.name + end) for end in LINKS) if p.exists()), place)
        if not place.exists():
            yield f"{name}: the link {found!r} leads to no file."
        elif anchor and place.suffix == ".md" and anchor not in anchors(place):
            yield f"{name}: the link {found!r} leads to no heading of {target or name}."


def links(text: str, kind: str) -> Iterator[str]:
    """Yield the targets of a text's links. The entries of a table of contents are links too."""
    yield from (next(filter(None, found.groups())) for found in LINKS[kind].finditer(text))
    tree = r"^\.\. toctree::\n((?:   .*\n|\n)+)" if kind == ".rst" else r"(?s)^```\{toctree\}\n(.*?)^```"
    for entries in re.findall(tree, text, re.MULTILINE):
        yield from re.findall(r"^ *([\w./]+)$", entries, re.MULTILINE)


def without_code(text: str, kind: str) -> str:
    """A text without its code, which may look like a link."""
    if kind != ".md":
        return text
    return re.sub(r"(?ms)(^```\{toctree\}.*?^```)|^```.*?^```|`[^`\n]*`", lambda found: found[1] or "", text)


@cache
def anchors(path: Path) -> frozenset[str]:
    """Anchors of the headings of a Markdown file, as GitHub and MyST make them."""
    text = re.sub(r"(?ms)^```.*?^```", "", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*?)\s*$", text, re.MULTILINE)
    slugs = [
        re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "]", title)).strip().lower().replace(" ", "-")
        for title in titles
    ]
    numbered = [slug + (f"-{slugs[:k].count(slug)}" if slug in slugs[:k] else "") for k, slug in enumerate(slugs)]
    return frozenset(numbered) | frozenset(re.findall(r"(?:id|name)=\"([^\"]+)\"", text))


def main(root: Path) -> None:
    """Print the links that lead nowhere, and exit with 1 if there is one."""
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=True).stdout
    names = [n for n in listed.splitlines() if n.endswith(tuple(LINKS)) and not n.startswith(("results/", "workflow/"))]
    wrong = [sentence for name in names for sentence in broken(root, name)]
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])
