"""Errors of regression relative to the size of the targets, beside the absolute ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from shallows.errors import ShallowsError

from .predictions import Predictions


class RelativeErrors(Predictions):
    """The root mean square of the errors over that of the targets, on the test part, in percent.

    That is 100 ‖f − y‖ / ‖y‖ with the targets as they are, not centred: a target that is far from zero makes it small.

    References
    ----------
    A. Rahimi and B. Recht (2007), "Random features for large-scale kernel machines", NIPS 20, table 1: the root mean
    square error normalised by the norm of the ground truth.
    """

    def of_snapshot(self, snapshot: Any) -> dict[str, float]:
        """See `of_estimator`; a snapshot predicts as a model does."""
        return self.of_estimator(snapshot)

    def of_estimator(self, estimator: Any) -> dict[str, float]:
        """``relative_error`` in percent, with ``test_rmse`` and ``test_mse`` in the units of the targets."""
        if self.task != "regression":
            raise ShallowsError(f"Relative errors are those of regression, and the task is {self.task}.")
        size = float(np.sqrt(np.mean(np.asarray(self.data.y_test, dtype=np.float64) ** 2)))
        if size == 0:
            raise ShallowsError("All targets of the test part are 0, so that no error is relative to them.")
        found = super().of_estimator(estimator)
        return {**found, "relative_error": 100.0 * found["test_rmse"] / size}
