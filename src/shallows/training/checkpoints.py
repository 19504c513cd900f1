"""Checkpoints: the state of a run on disk, so that one that was killed goes on where it was."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CheckpointError
from ..utils import atomic

LOCK_SECONDS = 10.0
"""How long a run waits for the folder of its checkpoints before it says that another one works in it."""

FORMAT = 2
"""Of the files that are written; those of later formats are refused."""

MOST_TIME = 0.02
"""Share of a run's time that writing checkpoints may take: where one takes long, the next one comes later."""


class Checkpoint:
    """Keeps a run's state on disk, so that one that was killed goes on where it was.

    The last two checkpoints are kept, each under its name only when it is whole. One that cannot be read, or that
    belongs to another run, is named in a warning, and the one before it is taken.

    Parameters
    ----------
    folder : path
        Where; one run a folder. Held under a lock while the run lasts.
    key : str
        What the run is: a hash of what was asked, the data and the code. A checkpoint with another key is refused.
    every_seconds : float
        How often, or less often where the writing would take more than `MOST_TIME`; 0 writes after every batch.

    Attributes
    ----------
    n_resumes : int
        How often the run went on from a checkpoint so far.
    """

    def __init__(self, folder: str | Path, key: str, every_seconds: float = 60.0):
        self.folder, self.key, self.every_seconds = Path(folder), key, every_seconds
        self.n_resumes = 0
        self._last = time.monotonic()
        self._seconds_to_write = 0.0
        self._last_is_good = False
        self._stop = False
        self._lock: Any = None

    @property
    def path(self) -> Path:
        """The file of the last checkpoint."""
        return self.folder / "checkpoint.npz"

    @property
    def path_before(self) -> Path:
        """The file of the one before it."""
        return self.folder / "checkpoint-before.npz"

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
            for path in self.folder.glob(f".checkpoint*{atomic.PARTIAL_SUFFIX}"):
                path.unlink(missing_ok=True)  # of a process that was killed while it wrote
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
        """Arrays and notes of the last checkpoint that is good, or None if there is none at all.

        Raises
        ------
        CheckpointError
            If there are only such that belong to another run or cannot be read.
        """
        refused: list[CheckpointError] = []
        for path in (self.path, self.path_before):
            try:
                found = self._read(path)
            except CheckpointError as error:
                refused.append(error)
                continue
            if found is not None:
                self._last_is_good = path == self.path
                for error in refused:
                    warnings.warn(f"{error} The checkpoint before it, {path}, is used.", stacklevel=3)
                return found
        if refused:
            raise refused[0]
        return None

    def _read(self, path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        try:
            # Opened once, so that a file that is replaced meanwhile is read as one of the two.
            with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                notes = json.loads(str(file["notes"]))
                held = {name: file[name] for name in file.files if name != "notes"}
            checksum, key, n_resumes = notes.pop("checksum"), notes["key"], notes["n_resumes"]
        except FileNotFoundError:
            return None
        except Exception as error:
            raise CheckpointError(f"{path} cannot be read ({error}). Delete it to start this run anew.") from error
        if notes.get("format", 1) > FORMAT:
            raise CheckpointError(
                f"{path} was written by a later version of this program (format {notes['format']}; this one reads up "
                f"to {FORMAT}). Use that version, or delete it to start this run anew."
            )
        if key != self.key:
            raise CheckpointError(
                f"{path} belongs to another run (its parameters, data or code differ). Delete it or name another "
                "folder."
            )
        if checksum != _checksum(held, notes):
            raise CheckpointError(f"{path} was altered: its checksum does not match. Delete it to start this run anew.")
        self.n_resumes = n_resumes + 1
        return held, notes

    def due(self) -> bool:
        """Whether it is time to write."""
        wait = self.every_seconds and max(self.every_seconds, self._seconds_to_write / MOST_TIME)
        return self._stop or time.monotonic() - self._last >= wait

    def save(self, held: dict[str, np.ndarray], notes: dict[str, Any]) -> None:
        """Write beside the place, then move into it; what was there becomes the checkpoint before."""
        began = time.monotonic()
        # Once there and back, since what is summed up on reading is what JSON made of it.
        notes = json.loads(json.dumps({**notes, "format": FORMAT, "key": self.key, "n_resumes": self.n_resumes}))
        notes["checksum"] = _checksum(held, notes)
        try:
            if self._last_is_good:
                self._keep_last()
            with atomic.replacing(self.path) as partial, open(partial, "wb") as file:
                np.savez(file, notes=np.array(json.dumps(notes)), **held)
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint {self.path} could not be written: {error.strerror or error}."
            ) from error
        self._last = time.monotonic()
        self._seconds_to_write, self._last_is_good = self._last - began, True

    def _keep_last(self) -> None:
        """Give the last checkpoint a second name, so that it is there whatever becomes of the next one."""
        with contextlib.suppress(FileNotFoundError), atomic.replacing(self.path_before) as partial:
            try:
                os.link(self.path, partial)
            except FileNotFoundError:
                raise
            except OSError:  # a file system without links
                shutil.copyfile(self.path, partial)


def _checksum(held: dict[str, np.ndarray], notes: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(notes, sort_keys=True).encode())
    for name in sorted(held):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(held[name]).tobytes())
    return digest.hexdigest()
