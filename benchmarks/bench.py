"""What the cases are written with: measurements in fresh processes, and rows that hold them against targets."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import environments

LIMIT_SECONDS = 3600


class MeasurementFailedError(Exception):
    """A program that was to be measured failed; the message has the end of what it said."""


@dataclass
class Row:
    """One number with its target.

    Parameters
    ----------
    what : str
    value : float
        The median over the rounds.
    values : list of float
        One for each round.
    target : float
        ``value`` should be at most (or, with ``below``, less than) this.
    unit : str
    rates : list of float
        sgemm in GFLOP/s, measured next to each value.
    below : bool
    note : str
    """

    what: str
    value: float
    values: list[float]
    target: float
    rates: list[float]
    unit: str = ""
    below: bool = False
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the target is reached."""
        return self.value < self.target if self.below else self.value <= self.target

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "met": self.met}


def row(what: str, values: Iterable[float], target: float, rates: Iterable[float], **others: Any) -> Row:
    """A row with the median of its values."""
    values = list(values)
    return Row(what, statistics.median(values), values, target, list(rates), **others)


@dataclass
class Bench:
    """Runs what is measured and keeps what it found.

    Parameters
    ----------
    data : path
        Folder of the prepared MNIST.
    quick : bool
        Tiny data, one round: whether it works, not how fast.
    runs : int or None
        Rounds; None leaves it to the case.
    """

    data: Path | None
    quick: bool = False
    runs: int | None = None
    case: str = ""
    measurements: list[dict[str, Any]] = field(default_factory=list)

    def rounds(self, usual: int = 3) -> range:
        """One for each round, in which everything that is compared is measured once."""
        return range(self.runs or (1 if self.quick else usual))

    def size(self, n: int) -> int:
        """How many points to take instead of ``n``."""
        return min(n, 2_000) if self.quick else n

    @property
    def n_test(self) -> int:
        """How many test points to take."""
        return 1_000 if self.quick else 10_000

    def work(
        self, environment: str, worker: str, label: str, *, keeps_memory: bool = False, **parameters: Any
    ) -> dict[str, Any]:
        """Run ``workers/<worker>.py`` in an environment and return what it prints last, as JSON.

        Parameters
        ----------
        environment : str
            See `environments.python_of`.
        worker : str
        label : str
            For the table of measurements.
        keeps_memory : bool
            Whether memory that is freed stays the process's own, see `environments.KEEPS_MEMORY`.
        **parameters
            Handed to the worker as JSON.
        """
        script = environments.HERE / "workers" / f"{worker}.py"
        if self.data is not None:
            parameters["data"] = str(self.data)
        command = [environments.python_of(environment), script, json.dumps(parameters)]
        output = self._run(command, label, keeps_memory)
        found = json.loads(output.strip().splitlines()[-1])
        self._keep(label, environment, found)
        return found

    def time(self, command: list[str | Path], label: str) -> float:
        """Seconds from starting a command to its end; it runs at the top of the project."""
        started = time.perf_counter()
        self._run(command, label)
        seconds = time.perf_counter() - started
        self._keep(label, environments.OWN, {"seconds": seconds})
        return seconds

    def _keep(self, label: str, environment: str, found: dict[str, Any]) -> None:
        self.measurements.append({"case": self.case, "label": label, "environment": environment, **found})
        if not self.case:
            return  # Not a measurement: data or an environment was looked at.
        shown = ", ".join(f"{key} {value:.4g}" for key, value in found.items() if isinstance(value, int | float))
        print(f"{self.case}: {label}: {shown}", file=sys.stderr, flush=True)

    @staticmethod
    def _run(command: list[str | Path], label: str, keeps_memory: bool = False) -> str:
        try:
            result = subprocess.run(
                [str(part) for part in command],
                env=environments.variables(keeps_memory),
                cwd=environments.ROOT,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LIMIT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise MeasurementFailedError(f"{label} took more than {LIMIT_SECONDS} s.") from None
        if result.returncode:
            said = "\n".join((result.stdout, result.stderr)).strip()
            raise MeasurementFailedError(f"{label} ended with {result.returncode}:\n{said[-2000:]}")
        return result.stdout
