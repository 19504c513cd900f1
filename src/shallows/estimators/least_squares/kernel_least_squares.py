"""What the estimators of the square loss share: the plan of a fit, the fit on data in batches, the prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import arrays, gram, kernels, training
from ...errors import ShallowsError
from ...fitting import choices as automatic_choice
from ...fitting import convergence_warning, early_stopping, leave_one_out_choice
from ...fitting.calibration import Calibration
from ...fitting.choices import Request, Sample, add_left_out_columns, held_out_spans
from ...fitting.evaluation_cache import EvaluationCache
from ...fitting.every_class import class_labels, with_every_class
from ...fitting.judged_calibration import learn_calibration
from ...fitting.machine import GROWTH, SMALL
from ...fitting.narrower_bandwidth import are_classes
from ...fitting.parameter_checks import check_positive, check_whole, is_whole
from ...fitting.preconditioning import Plan
from ...fitting.square_targets import ROUNDING, SquareClassTargets
from ...fitting.user_warnings import warn_user
from ...kernels import Kernel
from ...models import precomputed
from ...models.centring import Centring, refuse_wide, stay_sparse
from ...models.kernel_checks import check_scale, check_scores, chosen_kernel
from ...models.scores import kernel_scores
from ...solvers.least_squares.kernel_problem import KernelProblem
from ...spectrum import Preconditioner, principal_components
from ...spectrum.kernel_ridge_choice import is_automatic, number_of_rows
from ..base import reports_progress
from ..fitting import Fit, FitSnapshot, TrainedEstimator
from ..predictions import ValuePredictions
from ..square_loss_classes import SquareLossClassifier

BLOCKS_BYTES = 2**28
"""Bytes that the blocks of kernel values of a prediction may take on a CPU."""

BESIDE = 9 * 2**24
"""Bytes that a fit takes beside its arrays: blocks of the data, the choice of parameters, a small preconditioner."""


@dataclass
class LeastSquaresFit(Fit):
    """The fit of a function of least squares.

    Attributes
    ----------
    given : Preconditioner or None
        That the user handed in.
    choices : Choices
        Bandwidth and λ.
    spans : list of slice
        Rows, in the order of the fit, that the second, third, ... set of outputs goes without.
    plan : Plan
    gram
        The matrix that turns coefficients into training scores.
    evaluation_cache : EvaluationCache or None
    """

    given: Preconditioner | None = None
    choices: Any = None
    spans: list[slice] = field(default_factory=list)
    plan: Any = None
    gram: Any = None
    evaluation_cache: EvaluationCache | None = None


class LeastSquaresSnapshot(FitSnapshot):
    """A model of least squares in the middle of its training."""

    @property
    def _coefficients(self) -> Any:
        """Of the model's outputs, without those that a calibration is learnt from."""
        return self.state.coefficients[:, : self.fit.n_outputs]

    def _scores(self, X: Any) -> np.ndarray:
        return self.estimator._raw_predict(X, self._coefficients, self.fit)

    def coefficient_norm(self) -> float:
        """‖α‖₂ of the model's outputs."""
        return float(np.linalg.norm(arrays.to_numpy(self._coefficients).astype(np.float64)))

    def _fitted_scores(self) -> np.ndarray:
        return arrays.to_numpy(self.fit.gram.dot(self._coefficients))


