"""Outputs of least squares at rows that were left out of the fit, and class probabilities that are learned on them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.optimize
from scipy.special import expit, log_softmax

from .. import arrays, training
from ..arrays import Array
from ..utils.checks import warn_user
from .rows import HeldOut, TrainingSet, class_labels
from .square_targets import (
    LEAST_SHARE,
    SquareClassTargets,
    SquareTargets,
    calibrated_probabilities,
    plain_probabilities,
)

if TYPE_CHECKING:
    from .choices import Choices

SPREAD = 3.0
"""Variance of the Gaussian prior that keeps the matrix of several classes near a multiple of the identity."""

MOST_CLASSES = 30
"""With more classes every output has its own factor and shift. There are too few rows to learn a full matrix."""

OUTPUTS, BOUNDED, SCALED = "outputs", "bounded outputs", "bounded outputs, one scale"
"""What a calibration is a function of, from the usual form to the simplest."""

SCALES = 1e-3, 1e3
"""The least and the largest factor of bounded outputs."""

N_FOLDS = 5
"""Each fifth of the rows judges a calibration that was learned on the others."""

TIGHT, LOOSE = 2.220446049250313e-09, 1e-5
"""Relative change of the loss at which the optimization ends: of a calibration, and of one that only judges."""

MISSES_CLASS = "with it a class is never predicted"

MOST_LOOKED_AT = 100
"""Training rows of a class that show whether the class is ever predicted."""

LARGEST_DIFFERENCE = 0.25
"""Largest median difference between outputs at training rows and the outputs of the closed form, as a share of their
median size. It was 0.05 at most where training converged to ``tol``."""


@dataclass(frozen=True)
class Calibration:
    """The logits ``scores @ matrix + shift``: log-odds of two classes, else one logit for each class.

    Two classes: a sigmoid with the smoothed targets of Platt (1999), "Probabilistic outputs for support vector
    machines". Several classes: a linear map with the cross-entropy, as in Kull et al. (2019), "Beyond temperature
    scaling", NeurIPS 32. It also predicts a class that lies between two others, whose own output is never the largest.
    """

    matrix: np.ndarray  # (c, k)
    shift: np.ndarray  # (k,)
    log_loss: float  # Mean cross-entropy on the rows that it was learned on
    n_rows: int
    units: np.ndarray | None = None  # (c,): scores s become s/(u + |s|) first; an infinite u leaves them unchanged
    form: str = OUTPUTS  # OUTPUTS, BOUNDED or SCALED

    def report(self) -> dict[str, Any]:
        """The entry of ``report_``."""
        return {"calibration": {"rows": self.n_rows, "log_loss": self.log_loss, "function_of": self.form}}

    def logits(self, scores: np.ndarray) -> np.ndarray:
        """Logits of raw outputs, shape (n, c) to (n, k)."""
        scores = scores.astype(np.float64)
        return (scores if self.units is None else _bounded(scores, self.units)) @ self.matrix + self.shift


def calibrate(
    scores: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None = None,
    shares: np.ndarray | None = None,
    form: str = OUTPUTS,
    start: Calibration | None = None,
) -> Calibration:
    """Learn the map from outputs to logits on left-out rows, without a check that it is better than none.

    ``codes`` (n, c) are −1 and +1: one column for two classes, else one for each. ``shares`` (c,): the shares of +1
    among all training rows. Rows are weighted so that they have these shares too, since shares among few rows vary by
    chance. `BOUNDED` reduces the influence of outputs that are far too large; `SCALED` does not change decisions.
    ``start``: a calibration of nearly the same rows to start from; this saves time if the result is only judged.
    """
    scores, weights = scores.astype(np.float64), row_weights(codes, weights, shares)
    units = None if form == OUTPUTS else _median_size(scores, weights)
    bounded = scores if units is None else _bounded(scores, units)
    several = functools.partial(_several_classes, start=start)
    learn = _scale if form == SCALED else several if scores.shape[1] > 1 else _two_classes
    with arrays.one_blas_thread():
        matrix, shift, loss = learn(bounded, codes > 0, weights)
    return Calibration(matrix, shift, float(loss / weights.sum()), len(scores), units, form)


def row_weights(codes: np.ndarray, weights: np.ndarray | None, shares: np.ndarray | None) -> np.ndarray:
    """The weights of rows in a calibration, shape (n,), with the arguments of `calibrate`."""
    # The least weight counts as one row, so that a weight twice as large equals two such rows, in any unit.
    weights = np.ones(len(codes)) if weights is None else weights / max(weights.min(), 0.1 * weights.mean())
    if shares is None:
        return weights
    own, wanted = codes > 0, shares
    if own.shape[1] == 1:
        own, wanted = np.hstack([~own, own]), np.array([1.0 - shares[0], shares[0]])
    here = np.average(own, axis=0, weights=weights)
    return weights * (wanted / np.where(here > 0, here, 1.0))[own.argmax(axis=1)]


@dataclass(frozen=True)
class LeftOut:
    """Outputs of functions at m rows that these functions were not fitted to."""

    scores: np.ndarray  # (m, c)
    y: np.ndarray  # The targets of the rows, as the user gave them
    weights: np.ndarray | None  # (m,)
    places: np.ndarray | None  # (m,): the rows among all training rows; None for rows that early stopping held out
    of_distant_model: np.ndarray | None = None
    """Outputs of the model at the rows, if its training ended far from the solution that the scores belong to."""


def outputs_at(
    function: Any, targets: SquareTargets, device: arrays.Device, budget: int, points: Any, coefficients: Any
) -> np.ndarray:
    """Outputs, shape (m, c), at points (m, d) of a function with other coefficients, in the units of the targets."""
    return targets.unscale(replace(function, coefficients=coefficients).scores(points, device, budget))


def leave_out(
    outputs: Callable[[Any, Any], np.ndarray],
    targets: SquareTargets,
    rows: TrainingSet,
    order: np.ndarray,
    coefficients: Any,
    held_out: HeldOut | None,
    choices: Choices,
    spans: Sequence[slice],
    direct: tuple[np.ndarray, slice] | None = None,
) -> LeftOut | None:
    """Outputs at rows that were not trained on: held-out, left out in closed form, or of the ``spans``; None without.

    ``outputs(points, coefficients)`` evaluates functions. ``rows`` are in the user's order, and ``order`` has the row
    at each place of the fit. ``coefficients`` belong to the model's c outputs, then to further sets of c outputs; set
    k was trained without the k-th of the ``spans``. ``direct``: outputs from a factored kernel matrix, and their
    places.
    """
    c = targets.aims(rows.y[:1]).shape[1]
    own = coefficients[:, :c]
    if held_out is not None:
        return LeftOut(outputs(held_out.X, own), held_out.y, held_out.weights, None)
    path, joined, of_distant_model = choices.path, choices.joined, None
    if path is not None and joined is not None:
        ridge = choices.regularization
        scores, places = targets.unscale((path.targets - path.residuals(ridge))[joined.group]), order
        mine, closed = outputs(rows.X, own)[order], targets.unscale(path.fitted(ridge)[joined.group])
        if np.median(np.abs(mine - closed)) > LARGEST_DIFFERENCE * np.median(np.abs(closed)):
            of_distant_model = mine
    elif direct is not None:
        scores, places = targets.unscale(direct[0]), order[direct[1]]
    elif spans:
        places = np.concatenate([order[span] for span in spans])
        sets = [coefficients[:, (k + 1) * c : (k + 2) * c] for k in range(len(spans))]
        scores = np.concatenate([outputs(rows.X[order[span]], a) for span, a in zip(spans, sets, strict=True)])
    else:
        return None
    weights = None if rows.weights is None else rows.weights[places]
    return LeftOut(scores, rows.y[places], weights, places, of_distant_model)


def outputs_from_factor(run: training.Run, targets: Array) -> tuple[np.ndarray, slice] | None:
    """Outputs of functions fitted without a row, from αᵢ / ((K + λW⁻¹)⁻¹)ᵢᵢ, and the rows for which they are known."""
    inverse = run.state.inverse_diagonal
    if inverse is None:
        return None
    rows = slice(targets.shape[0] - len(inverse), targets.shape[0])
    coefficients = arrays.to_numpy(run.state.coefficients[rows, :])
    return arrays.to_numpy(targets[rows, :]) - coefficients / arrays.to_numpy(inverse)[:, None], rows


def learn_calibration(
    targets: SquareClassTargets,
    rows: TrainingSet,
    codes: np.ndarray,
    order: np.ndarray,
    left_out: LeftOut | None,
    outputs_of_rows: Callable[[np.ndarray], np.ndarray],
    choices: Choices,
) -> SquareClassTargets:
    """The targets with a calibration learned on rows that were left out.

    There is none if there are too few rows, or if every calibration is worse than none. ``rows, codes`` are in the
    user's order, and ``order`` has the row at each place of the fit. ``outputs_of_rows``: the model's outputs at some
    training rows.
    """
    if left_out is None:
        return targets
    multilabel, shares = targets.several, np.average(codes > 0, axis=0, weights=rows.weights)
    own_codes = targets.aims(left_out.y) if left_out.places is None else codes[left_out.places]
    learned_on = left_out.scores, own_codes, left_out.weights, shares
    mine = left_out.of_distant_model
    if mine is not None:
        calibration = calibrate(*learned_on, SCALED)
        if multilabel:
            scores, of_rows = left_out.scores, left_out.weights
            columns = range(codes.shape[1])
            each = [(scores[:, [k]], own_codes[:, [k]], of_rows, shares[[k]]) for k in columns]
            calibration = _join_labels([calibrate(*label, SCALED) for label in each])
        calibration = replace(calibration, units=_median_size(mine, row_weights(own_codes, left_out.weights, shares)))
        reason = "the training ended far from the solution that the left-out outputs belong to"
        warn_user(_message(calibration, reason), UserWarning)
        return replace(targets, calibration=calibration)
    all_codes = codes
    if left_out.places is None:
        all_codes = np.concatenate([codes, own_codes])
    elif choices.joined is not None and choices.path is not None:
        all_codes = codes[order][choices.joined.first]
    judged = calibrate_judged(
        *(*learned_on, all_codes), outputs_at=outputs_of_rows, trained_codes=codes, multilabel=multilabel
    )
    return replace(targets, calibration=judged)


def calibrate_judged(
    scores: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    shares: np.ndarray,
    all_codes: np.ndarray,
    *,
    outputs_at: Callable[[np.ndarray], np.ndarray] | None = None,
    trained_codes: np.ndarray | None = None,
    multilabel: bool = False,
) -> Calibration | None:
    """Learn the first form of calibration that is as good as none on rows not used for it or for the outputs.

    The forms are tried in the order `OUTPUTS`, `BOUNDED`, `SCALED`. A form that never predicts a class is used only if
    the log loss of those that do is larger by more than its standard error, and at least two left-out rows have the
    class: then the outputs predicted the class by chance. Returns None if every form is worse, and warns if the first
    one is. ``all_codes``: of all rows that are left out. ``outputs_at, trained_codes``: outputs of the model at
    training rows, and the codes of these; a class that the outputs predict must still be predicted with the
    calibration.
    """
    groups: list[Any] = [[k] for k in range(codes.shape[1])] if multilabel else [slice(None)]
    each, faults = [], []
    for k, columns in enumerate(groups):
        label = scores[:, columns], codes[:, columns], weights, shares[columns]
        of_model: tuple[Any, Any] = None, None
        if outputs_at is not None and trained_codes is not None:
            of_model = (lambda some, columns=columns: outputs_at(some)[:, columns]), trained_codes[:, columns]
        calibration, reason = _choose_form(*label, all_codes[:, columns], *of_model)
        if multilabel:
            calibration, reason = calibration or calibrate(*label, form=SCALED), reason and f"for label {k} {reason}"
        each.append(calibration)
        faults += [(calibration, reason)] if reason else []
    if faults:
        warn_user(_message(*faults[0]), UserWarning)
    return _join_labels([one for one in each if one is not None]) if multilabel else each[0]


def _choose_form(
    scores: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    shares: np.ndarray,
    all_codes: np.ndarray,
    outputs_at: Callable[[np.ndarray], np.ndarray] | None,
    trained_codes: np.ndarray | None,
) -> tuple[Calibration | None, str]:
    """The calibration, and what is wrong with the usual one."""
    n_classes = max(2, codes.shape[1])
    n_rows = np.bincount(class_labels(codes), minlength=n_classes)
    everywhere = np.bincount(class_labels(all_codes), minlength=n_classes)
    # The output at the only row of a class comes from a function that never saw the class, so it is not informative.
    unknown = (n_rows == 0) | (everywhere < 2)
    reason = ""
    if unknown.any():
        reason = f"a class has {everywhere[unknown.argmax()]} of {len(all_codes)} rows, too few to hold one out"
    # Equal rows count as one row with the sum of their weights.
    keys = np.column_stack([class_labels(codes), scores])
    first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)[1:]
    if len(first) < 2:
        return None, reason or "all rows held out are equal"
    s, t, w = scores[first], codes[first], np.bincount(group.reshape(-1), weights)
    true, importance = class_labels(t), row_weights(t, w, shares)
    plain = _judge(plain_probabilities(s), class_labels(s), true, importance)
    fold = np.arange(len(s)) % N_FOLDS
    surer: tuple[Calibration, Judgement, str] | None = None  # Misses a class, which may be noise
    for form in (SCALED,) if unknown.any() else (OUTPUTS, BOUNDED, SCALED):
        calibration, logits = calibrate(scores, codes, weights, shares, form), np.zeros(s.shape)
        for k in range(min(N_FOLDS, len(s))):
            rest = s[fold != k], t[fold != k], w[fold != k]
            logits[fold == k] = calibrate(*rest, shares, form, calibration).logits(s[fold == k])
        # Without a fifth of the rows a class may have too few rows, so this uses the calibration of all rows.
        found = _judge(plain_probabilities(s), class_labels(calibration.logits(s)), true, importance).found
        if outputs_at is not None and trained_codes is not None:
            for label in np.flatnonzero(~found):
                some = outputs_at(np.flatnonzero(class_labels(trained_codes) == label)[:MOST_LOOKED_AT])
                after = class_labels(calibration.logits(some))
                found[label] = not ((class_labels(some) == label).any() and not (after == label).any())
            plain = replace(plain, found=np.ones(n_classes, dtype=bool))
        judged = replace(_judge(calibrated_probabilities(logits), class_labels(logits), true, importance), found=found)
        fault = judged.fault(plain)
        if not fault and (surer is None or not surer[1].has_less_loss_than(judged)):
            return calibration, reason
        if fault == MISSES_CLASS and surer is None and (found | (n_rows > 1)).all():  # One row does not show chance.
            surer = calibration, judged, reason
        reason = reason or fault
    return (None, reason) if surer is None else (surer[0], surer[2])


@dataclass(frozen=True)
class Judgement:
    """Log loss, accuracy and their standard errors on rows that neither outputs nor calibration were fitted to."""

    log_loss: float
    accuracy: float
    error_of_log_loss: float
    error_of_accuracy: float
    found: np.ndarray  # Which classes are predicted for at least one of their rows
    losses: np.ndarray  # Of each row
    weights: np.ndarray

    def has_less_loss_than(self, other: Judgement) -> bool:
        """Whether its log loss is smaller than another's on the same rows by more than the standard error."""
        gain = np.average(other.losses - self.losses, weights=self.weights)
        variance = np.average((other.losses - self.losses - gain) ** 2, weights=self.weights)
        return bool(gain > np.sqrt(variance * (self.weights**2).sum()) / self.weights.sum())

    def fault(self, plain: Judgement) -> str:
        """How it is worse than ``plain``, by more than the standard error or by a class; empty if it is not."""
        of_accuracy = np.hypot(self.error_of_accuracy, plain.error_of_accuracy)
        of_log_loss = np.hypot(self.error_of_log_loss, plain.error_of_log_loss)
        if self.accuracy < plain.accuracy - of_accuracy:
            return f"the accuracy on rows held out is {self.accuracy:.3f} with it and {plain.accuracy:.3f} without"
        if self.log_loss > plain.log_loss + of_log_loss:
            return f"the log loss on rows held out is {self.log_loss:.3g} with it and {plain.log_loss:.3g} without"
        return MISSES_CLASS if (plain.found & ~self.found).any() else ""


