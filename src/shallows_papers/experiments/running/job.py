"""A run with its paths, the conditions under which it is done, and the key of its checkpoints.

Every job imports this module before anything else, so it imports nothing heavy.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ..planning.runs import digest


@dataclass(frozen=True)
class Conditions:
    """How a run is done; its results must not depend on it."""

    device: str = "auto"  # "auto", "cpu" or "gpu"
    memory: int | str | None = None  # budget of one run; None for a share of what is free
    checkpoint_seconds: float = 60.0  # how often a run saves its state
    ranks: int = 1  # processes that train together, by MPI
    launcher: str | None = None  # the command that starts them, such as "srun --mpi=pmi2"; None for mpiexec

    @classmethod
    def of(
        cls, settings: Mapping[str, Any], resources: Mapping[str, Any] | None = None, device: str | None = None
    ) -> Self:
        """Make conditions from the contents of ``config.yaml``, and from the resources of a job that ranks may share.

        ``device`` replaces the device of the configuration.
        """
        asked = resources or {}
        common = device or settings["device"], settings["memory"], settings["checkpoint_seconds"]
        return cls(*common, int(asked.get("tasks") or 1), asked.get("mpi"))


@dataclass(frozen=True)
class Job:
    """One run with its paths."""

    spec: dict[str, Any]  # the result of `Plan.job`
    prepared: Path  # folder of the prepared arrays
    out: Path  # folder of record.json and curve.csv
    checkpoints: Path  # folder for the checkpoints of all runs
    preconditioner: Path | None = None  # the artifact, if the method takes one
    planned: Collection[str] | None = None  # the project's files that it may use; None for all


def name_of(spec: Mapping[str, Any]) -> str:
    """Return a line that names a run for readers: its method, its dataset and its parameters."""
    parameters = " ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in spec["parameters"].items()
        if value is not None
    )
    return f"{spec['method']} on {spec['dataset']} [{parameters} seed={spec['seed']}]"


def key_of(spec: Mapping[str, Any], data_sha256: str) -> str:
    """Return a hash of all that a run's numbers depend on: parameters, marks, seed, data and code."""
    apart = ("target_ids", "scale", "id", "definition", "code")
    what = {name: value for name, value in spec.items() if name not in apart}
    definition = spec["definition"]
    measured = {name: definition[name] for name in ("marks", "measures") if name in definition}
    return digest(what, definition["call"], data_sha256, spec["code"], *([measured] if measured else []), length=16)
