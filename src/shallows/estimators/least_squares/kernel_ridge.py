"""Kernel ridge regression by a solver of choice, for classes and for values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import training
from ...fitting.checks import check_whole
from ...fitting.kernel_ridge import fit_kernel_ridge
from ...fitting.least_squares import FittedFunction
from ...fitting.rows import TrainingSet
from ...kernels import Kernel
from ...ranks import Alone
from ...solvers import settings
from ...solvers.least_squares import RIDGE_SOLVERS
from ...solvers.least_squares.ridge_solver import RidgeSolver
from ..constructors import stores_parameters, with_parameters
from ..predictions import ValuePredictions
from ..square_loss import KernelLeastSquares, SquareLossLabels


class KernelRidgeMachine(KernelLeastSquares):
    """Parameters and fit of kernel ridge regression, for classes and for values."""

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
    ): ...

    def _train(
        self,
        rows: TrainingSet,
        observers: Sequence[training.Observer],
        checkpoint: training.Checkpoint | None,
        ranks: Alone,
    ) -> FittedFunction:
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
    """Kernel classification by regularised least squares on ±1 targets, solved to the end (KRLS).

    The minimiser of Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖² in the kernel's space. Iterative solvers read as much of the kernel
    matrix as the memory holds and make the rest anew.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name, object or function, see `shallows.kernels`; or "precomputed": X is then the kernel matrix in a fit, and
        the values of new points with all training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features. "auto" takes the one with the smallest leave-one-out error on 400 to 1,000
        rows, and a narrower one where more rows show that it is better; "median" and None the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_components : int, "auto" or None, default="auto"
        Take so many leading principal components in the place of the inputs; they are a part of the model. "auto"
        compares all inputs with 200, 100 and 50 components by leave-one-out errors, where the bandwidth is chosen so,
        the points are dense and have enough inputs, and takes components that are better, or surely as good. None takes
        the inputs.
    regularisation : float or "auto", default="auto"
        λ: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the one with the smallest leave-one-out error on the
        rows that the bandwidth is chosen with. With 0 only an early end of the training regularises.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities, and decide between several classes. "auto" learns a sigmoid, or a linear map
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them;
        iterative solvers do so for up to 1,000 rows. None leaves the outputs as they are, as do iterative solvers with
        more rows. Regressors have it so that one configuration serves both, without effect.
    solver : {"auto", "cholesky", "conjugate_gradients", "block_coordinate_descent"}, default="auto"
        How the equations (K + λW⁻¹) α = y are solved.

        - "auto": "cholesky" for up to 20,000 points where about 10 n² bytes are free, else "conjugate_gradients".
        - "cholesky": a factorisation of the whole matrix in double precision. Where rounding makes it singular without
          a regularisation, a little is added to its diagonal, which ``effective_params_["jitter"]`` records.
        - "conjugate_gradients": preconditioned with the top of the spectrum of a subsample, or with a partial Cholesky
          factor.
        - "block_coordinate_descent": the equations of a block of points with the coefficients of all others held, block
          after block, in another order each pass; no more than a block is factored. The smaller λ, the more passes.
    solver_params : dict, optional
        Parameters of the solver, by name.

        - Of "block_coordinate_descent" ``batch_size``, the points b of a block (None: 2,000, or as many as the memory
          has room for). Larger blocks need fewer passes, and b² numbers each.
        - Of "conjugate_gradients" ``preconditioner``, which is "nystrom", "randomly_pivoted" or "pivoted", and its
          ``rank``, as far as the memory has room for it. "nystrom" takes the leading eigenvectors of a subsample of
          12 √n points, at most 6,000 (None: a third as many vectors), or of three times the rank if that is more;
          "randomly_pivoted" a partial Cholesky factor whose pivots are drawn in proportion to what it leaves of the
          diagonal (None: 12 √n of them, at most 6,000), and "pivoted" one of the largest such entries. Random pivots
          need fewer iterations for as many columns of the matrix, and more memory; at equal rank, about as many.
    tol : float, default=1e-4
        Iterative solvers stop when the residual is this share of the targets' norm; of blocks, that of each before its
        step, over a pass.
    max_iterations : int, optional
        The most iterations of conjugate gradients, or passes of block coordinate descent; each reads the kernel matrix
        once. None takes 1,000 iterations or 100 passes.
    warm_start : bool, default=False
        Start an iterative solver from the coefficients of the previous fit, if that had as many points and the same
        ``random_state``. Useful for a path over several ``regularisation``, from the largest to the smallest.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides the order of the rows, and with it centres and held-out rows. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float64 for the factorisation and for up to 1,000 points, else float32. Blocks are solved in double
        precision.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    dual_coef_ : ndarray, shape (n_samples, n_outputs)
        Coefficients of the kernel functions at the training rows ``support_``.
    support_ : ndarray of int, shape (n_samples,)
    bandwidth_ : float
    n_iter_ : int
    effective_params_ : dict
        What the program chose where a parameter left it open, with the jitter and the relative residual at the end.
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
    """Kernel regression by regularised least squares about the mean of the targets, solved to the end (KRLS).

    The minimiser of Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖² in the kernel's space. Iterative solvers read as much of the kernel
    matrix as the memory holds and make the rest anew.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name, object or function, see `shallows.kernels`; or "precomputed": X is then the kernel matrix in a fit, and
        the values of new points with all training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features. "auto" takes the one with the smallest leave-one-out error on 400 to 1,000
        rows, and a narrower one where more rows show that it is better; "median" and None the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_components : int, "auto" or None, default="auto"
        Take so many leading principal components in the place of the inputs; they are a part of the model. "auto"
        compares all inputs with 200, 100 and 50 components by leave-one-out errors, where the bandwidth is chosen so,
        the points are dense and have enough inputs, and takes components that are better, or surely as good. None takes
        the inputs.
    regularisation : float or "auto", default="auto"
        λ: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the one with the smallest leave-one-out error on the
        rows that the bandwidth is chosen with. With 0 only an early end of the training regularises.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities, and decide between several classes. "auto" learns a sigmoid, or a linear map
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them;
        iterative solvers do so for up to 1,000 rows. None leaves the outputs as they are, as do iterative solvers with
        more rows. Regressors have it so that one configuration serves both, without effect.
    solver : {"auto", "cholesky", "conjugate_gradients", "block_coordinate_descent"}, default="auto"
        How the equations (K + λW⁻¹) α = y are solved.

        - "auto": "cholesky" for up to 20,000 points where about 10 n² bytes are free, else "conjugate_gradients".
        - "cholesky": a factorisation of the whole matrix in double precision. Where rounding makes it singular without
          a regularisation, a little is added to its diagonal, which ``effective_params_["jitter"]`` records.
        - "conjugate_gradients": preconditioned with the top of the spectrum of a subsample, or with a partial Cholesky
          factor.
        - "block_coordinate_descent": the equations of a block of points with the coefficients of all others held, block
          after block, in another order each pass; no more than a block is factored. The smaller λ, the more passes.
    solver_params : dict, optional
        Parameters of the solver, by name.

        - Of "block_coordinate_descent" ``batch_size``, the points b of a block (None: 2,000, or as many as the memory
          has room for). Larger blocks need fewer passes, and b² numbers each.
        - Of "conjugate_gradients" ``preconditioner``, which is "nystrom", "randomly_pivoted" or "pivoted", and its
          ``rank``, as far as the memory has room for it. "nystrom" takes the leading eigenvectors of a subsample of
          12 √n points, at most 6,000 (None: a third as many vectors), or of three times the rank if that is more;
          "randomly_pivoted" a partial Cholesky factor whose pivots are drawn in proportion to what it leaves of the
          diagonal (None: 12 √n of them, at most 6,000), and "pivoted" one of the largest such entries. Random pivots
          need fewer iterations for as many columns of the matrix, and more memory; at equal rank, about as many.
    tol : float, default=1e-4
        Iterative solvers stop when the residual is this share of the targets' norm; of blocks, that of each before its
        step, over a pass.
    max_iterations : int, optional
        The most iterations of conjugate gradients, or passes of block coordinate descent; each reads the kernel matrix
        once. None takes 1,000 iterations or 100 passes.
    warm_start : bool, default=False
        Start an iterative solver from the coefficients of the previous fit, if that had as many points and the same
        ``random_state``. Useful for a path over several ``regularisation``, from the largest to the smallest.
    random_state : int, RandomState or None, default=None
        Decides the order of the rows, and with it centres and held-out rows. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        "auto" takes a GPU where CuPy finds one.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        "auto" means float64 for the factorisation and for up to 1,000 points, else float32. Blocks are solved in double
        precision.
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
    effective_params_ : dict
        What the program chose where a parameter left it open, with the jitter and the relative residual at the end.
    timings_ : dict
        Seconds of each phase of the fit.

    See Also
    --------
    EigenProClassifier, EigenProRegressor : the same space at a fraction of the cost.

    References
    ----------
    S. Tu, R. Roelofs, S. Venkataraman and B. Recht (2016), "Large scale kernel learning using block coordinate
    descent", arXiv:1602.05310.
    """
