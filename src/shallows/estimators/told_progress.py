"""Lines that tell how far the parts of a fit are before and beside its training."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..utils import progress


def tells_progress(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method of an estimator: where ``verbose`` is set, long parts of its work print a line now and then.

    The training itself has a bar of its own, see `shallows.training.Progress`.
    """

    @functools.wraps(method)
    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.verbose:
            return method(self, *args, **kwargs)
        with progress.listening(progress.Lines(type(self).__name__)):
            return method(self, *args, **kwargs)

    return told
