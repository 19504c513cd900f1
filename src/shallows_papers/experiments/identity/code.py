"""The code behind a result: the planned files, a digest of them, and the commit."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import subprocess
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..setting_text import listed
from . import project_modules, signatures

if TYPE_CHECKING:
    from shallows_papers.datasets.catalogue import Dataset

_RUNNING = "shallows_papers.experiments.running"
#: The function that does a run, by ``runs`` in its method's entry; its module counts without its imports.
KINDS_OF_RUN = {
    "estimator": f"{_RUNNING}.training_run:train",
    "plain": f"{_RUNNING}.training_run:fit_once",
    "analysis": f"{_RUNNING}.analysis_run:analyse",
}
#: The default measures, by what the estimator offers.
DEFAULT_MEASURES = ("predictions", "correlations", "components")

#: Analyses, which may call estimators with their own settings.
_ANALYSES = "shallows_papers.papers."

_COMPARING = "shallows_papers.experiments.user_data"
#: The modules that compare methods on a user's own data; they also count without their imports.
OF_EVERY_COMPARISON = (f"{_COMPARING}.model_selection", f"{_COMPARING}.prediction_scores")

#: The value of a parameter that lets the program choose.
AUTOMATIC = "auto"


def files_of_run(definition: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return the modules and data files of a run: for what its method calls, and for objects in its parameters."""
    places, words = _of_run(definition, parameters)
    return _files(places, words, (KINDS_OF_RUN[definition["runs"]].partition(":")[0],))


def files_of_comparison(definition: Mapping[str, Any]) -> dict[str, str]:
    """Return the files that compare a method on a user's data: the files of a run, with all choices of the method."""
    places, words = _of_run(definition, definition.get("parameters", {}))
    return _files(places, words | {*_texts(definition.get("compare", {}))}, OF_EVERY_COMPARISON)


def files_of_preconditioner(call: str, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of a preconditioner: for the function that computes it, and for objects in its parameters."""
    return _files((call,), frozenset(_words((call,), parameters)), ())


def digest_of_preparation(dataset: Dataset, steps: Iterable[Mapping[str, Any]]) -> str:
    """Return the digest of what prepared arrays depend on: modules of all steps and the reader, the dataset's entry."""
    from shallows_papers.datasets import identity as datasets_identity

    found = project_modules.SHALLOWS.closure(datasets_identity.modules_of(dataset, [*steps]))
    entries = {} if dataset.state == "user" else datasets_identity.entries_of(dataset)
    return project_modules.digest({**found, "entries": json.dumps(entries, sort_keys=True, default=str)})


def digest_of_script(path: str | Path, called: Iterable[str] = ()) -> str:
    """Return the digest of the modules that a script of the workflow imports, directly or not, or calls by name."""
    return project_modules.digest(project_modules.SHALLOWS.closure([*project_modules.imports_of_script(path), *called]))


def _of_run(definition: Mapping[str, Any], parameters: Mapping[str, Any]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the places where the code of a run begins, and the words that may name entries of tables."""
    places = tuple(sorted(definition["call"].values()))
    for path in _own_modules(places).values():
        places += tuple(sorted(one for one in project_modules.imports_of_script(path) if _is_of_project(one)))
    words = {*_words(places, parameters)}
    if definition["runs"] == "analysis":
        words |= _words_of_analysis(places)
    else:
        places += (f"{_RUNNING}.measures",)
        words |= {*listed(definition.get("measures", DEFAULT_MEASURES))}
    if "preconditioner" in definition:
        places += (definition["preconditioner"]["call"],)
    return places, frozenset(words)


def _is_of_project(place: str) -> bool:
    return place.partition(":")[0].partition(".")[0] in project_modules.SHALLOWS.packages


@cache
def _own_modules(places: tuple[str, ...]) -> dict[str, Path]:
    """Return the files of a user's own modules, which are neither of the project nor of an installed package."""
    found = {}
    for module in sorted({place.partition(":")[0] for place in places if not _is_of_project(place)}):
        with contextlib.suppress(ImportError):  # a module that cannot be found is refused when the run begins
            spec = importlib.util.find_spec(module.partition(".")[0])
            if spec is None or _is_installed(spec.origin):
                continue
            spec = importlib.util.find_spec(module)
            if spec is not None and spec.has_location:
                found[module] = Path(spec.origin)
    return found


def _is_installed(origin: str | None) -> bool:
    paths = sysconfig.get_paths()
    return origin is None or any(origin.startswith(paths[name]) for name in ("purelib", "platlib", "stdlib"))


def _words(places: Iterable[str], parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts among given parameters and defaults; for an object that the program chooses, all candidates."""
    yield from _texts(parameters)
    for place in places:
        given = {**(signatures.paths(place, parameters) or {}), **parameters}
        yield from _texts(given)
        for name, table in signatures.tables(place).items():
            if given.get(name) == AUTOMATIC:
                yield from table


def _texts(given: Any) -> Iterator[str]:
    if isinstance(given, Mapping):
        given = list(given.values())
    if isinstance(given, list | tuple):
        for one in given:
            yield from _texts(one)
    elif isinstance(given, str):
        yield given


@cache
def _words_of_analysis(places: tuple[str, ...]) -> frozenset[str]:
    """Return the texts in the modules of an analysis, and the defaults of what they call."""
    found: set[str] = set()
    for module in (one for one in project_modules.SHALLOWS.closure(places) if one.startswith(_ANALYSES)):
        read = project_modules.SHALLOWS.read(module)
        found.update(read.words)
        for origin, _, name in (one.rpartition(".") for one in read.names if not one.startswith(_ANALYSES)):
            found.update(_texts(signatures.paths(f"{origin}:{name}", {}) or {}))
    return frozenset(found)


@cache
def _files(places: tuple[str, ...], words: frozenset[str], alone: tuple[str, ...]) -> dict[str, str]:
    """Return the modules and data files behind some code with digests; modules in ``alone`` without their imports."""
    return {
        **project_modules.SHALLOWS.closure(places, words),
        **{module: project_modules.SHALLOWS.read(module).digest for module in alone},
        **{module: hashlib.sha256(path.read_bytes()).hexdigest() for module, path in _own_modules(places).items()},
    }


_NEVER_USED = tuple(f":(top,exclude){folder}" for folder in ("benchmarks", "docs", "tests"))


@cache
def commit(package: Path = project_modules.SHALLOWS.folder / "shallows") -> dict[str, Any]:
    """Return the package's ``version``, and the git ``commit`` if it is in a repository that tracks it.

    ``dirty`` says whether a tracked file is changed that a result may depend on, so no test, page or benchmark.
    Without git, ``commit`` and ``dirty`` have the value None.
    """
    from shallows import __version__ as version

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", str(package), *arguments], capture_output=True, text=True, timeout=20)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout if done.returncode == 0 else None

    if git("ls-files", "--error-unmatch", "errors.py") is None:
        return {"version": version, "commit": None, "dirty": None}
    head = git("rev-parse", "HEAD")
    status = git("status", "--porcelain", "--untracked-files=no", "--", ":(top)", *_NEVER_USED)
    return {
        "version": version,
        "commit": head.strip() if head else None,
        "dirty": bool(status.strip()) if status is not None else None,
    }
