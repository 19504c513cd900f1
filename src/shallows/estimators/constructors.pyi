# What type checkers see: a constructor that stores its parameters keeps its signature.

from collections.abc import Callable
from typing import Any, TypeVar

_Constructor = TypeVar("_Constructor", bound=Callable[..., None])

def stores_parameters(constructor: _Constructor) -> _Constructor: ...
def with_parameters(constructor: Callable[..., None], **added: Any) -> Callable[..., None]: ...
