"""Check that pages in the repository that a program writes are what it writes today.

``python .ci/stale_pages.py`` fails and names the command for a page that is stale.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Page -> the command that writes it, to the file that follows.
PAGES = {
    "data/README.md": "-m shallows_papers.cli data table --out",
    "docs/to_a_billion_points.rst": "benchmarks/road.py --out",
}


def stale(root: Path, pages: dict[str, str]) -> Iterator[str]:
    """Yield a sentence for each page that is not what its command writes."""
    with tempfile.TemporaryDirectory() as folder:
        for page, command in pages.items():
            fresh = Path(folder) / "page"
            subprocess.run(
                [sys.executable, *command.split(" "), fresh], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
            )
            if fresh.read_bytes() != (root / page).read_bytes():
                yield f"{page} is stale. Write it again: .venv/bin/python {command} {page}"


def main(root: Path) -> None:
    """Print the stale pages, and exit with 1 if there is one."""
    if wrong := list(stale(root, PAGES)):
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
