"""Checkpoints: the state of a run on disk, so that a killed run can continue."""

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
"""Seconds that a run waits for the lock of its folder before it reports that another process uses it."""

FORMAT = 3
"""The format of the files. Files of other formats are refused."""

MOST_TIME = 0.02
"""The largest share of a run's time for writing checkpoints: after a slow one the next comes later."""


class Checkpoint:
    """Keeps a run's state on disk, so that a killed run can continue.

    The last two checkpoints are kept. If the last one cannot be read or belongs to another run, a warning names it and
    the one before it is used.

    Parameters
    ----------
    folder : path
        The folder, which belongs to one run and is locked during the run.
    key : str
        Identifies the run: a hash of the request, the data and the code. A checkpoint with another key is refused.
    every_seconds : float
        Seconds between checkpoints; more if writing would take too long. 0 writes after every batch.

    Attributes
    ----------
    n_resumes : int
        How often the run has continued from a checkpoint.
    """

    def __init__(self, folder: str | Path, key: str, every_seconds: float = 60.0):
        self.folder, self.key, self.every_seconds = Path(folder), key, every_seconds
        self.n_resumes = 0
        self._last = time.monotonic()
        self._seconds_to_write = 0.0
        self._last_is_good = False
        self.stop_requested = False
        self._lock: Any = None
        self.path, self.path_before = (self.folder / f"checkpoint{which}.npz" for which in ("", "-before"))

    def request_stop(self, *_: Any) -> None:
        """Ask the loop to write a checkpoint after the current batch and to raise `TrainingInterrupted`.

        It can be a handler of ``signal.signal``.
        """
        self.stop_requested = True

    def acquire(self) -> None:
        """Lock the folder, or raise an error if another process uses it."""
        import filelock

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = filelock.FileLock(self.folder / "lock")
            self._lock.acquire(timeout=LOCK_SECONDS)
            for path in self.folder.glob(f".checkpoint*{atomic.PARTIAL_SUFFIX}"):
                path.unlink(missing_ok=True)  # from a process that was killed while it wrote
        except filelock.Timeout:
            raise CheckpointError(
                f"Another process is training the run whose checkpoints are in {self.folder}."
            ) from None
        except OSError as error:
            raise CheckpointError(f"Checkpoints cannot be kept in {self.folder}: {error.strerror or error}.") from error
        self._last = time.monotonic()

    def release(self) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            self._lock.release()

    def restore(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Arrays and notes of the last good checkpoint, None without one; refuses those of other runs."""
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
            # Opened once, so that a file that is replaced in the meantime is read completely, old or new.
            with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                notes = json.loads(str(file["notes"]))
                held = {name: file[name] for name in file.files if name != "notes"}
            checksum, key, n_resumes = notes.pop("checksum"), notes["key"], notes["n_resumes"]
        except FileNotFoundError:
            return None
        except Exception as error:
            raise CheckpointError(f"{path} cannot be read ({error}). Delete it to start this run again.") from error
        if notes.get("format", 1) != FORMAT:
            raise CheckpointError(
                f"{path} was written by another version of this program (format {notes.get('format', 1)}; this one "
                f"reads {FORMAT}). Use that version, or delete it to start this run again."
            )
        if key != self.key:
            raise CheckpointError(
                f"{path} belongs to another run (its parameters, data or code differ). Delete it or name another "
                "folder."
            )
        if checksum != _checksum(held, notes):
            raise CheckpointError(f"{path} was altered: its checksum is wrong. Delete it to start this run again.")
        self.n_resumes = n_resumes + 1
        return held, notes

    def due(self) -> bool:
        """Whether it is time to write."""
        wait = self.every_seconds and max(self.every_seconds, self._seconds_to_write / MOST_TIME)
        return self.stop_requested or time.monotonic() - self._last >= wait

    def save(self, held: dict[str, np.ndarray], notes: dict[str, Any]) -> None:
        """Write a checkpoint. The last one becomes the checkpoint before it."""
        began = time.monotonic()
        # Through JSON and back, since the checksum on reading is computed from the notes in JSON.
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
        """Give the last checkpoint a second name, so that it remains if writing the next one fails."""
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
