"""Solvers: one file an algorithm, each a frozen dataclass with ``init`` and ``step``."""

from .eigenpro import EigenPro
from .richardson import Richardson

__all__ = ["EigenPro", "Richardson"]
