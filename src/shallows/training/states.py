"""Keeping the states of solvers: copies to go back to, and arrays and notes for checkpoints.

A kept state is a pair: arrays by name, numbers by name. Of a state that is its coefficients there is one array, whose
name is empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from .protocols import KeptState

Kept = tuple[dict[str, Any], dict[str, Any]]


def is_finite(state: Any) -> bool:
    """Whether the model of a state is made of numbers."""
    if hasattr(state, "is_finite"):
        return state.is_finite()
    xp = arrays.namespace(state.coefficients)
    return bool(xp.all(xp.isfinite(state.coefficients)))


def keep(state: Any, copied: bool = True) -> Kept:
    """What there is to keep of a state; ``copied=False`` may refer to arrays that the next step overwrites."""
    if isinstance(state, KeptState):
        return state.remember()
    return {"": _copy(state.coefficients) if copied else state.coefficients}, {}


def put_back(state: Any, kept: Kept) -> None:
    """Bring a state to where it was kept."""
    if isinstance(state, KeptState):
        state.recall(*kept)
    else:
        state.coefficients = _copy(kept[0][""])


def packed(kept: dict[str, Kept]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Several kept states by name as the arrays and the notes of a checkpoint."""
    held = {
        f"{place}.{name}" if name else place: arrays.to_numpy(array)
        for place, (parts, _) in kept.items()
        for name, array in parts.items()
    }
    return held, {"numbers": {place: numbers for place, (_, numbers) in kept.items()}}


def unpacked(place: str, held: dict[str, np.ndarray], notes: dict[str, Any], state: Any) -> Kept:
    """One of the kept states out of a checkpoint, for a state of the same kind."""
    if isinstance(state, KeptState):
        parts = {name[len(place) + 1 :]: held[name] for name in held if name.startswith(f"{place}.")}
        return parts, notes["numbers"][place]
    return {"": arrays.like(held[place], state.coefficients)}, {}


def _copy(x: Any) -> Any:
    return arrays.namespace(x).asarray(x, copy=True)
