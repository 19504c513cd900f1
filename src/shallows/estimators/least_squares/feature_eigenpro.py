"""EigenPro on explicit features, for classes and for values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ... import arrays, kernels, spectrum, training
from ... import features as feature_maps
from ...errors import UnknownNameError
from ...features import Blocks, Design
from ...fitting.choices import Sample, choose_for_matrix, choose_on_all_rows, inner_products
from ...fitting.machine import SMALL
from ...fitting.parameter_checks import check_whole
from ...fitting.preconditioning import (
    SMALL_FLOOR,
    check_preconditioning,
    plan_of_steps,
    step_parameters,
    subsample_size,
)
from ...kernels import Kernel
from ...models import precomputed
from ...models.centring import Centring
from ...models.kernel_checks import check_scale, check_scores
from ...models.scores import feature_scores
from ...solvers.least_squares import step_rules
from ...solvers.least_squares.feature_eigenpro import FeatureEigenPro, FeatureProblem, workers_of
from ...solvers.least_squares.step_rules import StepRule
from ...spectrum import power_of
from ..constructors import stores_parameters, with_parameters
from .kernel_least_squares import LeastSquaresClassifier, LeastSquaresFit, LeastSquaresRegressor, Plan

LEAST_LEVEL, RIDGE_FLOOR = 0.1, 0.1
"""With a regularisation, directions with eigenvalues below the first over n, or in a small problem the second times its
usual floor, are not flattened: the steps of the epochs fit them anyway."""

GROWING = ("fourier", "orthogonal")
"""Beginnings of the names of maps of which more rows are given more features, where their number is left open."""

FEATURES_PER_ROOT, LEAST_FEATURES, MOST_FEATURES = 40.0, 4000, 10_000
"""So many features times √n, the fewest and the most: beyond 62,500 rows the time of an epoch grows like n."""

MANY = 10_000
"""Beyond so many rows the training ends where its loss rests; with fewer the last epochs cost little."""


@dataclass
class FeatureEigenProFit(LeastSquaresFit):
    """The fit of EigenPro on explicit features, made in ``blocks``."""

    blocks: Blocks | None = None


class FeatureEigenProMethod:
    """Parameters, plan and solver of EigenPro on explicit features, for classes and for values."""

    _context = FeatureEigenProFit

    @stores_parameters
    def __init__(
        self,
        features: str | Any = "fourier",
        *,
        n_features: int | None = None,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        bandwidth: float | str | None = "auto",
        kernel_params: Mapping[str, Any] | None = None,
        n_components: int | str | None = "auto",
        regularisation: float | str = "auto",
        calibration: str | None = "auto",
        rank: int | None = None,
        n_subsample: int | None = None,
        eigensystem: str = "nsvd",
        damping: float = 0.25,
        power: str | float = "full",
        batch_size: int | None = None,
        step_size: float | None = None,
        step_rule: str | Mapping[str, Any] | StepRule = "certified",
        max_epochs: int = 40,
        max_seconds: float | None = None,
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
    ): ...

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_preconditioning(self)
        check_whole(self, "n_features", optional=True)
        power_of(self.power)
        step_rules.make(self.step_rule)
        UnknownNameError.check("eigensystem", self.eigensystem, spectrum.EIGENSYSTEMS)
        feature_maps.check(self.features)
        precomputed.refuse(self, "Explicit features are made of points, and a kernel matrix shows none.")

    @property
    def _takes_kernel(self) -> bool:
        return isinstance(self.features, str) and self.features != "linear"

    def _prepare_points(self, fit: FeatureEigenProFit) -> Any:
        # All columns are kept: the map has to see where a new point differs from features that were constant before.
        of_kernel = feature_maps.takes_sparse_points(self.features) and kernels.kind(self.kernel).takes_sparse_points
        self._centring = Centring.of(
            fit.inputs,
            centred=isinstance(self.features, str),
            without_constants=False,
            may_stay_sparse=of_kernel,
        )
        points = self._centring.training_points(fit.inputs, fit.order, fit.device, fit.dtype)
        if isinstance(self.features, str):
            centred = not self._takes_kernel or kernels.kind(self.kernel).shift_invariant
            check_scale(points, fit.dtype, may_vanish=self._centring.all_equal or not centred)
        return points

    def _make_kernel(self, fit: FeatureEigenProFit) -> Kernel | None:
        return super()._make_kernel(fit) if self._takes_kernel else None

    def _n_units(self, fit: FeatureEigenProFit) -> int:
        return self.n_features or self._number_of_features(fit.n)

    def _choose_on_all_rows(self, fit: FeatureEigenProFit) -> None:
        sizes = self._n_units(fit), fit.seed, fit.room
        fit.blocks = blocks = feature_maps.in_blocks(self.features, fit.kernel, fit.points[:, :-2], *sizes)
        if self._centring.all_equal or fit.n < 3:
            return
        sample = Sample(fit.points, fit.targets, fit.weights)
        named = self.features if isinstance(self.features, str) else ""
        if not named.startswith(("fourier", "orthogonal", "nystrom")):
            # Their products are not the kernel's values, and λ is chosen with them.
            matrix_of = lambda x: inner_products(blocks, x, fit.points)  # noqa: E731
            fit.choices = choose_for_matrix(self._request(), fit.choices, matrix_of, sample)
        else:
            matrix_of = lambda x: kernels.matrix(fit.kernel, x)  # noqa: E731
        if self._calibrates and fit.n <= SMALL:
            fit.choices = choose_on_all_rows(self._request(), fit.choices, matrix_of, sample)

    def _number_of_features(self, n: int) -> int:
        """How many features n rows are given, of maps that make any number without an eigensystem."""
        if not isinstance(self.features, str) or not self.features.startswith(GROWING):
            return LEAST_FEATURES
        return max(LEAST_FEATURES, min(MOST_FEATURES, int(FEATURES_PER_ROOT * math.sqrt(n))))

    def _stopping(self, fit: FeatureEigenProFit) -> training.Stopping:
        # Fewer features than rows leave a loss that no epoch takes away.
        rests = fit.choices.regularisation and fit.n > MANY
        return replace(super()._stopping(fit), least_fall=2.0 * self.tol if rests else 0.0)

    @staticmethod
    def _rows_to_keep(plan: Plan) -> int:
        return 0

    def _sizes(self, fit: FeatureEigenProFit) -> tuple[int, int]:
        """M and q: those of the user within n and the features, or sizes chosen from the data and the budget."""
        n, n_features, itemsize, budget = fit.n, fit.blocks.n_features, fit.dtype.itemsize, fit.room
        if self.rank == 0:
            return min(n, self.n_subsample or 1), 0
        n_subsample = subsample_size(self, n, itemsize, budget)
        rank = self.rank
        if rank is None:
            rank = n_subsample - 1 if n_subsample == n else n_subsample // 5
            # The eigenvectors, n_features q numbers, twice while they are made.
            rank = min(rank, max(1, budget // (8 * itemsize * n_features)))
        return n_subsample, max(0, min(rank, n_subsample - 1, n_features - 1))

    def _make_plan(self, fit: FeatureEigenProFit) -> Plan:
        n, ridge = fit.n, fit.choices.regularisation
        n_subsample, rank = self._sizes(fit)
        # With kernel functions as features the eigenvalues are those of the kernel, squared.
        by_kernel = isinstance(self.features, str) and self.features.startswith("rbf")
        floor = SMALL_FLOOR**2 if by_kernel else SMALL_FLOOR
        small = self.rank is None and n <= SMALL
        level = ridge if small else max(ridge, LEAST_LEVEL if ridge else 1.0)
        p = spectrum.make_feature_preconditioner(
            fit.blocks,
            fit.points[:, :-2],
            rank=rank,
            n_subsample=n_subsample,
            eigensystem=self.eigensystem,
            seed=fit.seed,
            damping=self.damping,
            power=power_of(self.power),
            weights=fit.weights,
            # Once λ_{q+1} is 1/n of κ a single batch of all points loses no progress: to flatten more gains nothing.
            smallest_share=0.0 if not small else floor * (RIDGE_FLOOR if ridge else 1.0),
            smallest=(ridge if self.rank is not None else level) / n,
        )
        whole = n <= SMALL and p.n_subsample == n
        critical = n if whole else max(16, p.critical_batch_size() / 2)
        batch_size = int(min(n, self.batch_size or critical))
        all_equal = self._centring.all_equal
        return plan_of_steps(self, fit.kernel, p, batch_size, n, ridge * batch_size / n, all_equal=all_equal)

    def _has_own_threads(self, fit: FeatureEigenProFit) -> bool:
        return workers_of(fit.points, fit.blocks.spans) > 1

    def _step_bytes(self, fit: FeatureEigenProFit) -> int:
        n_outputs, width = fit.targets.shape[1], max(span.stop - span.start for span in fit.blocks.spans)
        # The iterate and its average, as they are, at the start of the epoch, at their best and in a copy; the gradient
        # and one more at work.
        beside = max(2, workers_of(fit.points, fit.blocks.spans))
        held = fit.blocks.n_features * (fit.plan.preconditioner.rank + 10 * n_outputs)
        return fit.dtype.itemsize * (held + fit.plan.batch_size * (beside * width + 4 * n_outputs))

    def _make_problem(self, fit: FeatureEigenProFit, budget: int) -> FeatureProblem:
        fit.gram = Design(fit.blocks, fit.points[:, :-2], budget=budget)
        return FeatureProblem(fit.gram, fit.targets, fit.weights, fit.plan.preconditioner, fit.choices.regularisation)

    def _make_solver(self, fit: FeatureEigenProFit) -> FeatureEigenPro:
        return FeatureEigenPro(float(fit.plan.step_size), fit.plan.cycle)

    def _store_model(self, fit: FeatureEigenProFit, state: Any) -> None:
        self.coef_ = np.ascontiguousarray(arrays.to_numpy(state.coefficients[:, : fit.n_outputs]).T)
        self._blocks = fit.blocks.to(arrays.Device("cpu"))
        if fit.plan.kernel is not None:
            self.bandwidth_ = fit.plan.kernel.bandwidth

    def _model_parameters(self, fit: FeatureEigenProFit) -> dict[str, Any]:
        of_features = {
            "features": feature_maps.name_of(self.features),
            "n_features": fit.blocks.n_features,
            "eigensystem": self.eigensystem,
        }
        if fit.plan.kernel is not None:
            of_features |= super()._model_parameters(fit)
        return of_features | step_parameters(self, fit.plan)

    def _raw_predict(self, X: Any, coefficients: Any = None, fit: FeatureEigenProFit | None = None) -> np.ndarray:
        """φ(x)ᵀA, shape (m, c), for checked X."""
        device = arrays.resolve_device(self.device)
        if fit is not None:
            blocks = fit.blocks
        else:
            coefficients = arrays.to_device(self.coef_.T, device)
            blocks = self._blocks.to(device)
        budget = min(self._working_budget(device) // 4, 2**27 if device.kind == "cpu" else 2**31)
        out = feature_scores(blocks, self._centring, self._model_inputs(X), coefficients, device, budget=budget)
        if fit is None:
            check_scores(out, X)
        return self._unscale(out)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")


class FeatureEigenProClassifier(FeatureEigenProMethod, LeastSquaresClassifier):
    """Classification by EigenPro on explicit features: a linear model of least squares on ±1 targets.

    f(x) = φ(x)ᵀA with features φ that are made when they are needed, and kept where they fit. The top of their spectrum
    is flattened as in `EigenProClassifier`; with ``rank=0`` it is stochastic gradient descent on the features.

    Parameters
    ----------
    features : str or object, default="fourier"
        "fourier" (cosines and sines of random frequencies), "fourier_cosine", "orthogonal" (random frequencies at
        right angles), "rbf" (kernel functions at points of the data), "rbf_kmeans" (at centres of K-means),
        "nystrom", "nystrom_kmeans" (the same, whitened), or "linear" (the inputs and a constant); further names are the
        keys of `shallows.features.FEATURE_MAPS`. An object has ``map(x)`` of shape (m, n_features) and ``n_features``;
        it receives the inputs without centring. A transformer goes into a pipeline before a linear model, or into
        `FeatureRidgeClassifier`.
    n_features : int, optional
        How many features; None takes 40 √n, from 4,000 to 10,000, of random frequencies, and 4,000 of the other maps. A
        cosine and a sine are two, so that for pairs an odd number becomes the next even one. "linear" and objects have
        their own number.
    kernel : str, Kernel or callable, default="gaussian"
        The kernel whose features a named map makes; see `shallows.kernels`. Fourier features need one with a law of
        frequencies, landmarks ("rbf", "nystrom") any. "linear" and objects need none.
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
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them.
        None leaves the outputs as they are. Regressors have it so that one configuration serves both, without effect.
    rank : int, optional
        q, the number of directions that the preconditioner flattens. None takes a fifth of the subsample, or fewer
        where the spectrum falls below max(λ, 0.1)/n before (1/n without λ); up to 1,000 points, the directions above
        λ/n and above 1/2,000 of the largest eigenvalue (1/200 without λ; where features are kernel functions, the
        square of 1/200). 0 flattens none. A given rank is a limit: directions whose eigenvalues lie below λ/n are left
        as they are.
    n_subsample : int, optional
        M, the number of training points from which the eigensystem is computed. None takes about 9√n, at least 500 and
        at most 12,000, as the memory allows, and twice a given ``rank``; all of up to 1,000 points where ``rank`` is
        None.
    eigensystem : {"nsvd", "rsvd"}, default="nsvd"
        Through the M × M matrix of inner products, or by a randomised decomposition of the features of the subsample.
    damping : float, default=0.25
        τ: the flattened eigenvalues become τ λ_{q+1}^a λᵢ^(1−a), with a from ``power``. The paper has τ = ¼ and a = ½
        on random features.
    power : {"full", "sqrt"} or float in (0, 1], default="full"
        a: directions are shrunk by τ (λ_{q+1}/λᵢ)^a. "full" takes the eigenvalues of the operator, "sqrt" the
        singular values of the features, as the paper prints it: slower, and forgiving where the eigensystem is noisy.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/μ, the size up to which an epoch with larger batches makes the same
        progress: β is the largest value of the preconditioned kernel's diagonal, μ its largest eigenvalue. Of up to
        1,000 rows, all of which are in the subsample, it takes all.
    step_size : float, optional
        η, for a sum over the batch. None takes the step by ``step_rule``, and an epoch in which training diverges
        is then repeated with half of it.
    step_rule : str, mapping or callable, default="certified"
        Which rule gives the step where ``step_size`` is None; the names are those of `EigenProClassifier`.
    max_epochs : int, default=40
        The most passes over the training data.
    max_seconds : float, optional
        The most seconds of the fit, the choice of parameters and the preconditioner included. Where these take longer,
        the training ends as soon as there is a model.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss. With a regularisation
        and more than 10,000 rows, stop as well after two epochs in a row over which the loss fell by less than twice
        this share of itself.
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
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
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
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on.
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

    __init__ = with_parameters(FeatureEigenProMethod.__init__, class_weight=None)


