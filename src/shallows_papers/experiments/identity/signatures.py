"""Parameters and defaults of functions and classes that methods call, read from source files, since imports are slow.

A parameter may be an object whose class is named in a table: a solver, a kernel, a transformer. The object's parameters
have paths, such as ``solver__rank``.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from . import project_modules

#: Classes of object parameters without a name.
UNNAMED = {
    "options": "shallows.fitting.machine:Options",
    "early_stopping": "shallows.fitting.rows:EarlyStopping",
}
#: The table of the kernels of functions. A module of functions may have other tables: ``NAMED = {"solver": SOLVERS}``.
KERNELS = ("shallows.kernels", "KERNELS")
#: The table of the rules of `any_step`.
STEP_RULES = ("shallows.solvers.least_squares.step_rules", "RULES")


@cache
def parameters(place: str) -> dict[str, Any] | None:
    """Return the keyword parameters of ``"module:name"``, a function or a class, with their defaults.

    None replaces a missing default and a default that is not a literal. Return None for a function or class outside
    this package or with arbitrary keywords.
    """
    return None if (found := _declared(place)) is None else {name: _constant(one) for name, one in found.items()}


def paths(place: str, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return all parameters of a function or a class and of its objects, by their paths, with their defaults.

    The objects are named in the ``given`` parameters or in the defaults.
    """
    found = parameters(place)
    return None if found is None else {**found, **dict(_inside(place, found, given))}


