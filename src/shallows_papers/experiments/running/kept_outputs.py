"""The outputs of a trained model on the test part, which are kept so that a new metric needs no training."""

from __future__ import annotations

from typing import Any

import numpy as np


class KeptOutputs:
    """Keeps the outputs of a model at the end of a run, if the run's measure measures predictions."""

    def __init__(self, measure: Any):
        self._data, self._measured, self._scores = measure.data, measure.of_predictions, None

    def keep(self, model: Any) -> None:
        """Keep the outputs of a model or a snapshot, which has them in memory if its predictions were measured."""
        if self._measured and hasattr(model, "decision_function"):
            self._scores = np.asarray(model.decision_function(self._data.x_test), dtype=np.float32)

    def arrays(self, estimator: Any) -> dict[str, Any]:
        """Return ``scores``, shape (m, c), ``truth`` and ``classes`` of values or classes; empty without outputs."""
        classes = getattr(estimator, "classes_", None)
        if self._scores is None:
            self.keep(estimator)
        if self._scores is None and self._measured and classes is None:
            self._scores = np.asarray(estimator.predict(self._data.x_test), dtype=np.float32)
        if self._scores is None:
            return {}
        scores = self._scores.reshape(len(self._scores), -1)
        found = {"scores": scores, "truth": np.asarray(self._data.y_test)}
        return found if classes is None else {**found, "classes": np.asarray(classes)}
