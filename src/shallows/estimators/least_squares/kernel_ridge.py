"""Kernel ridge regression by a solver of choice, for classes and for values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...fitting.kernel_ridge import fit_kernel_ridge
from ...fitting.least_squares import FittedFunction
from ...fitting.rows import TrainingSet
from ...kernels import Kernel
from ...ranks import Alone
from ...solvers import settings
from ...solvers.least_squares import RIDGE_SOLVERS
from ...solvers.least_squares.kernel_problem import RidgeSolver
from ...training import Observer
from ...utils.checks import check_whole
from ..constructors import stores_parameters, with_parameters
from ..predictions import ValuePredictions
from ..square_loss import LeastSquaresEstimator, SquareLossLabels


class KernelRidgeMachine(LeastSquaresEstimator):
    """Base of the classifier and the regressor: parameters and fit of kernel ridge regression."""

    @stores_parameters
    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: Mapping[str, Any] | None = None,
        n_components: int | str | None = "auto",
        regularisation: float | str = "auto",
        calibration: str | None = "auto",
        solver: str = "auto",
        solver_params: Mapping[str, Any] | None = None,
        tol: float = 1e-4,
        max_iterations: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        """Set the parameters.

        Parameters
        ----------
        kernel : str, Kernel or callable, default="gaussian"
            A name or object of `shallows.kernels`, a function of two arrays, or "precomputed" (X is the kernel matrix).
        bandwidth : float, "auto", "median" or None, default="auto"
            σ, in the units of X. "auto": by leave-one-out errors of kernel ridge. "median", None: median distance.
        kernel_params : dict, optional
            Parameters of a named kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
        n_components : int, "auto" or None, default="auto"
            Principal components that replace the inputs. "auto": 200, 100 or 50 if as good. None: no components.
        regularisation : float or "auto", default="auto"
            λ: minimized is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto": by leave-one-out errors. 0: only stopping regularizes.
        calibration : {"auto", None}, default="auto"
            "auto" learns probabilities from outputs of functions that were fitted without the rows; iterative solvers
            do so for up to 1,000 rows. None leaves outputs as they are. Without effect on regressors.
        solver : {"auto", "cholesky", "conjugate_gradients", "block_coordinate_descent"}, default="auto"
            "auto": "cholesky" for up to 20,000 points if about 10 n² bytes are free, otherwise "conjugate_gradients".
            See the class.
        solver_params : dict, optional
            Of "conjugate_gradients" ``preconditioner`` ("nystrom", "randomly_pivoted", "pivoted") and its ``rank``; of
            "block_coordinate_descent" ``batch_size``, the points of a block (None: at most 2,000, as memory allows).
        tol : float, default=1e-4
            Iterative solvers stop when the norm of the residual is this share of the norm of the targets.
        max_iterations : int, optional
            Most iterations of conjugate gradients (None: 1,000), or passes of block coordinate descent (None: 100).
        warm_start : bool, default=False
            Start an iterative solver from the previous coefficients, if number of points and ``random_state`` are the
            same. Useful for a path over ``regularisation``, from large to small.
        random_state : int, RandomState or None, default=None
            Seed of all random draws. An int gives the same model every time.
        device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
            "auto" uses a GPU if CuPy finds one.
        memory : int or str, optional
            Memory limit of the process, in bytes or as "4GB". None: a share of the free memory.
        dtype : {"auto", "float32", "float64"}, default="auto"
            Precision. "auto": float64 for "cholesky" and up to 1,000 points, otherwise float32. Blocks are solved in
            float64.
        verbose : int, default=0
            1 shows a progress bar.
        """

    def _train(self, rows: TrainingSet, observers: Sequence[Observer], checkpoint: Any, ranks: Alone) -> FittedFunction:
        goes_on = self.warm_start and hasattr(self, "dual_coef_")
        return fit_kernel_ridge(
            rows,
            of_classes=not self._y_is_numeric,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            n_components=self.n_components,
            regularisation=self.regularisation,
            calibrates=self.calibration is not None,
            solver=self._settings(),
            class_weight=getattr(self, "class_weight", None),
            before=(self.support_, self.dual_coef_) if goes_on else None,
            seed=self._seed(),
            options=self._options(),
            observers=observers,
            checkpoint=checkpoint,
            name=type(self).__name__,
        )

    def _settings(self) -> RidgeSolver:
        """The checked settings of the solver."""
        shared = {"tol": self.tol, "max_iterations": self.max_iterations}
        return settings.make(RIDGE_SOLVERS, self.solver, self.solver_params, **shared)

    def _seed_to_go_on_with(self) -> int | None:
        # The coefficients before belong to the rows in their order.
        fitted = self.warm_start and hasattr(self, "effective_params_")
        return self.effective_params_["seed"] if fitted else None

    def _check_parameters(self) -> None:
        check_whole(self, "max_iterations", optional=True)
        super()._check_parameters()
        self._settings()


class KernelRidgeClassifier(SquareLossLabels, KernelRidgeMachine):
    """Kernel classification by ridge regression on ±1 targets, solved exactly.

    The coefficients solve (K + λW⁻¹) α = y. "cholesky" factors the whole matrix in float64; if rounding makes it
    singular, a little is added to the diagonal (``effective_params_["jitter"]``). "conjugate_gradients" has the top of
    the spectrum of a subsample, or a partial Cholesky factor, as preconditioner. "block_coordinate_descent" solves for
    one block of points after the other; small λ need many passes. Iterative solvers compute what does not fit of the
    kernel matrix in every pass. The documentation on least squares compares the preconditioners.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class (1 for missing classes). "balanced": n/(k nⱼ) for class j.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    dual_coef_ : ndarray, shape (n_samples, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``.
    support_ : ndarray of int, shape (n_samples,)
    bandwidth_ : float
    n_iter_ : int
    effective_params_ : dict
        Values that the library chose, with the jitter and the relative residual at the end.
    timings_ : dict
        Seconds of each phase of the fit.

    See Also
    --------
    EigenProClassifier, EigenProRegressor : the same space at a fraction of the cost.

    References
    ----------
    S. Tu, R. Roelofs, S. Venkataraman and B. Recht (2016), "Large scale kernel learning using block coordinate
    descent", arXiv:1602.05310.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import KernelRidgeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelRidgeClassifier(bandwidth=20.0, regularisation=0.1, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    __init__ = with_parameters(KernelRidgeMachine.__init__, class_weight=None)


class KernelRidgeRegressor(ValuePredictions, KernelRidgeMachine):
    """Kernel ridge regression around the mean of the targets, solved exactly; see `KernelRidgeClassifier`.

    The attributes are those of `KernelRidgeClassifier`, with ``intercept_`` instead of ``classes_``.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    """
