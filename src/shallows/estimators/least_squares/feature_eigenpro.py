"""EigenPro on explicit features, for classes and for values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import arrays, kernels, spectrum
from ... import features as feature_maps
from ...errors import UnknownNameError
from ...features import Design
from ...kernels import Kernel
from ...solvers.least_squares import step_rules
from ...solvers.least_squares.feature_eigenpro import FeatureEigenPro, FeatureProblem
from ...solvers.least_squares.step_rules import StepRule
from ...spectrum import power_of
from .. import precomputed
from ..base import SMALL
from ..centring import Centring
from ..constructors import with_parameters
from ..feature_scores import feature_scores
from ..kernel_checks import check_scale, check_scores
from ..parameter_checks import check_whole
from . import feature_sizes
from .kernel_least_squares import Plan
from .least_squares_targets import LeastSquaresClassifier, LeastSquaresRegressor
from .preconditioning import check_preconditioning, plan_steps, step_parameters


class _FeatureEigenPro:
    """Parameters, plan and solver of EigenPro on explicit features, for classes and for values."""

    def __init__(
        self,
        features: str | Any = "fourier",
        *,
        n_features: int = 4000,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        bandwidth: float | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        rank: int | None = None,
        n_subsample: int | None = None,
        eigensystem: str = "nsvd",
        damping: float = 0.25,
        power: str | float = "full",
        batch_size: int | None = None,
        step_size: float | None = None,
        step_rule: str | Mapping[str, Any] | StepRule = "certified",
        max_epochs: int = 40,
        tol: float = 5e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        self.features = features
        self.n_features = n_features
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.rank = rank
        self.n_subsample = n_subsample
        self.eigensystem = eigensystem
        self.damping = damping
        self.power = power
        self.batch_size = batch_size
        self.step_size = step_size
        self.step_rule = step_rule
        self.max_epochs = max_epochs
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_preconditioning(self)
        check_whole(self, "n_features")
        power_of(self.power)
        step_rules.make(self.step_rule)
        if self.eigensystem not in spectrum.EIGENSYSTEMS:
            raise UnknownNameError("eigensystem", self.eigensystem, spectrum.EIGENSYSTEMS)
        feature_maps.check(self.features)
        precomputed.refuse(self, "Explicit features are made of points, and a kernel matrix shows none.")

    @property
    def _takes_kernel(self) -> bool:
        return isinstance(self.features, str) and self.features != "linear"

    def _prepare_points(self, X: Any, order: np.ndarray, device: arrays.Device, dtype: np.dtype) -> Any:
        # All columns are kept: the map has to see where a new point differs from features that were constant before.
        self._centring = Centring.of(X, centred=isinstance(self.features, str), without_constants=False)
        points = self._centring.training_points(X, order, device, dtype)
        if isinstance(self.features, str):
            centred = not self._takes_kernel or kernels.kind(self.kernel).shift_invariant
            check_scale(points, dtype, may_vanish=self._centring.all_equal or not centred)
        return points

    def _make_kernel(self, points: Any, seed: int) -> Kernel | None:
        return super()._make_kernel(points, seed) if self._takes_kernel else None

    def _make_plan(self, points: Any, weights: Any, kernel: Any, seed: int, budget: int) -> Plan:
        n, points = points.shape[0], points[:, :-2]
        self._blocks = feature_maps.in_blocks(self.features, kernel, points, self.n_features, seed, budget)
        n_subsample, rank = feature_sizes.of(self, n, self._blocks.n_features, arrays.itemsize(points), budget)
        small = self.rank is None and n <= SMALL
        p = spectrum.make_feature_preconditioner(
            self._blocks,
            points,
            rank=rank,
            n_subsample=n_subsample,
            eigensystem=self.eigensystem,
            seed=seed,
            damping=self.damping,
            power=power_of(self.power),
            weights=weights,
            # Once λ_{q+1} is 1/n of κ a single batch of all points loses no progress: to flatten more gains nothing.
            smallest_share=feature_sizes.floor(self.features) if small else 0.0,
            smallest=0.0 if self.rank is not None or small else 1.0 / n,
        )
        whole = n <= SMALL and p.n_subsample == n
        critical = n if whole else max(16, p.critical_batch_size() / 2)
        batch_size = int(min(n, self.batch_size or critical))
        step_size, self._cycle = plan_steps(self, p, batch_size, n)
        return Plan(kernel, p, batch_size, step_size, p.top_eigenvalue, p.largest_diagonal)

    def _step_bytes(self, plan: Plan, n_outputs: int, itemsize: int) -> int:
        width = max(span.stop - span.start for span in self._blocks.spans)
        # The iterate and its average, as they are, at the start of the epoch, at their best and in a copy; the gradient
        # and one more at work.
        held = self._blocks.n_features * (plan.preconditioner.rank + 10 * n_outputs)
        return itemsize * (held + plan.batch_size * (2 * width + 4 * n_outputs))

    def _make_problem(self, plan: Plan, points: Any, targets: Any, weights: Any, budget: int) -> FeatureProblem:
        self._gram = Design(self._blocks, points[:, :-2], budget=budget)
        return FeatureProblem(self._gram, targets, weights, plan.preconditioner)

    def _make_solver(self, step_size: float) -> FeatureEigenPro:
        return FeatureEigenPro(step_size, self._cycle)

    def _store_model(self, state: Any, plan: Plan, points: Any, rows: np.ndarray) -> None:
        self.coef_ = np.ascontiguousarray(arrays.to_numpy(state.coefficients).T)
        self._blocks = self._blocks.to(arrays.Device("cpu"))
        if plan.kernel is not None:
            self.bandwidth_ = plan.kernel.bandwidth

    def _model_parameters(self, plan: Plan) -> dict[str, Any]:
        of_features = {
            "features": feature_maps.name_of(self.features),
            "n_features": self._blocks.n_features,
            "eigensystem": self.eigensystem,
        }
        if plan.kernel is not None:
            of_features |= super()._model_parameters(plan)
        return of_features | step_parameters(self, plan.preconditioner)

    def _raw_predict(self, X: Any, coefficients: Any = None) -> np.ndarray:
        """φ(x)ᵀA, shape (m, c), for checked X."""
        device = arrays.resolve_device(self.device)
        blocks, fitting = self._blocks, coefficients is not None
        if not fitting:
            coefficients = arrays.to_device(self.coef_.T, device)
            blocks = blocks.to(device)
        budget = min(self._working_budget(device) // 4, 2**27 if device.kind == "cpu" else 2**31)
        out = feature_scores(blocks, self._centring, X, coefficients, device, budget=budget)
        if not fitting:
            check_scores(out, X)
        return self._unscale(out)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")


class FeatureEigenProClassifier(_FeatureEigenPro, LeastSquaresClassifier):
    """Classification by EigenPro on explicit features: a linear model of least squares on ±1 targets.

    f(x) = φ(x)ᵀA with features φ that are made when they are needed, and kept where they fit. The top of their spectrum
    is flattened as in `EigenProClassifier`; with ``rank=0`` it is stochastic gradient descent on the features.

    Parameters
    ----------
    features : str or object, default="fourier"
        "fourier" (cosines and sines of random frequencies), "fourier_cosine", "orthogonal" (random frequencies at
        right angles), "rbf" (kernel functions at points of the data), "rbf_kmeans" (at centres of K-means),
        "nystrom", "nystrom_kmeans" (the same, whitened), or "linear" (the inputs and a constant). An object has
        ``map(x)`` of shape (m, n_features) and ``n_features``; it receives the inputs without centring.
    n_features : int, default=4000
        How many features. A cosine and a sine are two, so that for pairs an odd number becomes the next even one.
        "linear" and objects have their own number.
    kernel : str, Kernel or callable, default="gaussian"
        The kernel whose features a named map makes; see `shallows.kernels`. Fourier features need one with a law of
        frequencies, landmarks ("rbf", "nystrom") any. "linear" and objects need none.
    bandwidth : float, optional
        σ, in the units of the features, of the kernels that have one. None takes the median distance between points
        of a subsample.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    rank : int, optional
        q, the number of directions that the preconditioner flattens. None takes a fifth of the subsample, or fewer
        where the spectrum falls below 1/n before; up to 1,000 points, the directions above 1/200 of the largest
        eigenvalue. 0 flattens none.
    n_subsample : int, optional
        M, the number of training points from which the eigensystem is computed. None takes about 9√n, at least 500
        and at most 12,000, as the memory allows; all of up to 1,000 points.
    eigensystem : {"nsvd", "rsvd"}, default="nsvd"
        Through the M × M matrix of inner products, or by a randomised decomposition of the features of the subsample.
    damping : float, default=0.25
        τ: the flattened eigenvalues become τ λ_{q+1}; ¼ is what the paper has for random features.
    power : {"full", "sqrt"} or float in (0, 1], default="full"
        a: directions are shrunk by τ (λ_{q+1}/λᵢ)^a. "full" takes the eigenvalues of the operator, "sqrt" the
        singular values of the features, as the paper prints it: slower, and forgiving where the eigensystem is noisy.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/λ, the size up to which an epoch with larger batches makes the
        same progress.
    step_size : float, optional
        η, for a sum over the batch. None takes the step by ``step_rule``, and an epoch in which training diverges
        is then repeated with half of it.
    step_rule : str, mapping or callable, default="certified"
        Which rule gives the step where ``step_size`` is None; the names are those of `EigenProClassifier`.
    max_epochs : int, default=40
        The most passes over the training data.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the training rows (of each class alike), and stop when their score has not
        become better for ``n_iter_no_change`` epochs. The model of the best epoch is the one that is kept.
    validation_fraction : float, default=0.1
        The share of the training rows that early stopping holds out.
    n_iter_no_change : int, default=3
        Epochs without a better validation score after which early stopping ends the training.
    warm_start : bool, default=False
        Go on where the fit before ended, if data, ``random_state`` and all parameters are the same but those that say
        when to stop (``max_epochs``, ``tol``); else begin anew.
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
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (n_outputs, n_features)
        A, transposed.
    bandwidth_ : float
        Of the named maps.
    step_size_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step.
    validation_scores_ : list of float
        With ``early_stopping`` only: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    S. Ma and M. Belkin (2017), "Diving into the shallows: a computational perspective on large-scale shallow learning",
    NIPS 30, Table 1 and section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import FeatureEigenProClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = FeatureEigenProClassifier(n_features=2000, bandwidth=20.0, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """

    __init__ = with_parameters(_FeatureEigenPro.__init__, class_weight=None)


class FeatureEigenProRegressor(_FeatureEigenPro, LeastSquaresRegressor):
    """Regression by EigenPro on explicit features: a linear model of least squares.

    f(x) = φ(x)ᵀA with features φ that are made when they are needed, and kept where they fit. The top of their spectrum
    is flattened as in `EigenProRegressor`; with ``rank=0`` it is stochastic gradient descent on the features.

    Parameters
    ----------
    features : str or object, default="fourier"
        "fourier" (cosines and sines of random frequencies), "fourier_cosine", "orthogonal" (random frequencies at
        right angles), "rbf" (kernel functions at points of the data), "rbf_kmeans" (at centres of K-means),
        "nystrom", "nystrom_kmeans" (the same, whitened), or "linear" (the inputs and a constant). An object has
        ``map(x)`` of shape (m, n_features) and ``n_features``; it receives the inputs without centring.
    n_features : int, default=4000
        How many features. A cosine and a sine are two, so that for pairs an odd number becomes the next even one.
        "linear" and objects have their own number.
    kernel : str, Kernel or callable, default="gaussian"
        The kernel whose features a named map makes; see `shallows.kernels`. Fourier features need one with a law of
        frequencies, landmarks ("rbf", "nystrom") any. "linear" and objects need none.
    bandwidth : float, optional
        σ, in the units of the features, of the kernels that have one. None takes the median distance between points
        of a subsample.
    kernel_params : dict, optional
        Further parameters of the kernel, such as ``{"nu": 2.5}``, or keyword arguments of the function.
    rank : int, optional
        q, the number of directions that the preconditioner flattens. None takes a fifth of the subsample, or fewer
        where the spectrum falls below 1/n before; up to 1,000 points, the directions above 1/200 of the largest
        eigenvalue. 0 flattens none.
    n_subsample : int, optional
        M, the number of training points from which the eigensystem is computed. None takes about 9√n, at least 500
        and at most 12,000, as the memory allows; all of up to 1,000 points.
    eigensystem : {"nsvd", "rsvd"}, default="nsvd"
        Through the M × M matrix of inner products, or by a randomised decomposition of the features of the subsample.
    damping : float, default=0.25
        τ: the flattened eigenvalues become τ λ_{q+1}; ¼ is what the paper has for random features.
    power : {"full", "sqrt"} or float in (0, 1], default="full"
        a: directions are shrunk by τ (λ_{q+1}/λᵢ)^a. "full" takes the eigenvalues of the operator, "sqrt" the
        singular values of the features, as the paper prints it: slower, and forgiving where the eigensystem is noisy.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/λ, the size up to which an epoch with larger batches makes the
        same progress.
    step_size : float, optional
        η, for a sum over the batch. None takes the step by ``step_rule``, and an epoch in which training diverges
        is then repeated with half of it.
    step_rule : str, mapping or callable, default="certified"
        Which rule gives the step where ``step_size`` is None; the names are those of `EigenProClassifier`.
    max_epochs : int, default=40
        The most passes over the training data.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the training rows (of each class alike), and stop when their score has not
        become better for ``n_iter_no_change`` epochs. The model of the best epoch is the one that is kept.
    validation_fraction : float, default=0.1
        The share of the training rows that early stopping holds out.
    n_iter_no_change : int, default=3
        Epochs without a better validation score after which early stopping ends the training.
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
        "auto" means float32, and float64 for up to 1,000 points.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    coef_ : ndarray, shape (n_outputs, n_features)
        A, transposed.
    bandwidth_ : float
        Of the named maps.
    step_size_ : float
    n_epochs_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; each batch is measured before its own
        step.
    validation_scores_ : list of float
        With ``early_stopping`` only: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    effective_params_ : dict
        What the program chose where a parameter left it open, with the kernel, the seed, the precision and the
        device.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    S. Ma and M. Belkin (2017), "Diving into the shallows: a computational perspective on large-scale shallow learning",
    NIPS 30, Table 1 and section 4.
    """
