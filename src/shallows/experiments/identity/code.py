"""Which code made a result: a digest of the modules behind it, by which results are kept or made anew; the git commit.

What belongs to a piece of code is found by `imports`: what it imports, and of tables of names only what it names.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.atomic import replacing

from . import imports

if TYPE_CHECKING:
    from shallows.datasets.catalogue import Dataset

PACKAGE = Path(__file__).resolve().parents[2]

_RUNNING = "shallows.experiments.running"
#: The function that does a run, by what its method's entry says under ``runs``; its module counts without its imports.
KINDS_OF_RUN = {
    "estimator": f"{_RUNNING}.training_run:train",
    "plain": f"{_RUNNING}.single_fit:fit_once",
    "analysis": f"{_RUNNING}.analysis_run:analyse",
}
#: Where what is measured of a model is chosen by name.
MEASURES = f"{_RUNNING}.measures:make"
#: What chooses among all of them for a method that names none.
DEFAULT_MEASURE = f"{_RUNNING}.measures:default_for"

_COMPARING = "shallows.experiments.user_data"
#: The modules by which methods are compared on a user's own data; they count without their imports too.
OF_EVERY_COMPARISON = (f"{_COMPARING}.model_selection", f"{_COMPARING}.trials", f"{_COMPARING}.scores")


def digest_of_run(definition: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    """Digest of the code that a run depends on: what its method calls, and the kernels, losses and so on that it names.

    Parameters
    ----------
    definition : mapping
        The method, as the configuration defines it.
    parameters : mapping
        Those of the run.
    """
    words = {*_texts(parameters), *_texts(definition.get("measures"))}
    entries = (*sorted(definition["call"].values()), *entries_of_measure(definition))
    module = KINDS_OF_RUN[definition["runs"]].partition(":")[0]
    return _digest(entries, frozenset(words), (module,))


def entries_of_measure(definition: Mapping[str, Any]) -> tuple[str, ...]:
    """What finds the measure of a method, as names of code: by its name, or among all of them where none is named."""
    if definition["runs"] == "analysis":
        return ()
    return (MEASURES,) if "measures" in definition else (MEASURES, DEFAULT_MEASURE)


def digest_of_comparison(definition: Mapping[str, Any]) -> str:
    """Digest of the code by which a method is compared on a user's data: as of a run, with all its choices."""
    return _digest(tuple(sorted(definition["call"].values())), frozenset(_texts(definition)), OF_EVERY_COMPARISON)


def digest_of_preconditioner(parameters: Mapping[str, Any]) -> str:
    """Digest of the code that a preconditioner depends on."""
    return _digest(("shallows.spectrum:fit_preconditioner",), frozenset(_texts(parameters)), ())


def digest_of_preparation(dataset: Dataset, steps: Iterable[Mapping[str, Any]]) -> str:
    """Digest of what prepared arrays depend on: the modules behind them and the dataset's own entry."""
    from shallows.datasets import identity as datasets_identity

    found = modules_of_preparation(dataset, steps)
    entries = {} if dataset.state == "user" else datasets_identity.entries_of(dataset)
    return imports.digest({**found, "entries": json.dumps(entries, sort_keys=True, default=str)})


def modules_of_preparation(dataset: Dataset, steps: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The modules behind a preparation, as `modules_of`: by all steps on the way to it, and the reader of its files."""
    from shallows.datasets import identity as datasets_identity

    steps = [*steps]
    return modules_of(*datasets_identity.modules_of(dataset, steps), words=_texts(steps))


def digest_of_module(*names: str) -> str:
    """Digest of modules with everything that they import, each as ``"package.module"`` or ``"package.module:name"``."""
    return _digest(names, frozenset(), ())


def digest_of_script(path: str | Path) -> str:
    """Digest of what a script of the workflow imports of this package; Snakemake looks at the script itself."""
    return digest_of_module(*imports.of_script(path))


def modules_of(*names: str, words: Iterable[str] = (), alone: Iterable[str] = ()) -> dict[str, str]:
    """The modules and pieces of packages behind some code, each with its digest: what a digest is made of.

    Parameters
    ----------
    *names, words
        As the ``entries`` and ``words`` of `imports.closure`.
    alone : iterable of str
        Modules that count without their imports.
    """
    source = _source(PACKAGE)
    found = imports.closure(source, names, words)
    for module in alone:
        found |= {f"{module}:{name}": part.digest for name, part in source.parts(module).items()}
    _keep(source)
    return found


@cache
def _digest(entries: tuple[str, ...], words: frozenset[str], alone: tuple[str, ...]) -> str:
    return imports.digest(modules_of(*entries, words=words, alone=alone))


def _texts(value: Any) -> Iterator[str]:
    """All texts in nested data, those of keys among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield str(key)
            yield from _texts(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts(one)


# To read the whole package takes half a second, to look up what was read before next to nothing; so it is kept where
# Python keeps what it made of the sources. By contents, so that no clock matters.
_KEPT = Path(__file__).parent / "__pycache__" / f"imports.{sys.implementation.cache_tag}.json"


@cache
def _source(package: Path) -> imports.Source:
    try:
        kept = dict(json.loads(_KEPT.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        kept = {}
    return imports.Source(package, kept)


def _keep(source: imports.Source) -> None:
    if len(source.kept) == source.n_kept:
        return
    with contextlib.suppress(OSError):  # a package that is installed where nothing can be written
        _KEPT.parent.mkdir(exist_ok=True)
        with replacing(_KEPT) as partial:
            # What no file of now was read as is left out once there is much of it.
            kept = source.kept if len(source.kept) < 2000 else {key: source.kept[key] for key in source.used}
            partial.write_text(json.dumps(kept), encoding="utf-8")
    source.n_kept = len(source.kept)


@cache
def commit(package: Path = PACKAGE) -> dict[str, Any]:
    """The package's version, and the git commit where it lies in a repository that tracks it.

    Returns
    -------
    dict
        ``version``, ``commit`` (None without git) and ``dirty`` (whether anything is changed; None without git).
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
    head, status = git("rev-parse", "HEAD"), git("status", "--porcelain", "--untracked-files=no")
    return {
        "version": version,
        "commit": head.strip() if head else None,
        "dirty": bool(status.strip()) if status is not None else None,
    }
