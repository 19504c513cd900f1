"""The parts of the project that are not modules: workflow, configuration, embedded data and reference results."""

from pathlib import Path


def folder() -> Path:
    """Return the folder of these files, in the installed package or in the clone of the repository."""
    package = Path(__file__).resolve().parent
    installed = package / "_workflow"
    return installed if installed.is_dir() else package.parents[1]


def embedded(name: str, root: Path) -> Path:
    """Return the folder of an embedded dataset: in `root` if it is there, otherwise in the project."""
    return root / name if (root / name).is_dir() else folder() / "data" / "embedded" / name
