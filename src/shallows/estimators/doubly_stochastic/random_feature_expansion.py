"""The fit, on a data set or on a stream, and the prediction of a function that gains random features step by step."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ... import arrays, kernels, losses, streams, training
from ...errors import ShallowsError
from ...features.random_features import stream_of
from ...fitting.rows import TrainingSet
from ...models.centring import Centring, RowsAsArray, TrainingRows
from ...models.kernel_checks import check_precision, check_scale, check_scores, check_values
from ...solvers.examples import Examples
from ...solvers.expansions.expansion import ExpansionProblem, ExpansionState
from ...solvers.expansions.growing_expansion import FIRST_CAPACITY
from ..fitting import FitSnapshot
from ..streaming.last_good_state import LastGoodState, steps_back_on_failure
from ..streaming.stream_batches import Batch, batches_of, is_array
from ..streaming.streamed_fit import FIRST_ROWS, StreamableFit
from .solver_plan import PlannedExpansion

SAMPLE = 1000
"""Points from which bandwidth, top eigenvalue and variance of the features are estimated before the training."""

CHOSEN_FROM = 600
"""Those of them on which bandwidth and regularisation are chosen; each bandwidth that is tried takes an eigensystem.
Where these do not show that there is anything to be learnt, all are taken."""


SLICES, LEAST_SLICE = 10, 256
"""An array for ``partial_fit`` without a ``batch_size`` is cut into so many slices, of so many rows at least."""

LEAST_STEP = 100
"""Rows of a step on a stream; smaller batches wait for others, since a step adds a block of features to the model."""


@dataclasses.dataclass
class ExpansionFit(StreamableFit):
    """The fit of a function that gains random features step by step."""

    classes: Any = None  # all labels that will come, where a stream named them


class ExpansionSnapshot(FitSnapshot):
    """What observers see of a random feature expansion in the middle of its training."""

    @property
    def n_blocks(self) -> int:
        """Blocks of features in use."""
        return self.state.n_blocks

    @property
    def n_random_features(self) -> int:
        """Frequencies in use."""
        return self.state.n_blocks * self.estimator._features.block_size

    def _scores(self, X: Any) -> np.ndarray:
        return self.estimator._raw_predict(X, self.state)

    @property
    def _problem(self) -> ExpansionProblem:
        """That of the fit; on a stream it has no training points."""
        return self.estimator._problem if self.fit is None else self.fit.problem

    def _fitted_scores(self) -> np.ndarray:
        return arrays.to_numpy(self.state.shifted_values_at_points(self._problem))

    def objective(self) -> float:
        """Mean training loss, E ℓ(f(x), y), in the units that it is minimised in; without the regulariser."""
        problem = self._problem
        scores = self.state.shifted_values_at_points(problem)
        examples = Examples(problem.points, problem.targets, problem.weights)
        targets = self.state.targets_for(problem, examples, scores)
        values = problem.loss.value(scores, targets)
        w = problem.weights
        return float(arrays.namespace(scores).mean(values if w is None else values * w[:, 0]))

    def mean_loss(self, X: Any, y: Any) -> float:
        """Mean of the loss on any points, for losses of classes; without the regulariser."""
        loss, scores = self._problem.loss, self.decision_function(X)
        targets = self.estimator._encode(np.asarray(y)).astype(scores.dtype)
        return float(np.mean(loss.value(scores, targets), dtype=np.float64))


class RandomFeatureExpansion(PlannedExpansion):
    """Base of the estimators whose function is a sum over blocks of random features, made anew from their numbers."""

    _context = ExpansionFit

    # ------------------------------------------------------------------- what a subclass must define

    def _learn_targets(self, y: np.ndarray | None, weights: np.ndarray | None, classes: Any) -> None:
        """Store how targets are coded, from all of them or from the first batch of a stream."""

    def _encode(self, y: np.ndarray | None) -> np.ndarray | None:
        """Targets as the loss takes them, float, shape (m, c), after `_learn_targets`."""
        raise NotImplementedError

    def _make_loss(self) -> losses.Loss:
        """The loss in the units of the coded targets."""
        return losses.make(self.loss)

    # ------------------------------------------------------------------------------------- the fit

    @training.keeps_model_on_failure
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Self:
        """Train on all of X, y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
            Not used for novelty.
        sample_weight : array-like, shape (n_samples,), optional
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
        fit = self._fit(X, y, sample_weight, observers, checkpoint)
        self._end_beginning(fit.n)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        n_iter: int | None = None,
        max_seconds: float | None = None,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Self:
        """Go on with data that stream past.

        Parameters
        ----------
        X : array-like, memory map, or iterable of batches
            Arrays are read in slices, see ``batch_size``, one step each, and are never copied whole. An iterable,
            such as a generator, gives tuples ``(X, y)`` or ``(X, y, sample_weight)``, one step each; it need not end
            if ``n_iter`` or ``max_seconds`` is given.
        y : array-like, optional
            Targets, where X is an array. Not used for novelty.
        sample_weight : array-like, optional
        n_iter : int, optional
            Batches at most.
        max_seconds : float, optional
            Of training, at most.
        observers : sequence of shallows.training.Observer
        checkpoint : shallows.training.Checkpoint, optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN, infinity or an unknown label in a batch, which the message numbers.
        ShallowsError
            A stream that ends before its first batch.
        DivergenceError
            If the loss of a batch leaves the numbers or explodes.

        Notes
        -----
        The model begins as that of ``fit`` to the rows so far. Up to 2,560 rows are kept, and it is fitted anew when
        they are a quarter more than at the last time; bandwidth, regularisation, centres and units are then chosen
        anew. It goes on from there by steps of 100 rows or more, for which smaller batches wait. What is kept is saved
        with the model.

        An error or Ctrl-C in a call with an array leaves the model as it was before the call. In a call with an
        iterable, the model is then that of the batches before.
        """
        y = y if self._takes_targets else None
        return self._partial_fit(X, y, None, sample_weight, n_iter, max_seconds, observers, checkpoint)

    def _targets_of(self, fit: ExpansionFit) -> np.ndarray | None:
        self._learn_targets(fit.data.y, fit.data.weights, fit.classes)
        return self._encode(fit.data.y)

    def _prepare(self, fit: ExpansionFit) -> None:
        self._plan_fit(fit)
        super()._prepare(fit)

    def _prepare_points(self, fit: ExpansionFit) -> Any:
        held = self._holds_points(fit)
        rows = TrainingRows(fit.data.X, fit.order, self._centring, fit.device, fit.dtype, held=held)
        if not held:
            return RowsAsArray(rows)
        points = rows(slice(None))[:, :-2]
        return points if fit.device.kind == "cpu" else arrays.contiguous(points)

    @staticmethod
    def _holds_points(fit: ExpansionFit) -> bool:
        """Whether all points are copied into half of the memory; else each batch is read from the data in its turn."""
        n, d = fit.data.X.shape
        return n * (d + 2) * fit.dtype.itemsize <= fit.budget // 2

    def _build(self, fit: ExpansionFit) -> None:
        weights = None if fit.weights is None else fit.weights[:, None]
        given = {"points": fit.points, "targets": fit.targets, "weights": weights, "keep_values": self.keep_values}
        fit.problem, fit.solver = dataclasses.replace(self._problem, **given), self._solver
        fit.end_phase("preparation")

    def _stopping(self, fit: ExpansionFit) -> training.Stopping:
        stopping, n_batches = super()._stopping(fit), math.ceil(fit.n / self.batch_size_)
        self._check_room(min(stopping.max_iterations or math.inf, (self.max_epochs or math.inf) * n_batches))
        return stopping

    def _snapshot(self, fit: ExpansionFit | None, state: ExpansionState, epoch: int) -> ExpansionSnapshot:
        return ExpansionSnapshot(self, fit, state, epoch)

    def _make_snapshot(self, state: ExpansionState, epoch: int) -> ExpansionSnapshot:
        return self._snapshot(None, state, epoch)

    def _keep_model(self, fit: ExpansionFit, run: training.Run) -> None:
        super()._keep_model(fit, run)
        self._state.known = None

    # ---------------------------------------------------------------------------------------- streams

    @steps_back_on_failure
    def _partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        n_iter: int | None,
        max_seconds: float | None,
        observers: Sequence,
        checkpoint: Any,
        last_good: LastGoodState,
    ) -> Self:
        last_good.is_whole = is_array(X)
        self._check_parameters()
        names = ("X", "y", "sample_weight")
        source = batches_of(
            (X, y, sample_weight),
            names,
            2 if self._takes_targets else 1,
            lambda n: self.batch_size or min(FIRST_ROWS, max(LEAST_SLICE, -(-n // SLICES))),
        )
        if classes is not None:
            if hasattr(self, "_state"):
                self._check_classes(classes)
            self._stream_classes = classes
        return self._learn_stream(source, n_iter, max_seconds, observers, checkpoint, last_good)

    def _checked_batch(self, batch: Batch, *, first: bool) -> Batch:
        if self._takes_targets and batch[1] is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        X, y, weights = self._validated_training_set(*batch, first=first, whole=False)[:3]
        if first:
            self._learn_targets(y, weights, getattr(self, "_stream_classes", None))
        self._encode(y)
        if self._held and y is not None and y.ndim != self._held[0][1].ndim:
            raise ShallowsError(f"y has the shape {y.shape} where earlier batches had {self._held[0][1].shape}.")
        return X, y, weights

    def _fit_rows(self, rows: Batch, seed: int, max_seconds: float | None) -> training.Run:
        data, classes = TrainingSet(*rows, np.arange(rows[0].shape[0])), getattr(self, "_stream_classes", None)
        return self._run(ExpansionFit(data, seed, self._fit_device(), classes=classes, max_seconds=max_seconds))  # type: ignore[return-value]

    def _examples(self, rows: Batch, device: arrays.Device) -> Examples:
        X, y, weights = rows
        targets, w = self._encode(y), None
        points = self._centring.training_points(X, np.arange(X.shape[0]), device, self._dtype)[:, :-2]
        if device.kind == "gpu":
            points = arrays.contiguous(points)  # Else each product would copy them.
        if weights is not None:
            w = arrays.to_device((weights / self._mean_weight)[:, None], device, self._dtype)
        return Examples(points, None if targets is None else arrays.to_device(targets, device, self._dtype), w)

    def _rows_of_step(self) -> int:
        return min(LEAST_STEP, self.batch_size or LEAST_STEP)

    # ------------------------------------------------------------------------------------ the plan

    def _plan_fit(self, fit: ExpansionFit) -> None:
        """Choose centring, kernel, features and solver from the training data."""
        (X, _, weights, *_), targets, n, seed, device = fit.data, fit.codes, fit.n, fit.seed, fit.device
        c, budget, self._dtype, self._mean_weight = fit.n_outputs, fit.budget, fit.dtype, fit.weight_unit
        centred = kernels.kind(self.kernel).shift_invariant
        self._centring = Centring.of(X, centred=centred, without_constants=False)
        block_size, batch_size = self._default_sizes(n)
        self.block_size_ = self.block_size or block_size
        self.batch_size_ = min(n, self.batch_size or batch_size)

        rows = streams.permutation(seed, "first look", 0, X.shape[0])[:SAMPLE]
        sample = self._centring.training_points(
            X[rows], np.arange(len(rows)), arrays.Device("cpu"), np.dtype("float64")
        )
        check_scale(sample, sample.dtype, may_vanish=not centred or bool((sample == sample[0]).all()))
        mean_square, sample = float(sample[:, -2].mean()) or 1.0, sample[:, :-2]
        check_precision(sample, self._dtype)
        looked_at = (sample, *(None if part is None else part[rows] for part in (targets, weights)))
        for m in (CHOSEN_FROM, SAMPLE):
            kernel, nu, chosen = self._choose_kernel(*(None if p is None else p[:m] for p in looked_at), n, seed)
            is_uninformative = chosen.pop("is_uninformative", False)
            if len(sample) <= m or not is_uninformative:
                break
        if not centred:
            check_values(kernel, kernels.augmented(sample.astype(self._dtype)))
        held = n * (X.shape[1] * self._holds_points(fit) + c) * self._dtype.itemsize
        room = max(2**24, (budget - held) // 2)
        self._features = stream_of(
            kernel,
            X.shape[1],
            self.block_size_,
            seed,
            form=self.features,
            orthogonal=self.orthogonal,
            mean_square=mean_square,
            cache_bytes=room // 2,
        )
        # Beside coefficients and frequencies a block has its covariance and the factor that inverts it.
        width, squares = self._features.width, 2 if self.preconditioning else 0
        arrays.check_room(
            f"A block of {self.block_size_:,} frequencies takes",
            self._dtype.itemsize * width * (FIRST_CAPACITY * c + self._features.drawn_numbers + squares * width),
            budget,
            "Take a smaller block_size, or give more memory.",
        )
        loss = self._make_loss()
        self._solver, self.effective_params_ = self._plan(sample, loss, nu, chosen, seed)
        at_once = min(room // 4, 2**28 if device.kind == "cpu" else 2**32)
        growth, counts = self._divergence_factor(loss), self._counts(targets, weights)
        self._problem = ExpansionProblem(self._features, loss, c, budget=at_once, growth=growth, counts=counts)
        self.effective_params_ |= {
            "kernel": kernel.name,
            "bandwidth": kernel.bandwidth,
            "loss": loss.name,
            "block_size": self.block_size_,
            "batch_size": self.batch_size_,
            "regularisation": self._solver.regularisation,
            **fit.report(),
            "choice": chosen,
        }
        self.bandwidth_, self._seed_ = kernel.bandwidth, seed

    def _set_fitted_attributes(self, run: training.Run, timings: dict[str, float], spent: float) -> None:
        super()._set_fitted_attributes(run, timings, spent)
        state = run.state
        self.n_reused_ = state.n_reused
        self.effective_params_ |= {
            "n_reused": state.n_reused,
            "last_step": state.last_step,
            "gradient_rms": math.sqrt(state.gradient_square),
        }

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the features, shape (n_blocks, width, n_outputs)."""
        if not hasattr(self, "_state"):
            raise AttributeError("dual_coef_ is there after fit.")
        return arrays.to_numpy(self._state.coefficients)

    # ---------------------------------------------------------------------------------- prediction

    def _raw_predict(self, X: Any, state: ExpansionState | None = None) -> np.ndarray:
        """f(x), shape (m, c), for checked X."""
        device, fitting = arrays.resolve_device(self.device), state is not None
        state = state if fitting else self._state_on(device)
        out = np.empty((X.shape[0], self._problem.n_outputs), dtype=self._dtype)
        with device.active(), np.errstate(over="ignore", invalid="ignore"):
            for rows, x, _ in self._centring.new_points(X, device, self._dtype):
                out[rows] = arrays.to_numpy(state.shifted_values(self._problem, x))
        # A stream with steps that are long by design may have overflowed without any fault of the new points.
        if not fitting and state.is_finite():
            check_scores(out, X)
        return self._unscale(out)
