"""Find the project's modules that some code uses, directly or through others, with a digest each; imports nothing.

grimp reads the import statements. An entry of a `LazyTable` counts if the code or a request names it. The digest of a
module ignores comments, docstrings and tables of names.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows.utils.atomic import replacing


@dataclass(frozen=True)
class Module:
    """The facts read from the source of one module."""

    digest: str
    #: Entries of its tables: name -> "module:attribute"
    table: dict[str, str] = field(default_factory=dict)
    #: Imported or used names of packages that are not modules, such as "shallows.kernels.Gaussian"
    names: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # texts without spaces


class Sources:
    """The modules of packages in one folder.

    Reading a whole package takes seconds, so the results are kept in the folder ``kept_in``, by the modules' contents.
    """

    def __init__(self, folder: Path, packages: Iterable[str], kept_in: Path):
        self.folder, self.packages = Path(folder), tuple(packages)
        self._kept_in, self._kept_path = kept_in, kept_in / f"project_modules.{sys.implementation.cache_tag}.json"
        self._reader = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
        self._modules: dict[str, Module] = {}
        self._paths: dict[str, Path | None] = {}
        self._closures: dict[str, frozenset[str]] = {}
        self._files: dict[str, dict[str, str]] = {}

    def path(self, module: str) -> Path | None:
        """Return the file of a module; None if the packages have no such module."""
        if module not in self._paths:
            below = self.folder.joinpath(*module.split("."))
            # A folder that a package left behind, with what Python compiled, hides no module of its name.
            found = next((one for one in (below / "__init__.py", below.with_suffix(".py")) if one.is_file()), below)
            has_it = module.partition(".")[0] in self.packages and found.is_file()
            self._paths[module] = found if has_it else None
        return self._paths[module]

    def read(self, module: str) -> Module:
        """Read the facts about a module from its source."""
        if module not in self._modules:
            path = self.path(module)
            content = path.read_bytes()
            key = hashlib.sha256(f"{module}\0".encode() + content).hexdigest()
            if key not in self._facts:
                package = module if path.name == "__init__.py" else module.rpartition(".")[0]
                self._facts[key] = asdict(self._parse(package, module, ast.parse(content)))
            self._modules[module] = Module(**self._facts[key])
        return self._modules[module]

    def _parse(self, package: str, module: str, tree: ast.Module) -> Module:
        calls = [node.value for node in tree.body if _is_table(node) and isinstance(node.value, ast.Call)]
        table = {name: place for call in calls for name, place in entries(module, call).items()}
        _remove_what_does_nothing(tree)
        names = (one for one in _names(package, tree) if one.partition(".")[0] in self.packages)
        words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        words = {word for word in words if isinstance(word, str) and 0 < len(word) <= 60 and not {*" /\n"} & {*word}}
        offered = sorted({one for one in names if self.path(one) is None})
        return Module(_digest_of_tree(tree), table, offered, sorted(words))

    @cached_property
    def graph(self) -> Any:
        """The imports between all modules; using an entry of a table counts as an import of the entry's module."""
        import grimp

        with contextlib.suppress(OSError):
            self._kept_in.mkdir(parents=True, exist_ok=True)
        cache = str(self._kept_in / "imports") if os.access(self._kept_in, os.W_OK) else None
        graph = grimp.build_graph(*self.packages, exclude_type_checking_imports=True, cache_dir=cache)
        n_kept = len(self._facts)
        for module in graph.modules:
            # The packages above a module are imported with it. The top ones only name what they offer.
            if module.count(".") > 1:
                graph.add_import(importer=module, imported=module.rpartition(".")[0])
            for name in self.read(module).names:
                origin = self.defined_in(*name.rpartition(".")[::2])
                if origin not in (None, module):
                    graph.add_import(importer=module, imported=origin)
        if len(self._facts) > n_kept:
            self._keep()
        return graph

    def defined_in(self, module: str, name: str) -> str | None:
        """Return the module that defines what a module offers under a name; None if the packages do not have it."""
        if name and self.path(f"{module}.{name}"):
            return f"{module}.{name}"
        if self.path(module) is None:
            return None
        for table in self._tables(module) if name else ():
            for place in table.values():
                if place.endswith(f":{name}"):
                    return place.partition(":")[0]
        return module

    def _tables(self, module: str) -> Iterator[dict[str, str]]:
        """Yield the tables of a module, and imported tables, whose names are in capitals."""
        yield self.read(module).table
        for name in self.read(module).names:
            origin, _, own = name.rpartition(".")
            if own.isupper() and self.path(origin):
                yield self.read(origin).table

    def closure(self, places: Iterable[str], words: Iterable[str] = ()) -> dict[str, str]:
        """Return the modules and data files that some code uses, directly or through others, with their digests.

        Each place is ``"package.module"`` or ``"package.module:name"``. Entries of tables in these modules also count
        if their names are among the ``words``.
        """
        words, found = {*words}, set[str]()
        waiting = {self.defined_in(*place.partition(":")[::2]) for place in places} - {None}
        while waiting:
            new = set[str]().union(*map(self._with_imports, waiting)) - found
            found |= new
            tables = [table for module in new if (table := self.read(module).table)]
            waiting = {table[word].partition(":")[0] for table in tables for word in words & table.keys()} - found
        for module in found - self._files.keys():
            files = {str(path.relative_to(self.folder)): path.read_bytes() for path in self._data_files(module)}
            self._files[module] = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
        of_files = (pair for module in found for pair in self._files[module].items())
        return {module: self.read(module).digest for module in found} | dict(of_files)

    def _with_imports(self, module: str) -> frozenset[str]:
        if module not in self._closures:
            if module not in self.graph.modules:
                raise ShallowsError(f"The folder of {module} is not a package. Add a file __init__.py to it.")
            self._closures[module] = frozenset({module, *self.graph.find_upstream_modules(module)})
        return self._closures[module]

    def _data_files(self, module: str) -> Iterator[Path]:
        """Yield the files in a module's folder that it names, and files in folders that it names, without modules."""
        beside = {one.name: one for one in self.path(module).parent.iterdir() if one.suffix not in (".py", ".pyi")}
        beside.pop("__pycache__", None)
        for place in (beside[word] for word in self.read(module).words if word in beside):
            if place.is_file():
                yield place
            elif not any(place.glob("*.py*")):
                yield from (one for one in place.rglob("*") if one.is_file())

    @cached_property
    def _facts(self) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            kept = json.loads(self._kept_path.read_text(encoding="utf-8"))
            return kept["modules"] if kept["reader"] == self._reader else {}
        return {}

    def _keep(self) -> None:
        with contextlib.suppress(OSError), replacing(self._kept_path) as partial:
            partial.write_text(json.dumps({"reader": self._reader, "modules": self._facts}), encoding="utf-8")


