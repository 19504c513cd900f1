"""Outputs at training rows, or at rows held out, of functions of least squares that were not fitted to these rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arrays, training
from ..arrays import Array
from .rows import HeldOut, TrainingSet
from .square_targets import SquareTargets

if TYPE_CHECKING:
    from .choices import Choices

LARGEST_DIFFERENCE = 0.25
"""Largest median difference between outputs at training rows and the outputs of the closed form, as a share of their
median size. It was 0.05 at most where training converged to ``tol``."""

OutputsAt = Callable[[Any, Any], np.ndarray]
"""The outputs, shape (m, c), at points (m, d) of a function with coefficients."""


@dataclass(frozen=True)
class LeftOut:
    """Outputs of functions at m rows that these functions were not fitted to."""

    scores: np.ndarray  # (m, c)
    y: np.ndarray  # The targets of the rows, as the user gave them
    weights: np.ndarray | None  # (m,)
    places: np.ndarray | None  # (m,): the rows among all training rows; None for rows that early stopping held out
    of_distant_model: np.ndarray | None = None
    """Outputs of the model at the rows, if its training ended far from the solution that the scores belong to."""


def outputs_at(function: Any, targets: SquareTargets, device: arrays.Device, budget: int) -> OutputsAt:
    """How the outputs of a function with other coefficients are found, in the units of the targets."""
    return lambda points, a: targets.unscale(replace(function, coefficients=a).scores(points, device, budget))


def leave_out(
    outputs: OutputsAt,
    targets: SquareTargets,
    rows: TrainingSet,
    order: np.ndarray,
    coefficients: Any,
    held_out: HeldOut | None,
    choices: Choices,
    spans: Sequence[slice],
    direct: tuple[np.ndarray, slice] | None = None,
) -> LeftOut | None:
    """Outputs at held-out rows, at rows left out in closed form, or at rows that further coefficients lack, or None.

    ``rows`` are in the user's order, and ``order`` has the row at each place of the fit. ``coefficients``: of the
    model's c outputs, then of the k further sets, which were not trained on the k ``spans``. ``direct``: outputs at
    rows, in the order of the fit, from a factored kernel matrix.
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
