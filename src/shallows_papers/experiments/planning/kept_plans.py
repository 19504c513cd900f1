"""Plans that are kept in files, since planning takes a second: valid while no file that planning reads has changed."""

import hashlib
import json
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shallows.utils.atomic import replacing

from ..identity.project_modules import SHALLOWS

#: The folder of the files, and the most files in it, for plans of different settings.
FOLDER = Path(__file__).parent / "__pycache__"
MOST_FILES = 8


def name_of(root: Path, settings: Mapping[str, Any], deployed: bool) -> str:
    """Return the name of a plan's file: a hash of the settings and of all files that planning reads."""
    config = root / "config"
    folders = [SHALLOWS.folder / package for package in SHALLOWS.packages]
    folders += [root / "workflow", config, Path(settings.get("configuration") or config)]
    request = str(root), json.dumps(settings, sort_keys=True, default=str), deployed, sys.version
    found = hashlib.sha256(repr(request).encode())
    for path in (path for folder in folders for path in _files(folder)):
        found.update(path.encode())
        with open(path, "rb") as content:
            found.update(content.read())
    return f"plan-{found.hexdigest()[:32]}.pickle"


def read(name: str) -> Any:
    """Return the `Plan` in a file; None without one, or if data were supplied or an extra was installed since."""
    with suppress(Exception):  # the file was written by another version of Python's libraries, or damaged
        plan = pickle.loads((FOLDER / name).read_bytes())
        if plan.surroundings == plan.look_around():
            return plan
    return None


def write(name: str, plan: Any) -> None:
    """Write a plan, and remove the oldest files; do nothing if the folder cannot be written."""
    with suppress(OSError):
        with replacing(FOLDER / name) as partial:
            partial.write_bytes(pickle.dumps(plan, protocol=pickle.HIGHEST_PROTOCOL))
        files = sorted(FOLDER.glob("plan-*.pickle"), key=lambda one: one.stat().st_mtime)
        for old in files[:-MOST_FILES]:
            old.unlink()


def _files(folder: Path) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (os.path.join(place, name) for name in sorted(names))
