"""What the measured programs share. It runs in the peers' environments too, so it needs only what scikit-learn does."""

from __future__ import annotations

import contextlib
import json
import mmap
import platform
import resource
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

PACKAGES = ("shallows", "scikit-learn-extra", "scikit-learn-intelex", "numpy", "scipy", "scikit-learn")


def parameters() -> dict[str, Any]:
    """The parameters from the runner."""
    return json.loads(sys.argv[1])


def answer(**found: Any) -> None:
    """Answer the runner: one line of JSON, the last of the output."""
    print(json.dumps(found))


def sgemm_gflops(seconds: float = 1.0, n: int = 4096) -> float:
    """The rate of a float32 product of n × n matrices in NumPy's BLAS, over about this number of seconds."""
    a, b = (np.random.default_rng(seed).random((n, n), dtype=np.float32) for seed in (0, 1))
    out = a @ b  # The first one starts BLAS's threads and touches the memory.
    repeats, started = 0, time.perf_counter()
    while (passed := time.perf_counter() - started) < seconds:
        np.matmul(a, b, out=out)
        repeats += 1
    return 2e-9 * n**3 * repeats / passed


def load(folder: str, part: str, n: int, subset: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A part and its labels, mapped into memory; of a larger part ``n`` random points, the same ones for a subset."""
    x, y = (np.load(Path(folder) / f"{name}_{part}.npy", mmap_mode="r") for name in "xy")
    if n >= len(x):
        return x, np.array(y)
    rows = np.random.default_rng(subset).permutation(len(x))[:n]
    return x[rows], y[rows]


def touch_memory(n_points: int) -> float:
    """Make as much memory as half a kernel matrix takes the process's own, and give it back; returns the seconds.

    The host of a virtual machine takes back what no process holds, and the next who asks waits for it: 1 to 2 s for
    each GB were seen, 0.05 s if the memory is available. Neither a program nor its peers should be charged for that, so
    all do this before their clock starts. With `environments.KEEPS_MEMORY` the C library keeps what is freed, so what
    NumPy asks for next is there; what a program takes from the system by other ways was touched a moment ago.
    """
    n_bytes = 2 * n_points**2 + 10**9
    started = time.perf_counter()
    np.empty(n_bytes, dtype=np.uint8)[:: mmap.PAGESIZE] = 1
    seconds = time.perf_counter() - started
    memory = mmap.mmap(-1, n_bytes)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    np.frombuffer(memory, dtype=np.uint8)[:: mmap.PAGESIZE] = 1
    memory.close()
    return seconds


def forget_peak() -> None:
    """Let the peak of memory count from here (Linux), so that it is that of what follows."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_gb() -> float:
    """The most main memory that this process held, in 10⁹ bytes."""
    # rusage counts what the process was before it began this program; the status file does not.
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e9
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def environment() -> dict[str, Any]:
    """Versions, and the BLAS that NumPy and SciPy use here."""
    import scipy.linalg  # noqa: F401  (loads its BLAS)
    from threadpoolctl import threadpool_info

    packages = {}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            packages[name] = metadata.version(name)
    blas = {}
    for pool in threadpool_info():
        for library in ("numpy", "scipy"):
            if pool["user_api"] == "blas" and f"{library}.libs" in pool["filepath"]:
                core, threads = pool.get("architecture"), pool["num_threads"]
                blas[library] = f"{pool['internal_api']} {pool['version']}, core {core}, {threads} threads"
    return {"python": platform.python_version(), "packages": packages, "blas": blas}
