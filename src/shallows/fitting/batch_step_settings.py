"""Settings of methods that take steps on batches, and preconditioners that the user hands in."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .. import gram, kernels
from ..errors import ShallowsError
from ..kernels import Kernel
from ..models.functions import KernelSum
from ..ranks import ALONE
from ..spectrum import Preconditioner
from .preconditioning import Plan


@dataclass(frozen=True, kw_only=True)
class StepSettings:
    """Base of the settings of methods that take steps on batches. ``ranks``: the processes that take them."""

    batch_size: int | None = None
    shuffle: bool = False
    step_size: float | None = None
    max_epochs: int = 100
    tol: float = 5e-3
    damping: ClassVar[float] = 1.0
    n_arrays: ClassVar[int] = 6
    """Arrays of the targets' shape that a fit holds at most: the targets, the iterate, the iterate at the start of the
    epoch, the best one, a copy for a checkpoint and one for intermediate results."""
    own_threads: ClassVar[bool] = False
    """Whether the large products of a step are shared by threads of our own, while those of BLAS rest."""
    ranks: ClassVar[Any] = ALONE

    def given_preconditioner(self) -> Preconditioner | None:
        """That the user handed in."""
        return None

    def n_kept(self, n: int, itemsize: int, budget: int) -> int:
        """The first rows in the order of the fit of which none can be held out of a second set of outputs."""
        return 0

    def function(self, function: KernelSum, matrix: Any) -> KernelSum:
        """The function of a fit at work, in the form in which several processes evaluate it together."""
        return function

    def one_step(self, plan: Plan, n: int) -> Plan:
        """The plan where all points are equal: all that can be learned is the mean of the targets, in one step."""
        if self.batch_size is not None or self.step_size is not None:
            return plan
        return replace(plan, batch_size=n, step_size=1.0 / (n * plan.top_eigenvalue))

    def matrix(self, kernel: Kernel, points: Any, budget: int, batch_size: int) -> gram.Gram | gram.ShuffledGram:
        """The kernel matrix of the points in tiles, or in rows for batches of any rows."""
        if self.shuffle:
            return gram.ShuffledGram(kernel, points, budget=budget, batch_size=batch_size)
        return gram.Gram(kernel, points, budget=budget)


def subsample_first(given: Preconditioner | None, order: np.ndarray) -> np.ndarray:
    """An order that begins with the subsample of a preconditioner that was handed in, and goes on as ``order``."""
    if given is None:
        return order
    indices = given.indices
    if indices.max() >= len(order):
        raise ShallowsError(
            f"The preconditioner was made for at least {indices.max() + 1} training points, here are {len(order)}."
        )
    rest = np.ones(len(order), dtype=bool)
    rest[indices] = False
    return np.concatenate([indices, order[rest[order]]])


def kernel_of_preconditioner(given: Preconditioner, kernel: Any, bandwidth: Any, kernel_params: Any) -> Kernel:
    """The kernel of a preconditioner that was handed in.

    Raises
    ------
    ShallowsError
        If another kernel was asked for.
    """
    name, width, parameters = kernels.translated(kernel, bandwidth, kernel_params)
    wanted = kernels.kind(name)
    if not isinstance(wanted, Kernel):
        # Where no bandwidth is given, it is that of the preconditioner.
        if (width is None or isinstance(width, str)) and wanted.takes_bandwidth:
            width = given.kernel.bandwidth
        width = None if isinstance(width, str) else width
        wanted = kernels.make(name, width, **parameters)
    same = type(wanted) is type(given.kernel) and wanted.parameters == given.kernel.parameters
    if not same or not math.isclose(wanted.bandwidth or 0.0, given.kernel.bandwidth or 0.0):
        raise ShallowsError(
            f"The preconditioner was made for the kernel {given.kernel.name!r} of bandwidth "
            f"{given.kernel.bandwidth} and parameters {given.kernel.parameters}, but kernel={kernel!r}, "
            f"bandwidth={bandwidth!r}, kernel_params={kernel_params!r} was asked for."
        )
    return given.kernel
