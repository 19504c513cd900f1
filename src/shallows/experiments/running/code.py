"""Which code made a result: a digest of the source by which results are kept or computed anew, and the git commit."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from shallows.datasets.files import replacing

PACKAGE = Path(__file__).resolve().parents[2]

#: What a number depends on, stage by stage; a change there makes the results of that stage out of date.
NUMERICAL = (
    "arrays",
    "cuda.py",
    "streams.py",
    "kernels",
    "losses",
    "fused.py",
    "fused.cu",
    "gram.py",
    "matrix_columns.py",
    "rectangular.py",
    "projection.py",
    "spectrum",
    "features",
    "gradient_descent_path.py",
    "training",
    "solvers",
    "estimators",
)
RUNNING = (
    "experiments/running/run.py",
    "experiments/running/training_run.py",
    "experiments/running/single_fit.py",
    "experiments/running/analysis_run.py",
    "experiments/running/measures",
    "resumable.py",
)
STAGES = {
    "preparation": ("datasets", "streams.py"),
    "preconditioner": (
        "arrays",
        "cuda.py",
        "streams.py",
        "kernels",
        "fused.py",
        "fused.cu",
        "gram.py",
        "matrix_columns.py",
        "spectrum",
    ),
    "training": (*NUMERICAL, *RUNNING),
    "nets": ("arrays", "streams.py", "training", "nets"),
    "theory": (*NUMERICAL, "theory", "datasets/generated/circle.py", *RUNNING),
    "comparison": (*NUMERICAL, "experiments/user_data/selection.py"),
    "own": ("datasets/own", "experiments/user_data/comparison.py"),
    "tables": (
        "experiments/comparing/compare.py",
        "experiments/comparing/measurements.py",
        "experiments/comparing/values.py",
        "experiments/comparing/claims.py",
        "experiments/comparing/verdicts.py",
        "experiments/user_data/table.py",
    ),
    "report": ("report",),
}


def version_of_runs(calls: Iterable[str]) -> str:
    """Digest of the code that runs depend on, by what they call: checks of theory and nets are no part of others."""
    calls = tuple(calls)
    own = (stage for stage in ("theory", "nets") if any(call.startswith(f"shallows.{stage}") for call in calls))
    return version_of("training") + "".join(map(version_of, own))


def version_of_preparation(steps: Iterable[Mapping[str, Any]]) -> str:
    """Digest of the code that a preparation depends on, by all steps on the way to it: one may train a net."""
    nets = any("net_features" in step for step in steps)
    return version_of("preparation") + (version_of("nets") if nets else "")


@cache
def version_of(stage: str, package: Path = PACKAGE) -> str:
    """Digest of the code of a stage, which comments, docstrings and layout leave as it is.

    Parameters
    ----------
    stage : str
        A key of ``STAGES``.
    package : Path
        Where the package lies.
    """
    state = hashlib.sha256()
    for name in STAGES[stage]:
        place = package / name
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.suffix in (".py", ".yaml", ".json", ".html", ".css", ".cu") and path.is_file():
                state.update(path.relative_to(package).as_posix().encode())
                content = path.read_bytes()
                state.update(_meaning(content) if path.suffix == ".py" else content)
    _keep_meanings()
    return state.hexdigest()[:16]


# To read the whole package takes half a second, to look a file's digest up next to nothing; so they are kept where
# Python keeps what it made of the sources. By contents, so that no clock matters.
_KEPT = Path(__file__).parent / "__pycache__" / f"meanings.{sys.implementation.cache_tag}.json"
_MOST_KEPT = 2000


@cache
def _meanings() -> dict[str, str]:
    try:
        return dict(json.loads(_KEPT.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _keep_meanings() -> None:
    found = _meanings()
    if found.pop("changed", None) is None:
        return
    with contextlib.suppress(OSError):  # a package that is installed where nothing can be written
        _KEPT.parent.mkdir(exist_ok=True)
        with replacing(_KEPT) as partial:
            partial.write_text(json.dumps(dict([*found.items()][-_MOST_KEPT:])), encoding="utf-8")


def _meaning(source: bytes) -> bytes:
    """Digest of a module without its comments, docstrings and layout."""
    key = hashlib.sha256(source).hexdigest()
    found = _meanings()
    if key not in found:
        found[key] = hashlib.sha256(_bare(source)).hexdigest()
        found["changed"] = "yes"
    return found[key].encode()


def _bare(source: bytes) -> bytes:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                body[0] = ast.Pass()
    return ast.dump(tree).encode()


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
