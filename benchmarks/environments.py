"""The environments that programs are measured in (this project's, one for each peer) and the variables they see."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OWN = "shallows"

NEWEST_PYTHON = {"extra": (3, 11)}
"""The last Python for which a peer has a wheel, where it is older than the one of this project may be."""

REMOVED = ("OPENBLAS_", "PYTHONPATH", "PYTHONHOME")
"""Variables beginning so would give one side another BLAS or another code than its environment has; so would these."""

THREAD_COUNTS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "GOTO_NUM_THREADS", "NUMEXPR_NUM_THREADS")

KEEPS_MEMORY = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**40),
    "MALLOC_TOP_PAD_": str(2**26),
}
"""With these the C library (glibc) takes large arrays from memory that it keeps when they are freed."""


class EnvironmentFailedError(Exception):
    """A peer's environment could not be built; the message says why."""


def removed_variables() -> dict[str, str]:
    """What is set here and kept from all programs that are measured."""
    return {name: value for name, value in os.environ.items() if name.startswith(REMOVED) or name in THREAD_COUNTS}


def variables(keeps_memory: bool = False) -> dict[str, str]:
    """The variables that all programs are measured under; with `KEEPS_MEMORY` where the clock should not see it."""
    removed = removed_variables()
    kept = {name: value for name, value in os.environ.items() if name not in removed}
    # device="auto" would take a GPU, and the peers have none.
    return kept | {"CUDA_VISIBLE_DEVICES": ""} | (KEEPS_MEMORY if keeps_memory else {})


@functools.cache
def python_of(name: str) -> Path:
    """The interpreter of an environment, which is built when it is missing or its list has changed.

    Parameters
    ----------
    name : str
        ``"shallows"`` for the environment that this runs in, else the X of ``requirements-X.txt``.

    Raises
    ------
    EnvironmentFailedError
    """
    if name == OWN:
        return Path(sys.executable)
    requirements, folder = HERE / f"requirements-{name}.txt", HERE / f".venv-{name}"
    python, ready = folder / "bin" / "python", folder / ".ready"
    wanted = requirements.read_text(encoding="utf-8")
    if ready.is_file() and ready.read_text(encoding="utf-8") == wanted and python.is_file():
        return python
    print(f"building {folder.relative_to(ROOT)}", file=sys.stderr, flush=True)
    uv = shutil.which("uv")
    base = _base_python(name, uv)
    install = ["--quiet", "--require-hashes"]
    if uv:
        _run([uv, "venv", "--quiet", "--clear", "--python", base, str(folder)])
        _run([uv, "pip", "sync", "--python", str(python), *install, "--compile-bytecode", str(requirements)])
    else:
        _run([base, "-m", "venv", "--clear", str(folder)])
        _run([str(python), "-m", "pip", "install", "--disable-pip-version-check", *install, "-r", str(requirements)])
    # Written last, so that an environment that was not finished is built again.
    ready.write_text(wanted, encoding="utf-8")
    return python


def _base_python(name: str, uv: str | None) -> str:
    newest = NEWEST_PYTHON.get(name)
    if newest is None or sys.version_info[:2] <= newest:
        return sys.executable
    version = ".".join(map(str, newest))
    found = shutil.which(f"python{version}")
    if found or uv:
        return found or version
    raise EnvironmentFailedError(f"The peer '{name}' needs Python {version}: put python{version} (or uv) on the PATH.")


def _run(command: list[str]) -> None:
    # uv's own variable would point it at the environment that this runs in.
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    if result.returncode:
        raise EnvironmentFailedError(f"{' '.join(command[:3])} failed:\n{result.stderr.strip()[-2000:]}")
