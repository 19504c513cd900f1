"""Kernel ridge regression by a solver of choice, for classes and for values."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ... import arrays, kernels, training
from ...fitting.choices import Sample, choose_on_all_rows
from ...fitting.machine import SMALL
from ...fitting.parameter_checks import check_whole
from ...fitting.user_warnings import warn_user
from ...kernels import Kernel
from ...solvers.least_squares import RIDGE_SOLVERS
from ...solvers.least_squares.ridge_solver import RidgeTask
from ...solvers.solver_parameters import complete
from ...spectrum.certificates import different
from ..constructors import stores_parameters, with_parameters
from .kernel_least_squares import LeastSquaresClassifier, LeastSquaresFit, LeastSquaresRegressor, Plan

MOST_LEFT_OUT = 1000
"""Rows on which the calibration is learnt, each left out in closed form."""


@dataclass
class KernelRidgeFit(LeastSquaresFit):
    """The fit of kernel ridge regression.

    Attributes
    ----------
    method : RidgeSolver
        How the equations are solved.
    solution
        Its sizes, see `RidgeSolver.plan`.
    largest_diagonal : float
        Of the kernel, on some points.
    """

    method: Any = None
    solution: Any = None
    largest_diagonal: float = 1.0


class _KernelRidge:
    """Parameters, plan and fit of kernel ridge regression, for classes and for values."""

    _context = KernelRidgeFit

    # The base class expects these of methods whose batches and steps the user may set.
    batch_size = None
    step_size = None
    # From the coefficients alone, and so with another regularisation too.
    _starts_warm_itself = True

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

    @training.keeps_model_on_failure
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Any:
        """Solve for the coefficients.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Factors wᵢ of the squared errors; rows of weight zero are left out. Ten times the weights at a given
            ``regularisation`` are a tenth of the regularisation.
        observers : sequence of shallows.training.Observer
            Called after every iteration, which counts as an epoch.
        checkpoint : shallows.training.Checkpoint, optional
            Iterative solvers go on from its coefficients if it exists, and keep it up to date.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, observers, checkpoint)
        return self

    def _describe(self, fit: KernelRidgeFit, run: training.Run) -> None:
        super()._describe(fit, run)
        self.n_iter_ = self.n_epochs_
        self.effective_params_ |= {
            "solver": fit.method.name,
            "jitter": getattr(run.state, "jitter", 0.0),
            "relative_residual": math.sqrt(max(run.losses[-1], 0.0)),
            "n_iterations": self.n_iter_,
            "rank": fit.solution.rank,
            "n_subsample": fit.solution.n_subsample,
        }
        del self.step_size_

    def _report_of_steps(self, fit: KernelRidgeFit) -> dict[str, Any]:
        if fit.solution.preconditioner:
            return {"preconditioner": fit.solution.preconditioner}
        return {"batch_size": fit.plan.batch_size} if "batch_size" in fit.method.parameters else {}

    def _seed_to_go_on_with(self) -> int | None:
        # The coefficients before belong to the rows in their order.
        fitted = self.warm_start and hasattr(self, "effective_params_")
        return self.effective_params_["seed"] if fitted else None

    def _most_iterations(self, method: Any) -> int:
        """The most iterations; a factorisation is one."""
        return 1 if method.is_direct else self.max_iterations or method.max_iterations

    def _check_parameters(self) -> None:
        check_whole(self, "max_iterations", optional=True)
        super()._check_parameters()
        complete(RIDGE_SOLVERS, self.solver, self.solver_params)

    def _left_out_spans(self, fit: KernelRidgeFit) -> list[slice]:
        # Only a factor leaves rows out in closed form.
        method = fit.method or RIDGE_SOLVERS[self.solver].for_size(fit.n, fit.budget)
        learns = self.calibration is not None and method.is_direct and fit.n > MOST_LEFT_OUT
        return [slice(fit.n - MOST_LEFT_OUT, fit.n)] if learns else []

    def _precision(self, fit: KernelRidgeFit) -> str:
        fit.method = RIDGE_SOLVERS[self.solver].for_size(fit.n, fit.budget)
        return "float64" if fit.method.is_direct or fit.n <= SMALL else "float32"

    def _make_plan(self, fit: KernelRidgeFit) -> Plan:
        some = fit.points[: min(fit.n, 1000), :-2]
        fit.largest_diagonal = max(float(arrays.namespace(some).max(fit.kernel.diagonal(some))), 1e-300)
        parameters = complete(RIDGE_SOLVERS, self.solver, self.solver_params)
        fit.solution = fit.method.plan(fit.n, fit.dtype.itemsize, fit.room, **parameters)
        return Plan(fit.kernel, None, fit.solution.batch_size, 1.0, 1.0, 1.0)

    @staticmethod
    def _rows_to_keep(plan: Plan) -> int:
        return sys.maxsize  # No solver of these takes other weights for other outputs.

    def _step_bytes(self, fit: KernelRidgeFit) -> int:
        return int(fit.solution.step_bytes(fit.plan.batch_size, fit.targets.shape[1]))

    def _make_solver(self, fit: KernelRidgeFit) -> Any:
        if self._centring.all_equal and fit.choices.regularisation == 0 and "batch_size" in fit.method.parameters:
            # One point with many targets: its equations have no solution, and every λ > 0 gives their mean.
            fit.choices = replace(fit.choices, regularisation=1.0)
        precision = float(np.finfo(fit.dtype).eps)
        return fit.method.make(
            RidgeTask(
                fit.solution,
                fit.choices.regularisation,  # The base divides weights by their largest, and λ follows.
                4.0 * precision * math.sqrt(fit.n) * fit.largest_diagonal,
                MOST_LEFT_OUT if self._calibrates else 0,
                fit.seed,
                self._coefficients_before(fit),
            )
        )

    def _choose_on_all_rows(self, fit: KernelRidgeFit) -> None:
        # Only a factor leaves rows out in closed form, row by row, which says nothing of a row that is there twice.
        n, points = fit.n, fit.points
        fit.method = fit.method or RIDGE_SOLVERS[self.solver].for_size(n, fit.room)
        if self._calibrates and 2 < n <= SMALL and not (fit.method.is_direct and different(points[:, :-2]) == n):
            sample = Sample(points, fit.targets, fit.weights)
            matrix_of = lambda x: kernels.matrix(fit.kernel, x)  # noqa: E731
            fit.choices = choose_on_all_rows(self._request(), fit.choices, matrix_of, sample)

    def _left_out_scores(self, fit: KernelRidgeFit, state: Any) -> tuple[np.ndarray, slice] | None:
        inverse = getattr(state, "inverse_diagonal", None)
        if inverse is not None and fit.choices.path is None:
            rows = slice(fit.n - len(inverse), fit.n)
            coefficients = arrays.to_numpy(state.coefficients[rows, :])
            return arrays.to_numpy(fit.targets[rows, :]) - coefficients / arrays.to_numpy(inverse)[:, None], rows
        return fit.choices.left_out_scores()

    def _coefficients_before(self, fit: KernelRidgeFit) -> Any:
        """The coefficients of the fit before, where they are those of as many points in the same order."""
        before = fit.before.get("dual_coef_") if self.warm_start else None
        if before is None or not np.array_equal(self.support_, fit.rows_of_points):
            return None
        return arrays.to_device(before, arrays.device_of(fit.points), fit.dtype)

    def _stopping(self, fit: KernelRidgeFit) -> training.Stopping:
        return training.Stopping(self._most_iterations(fit.method), tolerance=self.tol**2)

    def _warn_if_unconverged(self, fit: KernelRidgeFit, run: training.Run) -> None:
        left = math.sqrt(max(run.losses[-1], 0.0))
        if not fit.method.is_direct and left > self.tol:
            blocks = ", larger blocks (batch_size)" if "batch_size" in fit.method.parameters else ""
            warn_user(
                f"After max_iterations={self._most_iterations(fit.method)} the relative residual is {left:.1e}, above "
                f"tol={self.tol:g}; more iterations{blocks} or a larger regularisation would help.",
            )