def _judge(probabilities: np.ndarray, decided: np.ndarray, true: np.ndarray, weights: np.ndarray) -> Judgement:
    """Judge probabilities, shape (n, k), and decisions for rows of the classes ``true``, both of shape (n,)."""
    losses = -np.log(np.maximum(probabilities[np.arange(len(true)), true], LEAST_SHARE))
    right = decided == true
    n = weights.sum() ** 2 / (weights**2).sum()  # The number of equal weights that would have the same variance
    # Rule of succession: standard errors count one more row, whose class is impossible. No error among the rows does
    # not show that errors are impossible.
    share = np.append(weights / weights.sum(), 1.0 / n) / (1.0 + 1.0 / n)
    both = np.append(losses, -np.log(LEAST_SHARE)), np.append(right, 0.0)
    of_log_loss, of_accuracy = (float(np.sqrt(share @ (values - share @ values) ** 2 / n)) for values in both)
    return Judgement(
        float(np.average(losses, weights=weights)),
        float(np.average(right, weights=weights)),
        of_log_loss,
        of_accuracy,
        np.bincount(true[right], minlength=probabilities.shape[1]) > 0,
        losses,
        weights,
    )


def _message(calibration: Calibration | None, reason: str) -> str:
    used: dict[str | None, str] = {None: "No calibration is used", BOUNDED: "A calibration of bounded outputs is used"}
    used |= {SCALED: "A calibration with a single factor is used, which keeps the decisions of the outputs"}
    instead = used[None if calibration is None else calibration.form]
    return (
        f"The usual calibration of probabilities is not used: {reason}. {instead}. If some outputs are far too large, "
        "more regularization or scaled columns (StandardScaler) help."
    )


