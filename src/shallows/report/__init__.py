"""Tables, figures and the HTML page, from results alone: nothing here trains or knows a solver.

The modules are loaded when first named, so that a table does not wait for the drawing library:
:mod:`~shallows.report.tables`, :mod:`~shallows.report.figures`, :mod:`~shallows.report.page`,
:mod:`~shallows.report.contact_sheet`.
"""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = ["contact_sheet", "figures", "page", "tables", "target"]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
