"""Predictions, and how long the fit took that they come from."""

from __future__ import annotations

from .predictions import Predictions


class TimedPredictions(Predictions):
    """As `Predictions`, with ``fit_seconds``, for machines whose times are compared within one computer."""

    times_fit = True
