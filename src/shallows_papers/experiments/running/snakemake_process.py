"""The process of Snakemake: which processes hold the lock of a folder, and how Snakemake ends together with its jobs.

Snakemake locks a folder by files in ``.snakemake/locks``. They do not name the process, and they stay if it is killed.
So each Snakemake of this project also holds a shared lock of the operating system on the file ``.snakemake/running``,
which ends with the process. It adds a line to the file: its host, its process number, and the process number of the
program that shows its output. If no process holds the file and all lines are from this machine, Snakemake's own lock is
stale.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

try:
    import fcntl
except ImportError:  # Windows, where only Snakemake's own lock is used
    fcntl = None  # type: ignore[assignment]

#: Environment variable with the number of the process that started Snakemake and shows its output.
WATCHER = "SHALLOWS_WATCHER"
#: Seconds for Snakemake and its jobs to end after a signal, before all of them are killed.
SECONDS_TO_END = 10.0

_LOCKS, _RUNNING = Path(".snakemake", "locks"), Path(".snakemake", "running")
_held: list[IO[str]] = []  # open as long as this process lives


def register() -> None:
    """Note that this process is a Snakemake running in the present folder, until it ends.

    If the program that started it and shows its output is killed, this process ends too.
    """
    watcher = os.getppid() if os.environ.get(WATCHER) == str(os.getppid()) else 0
    if watcher:
        threading.Thread(target=_end_after, args=[watcher], daemon=True).start()
    if fcntl is None or _held:
        return
    with contextlib.suppress(OSError):  # a folder that cannot be written, a file system without locks
        _RUNNING.parent.mkdir(exist_ok=True)
        file = _RUNNING.open("a+", encoding="utf-8")
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not is_locked():
                file.truncate(0)  # the processes of these lines have ended
        fcntl.flock(file, fcntl.LOCK_SH)
        print(_host(), os.getpid(), watcher, file=file, flush=True)
        os.fsync(file.fileno())  # the file must survive a loss of power
        _held.append(file)


def remove_stale_lock() -> bool:
    """Remove Snakemake's lock of the present folder if its process no longer exists; return whether it was removed."""
    if fcntl is None or not is_locked():
        return False
    begun = time.monotonic()
    with contextlib.suppress(OSError), _RUNNING.open("r+", encoding="utf-8") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                # A process that has just ended leaves the list first; one whose watcher was killed is about to end.
                found = holders()
                patience = 1.5 * SECONDS_TO_END if _are_orphans(found) else 0.0 if found else 1.0
                if time.monotonic() - begun >= patience:
                    return False
                time.sleep(0.2)
        hosts = {line.split()[0] for line in file if line.strip()}
        if hosts != {_host()}:
            return False
        shutil.rmtree(_LOCKS)
        file.truncate(0)
        return True
    return False


def holders() -> list[tuple[int, int]]:
    """Return the numbers of the living processes on this machine that run here, and of those that started them."""
    import psutil

    found = []
    with contextlib.suppress(OSError):
        for line in _RUNNING.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError, psutil.Error):
                host, process, watcher = line.split()
                # The number of an ended process may belong to another program by now.
                words = psutil.Process(int(process)).cmdline() if host == _host() else []
                if any("snakemake" in word for word in words):
                    found.append((int(process), int(watcher)))
    return found


def end(child: subprocess.Popen[Any], first: float = 0.0) -> None:
    """End a Snakemake that this process started, and its jobs; return when they have ended.

    Snakemake gets the signal of Ctrl-C: it starts no more jobs and unlocks the folder. Its jobs get SIGTERM: a training
    saves its state. Remaining processes are killed after `SECONDS_TO_END`.

    Parameters
    ----------
    child : Popen
    first : float
        Seconds in which Snakemake may end without being asked.
    """
    with contextlib.suppress(Exception):
        child.wait(first)
    if child.poll() is None:
        _end_family(child.pid, lambda: child.poll() is None)


def _host() -> str:
    return platform.node() or "unknown"


def is_locked() -> bool:
    """Whether Snakemake's lock of the present folder exists."""
    return next(_LOCKS.glob("*.lock"), None) is not None


def _are_orphans(found: list[tuple[int, int]]) -> bool:
    """Whether the programs that started these processes have all ended, so that the processes will end too."""
    import psutil

    for _, watcher in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            if not watcher or _runs(psutil.Process(watcher)):
                return False
    return bool(found)


def _end_after(watcher: int) -> None:
    """Wait until the program that started this process has ended, then end this process and its jobs."""
    while os.getppid() == watcher:
        time.sleep(0.5)
    _end_family(os.getpid(), lambda: True)


def _end_family(number: int, is_alive: Any) -> None:
    """Ask a Snakemake and the processes that it started to end, and kill those that continue."""
    import psutil

    jobs: dict[int, psutil.Process] = {}
    deadline = time.monotonic() + SECONDS_TO_END
    os.kill(number, signal.SIGINT)
    while is_alive() and time.monotonic() < deadline:
        with contextlib.suppress(psutil.Error):
            for one in psutil.Process(number).children(recursive=True):
                if one.pid not in jobs:
                    jobs[one.pid] = one
                    one.terminate()
        time.sleep(0.1)
    left = [one for one in jobs.values() if _runs(one)]
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = [one for one in left if _runs(one)]
    for one in left:
        with contextlib.suppress(psutil.Error):
            one.kill()
    if is_alive():
        os.kill(number, signal.SIGKILL)


def _runs(process: Any) -> bool:
    import psutil

    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


if __name__ == "__main__":
    if remove_stale_lock():
        print("The lock of a Snakemake that was killed is removed.", file=sys.stderr)
