"""The modules that some code imports, directly or through others, with a digest of each, read from the sources.

The digest of a module is that of its tokens. Comments, docstrings, line breaks and tables of names (`LazyTable`) do not
count. Nothing is imported, and the digests are the same on every version of Python.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shallows.utils.atomic import replacing

#: A file of one of these kinds counts with a module of the same folder that names it.
DATA_SUFFIXES = (".cu", ".json", ".html", ".css", ".js", ".rst")

#: In the place of a kind of table: an entry of any of them.
ANY_TABLE = ""

_SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Module:
    """What is read from the source of one module."""

    digest: str
    #: pairs [module, name]: what it imports, in functions too, and what it uses of an imported module, which may be
    # imported late; the name is empty where a whole module is imported
    references: list[list[str]] = field(default_factory=list)
    #: of each `LazyTable`, by its kind: name -> "module:attribute"
    tables: dict[str, dict[str, str]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)  # string constants without spaces, among them names of data files


class Sources:
    """The modules of packages that lie in one folder.

    To read a whole package takes seconds, so what was read is kept in a file, by the contents of the modules.

    ``others``: names of further packages in the folder of the first one.
    """

    def __init__(self, package: Path, kept_in: Path | None = None, others: Iterable[str] = ()):
        self.package, self.names = Path(package), (Path(package).name, *others)
        self._kept_in = (
            kept_in or Path(__file__).parent / "__pycache__" / f"sources.{sys.implementation.cache_tag}.json"
        )
        self._reader = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
        self._kept = self._read_kept()
        self._n_kept = len(self._kept)
        self._modules: dict[str, Module] = {}
        self._paths: dict[str, Path | None] = {}

    def path(self, module: str) -> Path | None:
        """The file of a module; None where the package has no such module."""
        if module not in self._paths:
            top, *parts = module.split(".")
            below = self.package.parent.joinpath(top, *parts)
            found = below / "__init__.py" if below.is_dir() else below.with_suffix(".py")
            self._paths[module] = found if top in self.names and found.is_file() else None
        return self._paths[module]

    def read(self, module: str) -> Module:
        """What is read from the source of a module."""
        if module not in self._modules:
            content = self.path(module).read_bytes()
            key = hashlib.sha256(f"{module}\0".encode() + content).hexdigest()
            if key not in self._kept:
                is_package = self.path(module).name == "__init__.py"
                self._kept[key] = asdict(_read(module, content.decode(), self.names, is_package=is_package))
            self._modules[module] = Module(**self._kept[key])
        return self._modules[module]

    def closure(self, places: Iterable[str], named: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
        """Digests of the modules that some code imports, directly or through others, and of data files that they name.

        Each place is ``"package.module"`` or ``"package.module:name"``. Of the tables in these modules the ``named``
        entries count, given as pairs such as ``("kernel", "gaussian")``, and no others. The kind `ANY_TABLE` stands for
        every table.
        """
        found: dict[str, str] = {}
        named, waiting = set(named), [*places]
        while waiting:
            new = self._follow(waiting, found)
            tables = [table for module in new for table in self.read(module).tables.items()]
            waiting = [
                table[name]
                for kind, table in tables
                for other, name in named
                if other in (kind, ANY_TABLE) and name in table
            ]
        self._keep()
        return found

    def _follow(self, places: Iterable[str], found: dict[str, str]) -> list[str]:
        """Add to what was found the modules that places lead to, with all that they import; returns the new modules."""
        new: list[str] = []
        waiting = [tuple(place.partition(":")[::2]) for place in places]
        while waiting:
            module = self.defined_in(*waiting.pop())
            if module is None or module in found:
                continue
            read = self.read(module)
            found[module] = read.digest
            new.append(module)
            waiting += read.references
            for path in self._data_files(module, read.words):
                found[path.relative_to(self.package.parent).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
        return new

    def defined_in(self, module: str, name: str) -> str | None:
        """The module that an import leads to: a submodule, the module that a table names, or the named one itself.

        A module offers the entries of the tables that it imports. None where the import leads out of the package.
        """
        if name and self.path(f"{module}.{name}") is not None:
            return f"{module}.{name}"
        if self.path(module) is None:
            return None
        for table in self.read(module).tables.values() if name else ():
            for key, place in table.items():
                if name == key or place.endswith(f":{name}"):
                    return self.defined_in(*place.partition(":")[::2])
        for origin, bound in self.read(module).references if name else ():
            if bound.isupper() and self.path(origin) and any(name in one for one in self.read(origin).tables.values()):
                return self.defined_in(origin, name)
        return module

    def _data_files(self, module: str, words: list[str]) -> Iterator[Path]:
        folder = self.path(module).parent
        for word in words:
            place = folder / word
            if place.suffix in DATA_SUFFIXES and place.is_file():
                yield place
            elif (
                word.isidentifier()
                and word != "__pycache__"
                and place.is_dir()
                and not (place / "__init__.py").exists()
            ):
                yield from (one for one in sorted(place.rglob("*")) if one.suffix in DATA_SUFFIXES)

    def _read_kept(self) -> dict[str, Any]:
        try:
            kept = json.loads(self._kept_in.read_text(encoding="utf-8"))
            return kept["modules"] if kept["reader"] == self._reader else {}
        except (OSError, ValueError, LookupError, TypeError):
            return {}

    def _keep(self) -> None:
        if len(self._kept) == self._n_kept:
            return
        with contextlib.suppress(OSError):  # an installation that cannot be written to
            self._kept_in.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self._kept_in) as partial:
                partial.write_text(json.dumps({"reader": self._reader, "modules": self._kept}), encoding="utf-8")
        self._n_kept = len(self._kept)


def imports_of_script(path: str | Path) -> list[str]:
    """What a file outside the package imports of it, as places for `Sources.closure`."""
    read = _read("", Path(path).read_text(encoding="utf-8"), SHALLOWS.names, is_package=False)
    return [f"{module}:{name}" for module, name in read.references]


def digest(found: Mapping[str, str]) -> str:
    """Digest of a closure."""
    return hashlib.sha256(json.dumps(sorted(found.items())).encode()).hexdigest()[:16]


def digest_of_source(text: str) -> str:
    """Digest of the tokens of a source, without comments, docstrings, line breaks and tables of names."""
    found, statement = hashlib.sha256(), []
    for token in _tokens(text):
        statement.append(token)
        if token[0] != tokenize.NEWLINE:
            continue
        body = [one for one in statement if one[0] not in (tokenize.INDENT, tokenize.DEDENT)]
        texts = [text for _, text in body]
        is_string = all(kind in (tokenize.STRING, tokenize.NEWLINE) for kind, _ in body)
        is_table = texts[1:4] == ["=", "LazyTable", "("]
        kept = [one for one in statement if one not in body] if is_string or is_table else statement
        for kind, text in kept:
            named = kind in (tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE)
            found.update((tokenize.tok_name[kind] if named else text).encode() + b"\0")
        statement = []
    return found.hexdigest()[:16]


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """The kinds and texts of the tokens that count; a formatted string is one token, as it was before Python 3.12."""
    lines, depth, start = text.splitlines(keepends=True), 0, (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind in ("FSTRING_START", "TSTRING_START"):
            start = start if depth else token.start
            depth += 1
        elif kind in ("FSTRING_END", "TSTRING_END"):
            depth -= 1
            if not depth:
                yield tokenize.STRING, _between(lines, start, token.end)
        elif not depth and token.type not in _SKIPPED:
            yield token.type, token.string


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    rows = lines[start[0] - 1 : end[0]]
    rows[-1] = rows[-1][: end[1]]
    rows[0] = rows[0][start[1] :]
    return "".join(rows)


def _read(module: str, text: str, packages: Iterable[str], *, is_package: bool) -> Module:
    tree = ast.parse(text)
    imported = _imported(module, tree, is_package=is_package)
    imported = {name: place for name, place in imported.items() if place[0].partition(".")[0] in packages}
    attributes = [
        [*imported[node.value.id], node.attr]
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported
    ]
    used = [[f"{place}.{name}" if name else place, attribute] for place, name, attribute in attributes]
    references = sorted({tuple(one) for one in (*imported.values(), *used)})
    words = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value and " " not in node.value
    }
    words = sorted(word for word in words if len(word) <= 60 and "\n" not in word and "/" not in word)
    return Module(digest_of_source(text), [list(one) for one in references], _tables(module, tree), words)


def _imported(module: str, tree: ast.Module, *, is_package: bool) -> dict[str, tuple[str, str]]:
    """What import statements bind, in functions too, but for type checking: name -> (module, name in it)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = [ast.Pass()]
    bound: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            bound |= {one.asname or one.name: (one.name, "") for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = absolute(module, node, is_package=is_package)
            for one in node.names:
                name = one.asname or one.name
                # Two functions may bind one name to different modules.
                bound[name if bound.get(name, (origin, one.name)) == (origin, one.name) else f"{name} {origin}"] = (
                    origin,
                    one.name,
                )
    return bound


def absolute(module: str, node: ast.ImportFrom, *, is_package: bool) -> str:
    """The full name of the module that a ``from ... import`` statement in a module names."""
    if not node.level:
        return node.module or ""
    parts = module.split(".") if is_package else module.split(".")[:-1]
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def _tables(module: str, tree: ast.Module) -> dict[str, dict[str, str]]:
    """The entries of each `LazyTable` at the top of a module, by its kind."""
    found: dict[str, dict[str, str]] = {}
    for node in tree.body:
        call = node.value if isinstance(node, ast.Assign) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "LazyTable"):
            continue
        kind, entries = table(module, call)
        found.setdefault(kind, {}).update(entries)
    return found


def table(module: str, call: ast.Call) -> tuple[str, dict[str, str]]:
    """The kind and the entries of a `LazyTable`, name -> "module:attribute", by the call that makes it."""
    kind, package, places = call.args
    base = module if isinstance(package, ast.Name) else package.value
    entries = {}
    for name, place in ast.literal_eval(places).items():
        below, _, attribute = place.partition(":")
        entries[name] = f"{base}{below}:{attribute or name}"
    return kind.value, entries


#: The modules of the library and of the reproduction.
SHALLOWS = Sources(Path(__file__).resolve().parents[3] / "shallows", others=["shallows_papers"])