def unknown(place: str, given: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    """Return the first parameter that a function or a class does not have, with its known parameters, or None."""
    found = parameters(place)
    if found is None:
        return None
    for name in given:
        top, _, rest = name.partition("__")
        if top not in found or (rest and top not in UNNAMED and not tables(place).get(top)):
            return name, [*found]
        kind = _class_of(place, found, given, top) if rest else None
        if kind is not None:
            inside = {path.removeprefix(f"{top}__"): one for path, one in given.items() if path.startswith(f"{top}__")}
            wrong = unknown(kind, inside)
            if wrong is not None:
                return f"{top}__{wrong[0]}", [f"{top}__{one}" for one in wrong[1]]
    return None


def class_of(place: str, name: str, given: Mapping[str, Any]) -> str | None:
    """Return the class of the object that a parameter is, as ``"module:name"``; None if no table has its name."""
    found = parameters(place)
    return None if found is None else _class_of(place, found, given, name)


def constant(place: str, name: str) -> Any:
    """Return a constant of a class or of its bases, such as a solver's ``takes_ranks``; None if it has none."""
    for _, node in _with_bases(*place.split(":")):
        for one in node.body:
            target = one.target if isinstance(one, ast.AnnAssign) else one.targets[0] if _is_assignment(one) else None
            if isinstance(target, ast.Name) and target.id == name:
                return _constant(one.value)
    return None


def _inside(place: str, found: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in found:
        kind = _class_of(place, found, given, name)
        if kind is not None:
            prefix = f"{name}__"
            own = {path.removeprefix(prefix): one for path, one in given.items() if path.startswith(prefix)}
            yield from ((prefix + path, default) for path, default in (paths(kind, own) or {}).items())


def _class_of(place: str, found: Mapping[str, Any], given: Mapping[str, Any], name: str) -> str | None:
    table = tables(place).get(name)
    if table is None:
        return UNNAMED.get(name) if name in found else None
    return table.get(str(given.get(name, found.get(name))))


@cache
def _declared(place: str) -> dict[str, ast.expr | None] | None:
    """Return the parameters of a function or a class, with the expressions of their defaults."""
    module, _, name = place.partition(":")
    found = _find(module, name)
    if found is not None and isinstance(found[1], ast.ClassDef) and (fields := _fields(*found)) is not None:
        return fields
    function = _function(found)
    if function is None or function[0].args.kwarg:
        return None
    node, added = function
    names = [*node.args.posonlyargs, *node.args.args]
    defaults = [None] * (len(names) - len(node.args.defaults)) + node.args.defaults
    pairs = [*zip(names, defaults, strict=True), *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    return {**{one.arg: default for one, default in pairs if one.arg != "self"}, **added}


def _fields(module: str, node: ast.ClassDef) -> dict[str, ast.expr | None] | None:
    """Return the fields of a dataclass and of its bases; None for another class."""
    found: dict[str, ast.expr | None] = {}
    classes = [*_with_bases(module, node.name)]
    if not any("dataclass" in ast.unparse(one) for _, own in classes for one in own.decorator_list):
        return None
    for _, own in reversed(classes):
        for one in own.body:
            if isinstance(one, ast.AnnAssign) and not ast.unparse(one.annotation).startswith("ClassVar"):
                is_no_parameter = one.value is not None and "init=False" in ast.unparse(one.value)
                if own.decorator_list and not is_no_parameter:
                    found[one.target.id] = one.value
    return found


@cache
def tables(place: str) -> dict[str, dict[str, str]]:
    """Return the tables for objects among the parameters of a function or a class: parameter -> name -> class.

    An estimator has them in ``_named``, a solver's settings in the rules of their fields, and a module of functions in
    ``NAMED``.
    """
    module, _, name = place.partition(":")
    found = _find(module, name)
    if found is None:
        return {}
    module, node = found
    if isinstance(node, ast.FunctionDef):
        return {"kernel": _table(*KERNELS), **_tables_of(module, _assigned(module, "NAMED"))}
    tables: dict[str, dict[str, str]] = {}
    for origin, own in reversed([*_with_bases(module, node.name)]):
        for one in own.body:
            value = one.value if isinstance(one, ast.AnnAssign) or _is_assignment(one) else None
            target = one.target if isinstance(one, ast.AnnAssign) else one.targets[0] if value is not None else None
            if isinstance(target, ast.Name) and target.id == "_named":
                tables |= _tables_of(origin, value)
            elif isinstance(target, ast.Name):
                for call in ast.walk(value) if value is not None else ():
                    if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("object_or_name"):
                        tables[target.id] = _table_of(origin, call.args[0])
                    elif isinstance(call, ast.Call) and ast.unparse(call.func).endswith("any_step"):
                        tables[target.id] = _table(*STEP_RULES)
    return tables


def _tables_of(module: str, node: ast.expr | None) -> dict[str, dict[str, str]]:
    if not isinstance(node, ast.Dict):
        return {}
    pairs = zip(node.keys, node.values, strict=True)
    return {key.value: _table_of(module, value) for key, value in pairs if isinstance(key, ast.Constant)}


def _table_of(module: str, node: ast.expr) -> dict[str, str]:
    """Return classes by their names from a dictionary, or from a table to which a name or an attribute refers."""
    if isinstance(node, ast.Name):
        return _table(module, node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        origin = _imported(module).get(node.value.id)
        return _table(origin, node.attr) if origin else {}
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {key.value: _place(module, value) for key, value in pairs if isinstance(key, ast.Constant)}
    return {}


def _place(module: str, node: ast.expr) -> str:
    found = _find(module, ast.unparse(node))
    return f"{found[0] if found else module}:{ast.unparse(node)}"


@cache
def _table(module: str, name: str) -> dict[str, str]:
    node = _assigned(module, name)
    if node is None:
        origin, _, original = _imported(module).get(name, "").rpartition(".")
        return _table(origin, original) if project_modules.SHALLOWS.path(origin) else {}
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "LazyTable":
        return project_modules.entries(module, node)
    return _table_of(module, node) if isinstance(node, ast.Dict) else {}


def _assigned(module: str, name: str) -> ast.expr | None:
    """Return the value that a module assigns to a name at its top level."""
    for node in _tree(module).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            return node.value
        if _is_assignment(node) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            return node.value
    return None


def _is_assignment(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and len(node.targets) == 1


@cache
def _imported(module: str) -> dict[str, str]:
    """Return what a module imports from others: name -> full name of its origin."""
    is_package = project_modules.SHALLOWS.path(module).name == "__init__.py"
    return project_modules.imported(module if is_package else module.rpartition(".")[0], _tree(module))


def _with_bases(module: str, name: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield a class and its bases in this package, each with its module, from the class on."""
    found = _find(module, name)
    if found is None or not isinstance(found[1], ast.ClassDef):
        return
    yield found
    for base in found[1].bases:
        if isinstance(base, ast.Name):
            yield from _with_bases(found[0], base.id)
        elif isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
            origin = _imported(found[0]).get(base.value.id)
            if origin and project_modules.SHALLOWS.path(origin):
                yield from _with_bases(origin, base.attr)


def _constant(node: ast.expr | None) -> Any:
    """Return the value of a literal; for the rule of a field of settings, its first name, which is the default."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("any_step"):
        return "certified"
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("setting", "choice", "object_or_name")):
        own = node.args[1:] if ast.unparse(node.func).endswith("object_or_name") else node.args
        return _constant(own[0]) if own else None
    try:
        return ast.literal_eval(node) if node else None
    except ValueError:
        return None


def _function(found: tuple[str, ast.stmt] | None) -> tuple[ast.FunctionDef, dict[str, ast.expr]] | None:
    """Return the function or constructor that a name calls, and its parameters that are not in its own signature."""
    if found is None:
        return None
    module, node = found
    if isinstance(node, ast.FunctionDef):
        return node, {}
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            return one, {}
        # __init__ = with_parameters(Other.__init__, name=default), see `estimators.constructors`
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
    """Find the definition of a class or function that a module defines or imports."""
    place = project_modules.SHALLOWS.defined_in(module, name)
    for node in _tree(place).body if place else ():
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return place, node
    origin, _, original = _imported(place).get(name, "").rpartition(".") if place else ("", "", "")
    return _find(origin, original) if origin else None


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(project_modules.SHALLOWS.path(module).read_bytes())
