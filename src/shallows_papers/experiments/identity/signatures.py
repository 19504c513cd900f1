"""Parameters and defaults of what methods call, read from the source files, since importing would take too long."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

from . import source_code


@cache
def parameters(place: str) -> dict[str, Any] | None:
    """The keyword parameters of ``"module:name"``, a function or a class, with their defaults.

    A default that is no literal, and that of a parameter without one, is None. There are none (None) where what is
    called lies outside this package or takes any keyword.
    """
    module, _, name = place.partition(":")
    found = _function(_find(module, name))
    if found is None or found[0].args.kwarg:
        return None
    function, added = found
    names = [*function.args.posonlyargs, *function.args.args]
    defaults = [None] * (len(names) - len(function.args.defaults)) + function.args.defaults
    pairs = [*zip(names, defaults, strict=True), *zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)]
    own = {one.arg: _constant(default) for one, default in pairs if one.arg != "self"}
    return {**own, **{name: _constant(default) for name, default in added.items()}}


def _constant(node: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(node) if node else None
    except ValueError:
        return None


def _function(found: tuple[str, ast.stmt] | None) -> tuple[ast.FunctionDef, dict[str, ast.expr]] | None:
    """The function that a name calls, and the parameters that it has besides those in its own signature.

    It is the name's own, or the constructor of a class. A base class may have it, and `estimators.constructors` may
    have made it of another by ``__init__ = with_parameters(Other.__init__, name=default)``.
    """
    if found is None:
        return None
    module, node = found
    if isinstance(node, ast.FunctionDef):
        return node, {}
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            return one, {}
        if (
            isinstance(one, ast.Assign)
            and ast.unparse(one.targets[0]) == "__init__"
            and isinstance(one.value, ast.Call)
        ):
            other = _function(_find(module, one.value.args[0].value.id))
            return other and (other[0], {**other[1], **{one.arg: one.value for one in one.value.keywords}})
    bases = (_function(_find(module, base.id)) for base in node.bases if isinstance(base, ast.Name))
    return next(filter(None, bases), None)


def _find(module: str, name: str) -> tuple[str, ast.stmt] | None:
    """Where a class or function is defined that a module defines or imports."""
    place = source_code.SHALLOWS.defined_in(module, name)
    for node in _tree(place).body if place else ():
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return place, node
        if isinstance(node, ast.ImportFrom):
            for one in node.names:
                if (one.asname or one.name) == name:
                    is_package = source_code.SHALLOWS.path(place).name == "__init__.py"
                    return _find(source_code.absolute(place, node, is_package=is_package), one.name)
    return None


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(source_code.SHALLOWS.path(module).read_bytes())