def _join_labels(each: list[Calibration]) -> Calibration:
    """The calibrations of several labels as one."""
    units = [np.full(1, np.inf) if calibration.units is None else calibration.units for calibration in each]
    return Calibration(
        np.diag([calibration.matrix[0, 0] for calibration in each]),
        np.array([calibration.shift[0] for calibration in each]),
        float(np.mean([calibration.log_loss for calibration in each])),
        each[0].n_rows,
        None if all(calibration.units is None for calibration in each) else np.concatenate(units),
        ", ".join(sorted({calibration.form for calibration in each})),
    )


def _median_size(scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted median size of all outputs, for each of c columns."""
    sizes = np.abs(scores.astype(np.float64)).ravel()
    order, of_sizes = np.argsort(sizes), np.repeat(weights, scores.shape[1])
    total = np.cumsum(of_sizes[order])
    median = sizes[order[np.searchsorted(total, total[-1] / 2.0)]]
    return np.full(scores.shape[1], float(median) or float(np.average(sizes, weights=of_sizes)) or 1.0)


def _bounded(scores: np.ndarray, units: np.ndarray) -> np.ndarray:
    unchanged = np.isinf(units)
    return np.where(unchanged, scores, scores / (np.where(unchanged, 1.0, units) + np.abs(scores)))


def _scale(s: np.ndarray, own: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """One factor for all outputs."""
    rows, label, c = np.arange(len(s)), class_labels(own), s.shape[1]

    def loss(log_scale: float) -> float:
        logits = np.exp(log_scale) * s
        of_classes = np.hstack([np.zeros_like(logits), logits]) if c == 1 else logits
        return -float(weights @ log_softmax(of_classes, axis=1)[rows, label])

    found = scipy.optimize.minimize_scalar(loss, bounds=np.log(SCALES), method="bounded")
    return np.exp(found.x) * np.eye(c), np.zeros(c), found.fun


def _two_classes(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    s, positive = scores[:, 0], positive[:, 0]
    n_positive, n_negative = weights[positive].sum(), weights[~positive].sum()
    wanted = np.where(positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    unit, frequency = max(float(s.std()), 1e-12), np.log((n_positive + 1.0) / (n_negative + 1.0))

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        logit = v[0] * s / unit + v[1]
        value = np.sum(weights * (np.logaddexp(0.0, logit) - wanted * logit))
        off = weights * (expit(logit) - wanted)
        return value, np.array([off @ s / unit, off.sum()])

    found = scipy.optimize.minimize(loss, [1.0, frequency], jac=True, method="L-BFGS-B")
    # A falling sigmoid would reverse the decisions; if the outputs are uninformative, the frequencies decide.
    slope, shift = found.x if found.x[0] > 0 else (1e-6, frequency)
    return np.array([[slope / unit]]), np.array([shift]), loss(np.array([slope, shift]))[0]


def _several_classes(
    scores: np.ndarray, own: np.ndarray, weights: np.ndarray, start: Calibration | None = None
) -> tuple[np.ndarray, np.ndarray, float]:
    k = scores.shape[1]
    label = own.argmax(axis=1)
    missed = 1.0 / (np.bincount(label, weights, minlength=k)[label] + 2.0) / (k - 1.0)
    wanted = np.where(own, 1.0 - (k - 1.0) * missed[:, None], missed[:, None])
    weighted, mixed = weights[:, None] * wanted, k <= MOST_CLASSES
    end = 1 + (k * k if mixed else k)

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        deviation, shift = v[1:end], v[end:]
        matrix = np.exp(v[0]) * np.eye(k) + (deviation.reshape(k, k) if mixed else np.diag(deviation))
        logs = log_softmax(scores @ matrix + shift, axis=1)
        off = weights[:, None] * (np.exp(logs) - wanted)
        slope = scores.T @ off
        value = -np.sum(weighted * logs)
        value += 0.5 / SPREAD * (deviation @ deviation + shift @ shift)
        freed = np.ravel(slope) if mixed else np.diagonal(slope)
        gradient = [[np.exp(v[0]) * np.trace(slope)], freed + deviation / SPREAD, off.sum(0) + shift / SPREAD]
        return value, np.concatenate(gradient)

    first = np.zeros(end + k)
    if start is not None:
        # At an optimum the deviations of the diagonal have the sum 0, because the factor has no prior.
        first[0] = np.log(max(np.diagonal(start.matrix).mean(), 1e-3))
        deviation = start.matrix - np.exp(first[0]) * np.eye(k)
        first[1:end], first[end:] = deviation.ravel() if mixed else np.diagonal(deviation), start.shift
    options = {"maxiter": 100, "ftol": LOOSE if start else TIGHT}
    found = scipy.optimize.minimize(loss, first, jac=True, method="L-BFGS-B", options=options)
    deviation, shift = found.x[1:end], found.x[end:]
    matrix = np.exp(found.x[0]) * np.eye(k) + (deviation.reshape(k, k) if mixed else np.diag(deviation))
    return matrix, shift, -np.sum(weighted * log_softmax(scores @ matrix + shift, axis=1))
