"""Kernel stochastic gradient descent with the square loss, as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import spectrum
from ..kernels import Kernel
from ..solvers import Richardson
from .documentation import documented
from .least_squares import Plan
from .least_squares_doc import PARTS
from .least_squares_targets import LeastSquaresClassifier, LeastSquaresRegressor
from .parameters import keep


class _KernelSGD:
    """{summary}

    Parameters
    ----------
    {kernel}
    {bandwidth}
    batch_size : int, optional
        Rows of a step. None takes the size beyond which larger batches stop to pay, β/λ, and 16 at least.
    step_size : float, optional
        For a sum over the batch. None takes 1.5/(β + (m − 1)λ), certified on training points; 2 would be the edge of
        stability.
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

    def _make_plan(self, points: Any, weights: Any, kernel: Kernel, seed: int, budget: int) -> Plan:
        # A preconditioner of rank 0 changes nothing and carries the certificate of the step.
        bare = spectrum.make_preconditioner(kernel, points, rank=0, n_subsample=1, seed=seed, weights=weights)
        n = points.shape[0]
        batch_size = min(n, self.batch_size or max(16, round(bare.critical_batch_size())))
        # Nothing is flattened here, so at the edge of stability the largest directions would be reflected rather than
        # fitted. Three quarters of it is the constant of the authors' release, 1.5/λ₁ for large batches.
        step_size = self.step_size or 0.75 * bare.step_size(batch_size)
        return Plan(kernel, None, batch_size, step_size, bare.top_eigenvalue, bare.largest_diagonal)

    def _make_solver(self, step_size: float) -> Richardson:
        return Richardson(step_size)


@documented(PARTS)
class KernelSGDClassifier(_KernelSGD, LeastSquaresClassifier):
    """Classification by kernel stochastic gradient descent with the square loss.

    The baseline that Ma and Belkin (2017) call Pegasos: constant step, no regularisation.
    """


@documented(PARTS)
class KernelSGDRegressor(_KernelSGD, LeastSquaresRegressor):
    """Regression by kernel stochastic gradient descent with the square loss.

    Constant step, no regularisation.
    """
