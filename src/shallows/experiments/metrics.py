"""What is measured at a mark, by task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def classification(snapshot: Any, data: Any) -> dict[str, float]:
    """Errors in percent and square losses on the training and the test part, and the norm of the coefficients."""
    return {
        "train_error": 100.0 * float(np.mean(np.asarray(snapshot.predict_training()) != data.y_train)),
        "test_error": 100.0 * float(np.mean(np.asarray(snapshot.predict(data.x_test)) != data.y_test)),
        "train_l2": snapshot.training_square_loss(data.y_train),
        "test_l2": snapshot.square_loss(data.x_test, data.y_test),
        "coefficient_norm": snapshot.coefficient_norm(),
    }


def regression(snapshot: Any, data: Any) -> dict[str, float]:
    """Root mean squared errors on the training and the test part."""
    return {
        "train_rmse": float(np.sqrt(np.mean((np.asarray(snapshot.predict_training()) - data.y_train) ** 2))),
        "test_rmse": float(np.sqrt(np.mean((np.asarray(snapshot.predict(data.x_test)) - data.y_test) ** 2))),
    }


METRICS: dict[str, Callable[[Any, Any], dict[str, float]]] = {
    "classification": classification,
    "regression": regression,
}
