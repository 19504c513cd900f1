"""Fit an estimator of this package to a user's file, by one or several processes, and save it with its preparation."""

import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from shallows.errors import MissingExtraError, ShallowsError, UnknownNameError

try:
    import yaml
except ModuleNotFoundError:
    raise MissingExtraError("data", "A model of your own file") from None

from shallows import estimators
from shallows.distributed import mpi
from shallows.distributed.fitting import check_estimator
from shallows.estimators.other_names import refuse_other_names
from shallows.training import Checkpoint
from shallows_papers.datasets.user_data import describe, request
from shallows_papers.datasets.user_data.fitted_preparation import fit_preparation

from ..parameters import divided, flat
from ..planning.configuration import with_numbers
from ..running.calls import keeps_checkpoints, path_of
from . import saved_model
from .comparison import feature_steps

#: The settings of a file, as in a comparison.
SETTINGS = tuple(name for name in request.SETTINGS if name != "test_file")
KINDS = {"classification": "Classifier", "regression": "Regressor"}


def fit_file(
    file: str | Path,
    out: Path | None,
    method: str,
    parameters: Mapping[str, Any],
    options: Mapping[str, Any],
    checkpoints: Path | None = None,
) -> str | None:
    """Fit an estimator to all rows of a file and save it; processes that were started together share the work.

    ``method`` is the name of an estimator, with or without Classifier or Regressor, or of a solver. ``options`` are
    ``target``, ``task``, ``missing`` and ``na_values`` as in the workflow's configuration. Without ``out`` the model is
    NAME.model in the working folder; a model of another file there is not overwritten. An interrupted training
    continues from the folder ``checkpoints``. The first process returns a sentence that says what was done.
    """
    with _processes() as (processes, first):
        with tempfile.TemporaryDirectory() as place:
            stamp = Path(place) / "verified.json"

            def described() -> dict[str, Any]:
                return describe.write(request.resolve({"dataset": str(file), **options}), stamp)

            description = described() if processes is None else processes.on_first(described)
            estimator = estimator_of(method, description["entry"]["task"], parameters)
            fitted_to = {"file": description["files"][0]["path"], "sha256": description["files"][0]["sha256"]}
            out = _folder_of_model(Path(file), out, fitted_to)
            if first:
                print(with_options(description["told"].replace(describe.HELD_OUT, "")), flush=True)
            preparation, x, y = fit_preparation(description, feature_steps(description), True, Path(place))
        given: dict[str, Any] = {}
        if checkpoints is not None:
            if not keeps_checkpoints(estimator):
                raise ShallowsError(f"{type(estimator).__name__} saves no checkpoints. Omit --checkpoints.")
            # With another target or other words for missing values it would be another training.
            key = [description["files"][0]["sha256"], type(estimator).__name__, repr(sorted(parameters.items()))]
            key.append(json.dumps([description["entry"]["options"], description["request"]["missing"]]))
            given["checkpoint"] = Checkpoint(checkpoints, hashlib.sha256(repr(key).encode()).hexdigest()[:16])
        try:
            if processes is not None:
                check_estimator(estimator)
                given["ranks"] = processes
            estimator.fit(x, y, **given)
        except ShallowsError:
            raise
        except (ValueError, TypeError, ArithmeticError, MemoryError) as error:
            raise ShallowsError(
                f"{type(estimator).__name__} could not be fitted to {file}"
                + "".join(f" with {name}={value!r}" for name, value in parameters.items())
                + f": {error or type(error).__name__}"
            ) from error
        if not first:
            return None
        replaced = ", replacing the earlier model" if (out / saved_model.NAME).exists() else ""
        label = type(estimator).__name__
        said = " ".join(f"{name}={value}" for name, value in parameters.items())
        about = {"label": label, "parameters": said, "measured": "not tested on held-out rows", "fitted_to": fitted_to}
        saved_model.SavedModel.of(description, preparation, estimator, x.shape[0], **about).save(out)
        by = f" by {processes.size} processes" if processes else ""
        return (
            f"{label} was fitted to all {x.shape[0]:,} rows{by} and saved{replaced}. To predict new rows: "
            f"shallows predict {out.as_posix()} new.csv"
        )


@contextmanager
def _processes() -> Iterator[tuple[mpi.Mpi | None, bool]]:
    """Yield the processes that were started together, or None, and whether this is the first, which reports errors."""
    with mpi.Mpi() if mpi.n_started() > 1 else nullcontext() as processes:
        first = processes is None or processes.rank == 0
        try:
            with nullcontext() if processes is None else processes.ending_together():
                yield processes, first
        except ShallowsError:
            if first:
                raise
            sys.exit(2)


