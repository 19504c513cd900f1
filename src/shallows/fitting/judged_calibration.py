"""The calibration that a model uses: the first of several that is as good as none on rows kept apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .calibration import (
    BOUNDED,
    SCALED,
    Calibration,
    calibrate,
    calibrate_bounded,
    calibrate_scale,
    class_numbers,
    row_weights,
    units_of,
)
from .checks import warn_user
from .choices import Choices
from .early_stopping import HeldOut
from .rows import TrainingSet
from .square_targets import LEAST_SHARE, SquareClassTargets, calibrated_probabilities, plain_probabilities

N_FOLDS = 5
"""Each fifth of the rows judges a calibration that was fitted to the others."""


MISSES_CLASS = "with it a class is never predicted"

MOST_LOOKED_AT = 100
"""Training rows of a class that tell whether it is ever predicted."""

LARGEST_DIFFERENCE = 0.25
"""Between outputs at training rows and those of the closed form, whose left-out outputs a calibration is learnt on, as
a share of their median size. Where training converged to ``tol``, it was 0.05 at most."""


@dataclass(frozen=True)
class Judgement:
    """Log loss, accuracy and their standard errors, on rows that outputs and calibration were not fitted to.

    The standard errors count one more row, for which the true class is impossible (rule of succession): rows without
    any error do not show that errors are impossible. ``found`` says which classes are predicted for one of their rows.
    """

    log_loss: float
    accuracy: float
    error_of_log_loss: float
    error_of_accuracy: float
    found: np.ndarray
    losses: np.ndarray  # Of each row
    weights: np.ndarray

    @classmethod
    def of(cls, probabilities: np.ndarray, decided: np.ndarray, own: np.ndarray, weights: np.ndarray) -> Judgement:
        """Judge probabilities, shape (n, k), and decisions for rows of the classes ``own``, both of shape (n,)."""
        losses = -np.log(np.maximum(probabilities[np.arange(len(own)), own], LEAST_SHARE))
        right = decided == own
        n = weights.sum() ** 2 / (weights**2).sum()  # As many equal weights would have the same variance.
        with_another = np.append(weights / weights.sum(), 1.0 / n) / (1.0 + 1.0 / n)

        def standard_error(values: np.ndarray) -> float:
            return float(np.sqrt(with_another @ (values - with_another @ values) ** 2 / n))

        return cls(
            float(np.average(losses, weights=weights)),
            float(np.average(right, weights=weights)),
            standard_error(np.append(losses, -np.log(LEAST_SHARE))),
            standard_error(np.append(right, 0.0)),
            np.bincount(own[right], minlength=probabilities.shape[1]) > 0,
            losses,
            weights,
        )

    def has_less_loss_than(self, other: Judgement) -> bool:
        """Whether its log loss is less than that of another on the same rows by more than the standard error."""
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
        if (plain.found & ~self.found).any():
            return MISSES_CLASS
        return ""


@dataclass(frozen=True)
class Model:
    """What a model says of its training rows: ``outputs`` at rows of given numbers, and the ``codes`` of all rows."""

    outputs: Callable[[np.ndarray], np.ndarray]
    codes: np.ndarray

    def column(self, k: int) -> Model:
        """The model of one of several labels."""
        return Model(lambda rows: self.outputs(rows)[:, [k]], self.codes[:, [k]])

    def finds(self, label: int, calibration: Calibration | None = None) -> bool:
        """Whether a class is predicted for any of some training rows of the class."""
        rows = np.flatnonzero(class_numbers(self.codes) == label)[:MOST_LOOKED_AT]
        outputs = self.outputs(rows)
        return bool((_decided(outputs if calibration is None else calibration.logits(outputs)) == label).any())


def calibrate_judged(
    scores: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    shares: np.ndarray,
    all_codes: np.ndarray,
    *,
    model: Model | None = None,
    multilabel: bool = False,
) -> Calibration | None:
    """Learn a calibration that is as good as none on rows that neither it nor the outputs were fitted to.

    Candidates are the usual calibration, the same of bounded outputs, and one factor of bounded outputs, in this order.
    One that never predicts a class is used only if those that do have a larger log loss, by more than its standard
    error, and two rows held out have the class. Then the outputs found the class by chance.

    Parameters
    ----------
    scores, codes, weights, shares
        As for `calibrate`.
    all_codes : ndarray, shape (m, c)
        Of all training rows that are left out one by one or in parts.
    model : Model, optional
        With it, a class that the outputs of the model find in training rows is one that a calibration has to find.
    multilabel : bool
        Whether each column has its own calibration.

    Returns
    -------
    Calibration or None
        None where every calibration is worse. Any but the usual one comes with a warning.
    """
    if not multilabel:
        made, reason = _first_good(scores, codes, weights, shares, all_codes, model)
        if reason:
            warn_user(_message(made, reason), UserWarning)
        return made
    each, reasons = [], []
    for k in range(scores.shape[1]):
        column = scores[:, [k]], codes[:, [k]], weights, shares[[k]]
        made, reason = _first_good(*column, all_codes[:, [k]], model and model.column(k))
        each.append(made or calibrate_scale(*column))
        reasons += [(each[-1], f"for label {k} {reason}")] if reason else []
    if reasons:
        warn_user(_message(*reasons[0]), UserWarning)
    return _side_by_side(each)


def learn_calibration(
    targets: SquareClassTargets,
    rows: TrainingSet,
    codes: np.ndarray,
    order: np.ndarray,
    outputs: Callable[[Any, Any], np.ndarray],
    coefficients: Any,
    held_out: HeldOut | None,
    left_out: tuple[np.ndarray, slice] | None,
    choices: Choices,
    spans: Sequence[slice],
) -> Calibration | None:
    """Learn it on the rows that early stopping held out, on all, or on those that further sets of outputs lack.

    Parameters
    ----------
    targets : SquareClassTargets
    rows : TrainingSet
        That the function was fitted to, in the user's order.
    codes : ndarray, shape (n, c)
        Their targets as the function learned them.
    order : ndarray of int, shape (n,)
        Which of the rows stands at each place of the fit.
    outputs : callable
        ``outputs(X, a)`` of checked points and some columns of coefficients, in the units of the targets.
    coefficients : array, shape (m, (1 + k) c)
        Of the model's outputs, and after them of the further sets.
    held_out : HeldOut or None
    left_out : tuple of ndarray and slice, or None
        Outputs at rows that their fit went without, in closed form, and which rows of the fit these are.
    choices : Choices
    spans : sequence of slice
        Rows of the fit that each of the further sets of outputs went without.

    Returns
    -------
    Calibration or None
        None where there are too few rows, and where every calibration is worse than none.
    """
    c, multilabel, X, weights = codes.shape[1], targets.several, rows.X, rows.weights
    own = coefficients[:, :c]
    model = Model(lambda some: outputs(X[some], own), codes)
    shares = np.average(codes > 0, axis=0, weights=weights)
    if held_out is not None:
        scores, aims = outputs(held_out.X, own), targets.aims(held_out.y)
        all_codes = np.concatenate([codes, aims])
        return calibrate_judged(scores, aims, held_out.weights, shares, all_codes, model=model, multilabel=multilabel)
    if left_out is not None:
        scores, chosen = left_out[0], order[left_out[1]]
    elif spans:
        parts = [order[span] for span in spans]
        sets = [coefficients[:, (k + 1) * c : (k + 2) * c] for k in range(len(parts))]
        scores = np.concatenate([outputs(X[part], a) for part, a in zip(parts, sets, strict=True)])
        chosen = np.concatenate(parts)
    else:
        return None
    by_closed_form = left_out is not None and choices.path is not None
    all_codes = codes[order][choices.distinct_rows()] if by_closed_form else codes
    given = scores, codes[chosen], None if weights is None else weights[chosen], shares, all_codes
    if by_closed_form:
        mine, closed = outputs(X, own)[order], choices.fitted_scores()
        if np.median(np.abs(mine - closed)) > LARGEST_DIFFERENCE * np.median(np.abs(closed)):
            made = replace(_scale_of(*given[:4], multilabel=multilabel), units=units_of(mine, row_weights(*given[1:4])))
            reason = "the training ended far from the solution that the left-out outputs belong to"
            warn_user(_message(made, reason), UserWarning)
            return made
    return calibrate_judged(*given, model=model, multilabel=multilabel)


def _first_good(
    scores: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    shares: np.ndarray,
    all_codes: np.ndarray,
    model: Model | None,
) -> tuple[Calibration | None, str]:
    """The calibration, and what is wrong with the usual one."""
    n_classes = max(2, codes.shape[1])
    everywhere = np.bincount(class_numbers(all_codes), minlength=n_classes)
    # The output at the only row of a class is that of a function that never saw the class, and says nothing about it.
    unknown = (np.bincount(class_numbers(codes), minlength=n_classes) == 0) | (everywhere < 2)
    reason = ""
    if unknown.any():
        reason = f"a class has {everywhere[unknown.argmax()]} of {len(all_codes)} rows, too few to hold one out"
    surer: tuple[Calibration, Judgement, str] | None = None  # Misses a class, which may be noise
    rows = _Rows.of(scores, codes, weights, shares)
    if len(rows.scores) < 2:
        return None, reason or "all rows held out are equal"
    plain = rows.judge(plain_probabilities(rows.scores), rows.scores)
    for learn in (calibrate_scale,) if unknown.any() else (calibrate, calibrate_bounded, calibrate_scale):
        made, logits = learn(scores, codes, weights, shares), np.zeros(rows.scores.shape)
        for k in range(min(N_FOLDS, len(logits))):
            here = np.arange(len(logits)) % N_FOLDS == k
            rest = rows.scores[~here], rows.codes[~here], rows.weights[~here]
            logits[here] = learn(*rest, shares).logits(rows.scores[here])
        # Without a fifth of the rows a class may have too few, so this is asked of the calibration of all rows.
        found = rows.judge(plain_probabilities(rows.scores), made.logits(rows.scores)).found
        if model is not None:
            found = np.array([found[k] or not model.finds(k) or model.finds(k, made) for k in range(n_classes)])
            plain = replace(plain, found=np.ones(n_classes, dtype=bool))
        judged = replace(rows.judge(calibrated_probabilities(logits), logits), found=found)
        fault = judged.fault(plain)
        if not fault and (surer is None or not surer[1].has_less_loss_than(judged)):
            return made, reason
        shown = np.bincount(class_numbers(codes), minlength=n_classes) > 1  # A single row does not show chance.
        if fault == MISSES_CLASS and surer is None and (found | shown).all():
            surer = made, judged, reason
        reason = reason or fault
    return (None, reason) if surer is None else (surer[0], surer[2])


@dataclass(frozen=True)
class _Rows:
    """Rows to judge on, by class and by their scores. Rows that are equal are one, of the sum of their weights."""

    scores: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, shares: np.ndarray) -> _Rows:
        keys = np.column_stack([class_numbers(codes), scores])
        first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)[1:]
        return cls(scores[first], codes[first], np.bincount(group.reshape(-1), weights), shares)

    def judge(self, probabilities: np.ndarray, decisive: np.ndarray) -> Judgement:
        """Judge probabilities of classes, and decisions by outputs or logits."""
        own, weights = class_numbers(self.codes), row_weights(self.codes, self.weights, self.shares)
        return Judgement.of(probabilities, _decided(decisive), own, weights)


def _scale_of(
    scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, shares: np.ndarray, *, multilabel: bool
) -> Calibration:
    """`calibrate_scale`, for several labels of each column."""
    if not multilabel:
        return calibrate_scale(scores, codes, weights, shares)
    columns = range(scores.shape[1])
    return _side_by_side([calibrate_scale(scores[:, [k]], codes[:, [k]], weights, shares[[k]]) for k in columns])


def _decided(scores: np.ndarray) -> np.ndarray:
    """The number of the class that outputs or logits decide for, for each row."""
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)


def _message(made: Calibration | None, reason: str) -> str:
    used = {None: "No calibration is used", BOUNDED: "A calibration of bounded outputs is used"}
    used |= {SCALED: "A calibration with a single factor is used, which keeps the decisions of the outputs"}
    return (
        f"The usual calibration of probabilities is not used: {reason}. {used[made and made.form]}. If some outputs "
        "are far too large, a larger regularisation or scaled columns (StandardScaler) help."
    )


def _side_by_side(each: list[Calibration]) -> Calibration:
    """The calibrations of single columns as one."""
    units = [np.full(1, np.inf) if made.units is None else made.units for made in each]
    return Calibration(
        np.diag([made.matrix[0, 0] for made in each]),
        np.array([made.shift[0] for made in each]),
        float(np.mean([made.log_loss for made in each])),
        each[0].n_rows,
        None if all(made.units is None for made in each) else np.concatenate(units),
        ", ".join(sorted({made.form for made in each})),
    )
