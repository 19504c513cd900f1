"""Class probabilities from the outputs of least squares, learnt on outputs at points that were left out of the fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.optimize
from scipy.special import expit, log_softmax

from .. import arrays

SPREAD = 3.0
"""Variance of the Gaussian prior that keeps the matrix of several classes near a multiple of the identity."""

MOST_CLASSES = 30
"""With more classes the outputs are scaled and shifted, one by one, and not mixed: a matrix would be learnt badly."""


OUTPUTS, BOUNDED, SCALED = "outputs", "bounded outputs", "bounded outputs, one scale"
"""What a calibration is a function of, from the usual to the simplest."""

SCALES = 1e-3, 1e3
"""The least and the largest factor of bounded outputs."""


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
    units : ndarray, shape (c,), optional
        Scores s of a column become s/(u + |s|) first, which keeps their order; they stay s where u is infinite.
    form : str
        `OUTPUTS`, `BOUNDED` or `SCALED`.

    References
    ----------
    J. C. Platt (1999), "Probabilistic outputs for support vector machines"; M. Kull et al. (2019), "Beyond temperature
    scaling", NeurIPS 32 (matrix scaling with regularised off-diagonal entries).
    """

    matrix: np.ndarray
    shift: np.ndarray
    log_loss: float
    n_rows: int
    units: np.ndarray | None = None
    form: str = OUTPUTS

    def report(self) -> dict[str, Any]:
        """The entry of ``effective_params_``."""
        return {"calibration": {"rows": self.n_rows, "log_loss": self.log_loss, "function_of": self.form}}

    def logits(self, scores: np.ndarray) -> np.ndarray:
        """Logits of raw outputs, shape (n, c) to (n, k)."""
        return _bounded(scores.astype(np.float64), self.units) @ self.matrix + self.shift


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
    scores, weights = scores.astype(np.float64), row_weights(codes, weights, shares)
    fit = _two_classes if scores.shape[1] == 1 else _several_classes
    with arrays.one_blas_thread():
        matrix, shift, loss = fit(scores, codes > 0, weights)
    return Calibration(matrix, shift, float(loss / weights.sum()), len(scores))


def calibrate_bounded(
    scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None, shares: np.ndarray | None = None
) -> Calibration:
    """As `calibrate`, but of bounded outputs, so that a few outputs that are far too large do not decide the slope."""
    units = units_of(scores, row_weights(codes, weights, shares))
    learnt = calibrate(_bounded(scores.astype(np.float64), units), codes, weights, shares)
    return replace(learnt, units=units, form=BOUNDED)


def calibrate_scale(
    scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None, shares: np.ndarray | None = None
) -> Calibration:
    """One positive factor for all bounded outputs, which decide as they do without a calibration."""
    weights, c = row_weights(codes, weights, shares), scores.shape[1]
    units = units_of(scores, weights)
    s, rows, own = _bounded(scores.astype(np.float64), units), np.arange(len(scores)), class_numbers(codes)

    def loss(log_scale: float) -> float:
        logits = np.exp(log_scale) * s
        of_classes = np.hstack([np.zeros_like(logits), logits]) if c == 1 else logits
        return -float(weights @ log_softmax(of_classes, axis=1)[rows, own])

    found = scipy.optimize.minimize_scalar(loss, bounds=np.log(SCALES), method="bounded")
    matrix = np.exp(found.x) * np.eye(c)
    return Calibration(matrix, np.zeros(c), float(found.fun / weights.sum()), len(s), units, SCALED)


def row_weights(codes: np.ndarray, weights: np.ndarray | None, shares: np.ndarray | None) -> np.ndarray:
    """The weights of rows in a calibration, shape (n,), with the arguments of `calibrate`."""
    # The least weight is one row's, so that a weight twice as large is a row that is there twice, in any unit.
    weights = np.ones(len(codes)) if weights is None else weights / max(weights.min(), 0.1 * weights.mean())
    if shares is None:
        return weights
    own, wanted = codes > 0, shares
    if own.shape[1] == 1:
        own, wanted = np.hstack([~own, own]), np.array([1.0 - shares[0], shares[0]])
    here = np.average(own, axis=0, weights=weights)
    return weights * (wanted / np.where(here > 0, here, 1.0))[own.argmax(axis=1)]


def class_numbers(codes: np.ndarray) -> np.ndarray:
    """The class of each row, 0 or 1 for a single column of codes, shape (n,)."""
    return (codes[:, 0] > 0).astype(int) if codes.shape[1] == 1 else codes.argmax(axis=1)


def units_of(scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted median size of all outputs, for each of c columns."""
    sizes = np.abs(scores.astype(np.float64)).ravel()
    order, of_sizes = np.argsort(sizes), np.repeat(weights, scores.shape[1])
    total = np.cumsum(of_sizes[order])
    median = sizes[order[np.searchsorted(total, total[-1] / 2.0)]]
    return np.full(scores.shape[1], float(median) or float(np.average(sizes, weights=of_sizes)) or 1.0)


def _bounded(scores: np.ndarray, units: np.ndarray | None) -> np.ndarray:
    if units is None:
        return scores
    as_they_are = np.isinf(units)
    return np.where(as_they_are, scores, scores / (np.where(as_they_are, 1.0, units) + np.abs(scores)))


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
