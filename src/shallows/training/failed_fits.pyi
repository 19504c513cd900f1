# What type checkers see: a method that keeps the model from before a failure keeps its signature.

from collections.abc import Callable
from typing import Any, TypeVar

_Fit = TypeVar("_Fit", bound=Callable[..., Any])

def keeps_model_on_failure(fit: _Fit) -> _Fit: ...
def restore_attributes(estimator: Any, attributes: dict[str, Any]) -> None: ...
