# What type checkers see: a constructor that stores its parameters keeps its signature.

from collections.abc import Callable
from typing import TypeVar

_Constructor = TypeVar("_Constructor", bound=Callable[..., None])

def stores_parameters(constructor: _Constructor) -> _Constructor: ...
