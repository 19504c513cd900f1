"""What surrounds a fit: the earlier model after a failure, and lines on its progress."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from .. import arrays
from ..errors import DeviceMemoryError
from ..utils import progress

_SILENT = contextlib.nullcontext()


def keeps_model_on_failure(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method that fits: if it raises, the estimator has the same attributes as before the call.

    So an earlier model still predicts after a refused input, divergence, or Ctrl-C. The method may replace attributes,
    but must not change the old objects in place. With ``verbose``, long parts of the fit print a line now and then.
    """

    @functools.wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        lines = progress.listening(progress.Lines(type(self).__name__)) if getattr(self, "verbose", 0) else _SILENT
        try:
            with lines:
                return fit(self, *args, **kwargs)
        except BaseException as error:
            restore_attributes(self, before)
            if arrays.is_out_of_device_memory(error):
                raise DeviceMemoryError(
                    f"The GPU has no room for this fit: {' '.join(str(error).split())[:200]} End other processes on "
                    "the GPU ('nvidia-smi' lists them), fit on fewer rows or in smaller batches (batch_size), take "
                    "dtype='float32', or device='cpu'."
                ) from error
            raise

    return fit_or_restore


def restore_attributes(estimator: Any, attributes: dict[str, Any]) -> None:
    """Give an estimator these attributes and no others."""
    vars(estimator).clear()
    vars(estimator).update(attributes)
