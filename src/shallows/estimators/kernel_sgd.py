"""Kernel stochastic gradient descent with the square loss, as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import spectrum
from ..errors import UnknownNameError
from ..kernels import Kernel
from ..solvers import EigenPro, Richardson, steps
from .documentation import documented
from .least_squares import Plan
from .least_squares_doc import PARTS
from .least_squares_targets import LeastSquaresClassifier, LeastSquaresRegressor
from .parameters import keep

RULES = ("certified", "constant")

CONSTANT = 0.75
"""The constant step as a share of the edge of stability, at which the largest directions would be reflected rather than
fitted: that of the authors' release, 1.5/λ₁ for large batches."""


class _KernelSGD:
    """{summary}

    Parameters
    ----------
    {kernel}
    {bandwidth}
    batch_size : int, optional
        Rows of a step. None takes the size beyond which larger batches stop to pay, β/λ, and 16 at least.
    step_size : float, optional
        For a sum over the batch, constant. None takes one by ``step_rule``.
    step_rule : {"certified", "constant"}, default="certified"
        "certified" is the rule of `EigenProClassifier` with nothing flattened: steps that vary about 2/(β + (m − 1)λ),
        the edge of stability, where batches are hardly noisy, else a constant one and an average of the iterates that
        lies half an epoch behind (`shallows.solvers.steps.Certified`). Unlike there, few batches do not go through
        conjugate residuals: it stays a method of gradients. "constant" is 1.5/(β + (m − 1)λ), as in the release of Ma
        and Belkin (2017), and the last iterate. β and λ are measured on training points.
    max_epochs : int, default=100
        Passes over the data at most.
    {tol}
    early_stopping, validation_fraction, n_iter_no_change
        As in `EigenProClassifier`.
    random_state : int, RandomState or None
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
    {memory}
    {dtype}

    See Also
    --------
    EigenPro{kind} : the same with the top of the spectrum flattened; many times fewer epochs.
    """

    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        *,
        bandwidth: float | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        batch_size: int | None = None,
        step_size: float | None = None,
        step_rule: str = "certified",
        max_epochs: int = 100,
        tol: float = 5e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        keep(self, locals())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.step_rule not in RULES:
            raise UnknownNameError("step_rule", self.step_rule, RULES)

    def _make_plan(self, points: Any, weights: Any, kernel: Kernel, seed: int, budget: int) -> Plan:
        # A preconditioner of rank 0 changes nothing and carries the certificate of the step.
        bare = spectrum.make_preconditioner(kernel, points, rank=0, n_subsample=1, seed=seed, weights=weights)
        n = points.shape[0]
        batch_size = min(n, self.batch_size or max(16, round(bare.critical_batch_size())))
        self._cycle = None
        if self.step_rule == "certified" and self.step_size is None and not self._coincide(points):
            step_size, self._cycle = steps.planned("certified", bare, batch_size, n)
            return Plan(kernel, bare, batch_size, step_size, bare.top_eigenvalue, bare.largest_diagonal)
        step_size = self.step_size or CONSTANT * bare.step_size(batch_size)
        return Plan(kernel, None, batch_size, step_size, bare.top_eigenvalue, bare.largest_diagonal)

    def _told_of_the_model(self, plan: Plan) -> dict[str, Any]:
        rule = self.step_rule if self.step_size is None else "given"
        return super()._told_of_the_model(plan) | {"step_rule": rule}

    def _make_solver(self, step_size: float) -> EigenPro | Richardson:
        return Richardson(step_size) if self._cycle is None else EigenPro(step_size, self._cycle)


@documented(PARTS)
class KernelSGDClassifier(_KernelSGD, LeastSquaresClassifier):
    """Classification by kernel stochastic gradient descent with the square loss.

    The baseline that Ma and Belkin (2017) call Pegasos, without regularisation.
    """


@documented(PARTS)
class KernelSGDRegressor(_KernelSGD, LeastSquaresRegressor):
    """Regression by kernel stochastic gradient descent with the square loss, without regularisation."""
