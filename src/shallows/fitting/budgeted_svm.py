"""The fit of a support vector machine with the Gaussian kernel and a budget of support vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays, kernels, streams
from ..errors import ShallowsError
from ..models.centring import stay_sparse
from ..models.host_functions import GaussianSum
from ..solvers.budgeted.budgeted_sgd import BudgetedSGD, BudgetedState
from ..spectrum.leave_one_out import RidgeChoice
from . import column_scales, leave_one_out_choice
from .checks import warn_user
from .machine import Options
from .phases import Phases
from .row_by_row import chosen_ridge, make_rows, train_on_rows, warn_of_large_loss
from .two_classes import Machines

DEFAULT_BUDGET = 100


@dataclass(frozen=True)
class FittedBudgetedSVM:
    """What a fit leaves, and the next call of ``partial_fit`` goes on from.

    Attributes
    ----------
    model : GaussianSum
    budget : int
    ridge : float
        λ.
    n_steps : int
        Examples that were visited.
    n_epochs : int
    selection : dict
        How the bandwidth was chosen.
    report : dict
    seconds : dict
    """

    model: GaussianSum
    budget: int
    ridge: float
    n_steps: int
    n_epochs: int
    selection: dict[str, Any]
    report: dict[str, Any]
    seconds: dict[str, float]


def fit_budgeted_svm(
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    *,
    targets: Machines,
    solver: BudgetedSGD,
    bandwidth: float | str | None,
    regularisation: float | None,
    streamed: bool,
    before: FittedBudgetedSVM | None,
    seed: int,
    options: Options,
    name: str,
) -> FittedBudgetedSVM:
    """Train on checked rows for some epochs; the rows of a stream are visited once, to go on from a fit before."""
    phases, n = Phases(), len(y)
    offsets = column_scales.far_offsets(X) if before is None else before.model.offsets
    X = column_scales.shifted(X, offsets)
    factors = weights if streamed or weights is None else weights / weights.mean()
    rows = make_rows(X, targets.numbers(y), factors, len(targets.classes))
    ridge = chosen_ridge(regularisation, n, None if before is None else before.ridge, streamed=streamed)
    if before is None:
        choice = choose_bandwidth(X, targets.ridge_codes(y), weights, bandwidth, n * ridge, seed)
        width = float(leave_one_out_choice.given_bandwidth(bandwidth, choice) or median_distance(X, seed))
        selection = leave_one_out_choice.report(choice)
        most = chosen_budget(solver.budget, n, streamed=streamed)
        check_room(most, X.shape[1] + 2 + (most if solver.maintenance == "projection" else 0), options)
    else:
        width, selection, most = before.model.bandwidth, before.selection, before.budget
    stepper = solver.build(kernels.Gaussian(width), most, ridge)
    state = None if before is None else state_of(before, stepper.init(rows))
    phases.end("preparation")
    run = train_on_rows(stepper, rows, state, seed, None if streamed else solver.max_epochs, options, name)
    state = run.state
    model = GaussianSum(np.ascontiguousarray(state.centres + offsets), state.coefficients.copy(), width, offsets)
    warn_of_large_loss(run)
    report = {
        "kernel": "gaussian",
        "bandwidth": width,
        "budget": most,
        "n_support": state.n_points,
        "n_violations": state.n_violations,
        "lost": state.lost,
        **selection,
        "regularisation": ridge,
        "seed": seed,
        "stopped_by": "end of the rows" if streamed else run.stopped_by,
    }
    n_epochs, seconds = 1 if streamed else max(run.epoch, 1), phases.seconds | {"training": run.seconds}
    return FittedBudgetedSVM(model, most, ridge, state.n_steps, n_epochs, selection, report, seconds)


def choose_bandwidth(
    X: Any, codes: np.ndarray, weights: np.ndarray | None, bandwidth: Any, ridge: float, seed: int
) -> RidgeChoice | None:
    """How the bandwidth was chosen, for the sum of squared errors and a ridge term; None if it is given."""

    def points_of(rows: np.ndarray) -> arrays.Array:
        if stay_sparse(X):
            return kernels.augmented(arrays.SparsePoints(X[rows].astype(np.float64)))
        some = X[rows].toarray() if scipy.sparse.issparse(X) else X[rows]
        some = some.astype(np.float64)
        # Distances do not depend on the origin, and are more exact about the mean.
        return kernels.augmented(some - some.mean(axis=0))

    return leave_one_out_choice.choose_kernel_ridge(
        "gaussian", bandwidth, None, points_of, codes, weights, seed, regularisation=ridge
    )


def median_distance(X: Any, seed: int) -> float:
    """The median distance between some points."""
    rows = streams.permutation(seed, "first look", 0, X.shape[0])[:1000]
    if stay_sparse(X):
        some = arrays.SparsePoints(X[rows])
    else:
        some = X[rows].toarray() if scipy.sparse.issparse(X) else X[rows]
    try:
        return kernels.median_bandwidth(some.astype(np.float64), seed)
    except ShallowsError:
        return 1.0  # All points are the same, and so are the functions of all bandwidths.


def chosen_budget(budget: int | None, n: int, *, streamed: bool) -> int:
    """The most support vectors; of a stream there are more rows to come."""
    if not streamed and budget is not None and budget > n:
        warn_user(f"The budget of {budget} is above the number of training rows, and brought down to {n}.", UserWarning)
    return budget or DEFAULT_BUDGET if streamed else min(n, budget or DEFAULT_BUDGET)


def check_room(budget: int, row: int, options: Options) -> None:
    """Refuse support vectors of so many numbers each that the memory has no room for."""
    room, remedy = options.budget(arrays.Device("cpu")), "Take a smaller budget, or give more memory."
    arrays.check_room(f"{budget:,} support vectors take", 8 * budget * row, room, remedy)


def state_of(before: FittedBudgetedSVM, state: BudgetedState) -> BudgetedState:
    """The state of a fitted machine, from an empty one."""
    points = kernels.augmented(before.model.support_vectors - before.model.offsets)
    state.fill(points, before.model.coefficients)
    state.n_steps = before.n_steps
    return state
