"""The GPUs of a workstation: each job that requests one gets a card that no other job uses."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

#: Seconds between two checks for a free card.
PATIENCE = 0.5


def visible() -> list[str]:
    """Return the cards that this process may use: those in ``CUDA_VISIBLE_DEVICES``, else all."""
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return [card.strip() for card in os.environ["CUDA_VISIBLE_DEVICES"].split(",") if card.strip()]
    command = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return listed.split()


@contextmanager
def reserve_one_gpu(wanted: int, folder: str | Path | None = None) -> Iterator[str | None]:
    """Reserve a card that no other job of this machine uses and name it in this job's environment; wait for a free one.

    Enter it before CUDA is first used. With fewer than two visible cards, as in a batch system, it does nothing. The
    locks are files in ``folder``, by default in this user's folder for temporary files.
    """
    cards = visible() if wanted else []
    if len(cards) < 2:
        yield None
        return
    folder = Path(folder or Path(tempfile.gettempdir()) / f"shallows-cards-{os.getuid()}")
    folder.mkdir(parents=True, exist_ok=True)
    card, lock = _first_free(cards, folder)
    os.environ["CUDA_VISIBLE_DEVICES"] = card
    try:
        yield card
    finally:
        lock.release()


def _first_free(cards: list[str], folder: Path) -> tuple[str, FileLock]:
    while True:
        for card in cards:
            lock = FileLock(folder / f"{card}.lock", timeout=0)
            try:
                lock.acquire()
            except Timeout:
                continue
            return card, lock
        time.sleep(PATIENCE)
