"""Warnings that point at the user's line."""

from __future__ import annotations

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning


def warn_user(message: str, category: type[Warning] = ConvergenceWarning) -> None:
    """Warn at the line of the user's that called this package."""
    package, frame, level = __name__.partition(".")[0], sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
