"""The base of states whose fields are NumPy arrays and numbers."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np


class ArrayState:
    """Checkpoints of a dataclass with ``coefficients``; fields with a leading underscore are not kept."""

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Copies of arrays, and numbers, that `recall` takes up again, to the bit."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if not field.name.startswith("_")}
        held = {name: value.copy() for name, value in values.items() if isinstance(value, np.ndarray)}
        return held, {name: value for name, value in values.items() if name not in held}

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        """Take up what `remember` gave."""
        for name, value in held.items():
            setattr(self, name, np.array(value))
        for name, value in numbers.items():
            setattr(self, name, value)

    def is_finite(self) -> bool:
        """Whether all coefficients are finite."""
        return bool(np.isfinite(self.coefficients).all())
