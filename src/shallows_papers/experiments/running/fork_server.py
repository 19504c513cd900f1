"""A process with all imports done; the jobs of a workflow on this machine are forks of it.

To start Python and to import the numerical packages takes longer than many a run. So the workflow starts one process
that imports them, and each script hands itself over to a fork of it, with its own output, environment and exit status.
Nothing else of a job changes: where there is no such process, as in a batch system, the script goes on by itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

#: Environment variable that names the socket of the server.
ADDRESS = "SHALLOWS_FORK_SERVER"

#: What the server imports; named in texts, since no script depends on it. Of packages in `WHOLE`, all modules.
COMMON = (
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "seaborn",
    "sklearn.svm",
    "snakemake.iocontainers",
    "snakemake.logging",
    "snakemake.script",
    "shallows_papers.experiments.comparing.target_table",
    "shallows_papers.experiments.running.run",
    "shallows_papers.report.figures",
    "shallows_papers.report.page",
    "shallows_papers.report.tables",
)
WHOLE = ("shallows.estimators", "shallows.solvers", "shallows_papers.papers")


def start() -> subprocess.Popen[bytes] | None:
    """Start a server, which ends with this process, and name it in the environment of the jobs.

    None where jobs start by themselves: beyond Linux, whose system libraries survive a fork, and where the variable is
    set to nothing.
    """
    if sys.platform != "linux" or os.environ.get(ADDRESS) == "":
        return None
    folder = tempfile.mkdtemp(prefix="shallows-")
    address = str(Path(folder) / "jobs")
    with socket.socket(socket.AF_UNIX) as listener:  # listens from now on: jobs wait for the server's imports
        listener.bind(address)
        listener.listen(128)
        command = [sys.executable, "-m", __name__, address, str(listener.fileno())]
        server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[listener.fileno()]
        )
    os.environ[ADDRESS] = address
    return server


def hand_over() -> None:
    """Let a fork of the server run this script, and exit with its status; return where this process is to run it."""
    address = os.environ.get(ADDRESS)
    if not address:
        return
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(address)
    except OSError:  # the server has ended
        return
    asked_to_end = threading.Event()

    def pass_on(*_: Any) -> None:
        asked_to_end.set()
        connection.send(b"t")

    signal.signal(signal.SIGTERM, pass_on)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the fork as well
    request = {"script": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ)}
    words = json.dumps(request).encode()
    socket.send_fds(connection, [len(words).to_bytes(8, "big")], [0, 1, 2])
    connection.sendall(words)
    status = connection.recv(1)
    if status:
        os._exit(status[0])
    if not asked_to_end.is_set():
        print("The process of this job was killed, for want of memory perhaps.", file=sys.stderr, flush=True)
    # The status of a shell's command that a signal ended.
    os._exit(128 + (signal.SIGTERM if asked_to_end.is_set() else signal.SIGKILL))


def main(address: str, listener_number: str) -> None:
    """Serve jobs that ask a listening socket, until the standard input ends with the process that started this one."""
    listener = socket.socket(fileno=int(listener_number))
    threading.Thread(target=_end_with_parent, args=[Path(address)], daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(
        signal.SIGTERM, signal.SIG_IGN
    )  # it is sent to the jobs; this process ends with the one that started it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _import()
    while True:
        connection, _ = listener.accept()
        with connection:
            if os.fork() == 0:
                listener.close()
                _run(connection)


def _end_with_parent(address: Path) -> None:
    while os.read(0, 1024):  # not through a buffer, whose lock a fork would find held
        pass
    with contextlib.suppress(OSError):
        address.unlink()
        address.parent.rmdir()
    os._exit(0)


def _import() -> None:
    """Import what jobs need, and nothing that opens a GPU."""
    import importlib
    import pkgutil

    for name in COMMON:
        importlib.import_module(name)
    for room in (importlib.import_module(name) for name in WHOLE):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)


def _run(connection: socket.socket) -> None:
    """Run the script of a request in this process, a fork, and end it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, descriptors, _, _ = socket.recv_fds(connection, 8, 3)
    words = b""
    while len(words) < int.from_bytes(length, "big"):
        words += connection.recv(2**20)
    request = json.loads(words)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    threading.Thread(target=_pass_on_end, args=[connection], daemon=True).start()
    status = 1
    try:
        status = _script(**request)
    finally:
        with contextlib.suppress(OSError):
            connection.send(bytes([status]))
        os._exit(status)


def _pass_on_end(connection: socket.socket) -> None:
    """End this process when the one that handed the job over is asked to end, or is gone."""
    connection.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)


def _script(script: list[str], folder: str, environment: dict[str, str]) -> int:
    import atexit
    import runpy
    import traceback

    os.chdir(folder)
    os.environ.clear()
    os.environ.update({name: value for name, value in environment.items() if name != ADDRESS})
    sys.argv = script
    sys.stdout.reconfigure(line_buffering=True)
    _limit_threads()
    status = 0
    try:
        runpy.run_path(script[0], run_name="__main__")
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    for finish in (atexit._run_exitfuncs, sys.stdout.flush, sys.stderr.flush):
        with contextlib.suppress(Exception):
            finish()
    return status


def _limit_threads() -> None:
    """Give libraries that are loaded the number of threads that they would read from the environment."""
    import threadpoolctl

    for api, variable in (("blas", "OPENBLAS_NUM_THREADS"), ("openmp", "OMP_NUM_THREADS")):
        given = os.environ.get(variable) or os.environ.get("OMP_NUM_THREADS", "")
        if given.isdigit():
            threadpoolctl.threadpool_limits(int(given), user_api=api)


if __name__ == "__main__":
    main(*sys.argv[1:])