class FeatureEigenProRegressor(FeatureEigenProMethod, LeastSquaresRegressor):
    """Regression by EigenPro on explicit features: a linear model of least squares.

    f(x) = φ(x)ᵀA with features φ that are made when they are needed, and kept where they fit. The top of their spectrum
    is flattened as in `EigenProRegressor`; with ``rank=0`` it is stochastic gradient descent on the features.

    Parameters
    ----------
    features : str or object, default="fourier"
        "fourier" (cosines and sines of random frequencies), "fourier_cosine", "orthogonal" (random frequencies at
        right angles), "rbf" (kernel functions at points of the data), "rbf_kmeans" (at centres of K-means),
        "nystrom", "nystrom_kmeans" (the same, whitened), or "linear" (the inputs and a constant); further names are the
        keys of `shallows.features.FEATURE_MAPS`. An object has ``map(x)`` of shape (m, n_features) and ``n_features``;
        it receives the inputs without centring. A transformer goes into a pipeline before a linear model, or into
        `FeatureRidgeClassifier`.
    n_features : int, optional
        How many features; None takes 40 √n, from 4,000 to 10,000, of random frequencies, and 4,000 of the other maps. A
        cosine and a sine are two, so that for pairs an odd number becomes the next even one. "linear" and objects have
        their own number.
    kernel : str, Kernel or callable, default="gaussian"
        The kernel whose features a named map makes; see `shallows.kernels`. Fourier features need one with a law of
        frequencies, landmarks ("rbf", "nystrom") any. "linear" and objects need none.
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
        and the softmax for several classes, from outputs at training rows of functions that were fitted without them.
        None leaves the outputs as they are. Regressors have it so that one configuration serves both, without effect.
    rank : int, optional
        q, the number of directions that the preconditioner flattens. None takes a fifth of the subsample, or fewer
        where the spectrum falls below max(λ, 0.1)/n before (1/n without λ); up to 1,000 points, the directions above
        λ/n and above 1/2,000 of the largest eigenvalue (1/200 without λ; where features are kernel functions, the
        square of 1/200). 0 flattens none. A given rank is a limit: directions whose eigenvalues lie below λ/n are left
        as they are.
    n_subsample : int, optional
        M, the number of training points from which the eigensystem is computed. None takes about 9√n, at least 500 and
        at most 12,000, as the memory allows, and twice a given ``rank``; all of up to 1,000 points where ``rank`` is
        None.
    eigensystem : {"nsvd", "rsvd"}, default="nsvd"
        Through the M × M matrix of inner products, or by a randomised decomposition of the features of the subsample.
    damping : float, default=0.25
        τ: the flattened eigenvalues become τ λ_{q+1}^a λᵢ^(1−a), with a from ``power``. The paper has τ = ¼ and a = ½
        on random features.
    power : {"full", "sqrt"} or float in (0, 1], default="full"
        a: directions are shrunk by τ (λ_{q+1}/λᵢ)^a. "full" takes the eigenvalues of the operator, "sqrt" the
        singular values of the features, as the paper prints it: slower, and forgiving where the eigensystem is noisy.
    batch_size : int, optional
        m, the rows of a step. None takes half of β/μ, the size up to which an epoch with larger batches makes the same
        progress: β is the largest value of the preconditioned kernel's diagonal, μ its largest eigenvalue. Of up to
        1,000 rows, all of which are in the subsample, it takes all.
    step_size : float, optional
        η, for a sum over the batch. None takes the step by ``step_rule``, and an epoch in which training diverges
        is then repeated with half of it.
    step_rule : str, mapping or callable, default="certified"
        Which rule gives the step where ``step_size`` is None; the names are those of `EigenProClassifier`.
    max_epochs : int, default=40
        The most passes over the training data.
    max_seconds : float, optional
        The most seconds of the fit, the choice of parameters and the preconditioner included. Where these take longer,
        the training ends as soon as there is a model.
    tol : float, default=5e-3
        Stop after an epoch whose training loss is at most this share of the zero function's loss. With a regularisation
        and more than 10,000 rows, stop as well after two epochs in a row over which the loss fell by less than twice
        this share of itself.
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
        device. ``selection`` says how the bandwidth and λ were chosen, and which ones are as good within a standard
        error; ``calibration`` the log-loss on the rows that it was learnt on.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    S. Ma and M. Belkin (2017), "Diving into the shallows: a computational perspective on large-scale shallow learning",
    NIPS 30, Table 1 and section 4.
    """