def digest(found: Mapping[str, str]) -> str:
    """Return the digest of a closure."""
    return hashlib.sha256(json.dumps(sorted(found.items())).encode()).hexdigest()[:16]


def imports_of_script(path: str | Path) -> list[str]:
    """Return the imports of a file outside the packages, as places for `Sources.closure`."""
    return [":".join(name.rpartition(".")[::2]) for name in _names("", ast.parse(Path(path).read_bytes()))]


def entries(module: str, call: ast.Call) -> dict[str, str]:
    """Return the entries of a `LazyTable`, name -> "module:attribute", from the call that makes it in a module."""
    _, package, places = call.args
    base = module if isinstance(package, ast.Name) else package.value
    pairs = ((name, place.partition(":")) for name, place in ast.literal_eval(places).items())
    return {name: f"{base}{below}:{attribute or name}" for name, (below, _, attribute) in pairs}


def imported(package: str, tree: ast.AST) -> dict[str, str]:
    """Return what ``from`` statements in a module bind, also in functions: name -> full name of its origin."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    bound = {}
    for node in nodes:
        origin = resolve_name("." * node.level + (node.module or ""), package)
        bound |= {one.asname or one.name: f"{origin}.{one.name}" for one in node.names}
    return bound


def _names(package: str, tree: ast.AST) -> set[str]:
    """Return the full names of everything that a module imports, and of their attributes that it uses."""
    bound = imported(package, tree)
    attributes = (
        node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    )
    return {*bound.values()} | {f"{bound[one.value.id]}.{one.attr}" for one in attributes if one.value.id in bound}


def _is_table(node: ast.AST) -> bool:
    """Whether a statement only names what a package offers: a `LazyTable` or ``__all__``."""
    value = getattr(node, "value", None)
    is_all = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    return is_all or (isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "LazyTable")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _remove_what_does_nothing(tree: ast.AST) -> None:
    """Remove docstrings, tables of names, and code for type checkers only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
        elif isinstance(node, ast.JoinedStr):  # Python 3.12 has an empty text in some
            node.values = [one for one in node.values if getattr(one, "value", None) != ""]
        elif isinstance(body := getattr(node, "body", None), list):
            node.body = [one for one in body if not (_is_text(one) or _is_table(one))]


def _digest_of_tree(tree: ast.AST) -> str:
    # Empty fields and separators differ between versions of Python.
    return hashlib.sha256(re.sub(r"\w+=\[\]|, ", "", ast.dump(tree)).encode()).hexdigest()[:16]


#: The modules of the library and of the reproduction.
SHALLOWS = Sources(
    Path(__file__).resolve().parents[3], ("shallows", "shallows_papers"), Path(__file__).parent / "__pycache__"
)
