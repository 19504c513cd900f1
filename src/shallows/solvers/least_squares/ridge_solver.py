"""What the exact solvers of kernel ridge regression share: the base of their settings and the plan of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...kernels import Kernel
from .kernel_problem import KernelSolver


@dataclass(frozen=True)
class RidgePlan:
    """The sizes of a fit, decided before any large array exists."""

    kernel: Kernel
    batch_size: int  # Rows of a step
    rank: int = 0  # Of a preconditioner; 0 without one
    n_subsample: int = 0
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class RidgeSolver(KernelSolver):
    """Base of the settings of exact solvers.

    Parameters
    ----------
    tol : float
        Stop when the residual is at most this share of the targets' norm.
    max_iterations : int, optional
        The most iterations. None takes 1,000, or 100 passes over all blocks.
    """

    tol: float = 1e-4
    max_iterations: int | None = None

    name: ClassVar[str] = ""
    is_exact: ClassVar[bool] = True
    default_iterations: ClassVar[int] = 1000

    @property
    def max_epochs(self) -> int:
        """The most passes over the rows."""
        return self.max_iterations or self.default_iterations

    @property
    def tolerance(self) -> float:
        """The share of the zero function's loss at which the training stops: residuals are squared."""
        return self.tol**2

    def report(self, plan: RidgePlan, problem: Any, stepper: Any, run: Any) -> dict[str, Any]:  # noqa: D102
        return {
            "solver": self.name,
            "jitter": getattr(run.state, "jitter", 0.0),
            "relative_residual": max(run.losses[-1], 0.0) ** 0.5,
            "n_iterations": max(run.epoch, 1),
            "rank": plan.rank,
            "n_subsample": plan.n_subsample,
        }
