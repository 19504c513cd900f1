"""Runs Snakemake in a copy of the project, so that no test touches the results of the person who runs it."""

import atexit
import functools
import multiprocessing
import multiprocessing.forkserver
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
PARTS = (
    "Snakefile",
    "workflow",
    "config",
    "profiles",
    "src",
    ".test",
    "data/embedded",
    "environment.yml",
    "pyproject.toml",
)


def left_out(folder: str, names: list[str]) -> list[str]:
    """What is kept next to the sources, but for what was read of them, which takes seconds to read again."""
    return [name for name in names if folder.endswith("__pycache__") and not name.endswith(".json")]


def copy_project(to: Path, *papers: str) -> Path:
    """A copy without git, environment, data and results, with the named files of targets alone where some are named."""
    for part in PARTS:
        source = PROJECT / part
        if source.is_dir():
            shutil.copytree(source, to / part, ignore=left_out)
        elif source.exists():
            (to / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, to / part)
    if papers:
        kept = {to / "config" / "papers" / f"{name}.yaml" for name in papers}
        for path in [*to.glob("config/papers/*/targets*.yaml"), *to.glob("config/papers/*/summary.yaml")]:
            if path not in kept:
                path.unlink()
    return to


def environment(root: Path) -> dict[str, str]:
    """The copy's own code comes before an installed one."""
    return {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONUNBUFFERED": "1"}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "snakemake", *arguments]


def run_here(folder: str, arguments: tuple[str, ...], variables: dict[str, str], said: str) -> None:
    """Do what ``python -m snakemake`` does, in this process, a fork of one that has it loaded."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    with open(said, "wb") as stream:
        for number in (1, 2):
            os.dup2(stream.fileno(), number)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through=True)
    installed = [path for path in sys.path if "site-packages" in path or path.startswith(sys.base_prefix)]
    sys.path[:] = [folder, *variables["PYTHONPATH"].split(os.pathsep), *installed]
    sys.argv[1:] = arguments
    try:
        runpy.run_module("snakemake", run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()  # a process of multiprocessing does not


def snakemake(root: Path, *arguments: str, timeout: float = 300) -> subprocess.CompletedProcess:
    """Run it, and return what it said; stdout and stderr come together in ``stdout``."""
    with tempfile.NamedTemporaryFile() as said:
        process = forks().Process(target=run_here, args=(str(root), arguments, environment(root), said.name))
        process.start()
        process.join(timeout)
        text = Path(said.name).read_text()
    if process.exitcode is None:
        process.kill()
        raise subprocess.TimeoutExpired(arguments, timeout, text)
    return subprocess.CompletedProcess(arguments, process.exitcode, text)


@functools.cache
def forks():
    """Processes that have Snakemake loaded: to import it takes more than to plan a few jobs."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["loaded_snakemake"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PROJECT / "tests"))
        multiprocessing.forkserver.ensure_running()
    return context
