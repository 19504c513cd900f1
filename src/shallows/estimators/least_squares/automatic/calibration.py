"""Class probabilities from the outputs of least squares, learnt on outputs at points that were left out of the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
from scipy.special import expit, log_softmax

from .... import arrays

SPREAD = 3.0
"""Variance of the Gaussian prior that keeps the matrix of several classes near a multiple of the identity."""

MOST_CLASSES = 30
"""With more classes the outputs are scaled and shifted, one by one, and not mixed: a matrix would be learnt badly."""


@dataclass(frozen=True)
class Calibration:
    """The logits ``scores @ matrix + shift``: log-odds of two classes, else one for each class.

    The square loss aims at 2P − 1, and a function that nearly interpolates is too sure of itself on its own training
    points. So the map to probabilities is learnt on outputs of functions that were fitted without the points: a sigmoid
    for two classes, with the smoothed targets of Platt; for several a linear map with the cross-entropy, which also
    tells a class that lies between two others, whose own output is nowhere the largest.

    Attributes
    ----------
    matrix : ndarray, shape (c, k)
    shift : ndarray, shape (k,)
    log_loss : float
        Mean cross-entropy on the points that it was learnt on.
    n_rows : int
        How many these were.

    References
    ----------
    J. C. Platt (1999), "Probabilistic outputs for support vector machines"; M. Kull et al. (2019), "Beyond temperature
    scaling", NeurIPS 32 (matrix scaling with regularised off-diagonal entries).
    """

    matrix: np.ndarray
    shift: np.ndarray
    log_loss: float
    n_rows: int

    def report(self) -> dict[str, Any]:
        """The entry of ``effective_params_``."""
        return {"calibration": {"rows": self.n_rows, "log_loss": self.log_loss}}

    def logits(self, scores: np.ndarray) -> np.ndarray:
        """Logits of raw outputs, shape (n, c) to (n, k)."""
        return scores.astype(np.float64) @ self.matrix + self.shift


def calibrate(
    scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None, shares: np.ndarray | None = None
) -> Calibration:
    """Learn the map from outputs to logits.

    Parameters
    ----------
    scores : ndarray, shape (n, c)
        Outputs at points that had no part in their fit.
    codes : ndarray, shape (n, c)
        −1 and +1: one column for two classes, else one for each class, of which a row has one +1.
    weights : ndarray, shape (n,), optional
    shares : ndarray, shape (c,), optional
        Of the codes +1 among all training rows. The rows are weighted so that they have the same: few rows have a rare
        class more or less often by chance.
    """
    scores, n = scores.astype(np.float64), len(scores)
    # The least weight is one row's, so that a weight twice as large is a row that is there twice, in any unit.
    weights = np.ones(n) if weights is None else weights / max(weights.min(), 0.1 * weights.mean())
    if shares is not None:
        own, wanted = codes > 0, shares
        if own.shape[1] == 1:
            own, wanted = np.hstack([~own, own]), np.array([1.0 - shares[0], shares[0]])
        here = np.average(own, axis=0, weights=weights)
        weights = weights * (wanted / np.where(here > 0, here, 1.0))[own.argmax(axis=1)]
    fit = _two_classes if scores.shape[1] == 1 else _several_classes
    with arrays.one_blas_thread():
        matrix, shift, loss = fit(scores, codes > 0, weights)
    return Calibration(matrix, shift, float(loss / weights.sum()), n)


def calibrate_labels(
    scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, shares: np.ndarray
) -> Calibration:
    """The same for labels that do not exclude each other: a sigmoid for each column."""
    each = [calibrate(scores[:, [k]], codes[:, [k]], weights, shares[[k]]) for k in range(scores.shape[1])]
    matrix = np.diag([one.matrix[0, 0] for one in each])
    shift = np.array([one.shift[0] for one in each])
    return Calibration(matrix, shift, float(np.mean([one.log_loss for one in each])), len(scores))


def learn_calibration(estimator: Any, fit: Any, state: Any) -> Calibration | None:
    """Learn it on the rows that early stopping held out, on all, or on those that further sets of outputs lack.

    Parameters
    ----------
    estimator : LeastSquaresClassifier
    fit : LeastSquaresFit
        At the end of its training.
    state
        Of the solver.

    Returns
    -------
    Calibration or None
        None where there are too few rows.
    """
    learn, c = (calibrate_labels if estimator._multilabel else calibrate), fit.n_outputs
    (X, _, weights, *_), targets = fit.data, fit.codes
    shares = np.average(targets > 0, axis=0, weights=weights)
    if fit.held_out is not None:
        held = fit.held_out
        scores = estimator._raw_predict(held.X, state.coefficients[:, :c], fit)
        return learn(scores, estimator._codes(held.y), held.weights, shares)
    known, order = estimator._left_out_scores(fit, state), fit.order
    if known is not None:
        scores, rows = known[0], order[known[1]]
    elif fit.choices.held_out:
        parts = [order[rows] for rows in fit.choices.held_out]
        sets = [state.coefficients[:, (k + 1) * c : (k + 2) * c] for k in range(len(parts))]
        scores = [estimator._raw_predict(X[part], own, fit) for part, own in zip(parts, sets, strict=True)]
        scores, rows = np.concatenate(scores), np.concatenate(parts)
    else:
        return None
    return learn(scores, targets[rows], None if weights is None else weights[rows], shares)


def _two_classes(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    s, positive = scores[:, 0], positive[:, 0]
    n_positive, n_negative = weights[positive].sum(), weights[~positive].sum()
    wanted = np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    unit = max(float(s.std()), 1e-12)

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        logit = v[0] * s / unit + v[1]
        value = np.sum(weights * (np.logaddexp(0.0, logit) - wanted * logit))
        off = weights * (expit(logit) - wanted)
        return value, np.array([off @ s / unit, off.sum()])

    found = scipy.optimize.minimize(
        loss, [1.0, np.log((n_positive + 1.0) / (n_negative + 1.0))], jac=True, method="L-BFGS-B"
    )
    # A falling sigmoid would turn the answers around; where outputs say nothing, the frequencies do.
    slope, shift = found.x if found.x[0] > 0 else (1e-6, np.log((n_positive + 1.0) / (n_negative + 1.0)))
    return np.array([[slope / unit]]), np.array([shift]), loss(np.array([slope, shift]))[0]


def _several_classes(scores: np.ndarray, own: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    k = scores.shape[1]
    label = own.argmax(axis=1)
    missed = 1.0 / (np.bincount(label, weights, minlength=k)[label] + 2.0) / (k - 1.0)
    wanted = np.where(own, 1.0 - (k - 1.0) * missed[:, None], missed[:, None])
    mixed = k <= MOST_CLASSES
    n_deviations = k * k if mixed else k

    def unpacked(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        deviation = v[1 : 1 + n_deviations].reshape(k, k) if mixed else np.diag(v[1 : 1 + n_deviations])
        return np.exp(v[0]) * np.eye(k) + deviation, v[1 + n_deviations :]

    def entropy(matrix: np.ndarray, shift: np.ndarray) -> tuple[float, np.ndarray]:
        logs = log_softmax(scores @ matrix + shift, axis=1)
        return -np.sum(weights[:, None] * wanted * logs), weights[:, None] * (np.exp(logs) - wanted)

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        matrix, shift = unpacked(v)
        value, off = entropy(matrix, shift)
        slope = scores.T @ off
        deviation, freed = v[1 : 1 + n_deviations], (slope if mixed else np.diagonal(slope))
        value += 0.5 / SPREAD * (deviation @ deviation + shift @ shift)
        gradient = [[np.exp(v[0]) * np.trace(slope)], np.ravel(freed) + deviation / SPREAD, off.sum(0) + shift / SPREAD]
        return value, np.concatenate(gradient)

    found = scipy.optimize.minimize(
        loss, np.zeros(1 + n_deviations + k), jac=True, method="L-BFGS-B", options={"maxiter": 100}
    )
    matrix, shift = unpacked(found.x)
    return matrix, shift, entropy(matrix, shift)[0]
