"""EigenPro as scikit-learn estimators."""

from __future__ import annotations

import math
import numbers
import os
from typing import Any

from .. import arrays, spectrum
from ..errors import ShallowsError
from ..kernels import RadialKernel
from ..solvers import EigenPro
from ..spectrum import Preconditioner
from .base import SMALL, LeastSquaresClassifier, LeastSquaresRegressor, Plan

SMALL_FLOOR = 5e-3
"""Directions of a problem that is iterated with as a whole, below this share of the largest eigenvalue, are
approached in steps rather than solved: 20 epochs regularise them like a ridge of about SMALL_FLOOR λ₁ / 20. A share,
so that neither the unit of the weights nor repeated rows matter."""


class _EigenPro:
    def __init__(
        self,
        kernel: str | RadialKernel = "gaussian",
        *,
        bandwidth: float | None = None,
        rank: int | None = None,
        n_subsample: int | None = None,
        batch_size: int | None = None,
        step_size: float | None = None,
        damping: float = 1.0,
        max_epochs: int = 20,
        tol: float = 5e-3,
        preconditioner: Preconditioner | str | os.PathLike | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.rank = rank
        self.n_subsample = n_subsample
        self.batch_size = batch_size
        self.step_size = step_size
        self.damping = damping
        self.max_epochs = max_epochs
        self.tol = tol
        self.preconditioner = preconditioner
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, least in (("rank", 0), ("n_subsample", 1)):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, numbers.Integral) and value >= least):
                raise ShallowsError(f"{name} must be a whole number of at least {least} or None, got {value!r}.")
        if not (isinstance(self.damping, numbers.Real) and 0 < self.damping <= 1):
            raise ShallowsError(f"damping must lie in (0, 1], got {self.damping!r}.")

    def _given_subsample(self) -> Preconditioner | None:
        """The preconditioner that was handed in, if one was."""
        if self.preconditioner is None or isinstance(self.preconditioner, Preconditioner):
            return self.preconditioner
        return spectrum.load_preconditioner(self.preconditioner)

    def _make_kernel(self, points: Any, seed: int) -> RadialKernel:
        given = self._given_subsample()
        if given is None:
            return super()._make_kernel(points, seed)
        asked, bandwidth = self.kernel, self.bandwidth
        if isinstance(self.kernel, RadialKernel):
            asked, bandwidth = self.kernel.name, self.kernel.bandwidth
        if asked != given.kernel.name or (
            bandwidth is not None and not math.isclose(bandwidth, given.kernel.bandwidth)
        ):
            raise ShallowsError(
                f"The preconditioner was made for the kernel {given.kernel.name!r} of bandwidth "
                f"{given.kernel.bandwidth:.6g}, but kernel={asked!r}, bandwidth={bandwidth!r} was asked for."
            )
        return given.kernel

    def _make_plan(self, points: Any, weights: Any, kernel: RadialKernel, seed: int, budget: int) -> Plan:
        n = points.shape[0]
        p = self._given_subsample()
        if p is None:
            n_subsample, rank = self._sizes(n, arrays.itemsize(points), budget)
            # Once λ_{q+1} is 1/n a single batch of all n points loses no progress: to flatten more gains nothing.
            smallest = 0.0 if self.rank is not None or n <= SMALL else 1.0 / n
            smallest_share = SMALL_FLOOR if self.rank is None and n <= SMALL else 0.0
            p = spectrum.make_preconditioner(
                kernel,
                points,
                rank=rank,
                n_subsample=n_subsample,
                seed=seed,
                damping=self.damping,
                weights=weights,
                smallest=smallest,
                smallest_share=smallest_share,
            )
        else:
            if weights is not None:
                raise ShallowsError(
                    "A preconditioner that is handed in knows no sample weights; leave one of the two out."
                )
            p = p.to(arrays.device_of(points), points.dtype)
        batch_size = min(n, self.batch_size or self._batch_size(p, n))
        step_size = self.step_size or self._step_size(p, batch_size, n)
        return Plan(kernel, p, batch_size, step_size, p.top_eigenvalue, p.largest_diagonal)

    @staticmethod
    def _step_size(p: Preconditioner, batch_size: int, n: int) -> float:
        """The certified step; the exact one where every point is in the subsample and in the batch.

        There the operator's largest eigenvalue is the level that the others were brought down to.
        """
        if batch_size == n == p.n_subsample:
            return 1.0 / (n * float(p.eigenvalues[p.rank]))
        return p.step_size(batch_size)

    def _sizes(self, n: int, itemsize: int, budget: int) -> tuple[int, int]:
        """M and q: what was asked for within n, else what the data and the budget suggest."""
        if self.n_subsample is not None:
            n_subsample = min(self.n_subsample, n)
        elif n <= SMALL and self.rank is None:
            n_subsample = n
        else:
            # The eigensystem should cost a fraction of an epoch's products, n² d; M² (q + d) is n (q + d).
            # Its matrix, the certificate's and the block of the iteration take about four times M² numbers.
            affordable = math.isqrt(max(1, budget // (8 * 4 * itemsize)))
            n_subsample = min(n, max(min(n, 500), min(round(9 * math.sqrt(n)), affordable)), 12_000)
            if self.rank is not None:
                n_subsample = min(n, max(n_subsample, 2 * self.rank))
        rank = self.rank
        if rank is None:
            rank = n_subsample - 1 if n_subsample == n else n_subsample // 5
        return n_subsample, min(rank, n_subsample - 1)

    @staticmethod
    def _batch_size(p: Preconditioner, n: int) -> int:
        """Half of the critical size keeps the progress of an epoch; a whole small problem goes in one batch."""
        if n <= SMALL:
            return n
        return int(min(n, max(16, p.critical_batch_size() / 2)))

    def _make_solver(self, step_size: float) -> EigenPro:
        return EigenPro(step_size)


_PARAMETERS = """
    Parameters
    ----------
    kernel : {"gaussian", "laplace", "cauchy"} or RadialKernel, default="gaussian"
        See `shallows.kernels`; a kernel object brings its own bandwidth.
    bandwidth : float, optional
        σ, in the units of the features. None takes the median distance of a subsample.
    rank : int, optional
        q, the number of eigendirections that are flattened. None takes a fifth of the subsample, or fewer where the
        spectrum falls below 1/n before; up to 1,000 points, those above 1/200 of the largest eigenvalue. Directions
        below are fitted the less the smaller they are and the fewer the epochs, which is what regularises.
    n_subsample : int, optional
        M, the number of training points that the eigensystem is computed from. None grows it as √n within the budget.
    batch_size : int, optional
        Rows of a step. None takes half of β/λ, the size up to which a batch costs no progress.
    step_size : float, optional
        For a sum over the batch. None takes 2/(β + (m − 1)λ), with λ and β measured on training points outside the
        subsample, or the exact 1/(nλ) where batch and subsample are the whole training set. Should training diverge
        all the same, the epoch is done again with half of it.
    damping : float, default=1.0
        τ: the flattened eigenvalues become τ λ_{q+1}.
    max_epochs : int, default=20
        Passes over the data at most.
    tol : float, default=5e-3
        Stop when the training loss of an epoch is this share of the loss of the zero function.
    preconditioner : Preconditioner or path, optional
        One made by `shallows.spectrum.fit_preconditioner` on the same training rows.
    random_state : int, RandomState or None
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes (or a text such as "4GB") that the process, or the fit on a GPU, may hold. None takes a share of
        what is free.
        As much of the kernel matrix as fits is kept; the rest is made again in every epoch.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" is float32, and float64 up to 1,000 points.
    verbose : int, default=0
        1 shows progress.
"""

_ATTRIBUTES = """
    dual_coef_ : ndarray, shape (n_samples, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``.
    support_ : ndarray of int, shape (n_samples,)
    bandwidth_, step_size_ : float
    n_epochs_ : int
    losses_ : list of float
        Of each epoch, as shares of the loss of the zero function, each batch measured before its own step.
    effective_params_ : dict
        Everything that the program chose.
    timings_ : dict
        Seconds by phase.
"""

_REFERENCE = """
    References
    ----------
    S. Ma and M. Belkin (2017), "Diving into the shallows: a computational perspective on large-scale shallow learning",
    NIPS 30. The update in the span of the subsample follows S. Ma and M. Belkin (2019), "Kernel machines that adapt to
    GPUs for effective large batch training", MLSys.
"""


class EigenProClassifier(_EigenPro, LeastSquaresClassifier):
    """Kernel classification by EigenPro: least squares on ±1 targets, the top of the spectrum flattened."""


class EigenProRegressor(_EigenPro, LeastSquaresRegressor):
    """Kernel regression by EigenPro: least squares, the top of the spectrum flattened."""


_EXAMPLE = """
    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import EigenProClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = EigenProClassifier(bandwidth=20.0, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

_CLASSES = """
    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)"""

_INTERCEPT = """
    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets."""

# What the two have in common is written once.
EigenProClassifier.__doc__ += "\n" + _PARAMETERS + _CLASSES + _ATTRIBUTES + _REFERENCE + _EXAMPLE
EigenProRegressor.__doc__ += "\n" + _PARAMETERS + _INTERCEPT + _ATTRIBUTES + _REFERENCE
