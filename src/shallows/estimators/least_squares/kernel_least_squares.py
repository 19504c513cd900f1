"""What the estimators of the square loss share: the plan of a fit, the fit on data in batches, the prediction."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ... import arrays, gram, kernels, streams, training
from ...kernels import Kernel
from ...solvers.least_squares.kernel_problem import KernelProblem
from ...spectrum import Preconditioner
from .. import early_stopping, precomputed, warm_starts
from ..base import SMALL, Estimator, kept_rows
from ..centring import Centring
from ..kernel_checks import check_scale, check_scores, chosen_kernel
from ..parameter_checks import check_positive, check_whole
from ..told_progress import tells_progress
from . import convergence_warning
from .automatic import choices as automatic_choice
from .automatic.calibration_rows import learn_calibration
from .automatic.choices import Choices
from .evaluation_cache import EvaluationCache
from .fit_plan import LeastSquaresSnapshot, Plan, subsample_first
from .memory_check import check_memory

BLOCKS_BYTES = 2**28
"""Bytes that the blocks of kernel values of a prediction may take on a CPU."""


class KernelLeastSquares(Estimator):
    """Base of the estimators that minimise a weighted square loss over the span of kernel functions.

    A method says how it decides its plan (`_make_plan`) and with which solver it trains (`_make_solver`); methods with
    other functions than those of a kernel define how points, problem and model are made as well.
    """

    _sums_losses = True  # λ stands beside the sum of the squared errors.
    _n_arrays = 6
    """Arrays of the targets' shape that a fit holds at most: the targets, the iterate, the iterate at the start of the
    epoch, the best one, a copy for a checkpoint and one for intermediate results."""

    # ------------------------------------------------------------------- what a method must define

    def _make_plan(self, points: Any, weights: Any, kernel: Kernel, seed: int, budget: int) -> Plan:
        """Decide the preconditioner, the batch size and the step from the training points."""
        raise NotImplementedError

    def _make_solver(self, step_size: float) -> Any:
        """The solver of `shallows.solvers` that takes the steps."""
        raise NotImplementedError

    def _encode(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return targets as a float array, shape (n, c), and store how they are coded."""
        raise NotImplementedError

    def _check_memory(self, X: Any, n_outputs: int, dtype: np.dtype, device: arrays.Device) -> None:
        """Refuse a budget that cannot be kept."""
        check_memory(self, X, n_outputs, dtype, device)

    def _choice_rows(self, points: Any, targets: Any, weights: Any) -> tuple[Any, Any, Any]:
        """Points in random order, with their targets and weights, that parameters can be chosen with."""
        return points, targets, weights

    def _look_at_all(self, points: Any, targets: Any, weights: Any, kernel: Any, seed: int, budget: int) -> None:
        """Choose anew with all rows of a small problem, where the method does so."""

    def _announced(self, batches: Any) -> Any:
        """The batches of the training, for a method that wants to know their order beforehand."""
        return batches

    def _load_preconditioner(self) -> Preconditioner | None:
        """The preconditioner that the user handed in, if one was; its subsample comes first in the order of the fit."""
        return None

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
            Memory maps are read block by block. Sparse input is not made dense as a whole unless its points fit.
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
        started = time.perf_counter()
        # In the course of a fit there is no model: old coefficients do not go with the centring of new data.
        for name in ("dual_coef_", "coef_"):
            vars(self).pop(name, None)
        self._check_parameters()
        X, y, weights = self._validated_training_set(X, y, sample_weight)
        self._kept_rows, _ = kept_rows(sample_weight, X.shape[0])
        seed = self._seed()
        self._held_out = None
        if getattr(self, "early_stopping", False):
            of_labels = not self._y_is_numeric
            self._held_out = early_stopping.hold_out(X, y, weights, self.validation_fraction, seed, of_labels)
            rows = self._held_out.training_rows
            X, y, weights = X[rows], y[rows], None if weights is None else weights[rows]
        start, n = warm_starts.Start(self, X, y, weights, seed), X.shape[0]
        targets = self._encode(y, weights)

        device = self._fit_device()
        budget = self._working_budget(device)
        dtype = np.dtype(self._precision(n, budget) if self.dtype == "auto" else self.dtype)
        self._check_memory(X, targets.shape[1], dtype, device)

        with device.active():
            # Kept until the plan is made, so that a file is read once.
            self._given = self._load_preconditioner()
            # Rows are shuffled once. Batches are then contiguous, and so is the subsample, which comes first.
            order = streams.permutation(seed, "order", 0, n)
            if self._given is not None:
                order = subsample_first(self._given.indices, order)
            points = self._prepare_points(X, order, device, dtype)
            self._weight_unit = 1.0 if weights is None else float(weights.max())
            w = None if weights is None else arrays.to_device(weights[order] / self._weight_unit, device, dtype)
            codes = arrays.to_device(targets[order], device, dtype)
            self._n_outputs, self._calibration = codes.shape[1], None
            prepared = time.perf_counter()

            some = self._choice_rows(points, codes, w)
            self._choices = choices = Choices.begin(self, *some, seed)
            kernel = self._make_kernel(points, seed)
            choices.of_kernel(self, kernel, *some)
            budget -= precomputed.held_bytes(kernel)
            self._look_at_all(points, codes, w, kernel, seed, budget - points.nbytes)
            chosen = time.perf_counter()

            plan = self._make_plan(points, w, kernel, seed, budget - points.nbytes)
            del self._given
            if self._centring.all_equal and self.batch_size is None and self.step_size is None:
                # Where all points are equal, all that can be learnt is the mean of the targets, in one step.
                plan.batch_size, plan.step_size = n, 1.0 / (n * plan.top_eigenvalue)
            decomposed = time.perf_counter()

            if self._calibrates and choices.path is None and self._held_out is None:
                codes, w = choices.hold_out(codes, w, self._rows_to_keep(plan))
            elif w is not None:
                w = w[:, None]
            spent = (
                points.nbytes + self._n_arrays * codes.nbytes + self._step_bytes(plan, codes.shape[1], dtype.itemsize)
            )
            problem = self._make_problem(plan, points, codes, w, budget - spent)
            self._order, self._evaluation_cache = order, self._make_evaluation_cache()
            built = time.perf_counter()

            try:
                solver = self._make_solver(float(plan.step_size))
                run = training.train(
                    solver,
                    problem,
                    self._announced(start.batches(training.Batches(n, plan.batch_size, seed))),
                    self._stopping(),
                    observers=[*self._progress_observers(), *observers],
                    checkpoint=checkpoint,
                    snapshot=lambda state, epoch: LeastSquaresSnapshot(self, state, epoch),
                    may_shrink=self.step_size is None,
                    state=start.state(solver, problem),
                )
                start.remember(run)
                trained = time.perf_counter()
                if self._calibrates:
                    self._calibration = learn_calibration(self, run.state, X, targets, weights)
            finally:
                kept_fraction, held_out = self._gram.kept_fraction, self._held_out
                del self._gram, self._order, self._evaluation_cache, self._held_out
            arrays.synchronise(points)
            finished = time.perf_counter()
            trained_rows = order if held_out is None else held_out.training_rows[order]
            self._store_model(run.state, plan, points, self._kept_rows[trained_rows])
        self._set_fitted_attributes(run, plan, held_out, kept_fraction, budget, dtype, device, seed)
        self.timings_ = {
            "preparation": prepared - started,
            "selection": chosen - prepared,
            "eigensystem": decomposed - chosen,
            "kernel_matrix": built - decomposed,
            "training": run.seconds,
            "calibration": finished - trained,
            "evaluation": max(0.0, trained - built - run.seconds),
        }
        self._warn_if_unconverged(run)
        del self._choices, self._weight_unit, self._kept_rows
        return self

    def _set_fitted_attributes(
        self,
        run: training.Run,
        plan: Plan,
        held_out: early_stopping.HeldOut | None,
        kept_fraction: float,
        budget: int,
        dtype: np.dtype,
        device: arrays.Device,
        seed: int,
    ) -> None:
        """Set the fitted attributes that describe the training."""
        if held_out is not None:
            self.validation_scores_ = [1.0 - error for error in run.validation_errors]
            self.best_validation_score_ = max(self.validation_scores_)
        self.step_size_ = run.state.step_size
        self.n_epochs_ = self.n_iter_ = max(run.epoch, 1)
        self.losses_ = run.losses
        self.n_rollbacks_, self.n_resumes_ = run.n_rollbacks, run.n_resumes
        self.effective_params_ = {
            **self._model_parameters(plan),
            **(self._choices.report(self._weight_unit) if hasattr(self, "regularisation") else {}),
            **({} if self._calibration is None else self._calibration.report()),
            "batch_size": plan.batch_size,
            "step_size": run.state.step_size,
            "certified_step_size": plan.step_size,
            "top_eigenvalue": plan.top_eigenvalue,
            "largest_diagonal": plan.largest_diagonal,
            "rank": plan.preconditioner.rank if plan.preconditioner else 0,
            "n_subsample": plan.preconditioner.n_subsample if plan.preconditioner else 0,
            "n_epochs": run.epoch,
            "stopped_by": run.stopped_by,
            "kept_fraction": kept_fraction,
            "memory_budget": budget,
            "precision": dtype.name,
            "device": str(device),
            "seed": seed,
            "n_features_used": int(self._centring.varies.sum()),
            "n_validation": 0 if held_out is None else len(held_out.rows),
        }

    # ------------------------------------------- what depends on the space of the functions

    def _prepare_points(self, X: Any, order: np.ndarray, device: arrays.Device, dtype: np.dtype) -> Any:
        """Centre the training points and bring them to the device, in a given order."""
        kind = kernels.kind(self.kernel)
        kind.check_inputs(X.shape[1])
        self._centring = Centring.of(X, centred=kind.shift_invariant, without_constants=kind.of_distance)
        points = self._centring.training_points(X, order, device, dtype)
        check_scale(points, dtype, may_vanish=not kind.shift_invariant)
        return points

    def _make_problem(self, plan: Plan, points: Any, targets: Any, weights: Any, budget: int) -> Any:
        """Make the solver's problem; ``_gram`` is the matrix that turns coefficients into training scores."""
        self._gram = gram.Gram(plan.kernel, points, budget=budget)
        return KernelProblem(self._gram, targets, weights, plan.preconditioner)

    def _make_evaluation_cache(self) -> EvaluationCache | None:
        """Make the cache for kernel values of points of evaluation, in the memory that the kernel matrix leaves."""
        if not isinstance(self._gram, gram.Gram):
            return None
        itemsize = arrays.itemsize(self._gram.points)
        return EvaluationCache(self._gram.n, itemsize, self._gram.spare_bytes - BLOCKS_BYTES)

    def _store_model(self, state: Any, plan: Plan, points: Any, rows: np.ndarray) -> None:
        """Set the fitted attributes that predictions need; ``rows`` says which of the user's rows the points are."""
        self.dual_coef_ = arrays.to_numpy(state.coefficients[:, : self._n_outputs])
        self.support_ = rows
        self._points, self._kernel = arrays.to_numpy(points), precomputed.without_matrix(plan.kernel)
        self.bandwidth_ = plan.kernel.bandwidth

    def _model_parameters(self, plan: Plan) -> dict[str, Any]:
        """The entries of ``effective_params_`` that describe the space of the functions."""
        of_kernel = {"kernel": plan.kernel.name, "bandwidth": plan.kernel.bandwidth}
        return of_kernel | ({"kernel_params": plan.kernel.parameters} if plan.kernel.parameters else {})

    def _precision(self, n: int, budget: int) -> str:
        """Return the dtype that dtype="auto" means."""
        return "float64" if n <= SMALL else "float32"

    def _stopping(self) -> training.Stopping:
        if self._held_out is None:
            return training.Stopping(self.max_epochs, tolerance=self.tol)
        held_out, of_labels = self._held_out, not self._y_is_numeric
        return training.Stopping(
            self.max_epochs,
            tolerance=self.tol,
            validate=lambda snapshot: held_out.error(snapshot, of_labels=of_labels),
            patience=self.n_iter_no_change,
        )

    def _warn_if_unconverged(self, run: training.Run) -> None:
        """Warn if the training ended far from the training targets and something is known to help."""
        message = convergence_warning.message(self, run)
        if message:
            warnings.warn(message, ConvergenceWarning, stacklevel=4)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        kernels.kind(self.kernel)  # It is told first that a name is none.
        kernels.check_own_parameters(self.kernel, self.bandwidth, getattr(self, "kernel_params", None))
        automatic_choice.check(self, chooses=hasattr(self, "regularisation"))
        check_positive(self, "step_size")
        check_whole(self, "batch_size", optional=True)
        check_whole(self, "max_epochs")
        early_stopping.check_parameters(self)

    def _make_kernel(self, points: Any, seed: int) -> Kernel:
        parameters = getattr(self, "kernel_params", None)
        kernel = precomputed.kernel_on(self, points) if precomputed.is_asked_for(self) else self.kernel
        bandwidth = self._choices.bandwidth
        return chosen_kernel(kernel, bandwidth, parameters, points, seed, all_equal=self._centring.all_equal)

    @staticmethod
    def _step_bytes(plan: Plan, n_outputs: int, itemsize: int) -> int:
        """Bytes of one step: the batch's kernel values with the subsample, its outputs, and the preconditioner."""
        p = plan.preconditioner
        if p is None:
            return 4 * plan.batch_size * n_outputs * itemsize
        per_row = p.n_subsample + 4 * n_outputs
        return (plan.batch_size * per_row + p.n_subsample * (p.rank + 4 * n_outputs)) * itemsize

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

    def _left_out_scores(self, state: Any) -> tuple[np.ndarray, slice] | None:
        """Outputs at rows that their fit went without, in closed form, and which rows of the fit these are."""
        return self._choices.left_out_scores()

    # -------------------------------------------------------------------------- prediction

    @tells_progress
    def _raw_predict(self, X: Any, coefficients: Any = None) -> np.ndarray:
        """f(x), shape (m, c), for checked X."""
        fitting = coefficients is not None
        device = arrays.resolve_device(self.device)
        if fitting:
            points, kernel = self._gram.points, self._gram.kernel
        else:
            points, kernel = arrays.to_device(self._points, device), self._kernel
            coefficients = arrays.to_device(self.dual_coef_, device)
        if precomputed.are_kernel_values(kernel, X, fitting=fitting):
            out = precomputed.scores(X, points, coefficients, device)
            return self._unscale(out)
        budget = min(self._working_budget(device) // 2, BLOCKS_BYTES if device.kind == "cpu" else 2**32)
        kept = self._evaluation_cache.entry_for(X, budget) if fitting and self._evaluation_cache else None
        budget = kept.budget if kept else budget
        out = np.empty((X.shape[0], coefficients.shape[1]), dtype=np.dtype(str(points.dtype)))
        with device.active(), np.errstate(over="ignore", invalid="ignore"):
            for rows, x, extra in self._centring.new_points(X, device, out.dtype):
                blocks = None if kept is None else kept.blocks.setdefault(rows.start, {})
                made = gram.cross_product(kernel, x, points, coefficients, budget=budget, extra=extra, kept=blocks)
                out[rows] = arrays.to_numpy(made)
        if not fitting:
            check_scores(out, X)
        return self._unscale(out)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_")
