"""The parts of the project that are not modules: workflow, configuration, embedded data and reference results."""

from __future__ import annotations

from pathlib import Path


def folder() -> Path:
    """Where they lie: within an installed package, or in the clone that this package is part of."""
    package = Path(__file__).resolve().parent
    installed = package / "_workflow"
    return installed if installed.is_dir() else package.parents[1]


def embedded(name: str, root: Path) -> Path:
    """The folder of an embedded dataset: below a folder of one's own, else where the project has it."""
    return root / name if (root / name).is_dir() else folder() / "data" / "embedded" / name
