"""Constructors of the estimators."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..utils.stored_parameters import stores_parameters as stores_parameters


def with_parameters(constructor: Callable[..., None], **added: Any) -> Callable[..., None]:
    """Extend a base class's constructor by keyword parameters with defaults, for classifiers and their regressors.

    A parameter that the base class has gets another default.

    Write ``__init__ = with_parameters(Base.__init__, class_weight=None)`` in the class body. The checks of the
    workflow's configuration read this line (`shallows_papers.experiments.identity.signatures`).
    """

    def store(self: Any, *args: Any, **values: Any) -> None:
        own = {name: values.pop(name, default) for name, default in added.items()}
        constructor(self, *args, **values)
        for name, value in own.items():
            setattr(self, name, value)

    __init__: Any = functools.wraps(constructor)(store)
    signature = inspect.signature(constructor)
    further = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in added.items()]
    known = [parameter for name, parameter in signature.parameters.items() if name not in added]
    # The seed and what follows it come last.
    place = next((i for i, parameter in enumerate(known) if parameter.name in ("random_state", "options")), len(known))
    # scikit-learn reads the parameters of an estimator from this signature.
    __init__.__signature__ = signature.replace(parameters=[*known[:place], *further, *known[place:]])
    return __init__
