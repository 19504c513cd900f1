"""What a fit over centers chooses from the training rows: their order, the kernel and λ, and the solver."""

from __future__ import annotations

from typing import Any

from .. import kernels
from ..arrays import Array
from ..kernels import Kernel
from ..models.centring import Centring
from ..solvers.least_squares.projected import ProjectedEigenPro
from ..spectrum.kernel_ridge_choice import AUTO, LEAST_ROWS, is_automatic, number_of_rows
from .center_points import Centers, are_training_points
from .choices import Choices, Request, Sample, choose_kernel, choose_on_all_rows, held_out_spans
from .machine import SMALL

EIGENPRO, CONJUGATE_GRADIENTS = "eigenpro", "conjugate_gradients"

ROWS_PER_CENTER = 50
"""solver="auto" may change to EigenPro's steps only where there are so many rows for each center. With fewer, an epoch
has few batches, and the decomposition for the steps takes as long as some epochs."""


def span_to_choose_with(centers: Any, n: int, bandwidth: Any, regularisation: Any) -> slice:
    """Rows, in the order of the fit, that parameters are chosen with."""
    if not (is_automatic(regularisation) or is_automatic(bandwidth)):
        return slice(0, 0)
    # The first of the centers choose, and where the centers are too few the rows after them.
    stop, few = number_of_rows(n), 0 if not are_training_points(centers) or isinstance(centers, str) else int(centers)
    return slice(few, few + stop) if few and few < stop else slice(0, min(stop, LEAST_ROWS))


def spans_left_out(centers: Any, n: int, n_outputs: int) -> list[slice]:
    """Rows, in the order of the fit, that a calibration is learned on; none where all are left out in closed form."""
    are_all = isinstance(centers, str) or (are_training_points(centers) and centers >= n)
    return [] if are_all and n <= SMALL else held_out_spans(n, 0, n_outputs)


def measure_points(X: Any, kernel: Any, centers: Any) -> Centring:
    """What is subtracted from the points."""
    kind = kernels.kind(kernel)
    kind.check_inputs(X.shape[1])
    return Centring.of(
        X,
        centred=kind.shift_invariant,
        without_constants=kind.of_distance and are_training_points(centers),
        may_stay_sparse=kind.takes_sparse_points,
    )


def begins_with_steps(solver: str, steps: ProjectedEigenPro, regularisation: Any, *, all_equal: bool) -> bool:
    """Whether EigenPro trains the model, whatever the time that conjugate gradients would take."""
    # Where all points are equal, one step of EigenPro is the mean of the targets.
    suits = bool(steps.given) or regularisation == 0 or all_equal
    return solver == EIGENPRO or (solver == AUTO and suits)


def may_change_to_steps(solver: str, placed: Centers, max_seconds: float | None, matrix: Any) -> bool:
    """Whether EigenPro trains the model where conjugate gradients would take too long."""
    enough = len(placed.rows) >= ROWS_PER_CENTER * placed.n
    return max_seconds is not None and solver == AUTO and enough and matrix is None


def choose_kernel_of_centers(
    request: Request, placed: Centers, targets: Array, weights: Array | None, budget: int
) -> tuple[Kernel, Choices]:
    """The kernel, and how its bandwidth and λ were chosen; ``targets, weights`` are of all rows in their order."""

    def first_rows(m: int) -> tuple[Array, Array, Array | None]:
        return placed.rows(slice(0, m)), targets[:m, :], None if weights is None else weights[:m]

    return choose_kernel(
        request,
        Sample(*placed.rows_to_choose_with(targets, weights)),
        budget - placed.points.nbytes,
        points=placed.points,
        first_rows=first_rows,
        size=(len(placed.rows), placed.n_inputs),
        n_units=placed.n,
    )


def with_all_rows(
    request: Request,
    choices: Choices,
    kernel: Kernel,
    placed: Centers,
    targets: Array,
    weights: Array | None,
    *,
    calibrates: bool,
) -> Choices:
    """Choose anew with all rows of a small problem of which all are centers."""
    wanted, n = request.chooses_regularisation or calibrates, len(placed.rows)
    if not (wanted and placed.sampled and placed.n == n and 2 < n <= SMALL) or request.all_equal:
        return choices
    sample = Sample(placed.of_model, targets, weights)
    return choose_on_all_rows(request, choices, lambda x: kernels.matrix(kernel, x), sample)
