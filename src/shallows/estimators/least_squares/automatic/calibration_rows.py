"""The rows on which the calibration of a fit is learnt, and the outputs of functions that went without them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .calibration import Calibration, calibrate, calibrate_labels


def learn_calibration(estimator: Any, state: Any, X: Any, targets: np.ndarray, weights: Any) -> Calibration | None:
    """Learn it on the rows that early stopping held out, on all, or on those that further sets of outputs lack.

    Parameters
    ----------
    estimator : LeastSquaresClassifier
        At the end of its training.
    state
        Of the solver.
    X, targets, weights
        The training rows in the user's order, with their codes −1 and +1.

    Returns
    -------
    Calibration or None
        None where there are too few rows.
    """
    learn, c = (calibrate_labels if estimator._multilabel else calibrate), estimator._n_outputs
    shares = np.average(targets > 0, axis=0, weights=weights)
    if estimator._held_out is not None:
        held = estimator._held_out
        scores = estimator._raw_predict(held.X, state.coefficients[:, :c])
        return learn(scores, estimator._codes(held.y), held.weights, shares)
    known, order = estimator._left_out_scores(state), estimator._order
    if known is not None:
        scores, rows = known[0], order[known[1]]
    elif estimator._choices.held_out:
        parts = [order[rows] for rows in estimator._choices.held_out]
        sets = [state.coefficients[:, (k + 1) * c : (k + 2) * c] for k in range(len(parts))]
        scores = [estimator._raw_predict(X[part], own) for part, own in zip(parts, sets, strict=True)]
        scores, rows = np.concatenate(scores), np.concatenate(parts)
    else:
        return None
    return learn(scores, targets[rows], None if weights is None else weights[rows], shares)