class KernelLeastSquares(TrainedEstimator):
    """Base of the estimators that minimise a weighted square loss over the span of kernel functions.

    A method says how it decides its plan (`_make_plan`) and with which solver it trains (`_make_solver`); methods with
    other functions than those of a kernel define how points, problem and model are made as well.
    """

    _context = LeastSquaresFit
    _model_attributes = ("dual_coef_", "coef_", "_calibration", "_components")
    _sums_losses = True  # λ stands beside the sum of the squared errors.
    _n_arrays = 6
    """Arrays of the targets' shape that a fit holds at most: the targets, the iterate, the iterate at the start of the
    epoch, the best one, a copy for a checkpoint and one for intermediate results."""

    # ------------------------------------------------------------------- what a method must define

    def _make_plan(self, fit: LeastSquaresFit) -> Plan:
        """Decide the preconditioner, the batch size and the step from the training points."""
        raise NotImplementedError

    def _make_solver(self, fit: LeastSquaresFit) -> Any:
        """The solver of `shallows.solvers` that takes the steps of ``fit.plan``."""
        raise NotImplementedError

    def _encode(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return targets as a float array, shape (n, c), and store how they are coded."""
        raise NotImplementedError

    def _choice_rows(self, fit: LeastSquaresFit) -> tuple[Any, Any, Any]:
        """Points in random order, with their targets and weights, that parameters can be chosen with."""
        return fit.points, fit.targets, fit.weights

    def _request(self) -> Request:
        """What is asked of the choice of bandwidth and λ."""
        return Request(
            self.kernel,
            self.bandwidth,
            getattr(self, "kernel_params", None),
            getattr(self, "regularisation", None),
            are_classes(self),
            self._centring.all_equal,
        )

    def _first_rows(self, fit: LeastSquaresFit, m: int) -> tuple[Any, Any, Any]:
        """The first m points of the fit, which are in random order, with their targets and weights."""
        return fit.points[:m, :], fit.targets[:m, :], None if fit.weights is None else fit.weights[:m]

    def _n_units(self, fit: LeastSquaresFit) -> float:
        """How many centres or features the function has; infinite where every point is a centre."""
        return math.inf

    def _choose_on_all_rows(self, fit: LeastSquaresFit) -> None:
        """Choose anew with all rows of a small problem, where the method does so."""

    # --------------------------------------------------------------------------- the fit

    @training.keeps_model_on_failure
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> KernelLeastSquares:
        """Train on all of X, y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
            Memory maps are read block by block. Sparse rows with many columns stay sparse.
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Factors wᵢ of the squared errors; rows of weight zero are left out. Ten times the weights at a given
            ``regularisation`` are a tenth of the regularisation; without one their ratios alone count.
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

    def _targets_of(self, fit: LeastSquaresFit) -> np.ndarray:
        return self._encode(fit.data.y, fit.data.weights)

    def _unit_of_weights(self, weights: np.ndarray) -> float:
        return weights.max()

    def _order_of(self, fit: LeastSquaresFit) -> np.ndarray:
        order = super()._order_of(fit)
        if self._y_is_numeric:
            return order
        labels = class_labels(fit.codes, multilabel=self._multilabel)
        return with_every_class(order, labels, self._choosing_span(fit), self._left_out_spans(fit))

    def _choosing_span(self, fit: LeastSquaresFit) -> slice:
        """Rows, in the order of the fit, that parameters are chosen with."""
        chooses = hasattr(self, "regularisation") and (
            is_automatic(self.regularisation) or is_automatic(self.bandwidth)
        )
        return slice(0, number_of_rows(fit.n) if chooses else 0)

    def _left_out_spans(self, fit: LeastSquaresFit) -> list[slice]:
        """Rows, in the order of the fit, that a calibration is learnt on, if these are not all rows."""
        calibrates = getattr(self, "calibration", None) is not None and fit.held_out is None
        if not calibrates or self._leaves_out_in_closed_form(fit.n):
            return []
        return held_out_spans(fit.n, self._least_kept(fit), fit.n_outputs)

    def _leaves_out_in_closed_form(self, n: int) -> bool:
        """Whether all of n rows are left out one by one, in closed form."""
        return n <= SMALL and hasattr(self, "regularisation")

    def _least_kept(self, fit: LeastSquaresFit) -> int:
        """What `_rows_to_keep` will say, before there is a plan."""
        return 0

    def _inputs_of(self, fit: LeastSquaresFit) -> Any:
        self._components = None
        if hasattr(self, "n_components") and fit.data.matrix is None:
            # A preconditioner that is handed in was made of the inputs.
            chooses = getattr(self, "preconditioner", None) is None and getattr(self, "_takes_kernel", True)
            kernel = self.kernel if chooses and is_automatic(self.bandwidth) else None
            given = fit.data.X, fit.codes, fit.data.weights, fit.seed, fit.budget
            if is_whole(self.n_components):
                refuse_wide(fit.data.X)
            made = principal_components.components_for
            self._components = made(self.n_components, kernel, self.kernel_params, *given)
            if chooses:
                of_kernel = self.kernel, self.bandwidth, self.kernel_params
                leave_one_out_choice.warn_of_all_inputs(self.n_components, *of_kernel, fit.data.X, fit.budget)
        return self._model_inputs(fit.data.X)

    def _build(self, fit: LeastSquaresFit) -> None:
        fit.end_phase("preparation")
        rows = Sample(*self._choice_rows(fit))
        request = self._request()
        is_given = fit.given is not None or not getattr(self, "_takes_kernel", True)
        fit.choices = automatic_choice.choose_bandwidth(request, rows, fit.weight_unit, fit.seed, is_given=is_given)
        sizes = fit.n, fit.inputs.shape[1], fit.room, self._n_units(fit)
        fit.choices = automatic_choice.narrow_bandwidth(
            request, fit.choices, lambda m: self._first_rows(fit, m), *sizes
        )
        with arrays.one_blas_thread():
            fit.kernel = self._make_kernel(fit)
            fit.choices = automatic_choice.choose_for_kernel(request, fit.choices, fit.kernel, rows)
        fit.budget -= precomputed.held_bytes(fit.kernel)
        self._choose_on_all_rows(fit)
        fit.end_phase("selection")

        fit.plan = plan = self._make_plan(fit)
        if self._centring.all_equal and self.batch_size is None and self.step_size is None:
            # Where all points are equal, all that can be learnt is the mean of the targets, in one step.
            plan.batch_size, plan.step_size = fit.n, 1.0 / (fit.n * plan.top_eigenvalue)
        fit.end_phase("eigensystem")

        if self._calibrates and fit.choices.path is None and fit.held_out is None:
            fit.spans = held_out_spans(fit.n, self._rows_to_keep(plan), fit.n_outputs)
            fit.targets, fit.weights = add_left_out_columns(fit.targets, fit.weights, fit.spans)
        elif fit.weights is not None:
            fit.weights = fit.weights[:, None]
        spent = self._n_arrays * fit.targets.nbytes + self._step_bytes(fit)
        fit.problem = self._make_problem(fit, fit.room - spent)
        fit.evaluation_cache = self._make_evaluation_cache(fit)
        fit.solver = self._make_solver(fit)
        fit.end_phase("kernel_matrix")

    def _batches(self, fit: LeastSquaresFit) -> Any:
        return training.Batches(fit.n, fit.plan.batch_size, fit.seed, getattr(self, "shuffle", False))

    def _stopping(self, fit: LeastSquaresFit) -> training.Stopping:
        stopping = super()._stopping(fit)
        if stopping.max_seconds is None:
            return stopping
        before = sum(fit.timings.values())
        if before > stopping.max_seconds:
            warn_user(
                f"max_seconds={self.max_seconds:g} were over before the first step, after {before:.3g} seconds; the "
                "training ends as soon as there is a model. Give it more time, or the bandwidth as a number."
            )
        return replace(stopping, max_seconds=max(0.0, stopping.max_seconds - before))

    def _has_own_threads(self, fit: LeastSquaresFit) -> bool:
        """Whether the large products of a step are shared by threads of our own, while those of BLAS rest."""
        return False

    def _train(self, fit: LeastSquaresFit) -> training.Run:
        if not self._has_own_threads(fit):
            return super()._train(fit)
        with arrays.own_threads():
            return super()._train(fit)

    def _snapshot(self, fit: LeastSquaresFit, state: Any, epoch: int) -> LeastSquaresSnapshot:
        return LeastSquaresSnapshot(self, fit, state, epoch)

    def _keep_model(self, fit: LeastSquaresFit, run: training.Run) -> None:
        calibration = self._learn_calibration(fit, run.state) if self._calibrates else None
        fit.end_phase("calibration")
        self._store_model(fit, run.state)
        self._calibration = calibration

    def _describe(self, fit: LeastSquaresFit, run: training.Run) -> None:
        self._set_course(run)
        self.step_size_ = getattr(run.state, "step_size", None)
        self.effective_params_ = {
            **self._model_parameters(fit),
            **(fit.choices.report(fit.weight_unit) if hasattr(self, "regularisation") else {}),
            **({} if self._calibration is None else self._calibration.report()),
            **self._report_of_steps(fit),
            "n_epochs": run.epoch,
            "stopped_by": run.stopped_by,
            "kept_fraction": fit.gram.kept_fraction,
            **({"kept_bits": fit.gram.kept_bits} if hasattr(fit.gram, "kept_bits") else {}),
            **fit.report(),
            "n_components": None if self._components is None else self._components.directions.shape[1],
            "n_features_used": int(self._centring.varies.sum()),
            "n_validation": 0 if fit.held_out is None else len(fit.held_out.rows),
        }
        self._warn_if_unconverged(fit, run)

    def _report_of_steps(self, fit: LeastSquaresFit) -> dict[str, Any]:
        """The entries of ``effective_params_`` about batches, steps and their preconditioner."""
        plan, p = fit.plan, fit.plan.preconditioner
        return {
            "batch_size": plan.batch_size,
            "step_size": self.step_size_,
            "certified_step_size": float(plan.step_size),
            "top_eigenvalue": plan.top_eigenvalue,
            "largest_diagonal": plan.largest_diagonal,
            "rank": p.rank if p else 0,
            "n_subsample": p.n_subsample if p else 0,
        }

    # ------------------------------------------- what depends on the space of the functions

    def _prepare_points(self, fit: LeastSquaresFit) -> Any:
        X, kind = fit.inputs, kernels.kind(self.kernel)
        kind.check_inputs(X.shape[1])
        self._centring = Centring.of(
            X,
            centred=kind.shift_invariant,
            without_constants=kind.of_distance,
            may_stay_sparse=kind.takes_sparse_points,
        )
        points = self._centring.training_points(X, fit.order, fit.device, fit.dtype)
        check_scale(points, fit.dtype, may_vanish=not kind.shift_invariant)
        return points

    def _make_problem(self, fit: LeastSquaresFit, budget: int) -> Any:
        """Make ``fit.gram`` and of it the solver's problem, with what the other arrays leave of the budget."""
        plan, points = fit.plan, fit.points
        if getattr(self, "shuffle", False):
            fit.gram = gram.ShuffledGram(plan.kernel, points, budget=budget, batch_size=plan.batch_size)
        else:
            fit.gram = gram.Gram(plan.kernel, points, budget=budget)
        return KernelProblem(fit.gram, fit.targets, fit.weights, plan.preconditioner)

    def _make_evaluation_cache(self, fit: LeastSquaresFit) -> EvaluationCache | None:
        """Make the cache for kernel values of points of evaluation, in the memory that the kernel matrix leaves."""
        if not isinstance(fit.gram, (gram.Gram, gram.ShuffledGram)) or fit.data.matrix is not None:
            return None
        itemsize = arrays.itemsize(fit.gram.points)
        return EvaluationCache(fit.gram.n, itemsize, fit.gram.spare_bytes - BLOCKS_BYTES)

    def _store_model(self, fit: LeastSquaresFit, state: Any) -> None:
        """Set the fitted attributes that predictions need."""
        self.dual_coef_ = arrays.to_numpy(state.coefficients[:, : fit.n_outputs])
        self.support_ = fit.rows_of_points
        self._points, self._kernel = arrays.to_numpy(fit.points), precomputed.without_matrix(fit.plan.kernel)
        self.bandwidth_ = fit.plan.kernel.bandwidth

    def _model_parameters(self, fit: LeastSquaresFit) -> dict[str, Any]:
        """The entries of ``effective_params_`` that describe the space of the functions."""
        kernel = fit.plan.kernel
        of_kernel = {"kernel": kernel.name, "bandwidth": kernel.bandwidth}
        return of_kernel | ({"kernel_params": kernel.parameters} if kernel.parameters else {})

    def _warn_if_unconverged(self, fit: LeastSquaresFit, run: training.Run) -> None:
        """Warn if the training ended far from the training targets and something is known to help."""
        spread = getattr(self, "_target_scale", None)
        equal = spread is not None and bool(np.all(spread <= ROUNDING * np.abs(self.intercept_)))
        message = convergence_warning.message(
            run,
            max_epochs=self.max_epochs,
            tol=self.tol,
            step_size=self.step_size,
            damping=getattr(self, "damping", 1.0),
            regularisation=fit.choices.regularisation,
            nothing_to_learn=self._centring.all_equal or equal,
        )
        if message:
            warn_user(message)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        kernels.kind(self.kernel)  # Report unknown kernels first.
        kernels.check_own_parameters(self.kernel, self.bandwidth, getattr(self, "kernel_params", None))
        automatic_choice.check(self, chooses=hasattr(self, "regularisation"))
        check_positive(self, "step_size", "max_seconds")
        check_whole(self, "batch_size", optional=True)
        check_whole(self, "max_epochs")
        early_stopping.check_parameters(self)
        if hasattr(self, "n_components"):
            leave_one_out_choice.check_components(self)
            if is_whole(self.n_components) and precomputed.is_asked_for(self):
                warn_user(f"n_components={self.n_components} is ignored: a precomputed kernel has no inputs.")

    def _check_memory(self, fit: LeastSquaresFit) -> None:
        """Refuse a budget for the process that its data, the points in the precision of the fit and its outputs exceed.

        Only budgets for a process on a CPU are checked, before anything large is made.

        Raises
        ------
        ShallowsError
            With the least budget that can be kept, and what helps.
        """
        if self.memory is None or fit.device.kind != "cpu":
            return
        d, components = fit.data.X.shape[1], getattr(self, "n_components", None)
        width = min(d, components) if is_whole(components) else d
        points = fit.n * (width + 2) * fit.dtype.itemsize
        if stay_sparse(fit.data.X) and kernels.kind(self.kernel).takes_sparse_points and not is_whole(components):
            points, components = fit.data.X.nnz * (fit.dtype.itemsize + 4), None
        outputs = fit.n * fit.n_outputs * (2 * self._n_arrays * fit.dtype.itemsize + 16)
        held = arrays.resident_memory()
        chosen_with = 0 if components is None else principal_components.bytes_beside(fit.n, d)
        least = held + points + outputs + max(BESIDE, chosen_with)
        if arrays.memory_budget(self.memory, fit.device) >= least:
            return
        half = fit.dtype == np.float64 and self.dtype == "float64"
        raise ShallowsError(
            f"memory={self.memory!r} cannot be kept: the process holds {_megabytes(held)} already, and the fit takes "
            f"at least {_megabytes(least - held)}, of which {_megabytes(points)} are the points in {fit.dtype.name}. "
            f'The least that can be kept is memory="{_megabytes(least + GROWTH).replace(" ", "")}". To need less, read '
            f"X as a memory map (numpy.load with mmap_mode) or hand over fewer rows"
            f"{', take dtype=' + repr('float32') if half else ''}, or use EigenProCentresClassifier or "
            "EigenProCentresRegressor, which read the data batch by batch."
        )

    def _make_kernel(self, fit: LeastSquaresFit) -> Kernel:
        matrix = fit.data.matrix
        kernel = self.kernel if matrix is None else precomputed.kernel_on(matrix, fit.points)
        given = kernel, fit.choices.bandwidth, getattr(self, "kernel_params", None)
        return chosen_kernel(*given, fit.points, fit.seed, all_equal=self._centring.all_equal)

    def _step_bytes(self, fit: LeastSquaresFit) -> int:
        """Bytes of one step: the batch's kernel values with the subsample, its outputs, and the preconditioner."""
        p, n_outputs, itemsize = fit.plan.preconditioner, fit.targets.shape[1], fit.dtype.itemsize
        if p is None:
            return 4 * fit.plan.batch_size * n_outputs * itemsize
        per_row = p.n_subsample + 4 * n_outputs
        return (fit.plan.batch_size * per_row + p.n_subsample * (p.rank + 4 * n_outputs)) * itemsize

    # -------------------------------------------------------------------------- calibration

    @property
    def _calibrates(self) -> bool:
        """Whether outputs are turned into probabilities by what is learnt on rows that were left out."""
        wanted = not self._y_is_numeric and getattr(self, "calibration", None) is not None
        return wanted and not self._centring.all_equal

    @staticmethod
    def _rows_to_keep(plan: Plan) -> int:
        """The first rows in the order of the fit of which none can be held out of a second set of outputs."""
        return 0 if plan.preconditioner is None else plan.preconditioner.n_subsample

    def _learn_calibration(self, fit: LeastSquaresFit, state: Any) -> Calibration | None:
        return learn_calibration(
            SquareClassTargets(self._binarizer, self._multilabel),
            fit.data,
            fit.codes,
            fit.order,
            lambda X, a: self._raw_predict(X, a, fit),
            state.coefficients,
            fit.held_out,
            self._left_out_scores(fit, state),
            fit.choices,
            fit.spans,
        )

    def _left_out_scores(self, fit: LeastSquaresFit, state: Any) -> tuple[np.ndarray, slice] | None:
        """Outputs at rows that their fit went without, in closed form, and which rows of the fit these are."""
        return fit.choices.left_out_scores()

    # -------------------------------------------------------------------------- prediction

    def _model_inputs(self, X: Any) -> Any:
        """What the model is a function of: components of checked X, or itself."""
        components = getattr(self, "_components", None)
        return X if components is None else components(X)

    @reports_progress
    def _raw_predict(self, X: Any, coefficients: Any = None, fit: LeastSquaresFit | None = None) -> np.ndarray:
        """f(x), shape (m, c), for checked X; with the coefficients of a fit at work, or those of the model."""
        device = arrays.resolve_device(self.device)
        if fit is not None:
            points, kernel = fit.gram.points, fit.gram.kernel
        else:
            points, kernel = arrays.to_device(self._points, device), self._kernel
            coefficients = arrays.to_device(self.dual_coef_, device)
        budget = min(self._working_budget(device) // 2, BLOCKS_BYTES if device.kind == "cpu" else 2**32)
        kept = fit.evaluation_cache.entry_for(X, budget) if fit is not None and fit.evaluation_cache else None
        X = self._model_inputs(X)
        given = kernel, self._centring, X, points, coefficients, device
        out = kernel_scores(*given, budget=kept.budget if kept else budget, fitting=fit is not None, kept=kept)
        if fit is None:
            check_scores(out, X)
        return self._unscale(out)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_")


class LeastSquaresClassifier(SquareLossClassifier, KernelLeastSquares):
    """Classification by least squares on targets coded −1 and +1, one output a class (one in all for two classes)."""


class LeastSquaresRegressor(ValuePredictions, KernelLeastSquares):
    """Regression by least squares, one or several outputs, about the mean of the targets."""

    def _encode(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        y = y.astype(np.float64)
        self._one_column = y.ndim == 1
        y = y.reshape(len(y), -1)
        # Least squares commutes with shifts and scales of the targets; in their own units none over- or underflows.
        with np.errstate(over="ignore", invalid="ignore"):
            # A mean of equal numbers may differ from them by rounding, which would be learnt as if it were a signal.
            constant = (y == y[0]).all(axis=0)
            self.intercept_ = np.where(constant, y[0], np.average(y, axis=0, weights=weights))
            spread = np.abs(y - self.intercept_).max(axis=0)
        if not np.isfinite(spread).all():
            raise ShallowsError("The targets are too large: their mean or their range overflows. Divide y by a number.")
        self._target_scale = np.where(spread > 0, spread, 1.0)
        return (y - self.intercept_) / self._target_scale

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        return scores * self._target_scale + self.intercept_


def subsample_first(indices: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return an order that begins with ``indices``; the other rows follow as in ``order``."""
    if indices.max() >= len(order):
        raise ShallowsError(
            f"The preconditioner was made for at least {indices.max() + 1} training points, here are {len(order)}."
        )
    rest = np.ones(len(order), dtype=bool)
    rest[indices] = False
    return np.concatenate([indices, order[rest[order]]])


def _megabytes(n_bytes: int) -> str:
    return f"{math.ceil(n_bytes / 1e6)} MB"
