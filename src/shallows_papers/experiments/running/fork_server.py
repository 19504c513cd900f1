"""A process that has done all imports; the jobs of a workflow on this machine are forks of it.

Starting Python and importing the numerical packages takes longer than many runs. So the workflow starts one process
that imports them, and each script passes itself to a fork of it, with its own output, environment and exit status.
Nothing else of a job changes. Without such a process, as in a batch system, the script itself does the job.
"""

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

#: Environment variable with the server's socket.
ADDRESS = "SHALLOWS_FORK_SERVER"

#: Modules that the server imports, as texts, since no script depends on them; of packages in `WHOLE`, all modules.
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
    """Start a server that ends with this process, and put its address into the environment of the jobs.

    Return None if jobs start without it: outside of Linux, where system libraries may not survive a fork, or if the
    variable is set to an empty value.
    """
    if sys.platform != "linux" or os.environ.get(ADDRESS) == "":
        return None
    folder = tempfile.mkdtemp(prefix="shallows-")
    address = str(Path(folder) / "jobs")
    with socket.socket(socket.AF_UNIX) as listener:  # listens from now on: jobs wait until the server has its imports
        listener.bind(address)
        listener.listen(128)
        command = [sys.executable, "-m", __name__, address, str(listener.fileno())]
        server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[listener.fileno()]
        )
    os.environ[ADDRESS] = address
    return server


def hand_over() -> None:
    """Let a fork of the server run this script, and exit with its status; return if this process has to run it."""
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
        print("The process of this job was killed, perhaps because memory ran out.", file=sys.stderr, flush=True)
    # As in a shell, if a signal ended the command.
    os._exit(128 + (signal.SIGTERM if asked_to_end.is_set() else signal.SIGKILL))


def main(address: str, listener_number: str) -> None:
    """Serve jobs at a listening socket until the standard input ends, with the process that started this one."""
    listener = socket.socket(fileno=int(listener_number))
    threading.Thread(target=_end_with_parent, args=[Path(address)], daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(
        signal.SIGTERM, signal.SIG_IGN
    )  # the signal is sent to the jobs; this process ends with the process that started it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _import()
    while True:
        connection, _ = listener.accept()
        with connection:
            if os.fork() == 0:
                listener.close()
                _run(connection)


def _end_with_parent(address: Path) -> None:
    while os.read(0, 1024):  # unbuffered, since a fork might inherit the locked lock of a buffer
        pass
    with contextlib.suppress(OSError):
        address.unlink()
        address.parent.rmdir()
    os._exit(0)


def _import() -> None:
    import importlib
    import pkgutil

    for name in COMMON:
        importlib.import_module(name)
    for room in (importlib.import_module(name) for name in WHOLE):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)


def _run(connection: socket.socket) -> None:
    """Run the script of a request in this process, a fork, and end the process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, descriptors = _receive(connection)
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


def _receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Read a request and its file descriptors, and no byte that asks the job to end."""
    length, descriptors, _, _ = socket.recv_fds(connection, 8, 3)
    return json.loads(connection.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL)), list(descriptors)


def _pass_on_end(connection: socket.socket) -> None:
    """End this process when the process of the job is asked to end or has ended."""
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
    """Give loaded libraries the number of threads that they would read from the environment."""
    import threadpoolctl

    for api, variable in (("blas", "OPENBLAS_NUM_THREADS"), ("openmp", "OMP_NUM_THREADS")):
        given = os.environ.get(variable) or os.environ.get("OMP_NUM_THREADS", "")
        if given.isdigit():
            threadpoolctl.threadpool_limits(int(given), user_api=api)


if __name__ == "__main__":
    main(*sys.argv[1:])
