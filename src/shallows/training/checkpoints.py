"""Checkpoints: the state of a run on disk, so that one that was killed goes on where it was."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from .. import atomic
from ..errors import CheckpointError

LOCK_SECONDS = 10.0
"""How long a run waits for the folder of its checkpoints before it says that another one works in it."""


class Checkpoint:
    """Keeps a run's state on disk, so that one that was killed goes on where it was.

    Parameters
    ----------
    folder : path
        Where; one run a folder. Held under a lock while the run lasts.
    key : str
        What the run is: a hash of what was asked, the data and the code. A checkpoint with another key is refused.
    every_seconds : float
        How often; 0 writes after every batch.

    Attributes
    ----------
    n_resumes : int
        How often the run went on from a checkpoint so far.
    """

    def __init__(self, folder: str | Path, key: str, every_seconds: float = 60.0):
        self.folder, self.key, self.every_seconds = Path(folder), key, every_seconds
        self.n_resumes = 0
        self._last = time.monotonic()
        self._stop = False
        self._lock: Any = None

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / "checkpoint.npz"

    def request_stop(self, *_: Any) -> None:
        """Ask the loop to write a checkpoint after the batch it is at and to raise `TrainingInterrupted`.

        It can be handed to ``signal.signal`` as it is.
        """
        self._stop = True

    @property
    def stop_requested(self) -> bool:
        """Whether `request_stop` was called."""
        return self._stop

    def acquire(self) -> None:
        """Lock the folder, or say that another process works in it."""
        import filelock

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = filelock.FileLock(self.folder / "lock")
            self._lock.acquire(timeout=LOCK_SECONDS)
        except filelock.Timeout:
            raise CheckpointError(
                f"Another process is training the run whose checkpoints lie in {self.folder}."
            ) from None
        except OSError as error:
            raise CheckpointError(f"Checkpoints cannot be kept in {self.folder}: {error.strerror or error}.") from error
        self._last = time.monotonic()

    def release(self) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            self._lock.release()

    def restore(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Arrays and notes of the last checkpoint, or None if there is none.

        Raises
        ------
        CheckpointError
            If it belongs to another run or cannot be read.
        """
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                notes = json.loads(str(file["notes"]))
                held = {name: file[name] for name in file.files if name != "notes"}
            checksum, key, n_resumes = notes.pop("checksum"), notes["key"], notes["n_resumes"]
        except Exception as error:
            raise CheckpointError(f"{self.path} cannot be read ({error}). Delete it to start this run anew.") from error
        if key != self.key:
            raise CheckpointError(
                f"{self.path} belongs to another run (its parameters, data or code differ). "
                "Delete it or name another folder."
            )
        if checksum != _checksum(held, notes):
            raise CheckpointError(
                f"{self.path} was altered: its checksum does not match. Delete it to start this run anew."
            )
        self.n_resumes = n_resumes + 1
        return held, notes

    def due(self) -> bool:
        """Whether it is time to write."""
        return self._stop or time.monotonic() - self._last >= self.every_seconds

    def save(self, held: dict[str, np.ndarray], notes: dict[str, Any]) -> None:
        """Write beside the place, then move into it."""
        # Once there and back, since what is summed up on reading is what JSON made of it.
        notes = json.loads(json.dumps({**notes, "key": self.key, "n_resumes": self.n_resumes}))
        notes["checksum"] = _checksum(held, notes)
        try:
            with atomic.replacing(self.path) as partial, open(partial, "wb") as file:
                np.savez(file, notes=np.array(json.dumps(notes)), **held)
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint {self.path} could not be written: {error.strerror or error}."
            ) from error
        self._last = time.monotonic()


def _checksum(held: dict[str, np.ndarray], notes: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(notes, sort_keys=True).encode())
    for name in sorted(held):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(held[name]).tobytes())
    return digest.hexdigest()
