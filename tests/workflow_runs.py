"""Runs Snakemake in a copy of the project, so that no test touches the results of the person who runs it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
PARTS = (
    "Snakefile",
    "workflow",
    "config",
    "profiles",
    "src",
    ".test",
    "data/embedded",
    "environment.yml",
    "pyproject.toml",
)


def left_out(folder: str, names: list[str]) -> list[str]:
    """What is kept beside the sources, but for what was read of them, which takes seconds to read again."""
    return [name for name in names if folder.endswith("__pycache__") and not name.endswith(".json")]


def copy_project(to: Path) -> Path:
    """A copy without git, environment, data and results."""
    for part in PARTS:
        source = PROJECT / part
        if source.is_dir():
            shutil.copytree(source, to / part, ignore=left_out)
        elif source.exists():
            (to / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, to / part)
    return to


def environment(root: Path) -> dict[str, str]:
    """The copy's own code comes before an installed one."""
    return {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONUNBUFFERED": "1"}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "snakemake", *arguments]


def snakemake(root: Path, *arguments: str, timeout: float = 300) -> subprocess.CompletedProcess:
    """Run it, and return what it said; stdout and stderr come together in ``stdout``."""
    return subprocess.run(
        command(*arguments),
        cwd=root,
        env=environment(root),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
    )
