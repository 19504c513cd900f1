"""Checkpoints of a training by several processes, from which any number of processes goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..training import Checkpoint
from .mpi import Mpi

Held = dict[str, np.ndarray]


class DistributedCheckpoint:
    """A `Checkpoint` that rank 0 reads and writes, with the arrays of all processes.

    ``whole, share``: make the arrays of all processes from those of each (a collective operation), and those of this
    process from the whole ones. Both get the arrays by name and the notes, and return both.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        ranks: Mpi,
        whole: Callable[[Held, dict[str, Any]], tuple[Held, dict[str, Any]]],
        share: Callable[[Held, dict[str, Any]], tuple[Held, dict[str, Any]]],
    ):
        self._own, self._ranks, self._whole, self._share = checkpoint, ranks, whole, share
        self.n_resumes, self.stop_requested = 0, False

    @property
    def path(self) -> Path:
        """The file."""
        return self._own.path

    def acquire(self) -> None:
        """Lock the folder."""
        self._ranks.on_first(self._own.acquire)

    def release(self) -> None:
        """Unlock the folder; not a collective operation, since a process that failed does it as well."""
        if self._ranks.rank == 0:
            self._own.release()

    def restore(self) -> tuple[Held, dict[str, Any]] | None:
        """What the last checkpoint has for this process, or None if there is none."""
        restored = self._ranks.on_first(self._own.restore)
        if restored is None:
            return None
        self.n_resumes = self._ranks.from_first(self._own.n_resumes)
        return self._share(*restored)

    def due(self) -> bool:
        """Whether it is time to write for rank 0, or any process was asked to stop."""
        self.stop_requested = self._ranks.any(self._own.stop_requested)
        return self.stop_requested or self._ranks.from_first(self._own.due())

    def save(self, held: Held, notes: dict[str, Any]) -> None:
        """Write the arrays of all processes."""
        held, notes = self._whole(held, notes)
        self._ranks.on_first(lambda: self._own.save(held, notes))
