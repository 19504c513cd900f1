"""Core vector machines for classes and for values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from ... import arrays, training
from ...fitting import leave_one_out_choice
from ...fitting.parameter_checks import check_positive, check_whole
from ...solvers.support_vectors.core_vectors import CoreProblem, CoreState, CoreVectorMachine
from ...spectrum.leave_one_out import RidgeChoice
from ..array_inputs import follows_input
from ..constructors import with_parameters
from ..predictions import unit_of_targets
from .dual_classifier import DualClassifier, Solution, TwoClasses
from .dual_model import DualFit, DualModel

LEAST_REGULARISATION = 1e-3
"""The least λ of regression that "auto" takes. With smaller ones fits of clean values may take minutes."""

LARGE_SHARE = 0.25
"""Share of the margin of classes, or of the targets' deviation, that ε may leave open without a warning."""

MEAN_OF_NORMAL = math.sqrt(2.0 / math.pi)
"""The mean size of a normal variable, in units of its deviation."""


class _CoreVectorMachine(DualModel):
    """What both have: the parameters of the solver."""

    # With wider kernels the ball takes many steps, and λ would have to be far below 10⁻³.
    _widest = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self, "epsilon", "mu")
        if hasattr(self, "regularisation"):
            leave_one_out_choice.check_or_auto(self, "regularisation")
        check_whole(self, "sample_size", "max_core_points", least=2, optional=True)

    def _trained(
        self,
        fit: DualFit,
        points: Any,
        signs: np.ndarray,
        linear: np.ndarray,
        ridge: np.ndarray,
        regularisation: float | None = None,
    ) -> CoreState:
        """The ball of a problem whose row i is the point i modulo their number."""
        n, budget = points.shape[0], fit.budget
        # The matrix of the core, and a larger one while it grows.
        most = math.isqrt(budget // (2 * arrays.itemsize(points)))
        most = max(2, min(most, len(signs), self.max_core_points or len(signs)))
        row_of = np.arange(len(signs)) % n
        problem = CoreProblem(fit.kernel, points, row_of, signs, linear, ridge, fit.seed, most, budget)
        state = training.train(
            CoreVectorMachine(float(self.epsilon), self.sample_size),
            problem,
            training.OwnRows(50, n_batches=1000),
            training.Stopping(2**62),
            observers=self._progress_observers(),
        ).state
        # Of classes the margin, of values λ: ε of R² leaves open so much of it.
        unit = regularisation or -float(state.coefficients @ state.gradient)
        uncertain = 0.5 * self.epsilon * state.radius_squared / unit
        if not state.enclosed:
            left = f"With {len(state.core)} core points and {state.n_steps:,} steps, all that the limits allow, a point"
            left += f" is still outside the ball by {state.excess:.2g} of its radius squared"
            self._warn(left, "take a larger epsilon or a smaller C, or allow more core points")
        elif not 0.0 <= uncertain <= LARGE_SHARE:  # Rounding makes squares of lengths negative.
            left = f"With epsilon={self.epsilon:g} values of the function are uncertain by {abs(uncertain):.2g}"
            self._warn(left, "take a smaller epsilon")
        return state


class CoreVectorMachineClassifier(_CoreVectorMachine, DualClassifier):
    """Support vector machine with the squared hinge by core vectors: it looks at samples of large data.

    For two classes it minimises ½ (‖f‖² + b²) + C Σ wᵢ ½ max(0, 1 − yᵢ(f(xᵢ) + b))². Its dual problem is that of the
    smallest ball that encloses the training points in a space of features. The ball is grown from two points by adding
    one outside at a time, until all points are within (1 + ε) times its radius; the function is one of the added points
    alone, whose number has a bound that does not depend on that of the data.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points and the halves, quarters, ... of it, the one with the smallest leave-one-out error of kernel ridge
        regression on 400 to 1,000 training rows; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
    C : float, default=1.0
        The factor of the losses' sum. λ of a mean of losses with λ/2 ‖f‖² is 1/(C n).
    epsilon : float, default=1e-6
        ε. The smaller, the more core points and the nearer the exact solution.
    sample_size : int or None, default=59
        Of the samples in which points outside are looked for. The furthest of 59 is, with 95 % probability, among the
        furthest 5 % of all. None looks at all training points for every core point.
    max_core_points : int, optional
        The most core points; n of them take n² numbers. None takes what the memory allows.
    multiclass : {"one_vs_one", "one_vs_rest"}, default="one_vs_one"
        A machine for each pair of classes, which vote, or for each class against all others.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the rows that the bandwidth is chosen with, and the samples. The same int
        gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where kernel values are made; "auto" takes a GPU where CuPy finds one. The steps are taken on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the kernel values. "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    support_ : ndarray of int, shape (n_support,)
        Numbers of the training rows with coefficients other than zero.
    dual_coef_ : ndarray, shape (n_support, n_outputs)
        Coefficients of the kernel functions; of more than two classes for the pairs (0, 1), (0, 2), ..., (1, 2), ... or
        for the classes.
    intercept_ : ndarray, shape (n_outputs,)
    objectives_ : ndarray, shape (n_problems,)
        The dual objective Σ αᵢ − ½ ΣΣ αᵢαⱼ(yᵢyⱼ(k(xᵢ, xⱼ) + 1) + [i = j]/(C wᵢ)) at the end.
    n_iter_ : int
        Steps on two variables of the core.
    n_kernel_evaluations_ : int
        Kernel values that were computed.
    bandwidth_ : float
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    I. W. Tsang, J. T. Kwok and P.-M. Cheung (2005), "Core vector machines: fast SVM training on very large data sets",
    JMLR 6.
    """

    __init__ = with_parameters(DualClassifier.__init__, epsilon=1e-6, sample_size=59, max_core_points=None)

    def _solve(self, fit: DualFit, points: Any, two: TwoClasses) -> Solution:
        zero = np.zeros(len(two.signs))
        state = self._trained(fit, points, two.signs, zero, 1.0 / (self.C * two.weights))
        # The ball's centre is the function up to its margin ρ = λᵀK̃λ.
        margin = -float(state.coefficients @ state.gradient)
        coefficients = zero.copy()
        coefficients[state.core] = two.signs[state.core] * state.coefficients / margin
        return Solution(
            coefficients,
            float(coefficients.sum()),
            0.5 / margin,
            state.n_steps,
            state.n_evaluations,
            state.enclosed,
        )


@dataclass
class CoreRegressionFit(DualFit):
    """The fit of values, in units of their deviation about their mean."""

    mean: float = 0.0
    unit: float = 1.0
    regularisation: float = 0.0


class CoreVectorMachineRegressor(RegressorMixin, _CoreVectorMachine):
    """Regression by core vectors, with a tube about the function whose width is learnt.

    With targets in units of their standard deviation about their mean, it minimises
    λ/2 (‖f‖² + b²) + ε̄ + (1/(2μn)) Σ wᵢ max(0, |yᵢ − f(xᵢ) − b| − ε̄)² over f, b and the half width ε̄ of the tube.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name of `shallows.kernels`; a kernel object, which brings its own parameters; a function of two arrays of
        points that returns the matrix of values (see `shallows.kernels.FunctionKernel`); or "precomputed": X is then
        the kernel matrix in a fit, and the values of new points with all training points in a prediction.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ, in the units of the features, of the kernels that have one. "auto" takes, of the median distance between
        points and the halves, quarters, ... of it, the one with the smallest leave-one-out error of kernel ridge
        regression on 400 to 1,000 training rows; "median" and None take the median distance.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 1.5}``, or keyword arguments of the function.
    regularisation : float or "auto", default="auto"
        λ. "auto" takes λᵣ/(n max(μ, r)) with the λᵣ of kernel ridge regression, of the sum of its squared errors, that
        has the smallest leave-one-out error on the rows that the bandwidth is chosen with; r is the mean size of these
        errors in units of the targets' standard deviation, as of normal variables. At least 10⁻³ is taken.
    mu : float, default=0.02
        μ: by how much targets are outside the tube, on the mean of all rows, in units of the targets' standard
        deviation. Where they are all nearer the function than that, there is no tube, and the loss is the square.
    epsilon : float, default=1e-6
        ε. The smaller, the more core points and the nearer the exact solution.
    sample_size : int or None, default=59
        Of the samples in which points outside are looked for. The furthest of 59 is, with 95 % probability, among the
        furthest 5 % of all. None looks at all training points for every core point.
    max_core_points : int, optional
        The most core points; n of them take n² numbers. None takes what the memory allows.
    random_state : int, RandomState or None, default=None
        Decides everything that is drawn: the rows that the bandwidth is chosen with, and the samples. The same int
        gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where kernel values are made; "auto" takes a GPU where CuPy finds one. The steps are taken on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the kernel values. "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    support_ : ndarray of int, shape (n_support,)
        Numbers of the training rows with coefficients other than zero.
    dual_coef_ : ndarray, shape (n_support, n_outputs)
        Coefficients of the kernel functions; of more than two classes for the pairs (0, 1), (0, 2), ..., (1, 2), ... or
        for the classes.
    intercept_ : ndarray, shape (n_outputs,)
    tube_ : float
        Half the width of the tube, in the units of the targets.
    n_iter_ : int
        Steps on two variables of the core.
    n_kernel_evaluations_ : int
        Kernel values that were computed.
    bandwidth_ : float
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    I. W. Tsang, J. T. Kwok and J. M. Zurada (2006), "Generalized core vector machines", IEEE Transactions on Neural
    Networks 17.
    """

    _context = CoreRegressionFit
    _y_is_numeric = True

    __init__ = with_parameters(
        DualModel.__init__, regularisation="auto", mu=0.02, epsilon=1e-6, sample_size=59, max_core_points=None
    )

    def _weights_of(self, fit: CoreRegressionFit) -> np.ndarray:
        weights = fit.data.weights
        return np.ones(fit.n) if weights is None else weights / weights.mean()

    def _targets_of(self, fit: CoreRegressionFit) -> np.ndarray:
        y, weights = column_or_1d(fit.data.y, warn=True).astype(np.float64), self._weights_of(fit)
        [unit] = unit_of_targets(y[:, None])
        y = y / unit
        mean = float(np.average(y, weights=weights))
        spread = float(np.sqrt(np.average((y - mean) ** 2, weights=weights)))
        spread = spread if spread > 0 else 1.0
        fit.mean, fit.unit = float(mean * unit), float(spread * unit)
        return ((y - mean) / spread)[:, None]

    def _train(self, fit: CoreRegressionFit) -> CoreState:
        automatic = leave_one_out_choice.is_automatic(self.regularisation)
        reg = self._chosen_regularisation(fit.choice, fit.n) if automatic else float(self.regularisation)
        fit.regularisation, state = reg, self._tube_about(fit, reg)
        fit.end_phase("training")
        return state

    def _tube_about(self, fit: CoreRegressionFit, regularisation: float) -> CoreState:
        n, targets = fit.n, fit.codes[:, 0] * regularisation
        signs = np.repeat([1.0, -1.0], n)
        ridge = np.tile(self.mu * n * regularisation / fit.weights, 2)
        return self._trained(fit, fit.points, signs, np.concatenate([targets, -targets]), ridge, regularisation)

    def _keep_model(self, fit: CoreRegressionFit, state: CoreState) -> None:
        signs, coefficients, unit = np.repeat([1.0, -1.0], fit.n), np.zeros(fit.n), fit.unit / fit.regularisation
        np.add.at(coefficients, state.core % fit.n, unit * signs[state.core] * state.coefficients)
        intercepts = np.array([fit.mean + coefficients.sum()])
        self._keep(fit.kernel, fit.points, fit.data.rows, coefficients[:, None], intercepts)
        # At the points whose coefficients are not zero the gradient is λ ε̄.
        self.tube_ = max(0.0, unit * float(state.coefficients @ state.gradient))

    def _describe(self, fit: CoreRegressionFit, state: CoreState) -> None:
        super()._describe(fit, state)
        self.effective_params_["regularisation"] = fit.regularisation

    def _report(self, state: CoreState) -> dict[str, Any]:
        self.n_iter_, self.n_kernel_evaluations_ = state.n_steps, state.n_evaluations
        return {"n_core": len(state.core), "converged": state.enclosed}

    def _chosen_regularisation(self, choice: RidgeChoice | None, n: int) -> float:
        """λ of the tube's problem from that of kernel ridge regression, for targets of deviation one.

        The coefficients of ridge regression are its residuals divided by its λ. Here their sizes sum up to 1/λ where
        there is a tube, and to less where the residuals are smaller than μ on the mean.
        """
        if choice is None:
            return LEAST_REGULARISATION
        size = max(float(self.mu), MEAN_OF_NORMAL * math.sqrt(choice.error))
        return max(LEAST_REGULARISATION, choice.regularisation / (n * size))

    @follows_input
    def predict(self, X: Any) -> np.ndarray:
        """Values of the fitted function.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
        """
        return self._outputs(self._validated(X))[:, 0]
