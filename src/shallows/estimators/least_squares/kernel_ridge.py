"""Kernel ridge regression by a solver of choice, on all points or on centers, for classes and for values."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from ... import kernels
from ...arrays.user_arrays import read_points
from ...errors import ShallowsError, UnknownNameError
from ...fitting.center_points import are_training_points
from ...fitting.compression import compress_sum
from ...fitting.fit_call import FittedFunction
from ...fitting.kernel_centers import fit_kernel_centers
from ...fitting.kernel_ridge import fit_kernel_ridge
from ...fitting.leaves import fit_leaves
from ...fitting.machine import Options
from ...fitting.metric import Metric, check_metric
from ...fitting.rows import EarlyStopping
from ...fitting.solver_choice import choose_for_rows
from ...fitting.square_targets import SquareClassTargets
from ...kernels import KERNELS, Kernel, precomputed
from ...models.learned_metric import LearnedMetric
from ...ranks import ALONE, Alone, checked
from ...solvers import settings
from ...solvers.least_squares import KERNEL_RIDGE_SOLVERS
from ...spectrum.kernel_ridge_choice import AUTO, is_automatic
from ...training import Checkpoint, Observer
from ...utils.checks import MOST, check_positive, check_whole, is_number, is_whole, warn_user
from ..base import Estimator, keeps_model_on_failure
from ..conformal import IntervalPredictions, SetPredictions
from ..constructors import stores_parameters, with_parameters
from ..predictions import SquareLossLabels, ValuePredictions
from .fit_plan import FitPlan, plan_fit

OF_EARLIER_FIT = ["intercept_", "bandwidth_", "centers_", "step_size_", "validation_scores_", "best_validation_score_"]
"""Attributes that only some fits set."""

LEAST_LEAF = 100
"""The smallest ``leaf_size``."""

ON_CENTERS = "'nystrom_conjugate_gradients' or 'projected_eigenpro'"


class KernelRidgeMachine(Estimator):
    """Base of the classifier and the regressor: parameters and fit of kernel ridge regression."""

    _named: ClassVar[Any] = {"kernel": KERNELS, "solver": KERNEL_RIDGE_SOLVERS}
    support_: Any
    dual_coef_: np.ndarray

    @stores_parameters
    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        *,
        bandwidth: float | str = "auto",
        alpha: float | str = "auto",
        centers: int | str | Any = "auto",
        n_components: int | str | None = "auto",
        metric: str | Metric | None = None,
        leaf_size: int | None = None,
        solver: Any = "auto",
        early_stopping: bool | EarlyStopping = False,
        warm_start: bool = False,
        calibration: str | None = None,
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Set the parameters.

        Parameters
        ----------
        kernel : str, Kernel or callable, default="gaussian"
            A name or object of `shallows.kernels`, a function of two arrays, or "precomputed" (X is the kernel matrix).
            "auto": Gaussian, or Laplace, a product Laplace or another exponent if it surely has a lower error.
        bandwidth : float, "auto" or "median", default="auto"
            σ, in the units of X. "auto": by leave-one-out errors of kernel ridge. "median": median distance.
        alpha : float or "auto", default="auto"
            λ: minimized is Σᵢ wᵢ (f(xᵢ) − yᵢ)² + λ ‖f‖². "auto": by leave-one-out errors. 0: only stopping regularizes.
        centers : int, "auto", None or array of shape (p, n_features), default="auto"
            Number of random training points that span the model, or the centers. None: all points. "auto": the solver
            decides; a solver on centers takes 40 √n, from 1,000 to 12,500, or fewer for a simple problem.
        n_components : int, "auto" or None, default="auto"
            Principal components that replace the inputs. "auto": 200, 100 or 50 if as good. None: no components.
        metric : {"diagonal", "full", "auto"}, Metric or None, default=None
            A weight of each column, or a matrix, learned from gradients. "auto": a diagonal if it lowers the error.
        leaf_size : int, optional
            More rows are split along columns, after the metric, into leaves of at most this size with a function each.
        solver : str or object of `shallows.solvers`, default="auto"
            "cholesky", "conjugate_gradients", "block_descent", "eigenpro", "kernel_sgd"; on centers
            "nystrom_conjugate_gradients", "projected_eigenpro". See the class.
        early_stopping : bool or EarlyStopping, default=False
            Hold out validation rows; stop when their score stops improving, and keep the model of the best epoch.
        warm_start : bool, default=False
            Continue the previous fit if only epochs or tolerance have changed. Exact solvers start from the previous
            coefficients, if ``random_state`` is the same: useful for a path over ``alpha``, from large to small.
        calibration : {"auto", None}, optional
            "auto", the classifier's default, learns probabilities and sets of classes, or intervals, from outputs of
            functions that were fitted without the rows, where the solver can. None, the regressor's default: none.
        random_state : int, RandomState or None, default=None
        options : Options, optional
            Device, memory, precision, time limit and verbosity.
        """

    @keeps_model_on_failure
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        observers: Sequence[Observer] = (),
        checkpoint: Checkpoint | None = None,
        ranks: Alone = ALONE,
    ) -> Self:
        """Train on all of X, y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
            Memory maps are read block by block. Sparse rows with many columns stay sparse.
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Factors wᵢ of the squared errors; rows of weight zero are left out. With a given ``alpha``, ten times the
            weights mean a tenth of the regularization; with "auto", only their ratios matter.
        observers : sequence of shallows.training.Observer
            Called after every batch and epoch, such as `Progress` or `Curve`. An iteration of a solver is an epoch.
        checkpoint : shallows.training.Checkpoint, optional
            Continue from this file if it exists, and keep it up to date.
        ranks : shallows.distributed.Mpi, optional
            The processes of an MPI program, each of which calls ``fit``. The default is one process.

        Raises
        ------
        ValueError, ShallowsError
            NaN or infinity, shapes that do not agree, one class only, or a parameter out of its range.
        DivergenceError
            If the given step is too large.
        """
        with checked(ranks).fit_together(self, (X, y, sample_weight), checkpoint) as checkpoint:
            self._check_parameters()
            rows = self._validated_training_set(X, y, sample_weight)
            solver, in_epochs = self._settings(), EarlyStopping.of(self.early_stopping) is not None
            on_centers, of_classes = self._is_on_centers(solver), not self._y_is_numeric
            in_leaves = self.leaf_size is not None and len(rows.rows) > self.leaf_size
            if self.leaf_size is not None and (observers or checkpoint or ranks is not ALONE):
                raise ShallowsError(
                    f"leaf_size={self.leaf_size} fits several functions, which observers, checkpoint and ranks do not "
                    "support. Leave these out, or set leaf_size=None."
                )
            if solver is None and not on_centers and not in_leaves:
                of_choice = {"of_classes": of_classes, "in_epochs": in_epochs}
                solver = choose_for_rows(rows, self._options(), all_points=self.centers is None, **of_choice)
                on_centers = solver is None
            continues = self.warm_start and (on_centers or not solver.is_exact)
            parameters = self._parameters_of_fit(solver) if continues else None
            shared: dict[str, Any] = {
                "of_classes": of_classes,
                "kernel": self._open_kernel(),
                "chooses_kernel": is_automatic(self.kernel),
                "searches_bandwidth": is_automatic(self.bandwidth),
                "n_components": self.n_components,
                "metric": Metric.of(self.metric),
                "calibrates": self.calibration is not None,
                "call": self._call(observers, checkpoint, parameters=parameters, ranks=ranks),
            }
            found: FittedFunction
            if in_leaves:
                found = fit_leaves(rows, leaf_size=self.leaf_size, regularization=self.alpha, solver=solver, **shared)
            elif on_centers:
                centers = AUTO if self.centers is None else self.centers
                if not are_training_points(centers):
                    centers = points_of(centers, self.n_features_in_)
                found = fit_kernel_centers(
                    rows, centers=centers, regularization=self.alpha, solver=solver, ranks=ranks, **shared
                )
            else:
                found = fit_kernel_ridge(
                    rows,
                    regularization=self.alpha if solver.takes_ridge else None,
                    solver=ranks.divide(solver),
                    before=(self.support_, self.dual_coef_) if solver.is_exact and self._has_coefficients() else None,
                    **shared,
                )
        self._forget(*OF_EARLIER_FIT)
        model, self._model, self._targets, self._share_of_block = found.model, found.model, found.targets, 2
        if on_centers:
            self._share_of_block = 4
            if found.support is None:
                self.centers_ = self.centers
            elif rows.matrix is None:
                self.centers_ = rows.X[np.searchsorted(rows.rows, found.support)]
        if isinstance(found.targets, SquareClassTargets):
            self.classes_ = found.targets.classes
        else:
            self.intercept_ = found.targets.intercept
        self.dual_coef_, self.support_ = model.coefficients, found.support
        self._set_course(found.run)
        chosen = {"alpha": 0.0, **found.report}
        for name in ("bandwidth", "alpha", "step_size"):
            if name in chosen:  # One number, or a list of each leaf's number
                setattr(self, f"{name}_", np.array(chosen[name]) if isinstance(chosen[name], list) else chosen[name])
        self.metric_ = model.components.matrix if isinstance(model.components, LearnedMetric) else None
        self._ended, self.report_ = found.ended, {**found.report, "timings": found.seconds}
        self._left_out = found.left_out
        return self

    def plan(self, X: Any, y: Any, sample_weight: Any = None, *, seconds: float = 2.0) -> FitPlan:
        """What ``fit`` with the same arguments will need, from fits to a few rows; the estimator stays as it is.

        A fit to 2,000 rows, or 40 % of fewer rows, is followed by fits to twice as many, while ``seconds`` allow. The
        seconds of each phase are multiplied by the growth of its operations, the memory follows from the sizes of the
        arrays, and the error falls as a power of the rows.

        Parameters
        ----------
        X, y, sample_weight : array-like
            As in `fit`.
        seconds : float, default=2.0
            For the fits. The first two are never left out.

        Returns
        -------
        FitPlan
            ``solver``, ``n_centers``, ``seconds``, ``memory`` (bytes) and ``error`` (1 − accuracy, or 1 − R²), with
            ``seconds_range`` and ``error_range``.

        Raises
        ------
        ValueError, ShallowsError
            As in `fit`; also for a precomputed kernel.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from shallows import KernelRidgeClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> plan = KernelRidgeClassifier(random_state=0).plan(X, y)
        >>> plan.solver, plan.error < 0.05
        ('cholesky', True)
        """
        return plan_fit(self, X, y, sample_weight, seconds)

    def compress(self, loss: float = 0.01) -> Self:
        """A copy of the fitted estimator with fewer centers, whose predictions are faster and nearly the same.

        Centers are chosen among those of this estimator, more and more until the loss is small enough. Their
        coefficients are fitted to its outputs at up to 30,000 of its centers. The copy has no left-out rows for
        intervals or sets: call `conformalize`.

        Parameters
        ----------
        loss : float, default=0.01
            The most that the outputs may differ at centers that were not used: the squared difference as a share of
            their variance.

        Returns
        -------
        KernelRidgeClassifier or KernelRidgeRegressor
            ``report_["compression"]`` has the ``loss``, the ``rows`` that measured it, and the numbers of ``centers``
            and of centers ``before``. If no half of the centers is enough, the copy keeps all, with a warning.

        Raises
        ------
        ShallowsError
            For a precomputed kernel, a fit with leaves, or a loss that is not between 0 and 1.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from shallows import KernelRidgeClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> model = KernelRidgeClassifier(random_state=0).fit(X[:1200], y[:1200])
        >>> fewer = model.compress(0.1)
        >>> len(fewer.dual_coef_) < 300, bool(fewer.score(X[1200:], y[1200:]) > 0.94)
        (True, True)
        """
        check_is_fitted(self)
        precomputed.refuse(self, "Its points, at which the outputs would be compared, are not known.")
        if hasattr(self, "_model") and not hasattr(self._model, "kernel"):
            raise ShallowsError("compress needs one function, and this fit has one for each leaf. Set leaf_size=None.")
        if not is_number(loss) or not 0 < loss < 1:
            raise ShallowsError(f"loss must be a number between 0 and 1, such as 0.01, got {loss!r}.")
        options = self._options()
        device = options.fit_device()
        found = compress_sum(self._model, loss, self.report_["seed"], device, options.budget(device))
        fewer = copy.copy(self)
        fewer._forget("_ended", "_left_out")
        if found is None:
            warn_user(
                f"No function of half of the {len(self.dual_coef_):,} centers has a loss of at most {loss:g}, so all "
                "are kept. Allow a larger loss.",
                UserWarning,
            )
            return fewer
        fewer._model, fewer.dual_coef_ = found.function, found.function.coefficients
        if self.support_ is not None:
            fewer.support_ = self.support_[found.kept]
        if hasattr(self, "centers_"):
            fewer.centers_ = self.centers_[found.kept]
        before = {"centers": len(found.kept), "before": len(self.dual_coef_)}
        fewer.report_ = {**self.report_, "compression": {**before, "loss": found.loss, "rows": found.n_aside}}
        return fewer

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the features with a linear kernel, shape (n_outputs, n_features), as `SVC` has them."""
        if not hasattr(self, "_model"):
            raise AttributeError("coef_ is available after fit.")
        coefficients = self._model.input_coefficients()
        return coefficients * self._targets.scale[:, None] if self._y_is_numeric else coefficients

    def _open_kernel(self) -> Kernel:
        """The kernel, perhaps without a bandwidth; the Gaussian kernel if the fit chooses it."""
        if not is_automatic(self.kernel):
            return kernels.make(self.kernel, self.bandwidth)
        if not is_automatic(self.bandwidth):
            raise ShallowsError(
                f"kernel='auto' compares kernels at their best bandwidths, and bandwidth={self.bandwidth!r} was given. "
                "Set bandwidth='auto', or name the kernel."
            )
        return kernels.make("gaussian")

    def _settings(self) -> Any:
        """The checked settings of the solver; None for "auto"."""
        if is_automatic(self.solver):
            return None
        if isinstance(self.solver, str):
            UnknownNameError.check(f"solver of {type(self).__name__}", self.solver, [AUTO, *KERNEL_RIDGE_SOLVERS])
        return settings.resolve(self.solver, KERNEL_RIDGE_SOLVERS, type(self).__name__)

    def _is_on_centers(self, solver: Any) -> bool:
        """Whether centers span the model, and not all points; ``solver`` is None for "auto"."""
        return not (self.centers is None or is_automatic(self.centers)) if solver is None else solver.on_centers

    def _divided_arrays(self) -> tuple[str, ...] | None:
        """Names of a checkpoint's arrays that several processes divide, "*" for all; None if one process must fit."""
        solver = self._settings()
        on_centers = self._is_on_centers(solver)
        if not (on_centers if solver is None else solver.takes_ranks):
            return None
        return () if on_centers else ("*",)

    def _has_coefficients(self) -> bool:
        return self.warm_start and hasattr(self, "dual_coef_")

    def _seed_to_go_on_with(self) -> int | None:
        before = super()._seed_to_go_on_with()
        if before is None and self._has_coefficients():
            # The coefficients before belong to the rows in their order.
            return self.report_["seed"]
        return before

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._open_kernel()
        check_positive(self, "alpha", or_zero=True, rules=("auto",))
        if is_whole(self.n_components) and precomputed.is_asked_for(self):
            warn_user(f"n_components={self.n_components} is ignored: a precomputed kernel has no inputs.")
        centers, solver, metric = self.centers, self._settings(), Metric.of(self.metric)
        if metric is not None:
            precomputed.refuse(self, "A metric is learned from columns; set metric=None.")
            check_metric(metric, self._open_kernel(), self.n_components)
        if self.leaf_size is not None:
            self._check_leaves(solver)
        if self._is_on_centers(None):
            if np.ndim(centers) == 0 and not is_whole(centers) and not scipy.sparse.issparse(centers):
                raise ShallowsError(
                    f"centers must be 'auto', None, a whole number from 1 to {MOST:,}, how many training points to "
                    f"use, or an array of points; got {centers!r}."
                )
            if not are_training_points(centers):
                precomputed.refuse(self, "Given centers are points; with a matrix, centers is a number.")
        if solver is None:
            return
        stopping = EarlyStopping.of(self.early_stopping)
        name = f"solver={type(solver).__name__}()" if not isinstance(self.solver, str) else f"solver={self.solver!r}"
        if solver.on_centers:
            if self.centers is None:
                raise ShallowsError(
                    f"{name} needs centers: a number, an array of points or 'auto'. For all points use "
                    "solver='eigenpro' or 'conjugate_gradients'."
                )
            return
        if self._is_on_centers(None):
            raise ShallowsError(
                f"{name} has all points as centers, so centers={self.centers!r:.60} cannot be used. Set centers=None, "
                f"or use solver={ON_CENTERS}."
            )
        if not solver.takes_ridge and not is_automatic(self.alpha) and self.alpha > 0:
            raise ShallowsError(
                f"{name} has no ridge term, and alpha={self.alpha!r} was given. Set alpha=0, or use solver='eigenpro'."
            )
        if stopping is not None and solver.is_direct:
            raise ShallowsError(
                f"{name} solves all at once, so early_stopping has nothing to stop. Use solver='eigenpro' or "
                "'conjugate_gradients', or set early_stopping=False."
            )
        if solver.preconditioner is None or solver.is_exact:
            return
        further = (metric, self.leaf_size) != (None, None)
        if is_whole(self.n_components) or further or is_automatic(self.kernel):
            raise ShallowsError(
                "A given preconditioner was made for all rows, the inputs and a kernel. Set n_components=None, "
                "metric=None and leaf_size=None, and name the kernel."
            )
        precomputed.refuse(self, "A given preconditioner was made for points and a kernel.")
        if stopping is not None:
            raise ShallowsError(
                "A given preconditioner was made for all training rows, and early stopping holds some of them out. Use "
                "only one of the two."
            )

    def _check_leaves(self, solver: Any) -> None:
        """Refuse what a fit of several functions does not have."""
        check_whole(self, "leaf_size", least=LEAST_LEAF)
        precomputed.refuse(self, "Leaves are split along columns; set leaf_size=None.")
        others = {
            f"centers={self.centers!r:.60}": self._is_on_centers(None),
            f"solver={self.solver!r}": solver is not None and solver.on_centers,
            f"early_stopping={self.early_stopping!r}": self.early_stopping is not False,
            "warm_start=True": self.warm_start,
        }
        for name, given in others.items():
            if given:
                raise ShallowsError(
                    f"leaf_size={self.leaf_size} fits a function of all rows of each leaf, which {name} does not "
                    "support. Leave it out, or set leaf_size=None."
                )


