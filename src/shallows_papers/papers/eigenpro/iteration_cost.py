"""Time of one iteration of EigenPro and of plain kernel SGD, as ratios within one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from shallows import arrays, kernels
from shallows.arrays import Array
from shallows.errors import ShallowsError, UnknownNameError
from shallows.gram import Gram
from shallows.solvers.least_squares.eigenpro import EigenProStepper
from shallows.solvers.least_squares.kernel_problem import KernelProblem
from shallows.solvers.least_squares.kernel_sgd import KernelSGDStepper
from shallows.solvers.least_squares.step_rules import Cycle
from shallows.spectrum.kernel_preconditioner import EIGENSYSTEMS, Preconditioner, make_preconditioner
from shallows.spectrum.randomized_rows import make_rsvd_preconditioner

from ..results import AnalysisResult
from ..samples import sample
from ..timing import fastest
from .eigenvalues import check_rank

AVERAGED = Cycle(1, (), (1.0,), memory=100.0)
"""A step for noisy batches: bounded by its own batch, with averaged iterates."""


def overhead(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    ranks: Sequence[int] = (10, 20, 40, 80, 160, 320),
    n_subsample: int = 1000,
    eigensystem: str = "subsample",
    batch_size: int = 256,
    n_points: int | None = None,
    rounds: int = 15,
    random_state: int = 0,
    device: str = "auto",
) -> AnalysisResult:
    """Time of an EigenPro iteration over that of plain kernel SGD, by the rank; kernel values are computed each time.

    With the eigensystem of the subsample, the iteration has the bound and the average of the certified rule for noisy
    batches. With "rsvd" (eigenvectors of length n), it is the paper's iteration. All training points are centers unless
    `n_points` is given. The fastest round counts.

    Over q: ``overhead`` in percent; ``correction``, the time of the correction in units of the first rank's correction,
    computed in the order of ``operations`` for eigenvectors of length n; ``extra_operations`` in percent,
    multiplications of the correction divided by multiplications of an iteration; ``operations``, the same if the
    correction begins with the product of the batch's kernel values and the eigenvectors; ``extra_numbers``, the numbers
    stored by the preconditioner divided by q times the points that it changes.
    """
    x, targets, made = _inputs(data, kernel, bandwidth, n_points, random_state, device)
    n, d = x.shape[0], x.shape[1] - 2
    m, size = min(n_subsample, n), min(batch_size, n)
    check_rank(max(ranks), m)
    UnknownNameError.check("eigensystem", eigensystem, EIGENSYSTEMS)
    if eigensystem == "rsvd":
        whole = make_rsvd_preconditioner(made, x, rank=max(ranks), n_rows=m, seed=random_state)
        cycle, m = None, n
    else:
        whole = make_preconditioner(made, x, rank=max(ranks), n_subsample=m, seed=random_state)
        cycle = AVERAGED
    if whole.rank < max(ranks):
        raise ShallowsError(f"Only {whole.rank} directions of the subsample are resolved. Use ranks up to this number.")
    matrix = Gram(made, x, budget=0)
    c = targets.shape[1]

    work: dict[Any, Callable[[], Any]] = {
        0: _repeated_step(KernelSGDStepper(1e-6), KernelProblem(matrix, targets), size)
    }
    parts = {q: truncated(whole, q) for q in ranks}
    for q, one in parts.items():
        work[q] = _repeated_step(EigenProStepper(1e-6, cycle), KernelProblem(matrix, targets, None, one), size)
    columns, gradient = kernels.values(made, x[:size, :], x[:m, :]), arrays.contiguous(targets[:size, :])
    of_all = columns.T @ gradient  # the gradient at all centers; section 3.3 counts its products with vectors

    def correct(one: Preconditioner) -> None:
        if eigensystem == "rsvd":
            arrays.synchronize(one.expand(one.vectors.T @ of_all))
        else:
            arrays.synchronize(one.correction(columns, gradient))

    work |= {("correction", q): partial(correct, one) for q, one in parts.items()}
    seconds = fastest(work, rounds, targets)
    plain = size * n * (d + c)
    return AnalysisResult(
        list(ranks),
        {
            "overhead": [100.0 * (seconds[q] / seconds[0] - 1.0) for q in ranks],
            "correction": [seconds["correction", q] / seconds["correction", ranks[0]] for q in ranks],
            "extra_operations": [100.0 * (size * m * c + 2.0 * q * m * c) / plain for q in ranks],
            "operations": [100.0 * q * (size * m + size * c + m * c) / plain for q in ranks],
            "extra_numbers": [parts[q].vectors.size / (q * m) for q in ranks],
        },
        effective={"n_points": n, "n_features": d, "n_subsample": m, "batch_size": size, "rounds": rounds},
    )


def truncated(preconditioner: Preconditioner, rank: int) -> Preconditioner:
    """Return a preconditioner with fewer directions and the same certificate."""
    vectors = arrays.contiguous(preconditioner.vectors[:, :rank])
    return replace(preconditioner, eigenvalues=preconditioner.eigenvalues[: rank + 1], vectors=vectors)


def per_iteration(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    along: str = "n_points",
    sizes: Sequence[int] = (500, 1000, 2000, 4000),
    batch_size: int = 256,
    rounds: int = 15,
    random_state: int = 0,
    device: str = "auto",
) -> AnalysisResult:
    """Time of an iteration of plain kernel SGD against the number of centers or the batch size.

    Over the sizes: ``time``, in units of the first size's time.
    """
    UnknownNameError.check("axis", along, ("n_points", "batch_size"))
    x, targets, made = _inputs(data, kernel, bandwidth, None, random_state, device)
    n = x.shape[0]
    sizes = sorted({min(size, n) for size in sizes})
    work = {}
    for size in sizes:
        rows, m = (size, min(batch_size, size)) if along == "n_points" else (n, size)
        problem = KernelProblem(Gram(made, arrays.contiguous(x[:rows, :]), budget=0), targets[:rows, :])
        work[size] = _repeated_step(KernelSGDStepper(1e-6), problem, m)
    seconds = fastest(work, rounds, targets)
    times = [seconds[size] / seconds[sizes[0]] for size in sizes]
    return AnalysisResult(
        sizes, {"time": times}, effective={"along": along, "n_features": x.shape[1] - 2, "rounds": rounds}
    )


def _repeated_step(solver: Any, problem: KernelProblem, m: int) -> Callable[[], None]:
    """Return a repeatable step on the first batch, with a negligible step size.

    No coefficient is zero, as after a first epoch, because products skip rows of zeros.
    """
    state = solver.init(problem)
    state.iterate[...] = 1.0

    def step() -> None:
        arrays.synchronize(solver.step(problem, state, slice(0, m)).coefficients)

    return step


def _inputs(
    data: Any, kernel: str, bandwidth: float | None, n_points: int | None, seed: int, device: str
) -> tuple[Array, Array, Any]:
    """Return float32 points as in training, their targets and the kernel."""
    part = sample(data, kernel, bandwidth, n_points=n_points, random_state=seed, device=device)
    xp = arrays.namespace(part.inputs)
    return (
        kernels.augmented(arrays.astype(part.inputs, xp.float32)),
        arrays.astype(part.targets, xp.float32),
        part.kernel,
    )
