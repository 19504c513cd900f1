"""Tables that name what they hold as ``"module:attribute"`` and import it when it is asked for.

So nothing imports all steps, generators and readers to use one of them, and what a result depends on can be told from
its own names: see `shallows.datasets.identity`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from shallows.errors import UnknownNameError


def load(kind: str, name: str, table: Mapping[str, str]) -> Any:
    """Import what a table holds under a name.

    Parameters
    ----------
    kind : str
        What the table holds, for the words of an error: "generator".
    name : str
    table : mapping of str to str
        ``"module:attribute"`` by name.

    Raises
    ------
    UnknownNameError
        When the table has no such name.
    """
    if name not in table:
        raise UnknownNameError(kind, name, table)
    module, _, attribute = table[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def module_of(name: str, table: Mapping[str, str]) -> str:
    """Return the module that `load` would import."""
    return table[name].partition(":")[0]
