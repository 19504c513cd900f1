"""The parameters of a method in a target: their paths, changes by the user, and checks that an error explains."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from shallows.errors import UnknownNameError

from ..identity import signatures
from ..parameters import last_name
from .configuration import ConfigurationError, look_up
from .runs import digest, fixed_parameters


def resolve(
    definition: Mapping[str, Any],
    task: str,
    spec: Mapping[str, Any],
    method: str,
    own: Mapping[str, Any],
    given: Iterable[Mapping[str, Any]],
    changes: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, tuple[Any, Any]]]:
    """Return the parameters of a method of a target by their paths, and those that differ from the target's.

    ``own`` are those of the target's settings; ``given`` those of a group of runs and of a dataset; ``changes`` those
    of the user. Parameters that differ are name -> (here, in the target).
    """
    entry, fixed = spec["methods"][method].get("parameters", {}), fixed_parameters(definition, task)
    of_group, of_data = given
    # Shared settings may have different paths, such as the bandwidth of a kernel or of features.
    known = _known_paths(definition, task, {**fixed, **own, **entry, **of_group, **of_data})
    own, of_group, of_data = (
        {_path(name, known): value for name, value in some.items()} for some in (own, of_group, of_data)
    )
    own |= entry
    # Compare with the target's values before defaults are filled in: the method's are not the paper's.
    altered = {name: (value, own[name]) for name, value in of_group.items() if own.get(name, value) != value}
    own |= {name: value for name, value in fixed.items() if name not in own}
    parameters = {**own, **of_group, **of_data}
    changed = _changed(changes, spec, method, {*parameters, *_known_paths(definition, task, parameters)})
    before = {name: parameters.get(name, "its default") for name in changed}
    altered |= {name: (value, before[name]) for name, value in changed.items() if before[name] != value}
    parameters |= changed
    _check(definition, parameters, task)
    return parameters, altered


def _changed(
    changes: Mapping[str, Any], spec: Mapping[str, Any], method: str, known: Collection[str]
) -> dict[str, Any]:
    """Return the changed parameters of a method of a target: first those for all methods, then its own."""
    for_all = {_path(name, known): value for name, value in changes.items() if name not in spec["methods"]}
    of_method = {_path(name, known): value for name, value in changes.get(method, {}).items()}
    return {**{path: value for path, value in for_all.items() if path in known}, **of_method}


def _known_paths(definition: Mapping[str, Any], task: str, parameters: Mapping[str, Any]) -> Collection[str]:
    place = definition["call"].get(task) or definition["call"].get("any")
    return {*((place and signatures.paths(place, parameters)) or ())}


def _path(name: str, known: Collection[str]) -> str:
    """Return the shortest path of a parameter given by its last part, such as ``rank``; else the name itself."""
    ending = sorted((path for path in known if path.endswith(f"__{name}")), key=lambda path: path.count("__"))
    is_unique = bool(ending) and [path.count("__") for path in ending].count(ending[0].count("__")) == 1
    return ending[0] if name not in known and is_unique else name


def _last_names(paths: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(map(last_name, paths))]


def check_changes(target: str, spec: Mapping[str, Any], changes: Mapping[str, Any], methods: Mapping[str, Any]) -> None:
    """Raise an error for changes that no method of a target has, and for changes that would make its rows equal."""
    known, changed = set(spec["methods"]), dict[str, Any]()
    for entry in spec["methods"].values():
        definition = look_up("method", entry["method"], methods)
        given = {**definition.get("parameters", {}), **entry.get("parameters", {})}
        known |= {*entry.get("parameters", {})}
        for place in definition["call"].values():
            known |= {*(signatures.paths(place, given) or ())}
    for name, value in changes.items():
        if name in spec["methods"] and not isinstance(value, Mapping):
            raise ConfigurationError(
                f"{name} is a method of {target}, not a parameter. Write {{{name}: {{parameter: value}}}}."
            )
        changed |= value if name in spec["methods"] else {name: value}
    changed = {_path(name, known): value for name, value in changed.items()}
    for name in changed:
        if name not in known:
            raise UnknownNameError(f"parameter or method of {target}", name, _last_names(known))
    for axis, choices in spec["settings"].items():
        varied = {choices} if isinstance(choices, str) else set().union(*choices.values())
        before = [] if isinstance(choices, str) else [digest(one) for one in choices.values()]
        after = [] if isinstance(choices, str) else [digest({**one, **changed}) for one in choices.values()]
        if varied & {*changed} and (isinstance(choices, str) or len({*after}) < len({*before})):
            names = ", ".join(sorted(varied & {*changed}))
            raise ConfigurationError(
                f"The rows of {target} differ in {names} (its setting {axis!r}). A change would make them all the same."
            )


def _check(definition: Mapping[str, Any], parameters: Mapping[str, Any], task: str) -> None:
    """Check that what a method calls for a task has the parameters of a run."""
    place = definition["call"].get(task) or definition["call"].get("any")
    wrong = signatures.unknown(place, parameters) if place else None
    if wrong is None:
        return
    (name, known), called, paths = wrong, place.partition(":")[2], signatures.paths(place, parameters) or ()
    if (path := _path(name, paths)) != name:
        raise ConfigurationError(f"There is no parameter of {called} {name!r}. Give it as {path}.")
    raise UnknownNameError(f"parameter of {called}", name, known if "__" in name else _last_names(paths))
