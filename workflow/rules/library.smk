"""Where the project and its library lie, by the standard library alone: the package may be missing."""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path


def project_folder(here):
    """The folder of the project, given the one of these rules, also where another workflow uses them as a module.

    Where Snakemake reads them from a git address, it has a clone: the whole project at that commit is unpacked next to
    the results, since the configuration, the data and the library are many files.
    """
    if os.path.isdir(str(here)):
        return Path(str(here)).parents[1]
    if hasattr(here, "hosted_repo"):
        clone = str(here.hosted_repo.repo_clone)
    else:
        clone = here.repo_path
    git = ["git", "-C", clone]
    said = subprocess.run(
        [*git, "rev-parse", f"{here.ref}^{{commit}}"],
        check=True,
        capture_output=True,
        text=True,
    )
    commit = said.stdout.strip()
    folder = Path(".snakemake", "shallows", commit).resolve()
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as place:
            with tempfile.TemporaryFile() as packed:
                subprocess.run([*git, "archive", commit], check=True, stdout=packed)
                packed.seek(0)
                with tarfile.open(fileobj=packed) as files:
                    files.extractall(Path(place, "project"), filter="data")
            try:
                Path(place, "project").rename(folder)
            except OSError:  # another job of this workflow was faster
                if not folder.exists():
                    raise
    return folder


# Snakemake starts the Python of jobs by a command in which its path is not quoted.
if " " in sys.executable:
    sys.exit(
        f"Error: the path of Python, {sys.executable}, holds a space, with which Snakemake cannot start jobs. Move the "
        "project, or make the environment elsewhere: make VENV=/a/path/without/spaces"
    )

ROOT = project_folder(workflow.current_basedir)

# The rules use the library of their project, installed or not. Jobs find it in every environment. Where the
# rules are part of an installed package, that one is found by itself.
LIBRARY = str(ROOT / "src")
if os.path.isdir(LIBRARY):
    if LIBRARY not in sys.path:
        sys.path.insert(0, LIBRARY)
    paths = dict(os.environ).get("PYTHONPATH", "").split(os.pathsep)
    if LIBRARY not in paths:
        os.environ.update(PYTHONPATH=os.pathsep.join([LIBRARY, *filter(None, paths)]))
