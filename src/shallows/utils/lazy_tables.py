"""Tables of names whose entries are imported at their first use."""

import importlib
import importlib.util
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from ..errors import UnknownNameError, unknown_attribute


class LazyTable(MutableMapping[str, Any]):
    """A table of names that imports an entry at its first use.

    The workflow's digest of a module ignores its tables, so results stay valid after a new entry is added.

    ``kind``: what an entry is, for error messages, such as ``"kernel"``. ``package``: ``__name__`` of the package.
    ``places``: ``".module:attribute"`` by name, relative to the package; the default attribute is the name.
    """

    def __init__(self, kind: str, package: str, places: Mapping[str, str]):
        self.kind, self.package = kind, package
        self._entries: dict[str, Any] = dict(places)

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise UnknownNameError(self.kind, name, self._entries)
        entry = self._entries[name]
        if not isinstance(entry, str):
            return entry
        module, _, attribute = entry.partition(":")
        return getattr(importlib.import_module(module, self.package), attribute or name)

    def __setitem__(self, name: str, entry: Any) -> None:
        self._entries[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, name: str, default: Any = None) -> Any:
        """The entry of a name, or the default."""
        if name not in self:
            return default
        return self[name]

    def name_of(self, entry: Any) -> str | None:
        """The first name of an entry, without an import of the others; None if it is no entry."""
        for name, known in self._entries.items():
            if known is entry:
                return name
            if isinstance(known, str) and entry.__module__ == self.module_of(name) and self[name] is entry:
                return name
        return None

    def module_of(self, name: str) -> str:
        """The name of the module of an entry."""
        entry = self._entries[name]
        if not isinstance(entry, str):
            return entry.__module__
        return importlib.util.resolve_name(entry.partition(":")[0], self.package)

    def attributes(self) -> dict[str, str]:
        """The name of each entry that is given by its place, by the name of its attribute."""
        return {entry.partition(":")[2] or key: key for key, entry in self._entries.items() if isinstance(entry, str)}

    def attribute(self, name: str) -> Any:
        """The entry with this attribute name, for the ``__getattr__`` of the package."""
        names = self.attributes()
        if name not in names:
            raise unknown_attribute(self.package, name, names)
        return self[names[name]]
