"""The base of states whose fields are arrays and numbers."""

from typing import Any

import numpy as np

from .. import arrays


class ArrayState:
    """Checkpoints of a dataclass with ``coefficients``; fields with a leading underscore are not kept."""

    coefficients: arrays.Array

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Copies of the arrays on the host, and the other values, for `recall`."""
        values = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        held = {name: arrays.to_numpy(value).copy() for name, value in values.items() if getattr(value, "ndim", 0)}
        return held, {name: value for name, value in values.items() if name not in held}

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        """Go back to the result of `remember`, with the array library and device of this state."""
        xp = arrays.namespace(self.coefficients)
        for name, value in held.items():
            setattr(self, name, value.copy() if arrays.is_sparse(value) else xp.asarray(value.copy()))
        for name, value in numbers.items():
            setattr(self, name, value)

    def is_finite(self) -> bool:
        """Whether all coefficients are finite."""
        xp = arrays.namespace(self.coefficients)
        return bool(xp.all(xp.isfinite(self.coefficients)))
