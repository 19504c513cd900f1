"""Kernel stochastic gradient descent with the square loss, as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import spectrum
from ..kernels import Kernel
from ..solvers import Richardson
from .base import LeastSquaresClassifier, LeastSquaresRegressor, Plan


class _KernelSGD:
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
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.batch_size = batch_size
        self.step_size = step_size
        self.max_epochs = max_epochs
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

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


_PARAMETERS = """
    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; or a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`).
    bandwidth : float, optional
        σ, in the units of the features, of the kernels that have one. None takes the median distance of a subsample.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    batch_size : int, optional
        Rows of a step. None takes the size beyond which larger batches stop to pay, β/λ, and 16 at least.
    step_size : float, optional
        For a sum over the batch. None takes 1.5/(β + (m − 1)λ), certified on training points; 2 would be the edge of
        stability.
    max_epochs : int, default=100
        Passes over the data at most.
    tol : float, default=5e-3
        Stop when the training loss of an epoch is this share of the loss of the zero function.
    early_stopping, validation_fraction, n_iter_no_change
        As in `EigenProClassifier`.
    random_state : int, RandomState or None
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
    memory : int or str, optional
        Bytes (or a text such as "4GB") that the process may hold. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" is float32, and float64 up to 1,000 points.
    verbose : int, default=0
        1 shows progress.
"""


class KernelSGDClassifier(_KernelSGD, LeastSquaresClassifier):
    """Classification by kernel stochastic gradient descent with the square loss.

    The baseline that Ma and Belkin (2017) call Pegasos: constant step, no regularisation.
    """


class KernelSGDRegressor(_KernelSGD, LeastSquaresRegressor):
    """Regression by kernel stochastic gradient descent with the square loss.

    Constant step, no regularisation.
    """


_SEE_ALSO = """
    See Also
    --------
    {} : the same with the top of the spectrum flattened; many times fewer epochs.
    """

# What the two have in common is written once.
KernelSGDClassifier.__doc__ += _PARAMETERS + _SEE_ALSO.format("EigenProClassifier")
KernelSGDRegressor.__doc__ += _PARAMETERS + _SEE_ALSO.format("EigenProRegressor")