class KernelRidgeClassifier(_KernelRidge, LeastSquaresClassifier):
    """Kernel classification by regularised least squares on ±1 targets, solved to the end (KRLS).

    The minimiser of Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖² in the kernel's space. Iterative solvers read as much of the kernel
    matrix as the memory holds and make the rest anew.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points times powers of two, the one with the smallest leave-one-out error of kernel ridge regression on 400
        to 1,000 training rows, and from 2,000 rows (and 560 centres or features) on a narrower one where half of
        the rows (at most 30,000) show that it is better; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_components : int, "auto" or None, default="auto"
        Take so many leading principal components in the place of the inputs; they are a part of the model. "auto"
        compares all inputs with 200, 100 and 50 components by leave-one-out errors, where the bandwidth is chosen so,
        the points are dense and have enough inputs, and takes components that are better, or surely as good. None takes
        the inputs.
    regularisation : float or "auto", default="auto"
        λ, for the sum of the losses over all points: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the λ with
        the smallest leave-one-out error on the rows that the bandwidth is chosen with. With 0 nothing regularises but
        an end of the training before its limit.
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
        Decides everything that is drawn: the order of the rows, subsamples, random features and held-out rows. The same
        int gives the same model.
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

    __init__ = with_parameters(_KernelRidge.__init__, class_weight=None)


class KernelRidgeRegressor(_KernelRidge, LeastSquaresRegressor):
    """Kernel regression by regularised least squares about the mean of the targets, solved to the end (KRLS).

    The minimiser of Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖² in the kernel's space. Iterative solvers read as much of the kernel
    matrix as the memory holds and make the rest anew.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points times powers of two, the one with the smallest leave-one-out error of kernel ridge regression on 400
        to 1,000 training rows, and from 2,000 rows (and 560 centres or features) on a narrower one where half of
        the rows (at most 30,000) show that it is better; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    n_components : int, "auto" or None, default="auto"
        Take so many leading principal components in the place of the inputs; they are a part of the model. "auto"
        compares all inputs with 200, 100 and 50 components by leave-one-out errors, where the bandwidth is chosen so,
        the points are dense and have enough inputs, and takes components that are better, or surely as good. None takes
        the inputs.
    regularisation : float or "auto", default="auto"
        λ, for the sum of the losses over all points: minimised is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto" takes the λ with
        the smallest leave-one-out error on the rows that the bandwidth is chosen with. With 0 nothing regularises but
        an end of the training before its limit.
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
        Decides everything that is drawn: the order of the rows, subsamples, random features and held-out rows. The same
        int gives the same model.
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
