"""Core vector machines for classes and for values."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from ... import training
from ...fitting import leave_one_out_choice
from ...fitting.checks import check_positive, check_whole
from ...fitting.support_vectors import fit_core_vector_regression
from ...solvers.support_vectors.core_vectors import CoreVectorMachine
from ..base import Estimator
from ..constructors import stores_parameters, with_parameters
from ..input_checks import follows_input
from .classifier import SupportVectorClassifier, check_kernel_and_limits, outputs


class CoreVectorMachineClassifier(SupportVectorClassifier):
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

    __init__ = with_parameters(SupportVectorClassifier.__init__, epsilon=1e-6, sample_size=59, max_core_points=None)

    def _settings(self) -> CoreVectorMachine:
        return core_settings(self)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ball(self)


class CoreVectorMachineRegressor(RegressorMixin, Estimator):
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

    _y_is_numeric = True

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: dict[str, Any] | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
        regularisation: float | str = "auto",
        mu: float = 0.02,
        epsilon: float = 1e-6,
        sample_size: int | None = 59,
        max_core_points: int | None = None,
    ): ...

    @training.keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all of X, y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weights of the losses in any unit. Rows of weight zero are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree.
        ShallowsError
            A parameter out of its range, or a kernel that is not positive semi-definite.
        """
        self._check_parameters()
        found = fit_core_vector_regression(
            self._validated_training_set(X, y, sample_weight),
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            regularisation=self.regularisation,
            mu=self.mu,
            solver=core_settings(self),
            seed=self._seed(),
            options=self._options(),
            name=type(self).__name__,
        )
        self._model, self.tube_ = found.model, found.tube
        self.support_, self.dual_coef_, self.intercept_ = found.support, found.coefficients, found.model.intercepts
        self.bandwidth_ = found.model.function.kernel.bandwidth
        self.n_iter_, self.n_kernel_evaluations_ = found.n_steps, found.n_evaluations
        self.effective_params_, self.timings_ = found.report, found.seconds
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_kernel_and_limits(self)
        check_ball(self)

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
        return outputs(self, self._validated(X))[:, 0]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")


def check_ball(estimator: Any) -> None:
    """Refuse parameters of the ball, or of the tube, that are out of their ranges."""
    check_positive(estimator, "epsilon", "mu")
    if hasattr(estimator, "regularisation"):
        leave_one_out_choice.check_or_auto(estimator, "regularisation")
    check_whole(estimator, "sample_size", "max_core_points", least=2, optional=True)


def core_settings(estimator: Any) -> CoreVectorMachine:
    """The settings of the solver."""
    return CoreVectorMachine(
        epsilon=estimator.epsilon,
        sample_size=estimator.sample_size,
        max_core_points=estimator.max_core_points,
    )
