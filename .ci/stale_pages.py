"""Check that pages in the repository that a program writes are what it writes today.

``python .ci/stale_pages.py`` fails and names the command for a page that is stale.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Commands that write pages below the folder that follows.
COMMANDS = ("-m shallows_papers.cli data table --out {}/data/README.md", "benchmarks/pages.py --out {}")


def stale(root: Path, commands: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each page that is not what its command writes."""
    for command in commands:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "data").mkdir()
            words = [word.format(folder) for word in command.split(" ")]
            subprocess.run([sys.executable, *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            for fresh in sorted(Path(folder).rglob("*.*")):
                page = fresh.relative_to(folder)
                if fresh.suffix in (".md", ".rst") and fresh.read_bytes() != (root / page).read_bytes():
                    yield f"{page} is stale. Write it again: .venv/bin/python {command.format('.')}"


def main(root: Path) -> None:
    """Print the stale pages, and exit with 1 if there is one."""
    if wrong := list(stale(root, COMMANDS)):
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
