"""Parameters of methods, checked against the signatures of what the methods call.

Signatures are read from the sources of this package, since importing them would take longer than the whole plan. What
lies outside the package, or takes any keyword, is not checked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from shallows.errors import UnknownNameError

from ..identity import code, imports
from .configuration import placed

_SOURCE = imports.Source(code.PACKAGE)


def check(definition: Mapping[str, Any], parameters: Iterable[str], task: str, where: str) -> None:
    """Check the parameters of a method against what it calls for a task.

    Parameters
    ----------
    definition : mapping
        The method, as the configuration defines it.
    parameters : iterable of str
        Names of the parameters of one run.
    task : str
        The task of the data.
    where : str
        The place in the configuration, for the message.

    Raises
    ------
    UnknownNameError
        A parameter that the method does not have; it names the nearest.
    """
    place = definition["call"].get(task) or definition["call"].get("any")
    known = keywords(place) if place else None
    for name in parameters if known is not None else ():
        if name not in known:
            with placed(where):
                raise UnknownNameError(f"parameter of {place.partition(':')[2]}", name, known)


@cache
def keywords(place: str) -> frozenset[str] | None:
    """Names of the keyword parameters of ``"module:name"``; None where they cannot be told."""
    module, _, name = place.partition(":")
    function, *added = _function(_find(module, name)) or (None,)
    if function is None or function.args.kwarg:
        return None
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return frozenset([*names, *added]) - {"self"}


def _function(found: tuple[str, ast.stmt] | None) -> tuple[Any, ...] | None:
    """The function that a name calls, and the names of parameters that it has beside those written there.

    It is the name's own, or the constructor of a class. A base class may have it, and `estimators.constructors` may
    have made it of another by ``__init__ = with_parameters(Other.__init__, name=default)``.
    """
    if found is None:
        return None
    module, node = found
    if isinstance(node, ast.FunctionDef):
        return (node,)
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            return (one,)
        if (
            isinstance(one, ast.Assign)
            and ast.unparse(one.targets[0]) == "__init__"
            and isinstance(one.value, ast.Call)
        ):
            other = _function(_find(module, one.value.args[0].value.id))
            return other and (*other, *(keyword.arg for keyword in one.value.keywords))
    bases = (_function(_find(module, base.id)) for base in node.bases if isinstance(base, ast.Name))
    return next(filter(None, bases), None)


def _find(module: str, name: str) -> tuple[str, ast.stmt] | None:
    """Where a class or function is defined that a module defines, imports, or names in a table of late imports."""
    for node in _nodes(module):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return module, node
        if isinstance(node, ast.ImportFrom):
            for one in node.names:
                if (one.asname or one.name) == name:
                    return _find(imports.origin(module, node, is_door=_SOURCE.is_door(module)), one.name)
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name and isinstance(value, ast.Constant):
                    return _find(f"{module}.{value.value}", name)
    return None


def _nodes(module: str) -> Iterator[ast.AST]:
    """The definitions, imports and tables at the top of a module."""
    tree = _tree(module)
    for node in tree.body if tree else ():
        yield from node.body if isinstance(node, ast.If) else (node,)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Dict):
            yield node.value


@cache
def _tree(module: str) -> ast.Module | None:
    path = _SOURCE.path(module)
    return None if path is None else ast.parse(path.read_bytes())
