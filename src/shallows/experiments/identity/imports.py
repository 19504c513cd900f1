"""What a piece of code is made of: the modules of this package that it imports, directly or through others.

The source is read, not run. An ordinary module counts as a whole, with everything that it imports anywhere. The
``__init__.py`` of a package is a door: of it counts what is asked for by name. A name that a door imports leads to the
module that defines it, and a function of a door brings what it uses. A table of a door (a dictionary with texts as
keys) brings the entries whose keys occur as a text in the code at hand or among the ``words`` given, such as the
parameters of a run. So a new kernel, with its line in the table of kernels, changes nothing for code that does not name
it.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

#: Suffixes of files beside a module that count with it where it names them: CUDA sources, schemas, templates.
DATA_SUFFIXES = (".cu", ".json", ".html", ".css", ".js", ".rst")

#: A reference to a module and a name in it; without a name, to the whole module.
Reference = tuple[str, str]

WHOLE = "*"


@dataclass
class Part:
    """One named piece of a door, or a whole ordinary module.

    Attributes
    ----------
    digest : str
        Of its meaning: comments, docstrings and layout left out.
    references : list of (module, name)
        What it uses of this package.
    words : list of str
        Its string constants.
    entries : dict
        For a table: key -> references of its value.
    """

    digest: str = ""
    references: list[Reference] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    entries: dict[str, list[Reference]] = field(default_factory=dict)


class Source:
    """Reads the modules of one package.

    Parameters
    ----------
    package : Path
        Folder of the package.
    kept : dict
        Parts of files that were read before, by the digest of the file's contents; it is added to.
    """

    def __init__(self, package: Path, kept: dict[str, Any] | None = None):
        self.package = Path(package)
        self.name = self.package.name
        self.kept: dict[str, Any] = {} if kept is None else kept
        self.used: set[str] = set()
        self.n_kept = len(self.kept)
        self._parts: dict[str, dict[str, Part]] = {}
        self._paths: dict[str, Path | None] = {}
        self._beside: dict[Path, dict[str, Path]] = {}

    def path(self, module: str) -> Path | None:
        """The file of a module, or None where there is no such module."""
        if module not in self._paths:
            below = self.package.joinpath(*module.split(".")[1:])
            found = below / "__init__.py" if below.is_dir() else below.with_suffix(".py")
            mine = module == self.name or module.startswith(f"{self.name}.")
            self._paths[module] = found if mine and found.is_file() else None
        return self._paths[module]

    def is_door(self, module: str) -> bool:
        """Whether a module is the ``__init__.py`` of a package."""
        path = self.path(module)
        return path is not None and path.name == "__init__.py"

    def parts(self, module: str) -> dict[str, Part]:
        """The parts of a module by name: those of a door, or the whole of an ordinary module."""
        if module not in self._parts:
            path = self.path(module)
            content = path.read_bytes()
            key = hashlib.sha256(f"{module}\0{_reader()}\0".encode() + content).hexdigest()
            self.used.add(key)
            if key not in self.kept:
                read = _read_door if self.is_door(module) else _read_module
                self.kept[key] = {name: asdict(part) for name, part in read(module, ast.parse(content)).items()}
            self._parts[module] = {name: _part(**kept) for name, kept in self.kept[key].items()}
        return self._parts[module]

    def data_files(self, module: str, words: Iterable[str]) -> Iterator[Path]:
        """Files beside a module that it names: one file, or all of a folder."""
        folder = self.path(module).parent
        if folder not in self._beside:
            self._beside[folder] = {
                place.name: place
                for place in folder.iterdir()
                if place.suffix in DATA_SUFFIXES or _is_data_folder(place)
            }
        for word in sorted(self._beside[folder].keys() & set(words)):
            place = self._beside[folder][word]
            if place.is_dir():
                yield from (one for one in sorted(place.rglob("*")) if one.suffix in DATA_SUFFIXES)
            else:
                yield place


def _is_data_folder(place: Path) -> bool:
    """Whether a folder holds data of the package, and neither modules nor what Python keeps of them."""
    return place.is_dir() and place.name != "__pycache__" and not (place / "__init__.py").exists()


def closure(source: Source, entries: Iterable[str], words: Iterable[str] = ()) -> dict[str, str]:
    """Everything that some code is made of.

    Parameters
    ----------
    source : Source
    entries : iterable of str
        Where to begin, each as ``"package.module"`` or ``"package.module:name"``.
    words : iterable of str
        Texts by which entries of tables are chosen, besides those in the code.

    Returns
    -------
    dict
        ``"package.module"`` (an ordinary module), ``"package.module:name"`` (a piece of a door) or
        ``"package/folder/file"`` (a data file) -> digest.
    """
    known, found = set(words), {}
    waiting: list[Reference] = [(one.partition(":")[0], one.partition(":")[2] or WHOLE) for one in entries]
    seen: set[Reference] = set()
    tables: list[Part] = []
    taken: set[tuple[int, str]] = set()
    while waiting:
        while waiting:
            module, name = reference = waiting.pop()
            if reference in seen or source.path(module) is None:
                continue
            seen.add(reference)
            first, dot, rest = name.partition(".")
            if dot:  # an attribute of what was imported, which may be a module
                inner = f"{module}.{first}"
                waiting.append((module, first) if source.path(inner) is None else (inner, rest))
                continue
            parts = source.parts(module)
            if not source.is_door(module):
                names = [WHOLE]
            elif name == WHOLE:
                names = list(parts)
            elif name in parts:
                names = [name]
            else:
                waiting += _through_door(source, module, name)
                names = []
            for one in names:
                key = module if one == WHOLE else f"{module}:{one}"
                if key in found:
                    continue
                part = parts[one]
                found[key] = part.digest
                known.update(part.words)
                waiting += part.references
                if part.entries:
                    tables.append(part)
                for path in source.data_files(module, part.words):
                    content = hashlib.sha256(path.read_bytes()).hexdigest()
                    found[path.relative_to(source.package.parent).as_posix()] = content
        for table in tables:
            for key, references in table.entries.items():
                if key in known and (id(table), key) not in taken:
                    taken.add((id(table), key))
                    waiting += references
    return found


def of_script(path: str | Path) -> list[str]:
    """What a file outside the package imports of it at its top, as entries for `closure`."""
    tree = ast.parse(Path(path).read_bytes())
    named = (node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level == 0)
    return [f"{node.module}:{one.name}" for node in named for one in node.names if node.module.startswith("shallows")]


def origin(module: str, node: ast.ImportFrom, *, is_door: bool) -> str:
    """The module that a ``from ... import`` in another module names, in full where it is relative."""
    package = module.split(".") if is_door else module.split(".")[:-1]
    base = package[: len(package) - node.level + 1] if node.level else []
    return ".".join([*base, *([node.module] if node.module else [])])


def digest(found: dict[str, str]) -> str:
    """Digest of a closure."""
    return hashlib.sha256(json.dumps(sorted(found.items())).encode()).hexdigest()[:16]


def _part(digest: str, references: list[Any], words: list[str], entries: dict[str, list[Any]]) -> Part:
    """A part as JSON kept it."""
    return Part(
        digest,
        [tuple(one) for one in references],
        words,
        {key: [tuple(one) for one in found] for key, found in entries.items()},
    )


@cache
def _reader() -> str:
    """Digest of this file: what another version of it read is read anew."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def _through_door(source: Source, module: str, name: str) -> list[Reference]:
    """Where a name leads that a door does not hold itself: to a submodule, or by a table of names that load late."""
    if source.path(f"{module}.{name}") is not None:
        return [(f"{module}.{name}", WHOLE)]
    for part in source.parts(module).values():
        for target, inner in part.entries.get(name, []):
            if inner == WHOLE:  # a table of names to modules: the name is looked up there
                return [(target, name)]
            return [(target, inner)]
    return []