def points_of(centers: Any, d: int) -> Any:
    """Given centers as float32 or float64 points, shape (p, d), or CSR rows; raises ShallowsError if they are not."""
    points = centers if scipy.sparse.issparse(centers) else np.asarray(centers)
    if points.dtype.kind not in "fiub" or points.ndim != 2 or 0 in points.shape:
        raise ShallowsError(f"centers must be a number or an array of shape (p, {d}), got {points!r:.80}.")
    points = read_points(points)
    if points.shape[1] != d:
        raise ShallowsError(f"centers have {points.shape[1]} features and X has {d}.")
    points = points.astype(np.float32 if points.dtype == np.float32 else np.float64)
    if not np.isfinite(points.data if scipy.sparse.issparse(points) else points).all():
        raise ShallowsError("centers hold NaN or infinity.")
    return points


class KernelRidgeClassifier(SetPredictions, SquareLossLabels, KernelRidgeMachine):
    """Kernel classification by ridge regression on ±1 targets, with solvers from a hundred to millions of rows.

    The function is Σⱼ αⱼ k(zⱼ, ·) over all training points or over fewer centers, and minimizes the squared errors plus
    λ ‖f‖². The solver decides how it is found:

    - "cholesky" factors the kernel matrix: exact, for up to about 20,000 rows.
    - "conjugate_gradients" and "block_descent" solve the same equations step by step.
    - "eigenpro" takes stochastic gradients with a preconditioner: a good model after a few passes over all pairs.
    - "kernel_sgd" is EigenPro without a preconditioner, a baseline.
    - "nystrom_conjugate_gradients" and "projected_eigenpro" have fewer centers than rows, so memory and time of a
      prediction do not grow with the data.
    - "auto" is "cholesky" for up to 2,000 rows, "eigenpro" for up to 125,000 rows if the memory allows, and otherwise
      "nystrom_conjugate_gradients" on centers, or "projected_eigenpro" for ``alpha=0`` or little time.

    Parameters
    ----------
    class_weight : dict or "balanced", optional

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    dual_coef_ : ndarray, shape (n_samples or n_centers, n_outputs)
    support_ : ndarray of int, or None
        Training rows that are centers, without held-out rows; None if the user gave the centers.
    centers_ : ndarray or CSR matrix, shape (n_centers, n_features), with a solver on centers
    coef_ : ndarray, shape (n_outputs, n_features), with a linear kernel
        Of the outputs before calibration: a calibrated classifier's scores are another function of ``X @ coef_.T``.
    bandwidth_, alpha_, step_size_ : float
        Where leaves differ, an array with the value of each.
    metric_ : ndarray, shape (n_features,) or (n_features, n_features), or None
        The learned metric M, whose largest entry is 1. A diagonal has the importance of each column; see ``metric``.
    n_epochs_, n_iter_ : int
    losses_ : list of float
        Training loss of each epoch as a share of the zero function's loss; a batch is measured before its own step.
    validation_scores_ : list of float
        With ``early_stopping``: accuracy or R² after each epoch; ``best_validation_score_`` is the largest.
    conformity_scores_ : ndarray, shape (m,), or (m, n_outputs) of a regressor, with a calibration
        One minus the probability of the true class of m rows that were left out; of a regressor, sizes of residuals.
    report_ : dict
    options_ : Options

    See Also
    --------
    shallows.solvers.EigenPro : the parameters of the preconditioner, the batches and the steps.
    FeatureRidgeClassifier : the same loss on explicit features.
    KernelSVMClassifier : a sparse model.

    References
    ----------
    S. Ma and M. Belkin (2017), "Diving into the shallows: a computational perspective on large-scale shallow learning",
    NIPS 30, for EigenPro. The solvers name their own sources.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import KernelRidgeClassifier
    >>> from shallows.solvers import EigenPro
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelRidgeClassifier(random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    >>> model = KernelRidgeClassifier(solver=EigenPro(max_epochs=5), random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    >>> model = KernelRidgeClassifier(centers=300, bandwidth=20.0, random_state=0).fit(X[:1200], y[:1200])
    >>> model.dual_coef_.shape, bool(model.score(X[1200:], y[1200:]) > 0.93)
    ((300, 10), True)
    """

    __init__ = with_parameters(KernelRidgeMachine.__init__, calibration="auto", class_weight=None)


class KernelRidgeRegressor(IntervalPredictions, ValuePredictions, KernelRidgeMachine):
    """Kernel ridge regression around the mean of the targets; see `KernelRidgeClassifier` for the solvers.

    The attributes are those of `KernelRidgeClassifier`, with ``intercept_`` instead of ``classes_``.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.

    Examples
    --------
    >>> import numpy as np
    >>> from shallows import KernelRidgeRegressor
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = KernelRidgeRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """
