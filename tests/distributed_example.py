"""Programs of several processes for tests: started by mpiexec, ended after a time, skipped where there is no MPI."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 240
"""After this number of seconds a program hangs; it takes about ten on two busy cores."""


def mpiexec():
    """The starter of MPI programs, next to this Python or on the path; a test that asks in vain is skipped."""
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed")
    found = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if found is None:
        pytest.skip("there is no mpiexec")
    return found


def start(n, *arguments):
    """A program of n processes, in a separate process group."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [mpiexec(), "-n", str(n), sys.executable, *map(str, arguments)]
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def run(n, *arguments, seconds=SECONDS):
    """Exit status and output of a program of n processes; one that does not end is an error."""
    process = start(n, *arguments)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail(f"{arguments} with {n} processes did not end within {seconds} seconds")
    return process.returncode, output
