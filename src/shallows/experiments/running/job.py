"""One run as a job: what is asked of it, the folders it reads and writes, and the conditions under which it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Conditions:
    """How runs are done, which must not change what they find.

    Attributes
    ----------
    device : str
        ``"auto"``, ``"cpu"`` or ``"gpu"``.
    memory : int, str or None
        Budget of one run; None for a share of what is free.
    checkpoint_seconds : float
        How often a run saves its state.
    """

    device: str = "auto"
    memory: int | str | None = None
    checkpoint_seconds: float = 60.0

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Conditions:
        """From the contents of ``config.yaml``."""
        return cls(settings["device"], settings["memory"], settings["checkpoint_seconds"])


@dataclass(frozen=True)
class Job:
    """One run with its places.

    Attributes
    ----------
    asked : dict
        What `Run.asked` of the plan gives.
    prepared : Path
        Folder of the prepared arrays.
    out : Path
        Folder of ``record.json`` and ``curve.csv``.
    checkpoints : Path
        Folder for what a killed run leaves, shared by all runs.
    preconditioner : Path or None
        The artifact, where the method takes one.
    """

    asked: dict[str, Any]
    prepared: Path
    out: Path
    checkpoints: Path
    preconditioner: Path | None = None


def name_of(asked: Mapping[str, Any]) -> str:
    """A run for people, on one line: its method, its dataset and its parameters."""
    parameters = " ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in asked["parameters"].items()
        if value is not None
    )
    return f"{asked['method']} on {asked['dataset']} [{parameters} seed={asked['seed']}]"
