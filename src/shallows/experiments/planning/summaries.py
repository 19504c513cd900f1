"""The papers in short, ``summaries/*.yaml``, as the head of the report shows them: checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shallows.errors import UnknownNameError

from . import configuration
from .configuration import ConfigurationError, placed


def paths(loaded: configuration.Configuration) -> list[str]:
    """Paths of the summaries of a configuration, each checked; none where it has no such folder.

    Raises
    ------
    UnknownNameError
        An unknown key, paper or target.
    ConfigurationError
        A value of the wrong kind, or a picture of a target that has no figure.
    """
    found = sorted(loaded.folder.glob("summaries/*.yaml"))
    for path in found:
        with placed(path.as_posix()):
            _check(configuration.read_yaml(path), loaded.papers, loaded.root / "workflow" / "schemas")
    return [str(path) for path in found]


def _check(summary: Mapping[str, Any], papers: Mapping[str, Any], schemas: Path) -> None:
    configuration.check(summary, schemas / "summary.schema.yaml", "a summary")
    if summary["paper"] not in papers:
        raise UnknownNameError("paper", summary["paper"], papers)
    targets = papers[summary["paper"]]["targets"]
    rows = [*summary["numbers"].values(), *summary["ledger"]["rows"]]
    for name in (summary["picture"], *(one["target"] for one in rows)):
        if name not in targets:
            raise UnknownNameError("target", name, targets)
    if not targets[summary["picture"]].get("figure"):
        raise ConfigurationError(f"The picture {summary['picture']} has no figure.")
