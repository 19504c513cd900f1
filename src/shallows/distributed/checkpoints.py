"""Checkpoints of a training by several processes. Any number of processes can continue from one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..training import Checkpoint
from .mpi import Mpi

EVERY_ARRAY, NO_ARRAY = None, ()


class DistributedCheckpoint:
    """A `Checkpoint` that rank 0 reads and writes, with the arrays of all processes.

    ``divided``: last parts of the names of the arrays of which each process has its own rows; None means all arrays.
    """

    def __init__(self, checkpoint: Checkpoint, ranks: Mpi, divided: tuple[str, ...] | None):
        self._checkpoint, self._ranks, self._divided = checkpoint, ranks, divided
        self.n_resumes, self.stop_requested = 0, False

    @property
    def path(self) -> Path:
        """The file."""
        return self._checkpoint.path

    def acquire(self) -> None:
        """Lock the folder."""
        self._ranks.on_first(self._checkpoint.acquire)

    def release(self) -> None:
        """Unlock the folder. Not a collective operation: a process that failed calls it too."""
        if self._ranks.rank == 0:
            self._checkpoint.release()

    def restore(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """The arrays of this process and the notes in the last checkpoint, or None if there is none."""
        restored = self._ranks.on_first(self._checkpoint.restore)
        if restored is None:
            return None
        self.n_resumes = self._ranks.from_first(self._checkpoint.n_resumes)
        held, notes = restored
        own = {name: np.ascontiguousarray(held[name][self._ranks.own(len(held[name]))]) for name in self._names(held)}
        return held | own, notes

    def due(self) -> bool:
        """Whether it is time for rank 0 to write, or any process was asked to stop."""
        self.stop_requested = self._ranks.any(self._checkpoint.stop_requested)
        return self.stop_requested or self._ranks.from_first(self._checkpoint.due())

    def save(self, held: dict[str, np.ndarray], notes: dict[str, Any]) -> None:
        """Write the arrays of all processes."""
        ranks = self._ranks
        whole = {name: ranks.gathered(held[name], ranks.total(len(held[name]))) for name in self._names(held)}
        ranks.on_first(lambda: self._checkpoint.save(held | whole, notes))

    def _names(self, held: dict[str, np.ndarray]) -> list[str]:
        """Names of the divided arrays."""
        return [name for name in held if self._divided is None or name.rpartition(".")[2] in self._divided]
