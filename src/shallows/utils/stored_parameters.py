"""Constructors that store their parameters, as scikit-learn's estimators do."""

import functools
import inspect
from collections.abc import Callable
from typing import Any


def stores_parameters(constructor: Callable[..., None]) -> Callable[..., None]:
    """Decorate an ``__init__`` without a body: every parameter becomes the attribute of its name, as it is."""
    signature = inspect.signature(constructor)
    positional = [one.name for one in signature.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD][1:]

    @functools.wraps(constructor)
    def __init__(self: Any, *args: Any, **given: Any) -> None:
        if len(args) > len(positional):
            first = f"{', '.join(positional)} may be given by position" if positional else "no parameter has a position"
            raise TypeError(f"{type(self).__name__}: {first}, got {len(args)} values. Give the others by their names.")
        bound = signature.bind(self, *args, **given)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    return __init__
