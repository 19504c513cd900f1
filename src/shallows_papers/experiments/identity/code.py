"""The code behind a result: a digest of its modules, by which results out of date are found, and the commit."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..setting_text import listed
from . import signatures, source_code

if TYPE_CHECKING:
    from shallows_papers.datasets.catalogue import Dataset

_RUNNING = "shallows_papers.experiments.running"
#: The function that does a run, by what its method's entry says under ``runs``; its module counts without its imports.
KINDS_OF_RUN = {
    "estimator": f"{_RUNNING}.training_run:train",
    "plain": f"{_RUNNING}.single_fit:fit_once",
    "analysis": f"{_RUNNING}.analysis_run:analyse",
}
#: What is measured where a method does not say it, by what its estimator offers.
DEFAULT_MEASURES = ("predictions", "correlations", "components")

#: Where analyses stand, which may call estimators by settings of their own.
_ANALYSES = "shallows_papers.papers."

_COMPARING = "shallows_papers.experiments.user_data"
#: The modules by which methods are compared on a user's own data; they count without their imports too.
OF_EVERY_COMPARISON = (f"{_COMPARING}.model_selection", f"{_COMPARING}.trials", f"{_COMPARING}.prediction_scores")

#: Parameters, alone or at the end of a path, whose values name entries of one kind of table. Any other text may name an
# entry of every table.
NAMING = {"kernel": "kernel", "second_kernel": "kernel", "loss": "loss", "features": "feature map", "solver": "solver"}
#: A word that leaves the choice to the program.
AUTOMATIC = "auto"


def digest_of_run(definition: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    """Digest of the code that a run depends on: what its method calls, and the kernels, losses and so on it names."""
    places, named = of_run(definition, parameters)
    module = KINDS_OF_RUN[definition["runs"]].partition(":")[0]
    return _digest(places, named, (module,))


def of_run(
    definition: Mapping[str, Any], parameters: Mapping[str, Any]
) -> tuple[tuple[str, ...], frozenset[tuple[str, str]]]:
    """The places where the code of a run begins, and the table entries that it names, for `modules_of`."""
    places = tuple(sorted(definition["call"].values()))
    named = {*_named(parameters), *_named_by_default(places, parameters)}
    if definition["runs"] == "analysis":
        named |= _named_in_analysis(places)
    else:
        places += (f"{_RUNNING}.measures",)
        named |= {("measure", name) for name in listed(definition.get("measures", DEFAULT_MEASURES))}
    return places, frozenset(named)


def digest_of_comparison(definition: Mapping[str, Any]) -> str:
    """Digest of the code by which a method is compared on a user's data: as of a run, with all its choices."""
    places, named = of_run(definition, definition.get("parameters", {}))
    return _digest(places, named | frozenset(_named(definition.get("compare", {}))), OF_EVERY_COMPARISON)


def digest_of_preconditioner(parameters: Mapping[str, Any]) -> str:
    """Digest of the code that a preconditioner depends on."""
    places = ("shallows.spectrum:fit_preconditioner",)
    return _digest(places, frozenset({*_named(parameters), *_named_by_default(places, parameters)}), ())


def digest_of_preparation(dataset: Dataset, steps: Iterable[Mapping[str, Any]]) -> str:
    """Digest of what prepared arrays depend on: the modules of all steps and of the reader, and the dataset's entry."""
    from shallows_papers.datasets import identity as datasets_identity

    found = modules_of(*datasets_identity.modules_of(dataset, [*steps]))
    entries = {} if dataset.state == "user" else datasets_identity.entries_of(dataset)
    return source_code.digest({**found, "entries": json.dumps(entries, sort_keys=True, default=str)})


def digest_of_module(*places: str) -> str:
    """Digest of modules with everything that they import, each as ``"package.module"`` or ``"package.module:name"``."""
    return _digest(places, frozenset(), ())


def modules_of(*places: str, named: Iterable[tuple[str, str]] = (), alone: Iterable[str] = ()) -> dict[str, str]:
    """The modules behind some code, each with its digest; those in ``alone`` count without what they import."""
    return {
        **source_code.SHALLOWS.closure(places, named),
        **{module: source_code.SHALLOWS.read(module).digest for module in alone},
    }


@cache
def _digest(places: tuple[str, ...], named: frozenset[tuple[str, str]], alone: tuple[str, ...]) -> str:
    return source_code.digest(modules_of(*places, named=named, alone=alone))


def _named(given: Any) -> Iterator[tuple[str, str]]:
    """The entries of tables that parameters may name, as (kind, name), at any depth."""
    if isinstance(given, Mapping):
        for key, value in given.items():
            naming = NAMING.get(str(key).rpartition("__")[2])
            if naming and all(isinstance(one, str) for one in listed(value)):
                yield from ((naming, one) for one in listed(value))
            else:
                yield from _named(value)
    elif isinstance(given, (list, tuple)):
        for one in given:
            yield from _named(one)
    elif isinstance(given, str) and given != AUTOMATIC:
        yield source_code.ANY_TABLE, given


def _named_by_default(places: Iterable[str], parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for place in places:
        defaults = signatures.paths(place, parameters) or {}
        yield from _named({name: value for name, value in defaults.items() if name not in parameters})


@cache
def _named_in_analysis(places: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    """The entries that the modules of an analysis may name in their code, or by a default of what they call."""
    found: set[tuple[str, str]] = set()
    for module in (one for one in modules_of(*places) if one.startswith(_ANALYSES)):
        read = source_code.SHALLOWS.read(module)
        found.update(_named(read.words))
        called = [f"{origin}:{name}" for origin, name in read.references if name and not origin.startswith(_ANALYSES)]
        found.update(_named_by_default(called, {}))
    return frozenset(found)


@cache
def commit(package: Path = source_code.SHALLOWS.package) -> dict[str, Any]:
    """The package's ``version``, and the git ``commit`` where it lies in a repository that tracks it.

    ``dirty`` says whether anything is changed. Both are None without git.
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
