"""Constructors with further parameters; those that store what they are given are `utils.stored_parameters`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..utils.stored_parameters import stores_parameters as stores_parameters


def with_parameters(constructor: Callable[..., None], **added: Any) -> Callable[..., None]:
    """Extend a constructor by keyword parameters, for what a method's classifier has and its regressor lacks.

    It is written ``__init__ = with_parameters(Method.__init__, class_weight=None)`` in the class's body, where the
    checks of the configuration read it as well (`shallows_papers.experiments.identity.signatures`).

    Parameters
    ----------
    constructor : callable
        ``__init__`` of what the two have in common.
    **added
        The further parameters and their defaults.
    """

    @functools.wraps(constructor)
    def __init__(self: Any, *args: Any, **given: Any) -> None:
        mine = {name: given.pop(name, default) for name, default in added.items()}
        constructor(self, *args, **given)
        for name, value in mine.items():
            setattr(self, name, value)

    signature = inspect.signature(constructor)
    further = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in added.items()]
    # By which scikit-learn knows the parameters of an estimator.
    __init__.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *further])
    return __init__
