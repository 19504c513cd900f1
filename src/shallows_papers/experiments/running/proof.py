"""Check that a run used only those files of the project that its plan lists.

The plan follows import statements (`identity.project_modules`). It can miss modules that are looked up by a name at run
time. Such modules are imported by `importlib.import_module`, also by a `LazyTable`; data files are opened. A run notes
both. Thus the fork server may import modules in advance, which saves 0.2 seconds in each of hundreds of runs.
"""

import importlib
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError

#: The folder of both packages.
FOLDER = Path(__file__).resolve().parents[3]
PACKAGES = ("shallows", "shallows_papers")

_opened: list[set[str]] = []  # by the present run; filled by a hook that Python cannot remove


@contextmanager
def covered_by(planned: Collection[str] | None) -> Iterator[None]:
    """Raise a ShallowsError at the end if an unplanned project file was used; None allows every file."""
    if planned is None:
        yield
        return
    _add_hook()
    before, opened, looked_up, original = {*sys.modules}, set[str](), set[str](), importlib.import_module

    def import_module(name: str, package: str | None = None) -> Any:
        module = original(name, package)
        looked_up.add(module.__name__)
        return module

    _opened.append(opened)
    importlib.import_module = import_module
    try:
        yield
    finally:
        importlib.import_module = original
        _opened.remove(opened)
    modules = looked_up | {*sys.modules} - before
    used = {one for one in modules if one.partition(".")[0] in PACKAGES} | {*filter(None, map(_data_file, opened))}
    # A package whose module is planned is imported with it.
    wrong = sorted(one for one in used - {*planned} if not any(other.startswith(f"{one}.") for other in planned))
    if wrong:
        raise ShallowsError(
            f"The run used {', '.join(wrong)}, which its plan does not list, so that a change there would not make "
            "the run out of date. Import it by a statement where it is used, or name it in the run's parameters."
        )


@cache
def _add_hook() -> None:
    sys.addaudithook(_note_opened)


def _note_opened(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _opened and isinstance(arguments[0], str):
        _opened[-1].add(arguments[0])


def _data_file(path: str) -> str | None:
    """Return the name in a plan of a data file of the packages; None for another file."""
    place = Path(path).resolve()
    if place.suffix in (".py", ".pyc") or "__pycache__" in place.parts or FOLDER not in place.parents:
        return None
    below = place.relative_to(FOLDER)
    return str(below) if below.parts[0] in PACKAGES else None
