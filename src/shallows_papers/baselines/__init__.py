"""Methods that the papers compare with, other than neural nets: votes of image copies, and CCA on random features."""

from __future__ import annotations

from typing import Any

from shallows.utils.lazy_tables import LazyTable

_CLASSES = LazyTable("baseline", __name__, {"ImageVotes": ".image_votes"})

__all__ = ["ImageVotes"]


def __getattr__(name: str) -> Any:
    return _CLASSES.attribute(name)
