"""The two-sample test of kernel means."""

from __future__ import annotations

from typing import Any

from .utils.lazy_tables import LazyTable

_PUBLIC = LazyTable(
    "name of this module",
    "shallows",
    {
        "two_sample_test": ".estimators.two_samples",
    },
)

__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    return _PUBLIC.attribute(name)
