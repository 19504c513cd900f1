"""NumPy, imported when it is first used, for modules that a plan reads and that compute later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class _NumPy:
    def __getattr__(self, name: str) -> Any:
        import numpy

        return getattr(numpy, name)


if TYPE_CHECKING:
    import numpy as np
else:
    np = _NumPy()
