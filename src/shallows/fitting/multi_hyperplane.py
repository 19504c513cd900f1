"""The fit of an adaptive multi-hyperplane machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays
from ..models.host_functions import Hyperplanes
from ..solvers.budgeted.multi_hyperplane import HyperplaneState, MultiHyperplane
from . import column_scales
from .machine import Options
from .phases import Phases
from .row_by_row import chosen_ridge, make_rows, train_on_rows, warn_of_large_loss
from .two_classes import Machines


@dataclass(frozen=True)
class FittedHyperplanes:
    """What a fit leaves, and the next call of ``partial_fit`` goes on from.

    Attributes
    ----------
    model : Hyperplanes
    ridge : float
        λ.
    n_steps : int
        Examples that were visited.
    n_epochs : int
    report : dict
    seconds : dict
    """

    model: Hyperplanes
    ridge: float
    n_steps: int
    n_epochs: int
    report: dict[str, Any]
    seconds: dict[str, float]


def fit_multi_hyperplane(
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    *,
    targets: Machines,
    solver: MultiHyperplane,
    regularisation: float | None,
    streamed: bool,
    before: FittedHyperplanes | None,
    seed: int,
    options: Options,
    name: str,
) -> FittedHyperplanes:
    """Train on checked rows for some epochs; the rows of a stream are visited once, to go on from a fit before."""
    phases, k, constant = Phases(), len(targets.classes), float(solver.constant)
    offsets = first_offsets(X, constant) if before is None else before.model.offsets
    X = column_scales.shifted(X, offsets)
    factors = weights if streamed or weights is None else weights / weights.mean()
    rows = make_rows(X, targets.numbers(y), factors, k)
    ridge = chosen_ridge(regularisation, len(y), None if before is None else before.ridge, streamed=streamed)
    arrays.check_room(
        f"{solver.n_hyperplanes * k:,} hyperplanes take",
        8 * solver.n_hyperplanes * k * (X.shape[1] + 2),
        options.budget(arrays.Device("cpu")),
        "Take a smaller n_hyperplanes, or give more memory.",
    )
    stepper = solver.build(ridge)
    state = None if before is None else state_of(before, stepper.init(rows), constant)
    phases.end("preparation")
    run = train_on_rows(stepper, rows, state, seed, None if streamed else solver.max_epochs, options, name)
    state = run.state
    model = hyperplanes_of(state, constant, k, offsets)
    warn_of_large_loss(run)
    report = {
        "n_hyperplanes": state.n_weights,
        "n_violations": state.n_violations,
        "pruned": state.pruned,
        "regularisation": ridge,
        "seed": seed,
        "stopped_by": "end of the rows" if streamed else run.stopped_by,
    }
    n_epochs, seconds = 1 if streamed else max(run.epoch, 1), phases.seconds | {"training": run.seconds}
    return FittedHyperplanes(model, ridge, state.n_steps, n_epochs, report, seconds)


def first_offsets(X: Any, constant: float) -> np.ndarray:
    """What is subtracted from the columns: nothing without a constant, which makes up for it."""
    return column_scales.far_offsets(X) if constant else np.zeros(X.shape[1])


def hyperplanes_of(state: HyperplaneState, constant: float, n_classes: int, offsets: np.ndarray) -> Hyperplanes:
    """The machine at a state of the solver."""
    found = state.coefficients
    coef = np.ascontiguousarray(found[:, :-1])
    intercept = found[:, -1] * constant - (coef * offsets).sum(axis=1)
    return Hyperplanes(coef, intercept, state.classes[: state.n_weights].copy(), n_classes, offsets)


def state_of(before: FittedHyperplanes, state: HyperplaneState, constant: float) -> HyperplaneState:
    """The state of a fitted machine, from an empty one."""
    model, n = before.model, len(before.model.coef)
    state.weights[:n, :-1] = model.coef
    state.weights[:n, -1] = model.shifted_intercept / constant if constant else 0.0
    state.classes[:n] = model.classes
    state.n_weights, state.n_steps = n, before.n_steps
    state.n_names = len(state.names)
    return state
