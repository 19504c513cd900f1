"""Kernel ridge regression by block coordinate descent, for classes and for values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from ... import training
from ...kernels import Kernel
from ...solvers.least_squares.block_coordinate_descent import BlockCoordinateDescent
from ..constructors import with_parameters
from .kernel_least_squares import Plan
from .least_squares_targets import LeastSquaresClassifier, LeastSquaresRegressor

BLOCK = 2000
"""Points of a block: its factorisation takes a second at most, and 32 MB."""


class _BlockKernelRidge:
    """Parameters, plan and solver of block coordinate descent, for classes and for values."""

    step_size = None

    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: Mapping[str, Any] | None = None,
        regularisation: float | str = "auto",
        batch_size: int | None = None,
        max_epochs: int = 100,
        tol: float = 1e-3,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.regularisation = regularisation
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    def _make_plan(self, points: Any, weights: Any, kernel: Kernel, seed: int, budget: int) -> Plan:
        n = points.shape[0]
        # A block in double precision, its factor and what they are made from.
        affordable = max(1, math.isqrt(max(0, budget) // 96))
        return Plan(kernel, None, min(n, self.batch_size or min(BLOCK, affordable)), 1.0, 1.0, 1.0)

    @staticmethod
    def _step_bytes(plan: Plan, n_outputs: int, itemsize: int) -> int:
        return 24 * plan.batch_size**2 + 8 * plan.batch_size * n_outputs * itemsize

    def _make_solver(self, step_size: float) -> BlockCoordinateDescent:
        if self._centring.all_equal and self._choices.regularisation == 0:
            # One point with many targets: its equations have no solution, and every λ > 0 gives their mean.
            self._choices.regularisation = 1.0
        return BlockCoordinateDescent(self._choices.regularisation)

    def _stopping(self) -> training.Stopping:
        return training.Stopping(self.max_epochs, tolerance=self.tol**2)

    def _set_fitted_attributes(self, run: training.Run, *others: Any) -> None:
        super()._set_fitted_attributes(run, *others)
        # Entries about steps and preconditioners have no meaning here.
        for name in ("step_size", "certified_step_size", "top_eigenvalue", "largest_diagonal", "rank", "n_subsample"):
            del self.effective_params_[name]
        del self.step_size_
        self.effective_params_["relative_residual"] = math.sqrt(max(run.losses[-1], 0.0))

    def _warn_if_unconverged(self, run: training.Run) -> None:
        left = math.sqrt(max(run.losses[-1], 0.0))
        if left > self.tol:
            warnings.warn(
                f"After max_epochs={self.max_epochs} the relative residual is {left:.1e}, above tol={self.tol:g}; more "
                "epochs, larger blocks (batch_size) or a larger regularisation would help.",
                ConvergenceWarning,
                stacklevel=4,
            )


class BlockKernelRidgeClassifier(_BlockKernelRidge, LeastSquaresClassifier):
    """Kernel classification by regularised least squares on ±1 targets, by block coordinate descent.

    The minimiser of Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖² in the kernel's space, as of `ExactKernelRidgeClassifier`: the
    equations of a block of points are solved with the coefficients of all others held, block after block. No step size
    is chosen, and no more than a block is factored.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points times powers of two, the one with the smallest leave-one-out error of kernel ridge regression on 400
        to 1,000 training rows; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    regularisation : float or "auto", default="auto"
        λ, for the sum of the losses over all points: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the λ with
        the smallest leave-one-out error on the rows that the bandwidth is chosen with. With 0 nothing regularises but
        an end of the training before its limit.
    batch_size : int, optional
        b, the points of a block. None takes 2,000, or as many as the memory has room for. Larger blocks need fewer
        epochs, and b² numbers each.
    max_epochs : int, default=100
        The most passes over the training data, each in another order of the blocks. The smaller λ, the more are needed.
    tol : float, default=1e-3
        Stop after an epoch in which the residual of (K + λW⁻¹) α = y, of each block before its step, was at most this
        share of the targets' norm.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
    fit_intercept : bool, default=True
        Learn f about the weighted mean of the targets −1 and +1, which is not regularised: where the inputs tell
        nothing, probabilities are then the class frequencies. False learns f about 0, as the method was published.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the order of the rows, subsamples, random features and held-out rows. The same
        int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points. Blocks are solved in double precision.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    dual_coef_ : ndarray, shape (n_samples, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``.
    support_ : ndarray of int, shape (n_samples,)
    bandwidth_ : float
    n_iter_ : int
        Epochs.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the relative residual at the end.
    timings_ : dict
        Seconds of each phase of the fit.

    See Also
    --------
    ExactKernelRidgeClassifier : the same by a factorisation, or by conjugate gradients.

    References
    ----------
    S. Tu, R. Roelofs, S. Venkataraman and B. Recht (2016), "Large scale kernel learning using block coordinate
    descent", arXiv:1602.05310.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import BlockKernelRidgeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = BlockKernelRidgeClassifier(bandwidth=20.0, regularisation=0.1, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    __init__ = with_parameters(_BlockKernelRidge.__init__, fit_intercept=True, class_weight=None)


class BlockKernelRidgeRegressor(_BlockKernelRidge, LeastSquaresRegressor):
    """Kernel regression by regularised least squares about the mean of the targets, by block coordinate descent.

    The minimiser of Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖² in the kernel's space, as of `ExactKernelRidgeRegressor`: the
    equations of a block of points are solved with the coefficients of all others held, block after block. No step size
    is chosen, and no more than a block is factored.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points times powers of two, the one with the smallest leave-one-out error of kernel ridge regression on 400
        to 1,000 training rows; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    regularisation : float or "auto", default="auto"
        λ, for the sum of the losses over all points: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the λ with
        the smallest leave-one-out error on the rows that the bandwidth is chosen with. With 0 nothing regularises but
        an end of the training before its limit.
    batch_size : int, optional
        b, the points of a block. None takes 2,000, or as many as the memory has room for. Larger blocks need fewer
        epochs, and b² numbers each.
    max_epochs : int, default=100
        The most passes over the training data, each in another order of the blocks. The smaller λ, the more are needed.
    tol : float, default=1e-3
        Stop after an epoch in which the residual of (K + λW⁻¹) α = y, of each block before its step, was at most this
        share of the targets' norm.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the order of the rows, subsamples, random features and held-out rows. The same
        int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float32, and float64 for up to 1,000 points. Blocks are solved in double precision.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    dual_coef_ : ndarray, shape (n_samples, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``.
    support_ : ndarray of int, shape (n_samples,)
    bandwidth_ : float
    n_iter_ : int
        Epochs.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the relative residual at the end.
    timings_ : dict
        Seconds of each phase of the fit.

    See Also
    --------
    ExactKernelRidgeRegressor : the same by a factorisation, or by conjugate gradients.

    References
    ----------
    S. Tu, R. Roelofs, S. Venkataraman and B. Recht (2016), "Large scale kernel learning using block coordinate
    descent", arXiv:1602.05310.
    """