# Reading one file ---------------------------------------------------------------------------------------------------


def _read_module(module: str, tree: ast.Module) -> dict[str, Part]:
    bound = _imports(module, tree.body, is_door=False)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bound = {**_imports(module, list(ast.walk(node)), is_door=False), **bound}
    return {WHOLE: Part(_meaning(tree), sorted(set(_all_references(tree, bound, unused=True))), sorted(_words(tree)))}


def _read_door(module: str, tree: ast.Module) -> dict[str, Part]:
    bound = _imports(module, tree.body, is_door=True)
    parts = {name: Part("", [reference]) for name, reference in bound.items()}
    defined: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            defined[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    own = {name: (module, name) for name in defined}
    for name, node in defined.items():
        if name in ("__all__", "__version__", "__getattr__", "__dir__"):
            continue
        value = getattr(node, "value", None)
        if isinstance(value, ast.Dict) and value.keys and all(_text(key) is not None for key in value.keys):
            entries = {
                _text(key): _entry(module, one, {**bound, **own})
                for key, one in zip(value.keys, value.values, strict=True)
            }
            if any(entries.values()):
                parts[name] = Part("table", [], [], entries)
                continue
        here = {**bound, **own, **_imports(module, list(ast.walk(node)), is_door=True)}
        parts[name] = Part(_meaning(node), sorted(set(_all_references(node, here))), sorted(_words(node)))
    return parts


def _entry(module: str, node: ast.expr, bound: dict[str, Reference]) -> list[Reference]:
    """What the value of a table refers to: a name, ``"module:name"``, or the name of a submodule."""
    text = _text(node)
    if text is None:
        texts = [_text(one) for one in ast.walk(node)]
        late = [one for text in texts if text and ":" in text for one in [_late(module, text)]]
        return sorted({*_all_references(node, bound), *late})
    if ":" in text:
        return [_late(module, text)]
    return [(f"{module}.{text}" if not text.startswith(module.partition(".")[0] + ".") else text, WHOLE)]


def _late(module: str, text: str) -> Reference:
    place, _, name = text.partition(":")
    if place.startswith("."):
        place = module + place
    elif not place.startswith(module.partition(".")[0] + "."):
        place = f"{module}.{place}"
    return place, name or WHOLE


def _text(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _imports(module: str, nodes: list[ast.AST], *, is_door: bool) -> dict[str, Reference]:
    """Names that import statements bind: name -> (module, name in it)."""
    bound: dict[str, Reference] = {}
    top = module.partition(".")[0]
    for node in nodes:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            bound |= _imports(module, list(ast.iter_child_nodes(node)), is_door=is_door)
        elif isinstance(node, ast.Import):
            for one in node.names:
                if one.name.partition(".")[0] == top:
                    bound[one.asname or one.name.partition(".")[0]] = (one.name if one.asname else top, WHOLE)
                    if not one.asname:
                        bound[f"import {one.name}"] = (one.name, WHOLE)
        elif isinstance(node, ast.ImportFrom):
            place = origin(module, node, is_door=is_door)
            if place.partition(".")[0] == top:
                for one in node.names:
                    bound[one.asname or one.name] = (place, one.name)
    return bound


def _all_references(tree: ast.AST, bound: dict[str, Reference], *, unused: bool = False) -> Iterator[Reference]:
    """What a piece of code uses of the names that are bound: ``name`` as a whole, or ``name.attribute`` alone.

    What it imports and does not use is told where ``unused`` asks for it: importing a module runs it.
    """
    attributes: dict[str, set[str]] = {}
    alone: set[str] = set()
    inner = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes.setdefault(node.value.id, set()).add(node.attr)
            inner.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in inner:
            alone.add(node.id)
    for name, (module, what) in bound.items():
        if name.startswith("import "):
            yield module, WHOLE
        elif name in attributes and name not in alone:
            for attribute in attributes[name]:
                yield module, attribute if what == WHOLE else f"{what}.{attribute}"
        elif name in alone or unused:
            yield module, what


def _words(tree: ast.AST) -> set[str]:
    documentation = {id(node) for node in _docstrings(tree)}
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documentation
        and len(node.value) <= 60
        and " " not in node.value
    }


def _docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and _text(body[0].value) is not None:
            yield body[0].value


def _meaning(tree: ast.AST) -> str:
    """Digest of code without its comments, docstrings and layout."""
    documentation = {id(node) for node in _docstrings(tree)}
    text = ast.dump(_Bare(documentation).visit(tree)) if documentation else ast.dump(tree)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Bare(ast.NodeTransformer):
    """Puts ``pass`` in the place of docstrings."""

    def __init__(self, documentation: set[int]):
        self.documentation = documentation

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return ast.Pass() if id(node.value) in self.documentation else node
