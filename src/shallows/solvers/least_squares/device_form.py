"""How the kernel matrix and the steps of EigenPro are laid out on a GPU, by the memory that there is."""

from __future__ import annotations

from ... import arrays
from ...arrays import Array
from ...gram import Gram, fused
from ...gram.whole import WholeGram, whole_bytes
from ...kernels import Kernel
from .conjugate_residuals import ConjugateResiduals
from .eigenpro import EigenPro
from .kernel_problem import KernelProblem
from .lifted_eigenpro import LiftedEigenPro, lifted, lifted_numbers

SHARE_OF_FUNCTIONS = 0.25
"""Of the budget that values of the flattened directions may take where the matrix is not kept."""


BATCHES = 8
"""Of an epoch on a GPU, where nobody says otherwise: with half of the critical batch size the launches of a step take
longer than its arithmetic. In so few batches the steps are those of `ConjugateResiduals`, which find their own length,
so that an epoch makes no less progress: on rows of MNIST that were held out, and on targets with noise, errors were the
same (``benchmarks/RESULTS-gpu.md``)."""

SHARE_OF_DIRECTIONS = 0.25
"""Of the budget that the directions of conjugate residuals may take for that."""


def filling_batch(batch_size: int, n: int, n_outputs: int, rank: int, itemsize: int, budget: int) -> int:
    """The batch size on a GPU, where that of a CPU would leave it waiting for launches.

    It is an eighth of the points, unless that of a CPU is larger, the directions take more memory than the fit may take
    beside its points, or there are too many outputs for conjugate residuals.
    """
    larger = -(-n // BATCHES)
    # Outputs for a calibration may be as many again.
    held = ConjugateResiduals(1.0, BATCHES).held_numbers(n, 2 * n_outputs, rank) * itemsize
    suits = 2 * (BATCHES - 1) * n_outputs <= larger and held <= SHARE_OF_DIRECTIONS * budget
    return max(batch_size, larger) if suits else batch_size


def gram_on(kernel: Kernel, points: Array, budget: int, beside: int = 0, *, rounds: bool = False) -> Gram:
    """The kernel matrix of points on their device: whole on a GPU where it leaves ``beside`` bytes, else in tiles.

    ``rounds``: as for `Gram`.
    """
    if arrays.device_of(points).kind != "cpu" and whole_bytes(points, budget) + beside <= budget:
        return WholeGram(kernel, points, budget=budget - beside)
    return Gram(kernel, points, budget=budget, rounds=rounds)


def problem_and_solver(
    problem_on: KernelProblem, solver: EigenPro | ConjugateResiduals, batch_size: int, budget: int
) -> tuple[KernelProblem, EigenPro | ConjugateResiduals | LiftedEigenPro]:
    """The problem and the solver in the form that suits the device, see `LiftedEigenPro`."""
    gram, targets = problem_on.gram, problem_on.targets
    if not isinstance(solver, EigenPro) or not pays(gram, targets, problem_on.preconditioner, batch_size, budget):
        return problem_on, solver
    n_batches = -(-gram.n // batch_size)
    return lifted(problem_on, batch_size), LiftedEigenPro(solver.step_size, solver.cycle, n_batches)


def lifted_bytes(points: Array, targets: Array, preconditioner: object, batch_size: int) -> int:
    """Bytes that the lifted form of the steps takes beside the plain one."""
    p, (n, c) = preconditioner, targets.shape
    return lifted_numbers(n, p.n_subsample, batch_size, p.rank, c) * arrays.itemsize(points)


def pays(gram: Gram, targets: Array, preconditioner: object, batch_size: int, budget: int) -> bool:
    """Whether the lifted form is to be taken: on a GPU with the whole matrix, or with none of it and few features.

    Without a matrix the plain form makes the columns of the subsample in every step, which the fused product leaves
    out; with tiles of many features the products that make them are what a step costs in both.
    """
    if arrays.device_of(targets).kind == "cpu":
        return False
    if isinstance(gram, WholeGram):
        return True
    taken = lifted_bytes(gram.points, targets, preconditioner, batch_size)
    return fused.applies(gram.kernel, gram.points, targets) and taken <= SHARE_OF_FUNCTIONS * budget
