"""Constructors that store their parameters, as scikit-learn's estimators do."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


def stores_parameters(constructor: Callable[..., None]) -> Callable[..., None]:
    """Decorate an ``__init__`` without a body: every parameter becomes the attribute of its name, as it is."""
    signature = inspect.signature(constructor)

    @functools.wraps(constructor)
    def __init__(self: Any, *args: Any, **given: Any) -> None:
        bound = signature.bind(self, *args, **given)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    return __init__