def parameters_of(words: list[str]) -> dict[str, Any]:
    """Return the parameters that were written as ``name=value``."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise ShallowsError(f"A parameter is given as name=value, such as max_epochs=5, not {word!r}.")
        found[name] = _value_of(value)
    return found


def _value_of(text: str) -> Any:
    """Return a value as YAML reads it, but read None as None and 1e-3, a text in YAML, as a number."""
    with suppress(yaml.YAMLError):
        return with_numbers(yaml.safe_load(text))
    return text


def options_of(settings: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of a file from their texts: a target is a number, a name or a range."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in SETTINGS:
            raise ShallowsError(
                f"{UnknownNameError('setting of a file', name, SETTINGS)} A parameter of the method is given by --set "
                f"{name}={value}."
            )
        is_number = name == "target" and re.fullmatch(r"-?\d+", value)
        found[name] = _value_of(value) if is_number or name == "missing" or value.startswith("[") else value
    return found


def estimator_of(method: str, task: str, parameters: Mapping[str, Any]) -> Any:
    """Return the unfitted estimator of a method for a task; raise an error for unknown names."""
    families = {
        name.removesuffix(kind) for name in estimators.__all__ for kind in KINDS.values() if name.endswith(kind)
    }
    of_solvers = _families_of_solvers(families)
    named, family = method, method.removesuffix(KINDS["classification"]).removesuffix(KINDS["regression"])
    if method not in families and method in of_solvers:
        family, solver = of_solvers[method]
        parameters = {"solver": solver, **parameters}
        named = family
    elif family not in families:
        raise UnknownNameError("method", method, families | {word for word in of_solvers if word[0].isupper()})
    kind = getattr(estimators, family + KINDS[task], None)
    if kind is None or named not in (family, kind.__name__):
        raise ShallowsError(f"{method} is not for {task}.")
    if parameters.get("kernel") == "precomputed":
        raise ShallowsError("kernel=precomputed takes a matrix of kernel values, but a file has points. Name a kernel.")
    return _make_estimator(kind, flat(parameters))


def _families_of_solvers(families: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the estimator of each solver, without its ending, and the solver's name, by its class and by its name."""
    found: dict[str, tuple[str, str]] = {}
    for family in sorted(families):
        kind = next(one for ending in KINDS.values() if (one := getattr(estimators, family + ending, None)))
        solvers = {name: cls for name, cls in kind._named.get("solver", {}).items() if name != "auto"}
        found |= {word: (family, name) for name, cls in solvers.items() for word in (cls.__name__, name)}
    return found


def _make_estimator(kind: type, parameters: dict[str, Any]) -> Any:
    """Make an estimator from parameters by their paths; a name may also belong to its solver or its options."""
    estimator = kind()
    known = estimator.get_params(deep=False)
    whole, inside = divided(parameters)
    given = {"random_state": 0} if "random_state" in known else {}
    try:
        estimator.set_params(**{**given, **{name: value for name, value in whole.items() if name in known}})
        for name in whole.keys() - known.keys():
            path = path_of(estimator, name)
            if path == name:
                refuse_other_names(kind, {name: whole[name]}, ShallowsError)
                raise UnknownNameError(f"parameter of {kind.__name__}", name, known)
            estimator.set_params(**{path: whole[name]})
        paths = {f"{name}__{path}": value for name, own in inside.items() for path, value in own.items()}
        return estimator.set_params(**paths)
    except ShallowsError:
        raise
    except (ValueError, TypeError) as error:
        raise ShallowsError(str(error)) from None


def _folder_of_model(file: Path, out: Path | None, fitted_to: Mapping[str, str]) -> Path:
    """Return the folder of the model; raise an error if the default folder has the model of another file."""
    if out is not None:
        return out
    out = Path(f"{file.name.partition('.')[0]}.model")
    with suppress(OSError, ValueError, KeyError, TypeError):
        before = json.loads((out / saved_model.NAME).read_text(encoding="utf-8"))["about"]["fitted_to"]
        if before["file"] != fitted_to["file"] and before["sha256"] != fitted_to["sha256"]:
            raise ShallowsError(
                f"{out} is the model of {before['file']}. Name another folder with --out NAME, or replace it with "
                f"--out {out}."
            )
    return out


def with_options(text: str) -> str:
    """Rewrite settings of the workflow in a text, such as ``missing=median``, as options of a command."""
    text = re.sub(r"\b(target|task|missing)=(?=\w)", r"--\1 ", text)
    return text.replace("na_values=", "--na-values ")
