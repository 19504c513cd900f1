"""What classification and regression by a regularised risk share: the constructor, the fit, the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import arrays, gram, kernels, losses, streams, training
from ... import features as feature_maps
from ...errors import ShallowsError
from ...features import Blocks, Design
from ...solvers.regularised import SOLVERS
from ...solvers.regularised.risk import FeatureSpan, KernelSpan, RiskProblem, RiskState
from ...solvers.solver_parameters import complete
from ...spectrum.leave_one_out import RidgeChoice
from .. import column_scales, early_stopping, leave_one_out_choice, precomputed
from ..base import warn_user
from ..centring import Centring
from ..constructors import stores_parameters
from ..fitting import Fit, FitSnapshot, TrainedEstimator
from ..kernel_checks import check_scale, check_scores
from ..parameter_checks import check_positive, check_whole
from ..scores import feature_scores, kernel_scores


class InOrderThenShuffled(training.Batches):
    """Batches that the first epoch visits in the order of the rows, and later ones in a random order.

    The rows of a fit are in a random order already. In the first epoch the rows visited so far are then the first
    ones, and of a kernel matrix that is not kept only their columns are computed.
    """

    def of_epoch(self, epoch: int) -> list[slice]:
        """The batches of an epoch, in their order."""
        return list(arrays.blocks(self.n, self.size)) if epoch == 0 else super().of_epoch(epoch)


class InOrderThenDrawn(InOrderThenShuffled):
    """Batches that the first epoch visits in order, and later ones draw with replacement."""

    def of_epoch(self, epoch: int) -> list[slice]:
        """The batches of an epoch, in their order."""
        slices = list(arrays.blocks(self.n, self.size))
        if epoch == 0:
            return slices
        return [slices[int(i % len(slices))] for i in streams.integers(self.seed, "drawn batches", epoch, len(slices))]


@dataclass
class RiskFit(Fit):
    """The fit of a regularised risk.

    Attributes
    ----------
    choice : RidgeChoice or None
        How bandwidth and λ were chosen, if one of them was.
    blocks : Blocks or None
        Explicit features.
    batch_size : int
    regularisation : float
    """

    choice: RidgeChoice | None = None
    blocks: Blocks | None = None
    batch_size: int = 0
    regularisation: float = 0.0


class RiskModel(TrainedEstimator):
    """Base of the estimators that minimise λ/2 ‖f‖² + (1/n) Σ wᵢ ℓ(f(xᵢ), yᵢ) by one of the solvers of `SOLVERS`."""

    _context = RiskFit
    _model_attributes = ("_model",)
    _intercept: np.ndarray | None = None  # Of the problem, shape (c,); coded values have theirs taken away.

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: dict[str, Any] | None = None,
        features: Any = None,
        n_features: int = 512,
        loss: Any = "auto",
        solver: str = "sdca",
        solver_params: dict[str, Any] | None = None,
        regularisation: float | str | None = "auto",
        batch_size: int | None = None,
        max_epochs: int = 20,
        max_seconds: float | None = None,
        tol: float = 0.0,
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

    # ------------------------------------------------------------------- what the two subclasses must define

    def _learn_targets(self, y: np.ndarray, weights: np.ndarray | None) -> None:
        """Store how targets are coded: the classes, or mean and scale."""
        raise NotImplementedError

    def _encode(self, y: np.ndarray) -> np.ndarray:
        """Targets as the loss takes them, float, shape (n, c)."""
        raise NotImplementedError

    def _ridge_targets(self, y: np.ndarray) -> np.ndarray:
        """Targets that kernel ridge regression is fitted to for the choice of bandwidth and λ, shape (n, c)."""
        return self._encode(y)

    def _scaled_loss(self) -> tuple[losses.Loss, float]:
        """The loss in the units of the coded targets, and what λ is multiplied with in them."""
        return self._named_loss(), 1.0

    def _named_loss(self) -> losses.Loss:
        """The loss in the user's units."""
        if isinstance(self.loss, str) and self.loss == "auto":
            return losses.Square() if self._y_is_numeric else SOLVERS[self.solver].loss
        return losses.make(self.loss)

    def _fitted_loss(self) -> losses.Loss:
        """The loss of the fitted model, which `set_params` does not change; before the end of a fit `_named_loss`."""
        return vars(self).get("_model", {}).get("loss") or self._named_loss()

    # --------------------------------------------------------------------------------------- the fit

    @training.keeps_model_on_failure
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> RiskModel:
        """Train on all of X, y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or, for values, (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Weights of the losses, in any unit; rows of weight zero are left out.
        observers : sequence of shallows.training.Observer
            `Progress`, `Curve` and others, called after every batch and epoch.
        checkpoint : shallows.training.Checkpoint, optional
            Go on from it if it exists, and keep it up to date.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, one class only.
        ShallowsError
            A parameter out of its range.
        DivergenceError
            With a ``step_size`` of the user's that is too large.
        """
        self._fit(X, y, sample_weight, observers, checkpoint)
        return self

    def _targets_of(self, fit: RiskFit) -> np.ndarray:
        self._learn_targets(fit.data.y, fit.data.weights)
        return self._encode(fit.data.y)

    def _prepare_points(self, fit: RiskFit) -> Any:
        """Return augmented training points, centred where the kernel does not depend on the origin."""
        named = self.features is None or isinstance(self.features, str)
        kind = kernels.kind(self.kernel)
        self._centring = Centring.of(
            fit.data.X,
            centred=named and (kind.shift_invariant or self.features == "linear"),
            without_constants=self.features is None and kind.of_distance,
            may_stay_sparse=kind.takes_sparse_points
            and (self.features is None or feature_maps.takes_sparse_points(self.features)),
        )
        self._dtype = fit.dtype
        points = self._centring.training_points(fit.data.X, fit.order, fit.device, fit.dtype)
        if named:
            origin_matters = not kind.shift_invariant and self.features != "linear"
            check_scale(points, fit.dtype, may_vanish=self._centring.all_equal or origin_matters)
        return points

    def _build(self, fit: RiskFit) -> None:
        method, parameters = SOLVERS[self.solver], complete(SOLVERS, self.solver, self.solver_params)
        if self._has_kernel():
            weights = None if fit.data.weights is None else fit.data.weights[fit.order]
            weights = None if weights is None else weights / weights.mean()
            targets = self._ridge_targets(fit.data.y[fit.order])
            fit.kernel, fit.choice = leave_one_out_choice.choose_kernel(self, fit, targets, weights, widest=1.0)
            fit.budget -= precomputed.held_bytes(fit.kernel)
        fit.end_phase("preparation")

        if self.features is not None:
            sizes = self.n_features, fit.seed, fit.budget
            fit.blocks = feature_maps.in_blocks(self.features, fit.kernel, fit.points[:, :-2], *sizes)
        fit.end_phase("eigensystem")

        loss, unit = self._scaled_loss()
        fit.batch_size = size = min(fit.n, self.batch_size or self._default_batch_size(fit.n))
        span = self._make_span(fit, fit.room - 6 * fit.targets.nbytes)
        # A chosen λ is for the coded targets, whose unit the problem multiplies a given one with.
        least = method.least_ridge if self._y_is_numeric else 0.0
        reg = leave_one_out_choice.of_mean_loss(self.regularisation, fit.choice, fit.n, least)
        reg /= unit if leave_one_out_choice.is_automatic(self.regularisation) and fit.choice is not None else 1.0
        fit.regularisation = float(reg)
        w = None if fit.weights is None else fit.weights[:, None]
        b = None if self._intercept is None else arrays.to_device(self._intercept, fit.device, fit.dtype)
        growth = method.growth(loss, **parameters)
        fit.problem = RiskProblem(span, fit.targets, loss, fit.regularisation * unit, w, growth, b)
        fit.solver = method.make(fit.problem, size, self.max_epochs, **parameters)
        fit.end_phase("kernel_matrix")

    def _batches(self, fit: RiskFit) -> training.Batches:
        source = InOrderThenDrawn if SOLVERS[self.solver].draws_batches else InOrderThenShuffled
        return source(fit.n, fit.batch_size, fit.seed)

    def _may_shrink(self) -> bool:
        return complete(SOLVERS, self.solver, self.solver_params).get("step_size") is None

    def _snapshot(self, fit: RiskFit, state: RiskState, epoch: int) -> RiskSnapshot:
        return RiskSnapshot(self, fit, state, epoch)

    def _keep_model(self, fit: RiskFit, run: training.Run) -> None:
        self._model = {**self._model_of(fit, run.state), "loss": self._named_loss()}
        if fit.blocks is None:
            self.support_ = fit.rows_of_points[self._model["rows"]]
            self.dual_coef_ = self._model["coefficients"]
        else:
            self.coef_ = np.ascontiguousarray(self._model["coefficients"].T)
        if fit.kernel is not None:
            self.bandwidth_ = fit.kernel.bandwidth
        self._warn_of_scales(fit)
        self._warn_if_above_zero(fit.problem, run)

    def _describe(self, fit: RiskFit, run: training.Run) -> None:
        self._set_course(run)
        kernel, blocks = fit.kernel, fit.blocks
        self.effective_params_ = {
            "kernel": None if kernel is None else kernel.name,
            "bandwidth": None if kernel is None else kernel.bandwidth,
            "features": feature_maps.name_of(self.features),
            "n_features": None if blocks is None else blocks.n_features,
            "n_support": len(self.support_) if blocks is None else None,
            "loss": fit.problem.loss.name,
            "solver": self.solver,
            "regularisation": fit.regularisation,
            "batch_size": fit.batch_size,
            "step_size": float(run.state.step_size),
            "n_steps": run.state.n_steps,
            "n_epochs": run.epoch,
            "stopped_by": run.stopped_by,
            **fit.report(),
            **leave_one_out_choice.report(fit.choice),
        }

    def _warn_of_scales(self, fit: RiskFit) -> None:
        """Warn if a function of the linear map or kernel has a much larger objective than one of standardised steps.

        Points on a GPU are not looked at.
        """
        problem, kernel, a = fit.problem, self._model.get("kernel"), self._model["coefficients"].astype(np.float64)
        of_kernel = getattr(kernel, "name", None) == "linear" and (kernel.offset, kernel.scale) == (0.0, 1.0)
        if not of_kernel:
            by_map = isinstance(self.features, str) and self.features == "linear"
            if not (by_map and arrays.is_numpy(fit.points)):
                return
        x = arrays.to_numpy(fit.points)[:, :-2]
        mean, scale = column_scales.scales_of(x.rows if arrays.is_sparse(x) else x, centred=False)
        # A linear kernel has no constant: its column is zero.
        constant = 0.0 if of_kernel else 1.0
        w = np.vstack([self._model["points"][:, :-2].T @ a, np.zeros((1, a.shape[1]))]) if of_kernel else a

        def value_and_gradient(w: np.ndarray) -> tuple[float, np.ndarray]:
            total, gradient = 0.0, problem.regularisation * w
            for rows in arrays.blocks(len(x), 4096):
                scores = (x[rows] @ w[:-1] + constant * w[-1]).astype(x.dtype)
                total += problem.losses(scores, rows)
                slopes = problem.gradient(scores, rows) / len(x)
                gradient[:-1] += x[rows].T @ slopes
                gradient[-1] += constant * slopes.sum(axis=0)
            return 0.5 * problem.regularisation * float((w * w).sum()) + total / len(x), gradient

        mean, scale = np.append(mean, 0.0), np.append(scale, 1.0)
        column_scales.warn_if_far(type(self).__name__, value_and_gradient, w, mean, scale)

    def _warn_if_above_zero(self, problem: RiskProblem, run: training.Run) -> None:
        """Warn if f has a larger objective than the zero function; exact where the losses of the last epoch suggest it.

        Rows that contradict each other, such as copies with other labels, keep a small λ from its optimum for long.
        """
        if not (run.epoch > 1 and run.losses and run.losses[-1] > 1.0):
            return  # A single pass is not meant to end at the optimum.
        value, nothing = (
            problem.objective(run.state.coefficients),
            arrays.namespace(problem.targets).zeros_like(problem.targets),
        )
        of_zero = problem.losses(nothing, slice(0, problem.span.n)) / problem.span.n
        if value > (1.0 + column_scales.FAR_ABOVE) * of_zero:
            warn_user(
                f"{type(self).__name__} ended at an objective of {value:.3g}, and a constant has {of_zero:.3g}: it is "
                f"far from its optimum after {run.epoch} epochs. Raise max_epochs or regularisation.",
            )

    def _has_kernel(self) -> bool:
        return self.features is None or (isinstance(self.features, str) and self.features != "linear")

    def _make_span(self, fit: RiskFit, budget: int) -> KernelSpan | FeatureSpan:
        points, blocks = fit.points, fit.blocks
        if blocks is not None:
            plain = points[:, :-2] if arrays.is_numpy(points) else arrays.contiguous(points[:, :-2])
            # Features are made in the first pass, so that their time counts as training.
            return FeatureSpan(Design(blocks, plain, budget=0), budget=max(budget // 2, 2**20))
        # A single pass uses every part of the matrix once, so that nothing need be kept.
        return KernelSpan(gram.LazyGram(fit.kernel, points, budget=max(budget, 2**20) if self.max_epochs > 1 else 0))

    def _default_batch_size(self, n: int) -> int:
        """Rows of a batch: enough for fast products, but at least twenty batches an epoch where there are few rows."""
        largest, smallest = (256, 16) if self.features is None else (64, 8)
        return max(smallest, min(largest, n // 20))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        leave_one_out_choice.check_bandwidth(self.bandwidth)
        leave_one_out_choice.check_or_auto(self, "regularisation", optional=True)
        check_positive(self, "max_seconds")
        kernels.check_own_parameters(self.kernel, self.bandwidth, self.kernel_params)
        check_whole(self, "batch_size", optional=True)
        check_whole(self, "max_epochs", "n_features")
        early_stopping.check_parameters(self)
        feature_maps.check(self.features)
        if self.features is not None:
            precomputed.refuse(self, "Explicit features are made of points, and a kernel matrix shows none.")
        loss = self._named_loss()
        if not (loss.coding == "values" if self._y_is_numeric else loss.for_classes or loss.name == "square"):
            raise ShallowsError(f"The loss {loss.name!r} is none for {type(self).__name__}.")
        method = SOLVERS[self.solver]
        complete(SOLVERS, self.solver, self.solver_params)
        if self.features is None and method.takes == "features":
            raise ShallowsError(
                f"solver={self.solver!r} works on explicit features; give features, such as 'fourier' or 'nystrom'."
            )
        if self.features is not None and method.takes == "kernels":
            raise ShallowsError(f"solver={self.solver!r} works on the kernel itself; features must be None.")
        if reason := method.why_not(loss):
            raise ShallowsError(f"solver={self.solver!r} does not take the loss {loss.name!r}: {reason}.")

    # ------------------------------------------------------------------------------------ prediction

    def _model_of(self, fit: RiskFit, state: RiskState, *, final: bool = True) -> dict[str, Any]:
        """What a prediction needs of a state: its coefficients and, with a kernel, the points that these belong to.

        The final model is copied to the host without the points whose coefficients are zero. A model in the middle of
        training refers to the arrays of the fit.
        """
        kernel, blocks = fit.kernel, fit.blocks
        if blocks is not None:
            if not final:
                return {"blocks": blocks, "coefficients": state.coefficients}
            return {"blocks": blocks.to(arrays.Device("cpu")), "coefficients": arrays.to_numpy(state.coefficients)}
        points, a = fit.problem.span.gram.points, state.coefficients
        if not final:
            visited = slice(0, state.n_visited)
            return {"kernel": kernel, "points": points[visited, :], "coefficients": a[visited, :]}
        a = arrays.to_numpy(a)
        rows = np.flatnonzero(a.any(axis=1))
        points = arrays.to_numpy(arrays.take_rows(points, rows))
        return {"kernel": precomputed.without_matrix(kernel), "rows": rows, "points": points, "coefficients": a[rows]}

    def _raw_predict(self, X: Any, model: dict[str, Any] | None = None) -> np.ndarray:
        """f(x), shape (m, c), for checked X."""
        fitting = model is not None
        model = model if fitting else self._model
        device = arrays.resolve_device(self.device)
        budget = min(self._working_budget(device) // 4, 2**28 if device.kind == "cpu" else 2**32)
        with device.active(), np.errstate(over="ignore", invalid="ignore"):
            a = arrays.to_device(model["coefficients"], device)
            if "blocks" in model:
                blocks = model["blocks"].to(device)
                out = feature_scores(blocks, self._centring, X, a, device, budget=budget // 2)
            else:
                given = model["kernel"], self._centring, X, arrays.to_device(model["points"], device), a, device
                out = kernel_scores(*given, budget=budget, fitting=fitting)
        if not fitting:
            check_scores(out, X)
        return self._unscale(out)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")


class RiskSnapshot(FitSnapshot):
    """A model of a regularised risk in the middle of its training."""

    def _scores(self, X: Any) -> np.ndarray:
        return self.estimator._raw_predict(X, self.estimator._model_of(self.fit, self.state, final=False))

    def _fitted_scores(self) -> np.ndarray:
        span, state = self.fit.problem.span, self.state
        scores = np.empty(self.fit.targets.shape, dtype=np.float64)
        for rows in arrays.blocks(span.n, 4096):
            scores[rows] = arrays.to_numpy(span.scores(state.coefficients, rows, state.n_visited))
        return scores

    def objective(self) -> float:
        """λ/2 ‖f‖² and the mean loss, in the units that they are minimised in."""
        return self.fit.problem.objective(self.state.coefficients)

    def mean_loss(self, X: Any, y: Any) -> float:
        """Mean of the loss on any points, for losses of classes; without the regulariser."""
        scores = self.decision_function(X)
        targets = self.estimator._encode(np.asarray(y)).astype(scores.dtype)
        return float(np.mean(self.estimator._named_loss().value(scores, targets), dtype=np.float64))
