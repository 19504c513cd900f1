"""One fit: its data, choices and progress, and the steps that are the same for every estimator that trains."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .. import arrays, streams, training
from ..fitting import early_stopping, warm_start
from ..fitting.machine import SMALL
from ..fitting.rows import TrainingSet
from ..kernels import Kernel
from .base import Estimator
from .snapshot import Snapshot


@dataclass
class Fit:
    """A fit at work, as hooks of the estimator and snapshots of the model see it; it is gone when the fit ends.

    Attributes
    ----------
    data : TrainingSet
        The rows that are trained on, in the user's order, without those held out.
    seed : int
    device : Device
    observers : sequence of Observer
    checkpoint : Checkpoint or None
    held_out : HeldOut or None
        Rows for early stopping.
    start : Start or None
        Where the training begins, by ``warm_start``.
    before : dict
        What the model of the fit before had of ``_model_attributes``.
    inputs : array or CSR matrix, shape (n, d)
        What the model is a function of, in the user's order.
    codes : ndarray, shape (n, c), or None
        Targets as the solver learns them, in the user's order.
    dtype : dtype
    budget : int
        Bytes that the fit may use.
    order : ndarray of int, shape (n,)
        Which of the rows of ``data`` stands at each place of what follows.
    points : array
        Augmented training points on the device (`kernels.augmented`).
    targets : array, shape (n, c), or None
    weights : array, shape (n,), or None
        Of the points, on the device.
    weight_unit : float
        What sample weights were divided by.
    kernel : Kernel or None
    problem, solver
        What is trained.
    timings : dict
        Seconds of the phases that are over.
    """

    data: TrainingSet
    seed: int
    device: arrays.Device
    observers: Sequence[training.Observer] = ()
    checkpoint: training.Checkpoint | None = None
    held_out: early_stopping.HeldOut | None = None
    start: warm_start.Start | None = None
    before: dict[str, Any] = field(default_factory=dict)
    inputs: Any = None
    codes: np.ndarray | None = None
    dtype: Any = None
    budget: int = 0
    order: Any = None
    points: Any = None
    targets: Any = None
    weights: Any = None
    weight_unit: float = 1.0
    kernel: Kernel | None = None
    problem: Any = None
    solver: Any = None
    timings: dict[str, float] = field(default_factory=dict)
    _phase_began: float = field(default_factory=time.perf_counter)

    @property
    def n(self) -> int:
        """How many rows are trained on."""
        return self.data.X.shape[0]

    @property
    def n_outputs(self) -> int:
        """Outputs of the model."""
        return 1 if self.codes is None else self.codes.shape[1]

    @property
    def room(self) -> int:
        """Bytes of the budget that the points leave."""
        return self.budget - self.points.nbytes

    @property
    def rows_of_points(self) -> np.ndarray:
        """Which of the rows that the user gave the points are."""
        return self.data.rows[self.order]

    def end_phase(self, name: str) -> None:
        """Note the seconds since the phase before ended."""
        now = time.perf_counter()
        self.timings[name], self._phase_began = now - self._phase_began, now

    def end_training(self, run: training.Run) -> None:
        """Note the seconds of a training, and those that evaluation took beside it."""
        self.end_phase("evaluation")
        self.timings |= {"training": run.seconds, "evaluation": max(0.0, self.timings["evaluation"] - run.seconds)}

    def report(self) -> dict[str, Any]:
        """Entries of ``effective_params_``."""
        return {
            "memory_budget": self.budget,
            "precision": self.dtype.name,
            "device": str(self.device),
            "seed": self.seed,
        }


class FitSnapshot(Snapshot):
    """A model in the middle of a fit.

    Attributes
    ----------
    fit : Fit
    """

    def __init__(self, estimator: Any, fit: Fit, state: Any, epoch: int):
        super().__init__(estimator, state, epoch)
        self.fit = fit

    def _fitted_scores(self) -> np.ndarray:
        """Raw outputs at the points of the fit, shape (n, c), not yet in the units of the targets."""
        raise NotImplementedError

    def _scores_in_training(self) -> np.ndarray:
        fitted, held_out = self._fitted_scores(), self.fit.held_out
        scores = np.empty_like(fitted)
        scores[self.fit.order] = fitted
        scores = self.estimator._unscale(scores)
        return scores if held_out is None else held_out.merged(scores, self._scores(held_out.X))


class TrainedEstimator(Estimator):
    """Base of the estimators whose fit is a training: `_fit` takes the steps, and families say what each of them does.

    A hook gets the `Fit`, reads what the steps before have made, and adds what it makes; nothing of a fit at work is
    kept in the estimator.
    """

    _context: ClassVar[type[Fit]] = Fit
    _model_attributes: ClassVar[tuple[str, ...]] = ()
    """What a model consists of. In the course of the next fit it is gone: it does not go with new data's centring."""

    # ------------------------------------------------------------------- what a family must define

    def _targets_of(self, fit: Fit) -> np.ndarray | None:
        """Learn how targets are coded, and return them as numbers, shape (n, c)."""
        raise NotImplementedError

    def _prepare_points(self, fit: Fit) -> Any:
        """Centre the training points and bring them to the device, in the order of the fit."""
        raise NotImplementedError

    def _build(self, fit: Fit) -> None:
        """Choose kernel and plan, and make ``fit.problem`` and ``fit.solver``."""
        raise NotImplementedError

    def _snapshot(self, fit: Fit, state: Any, epoch: int) -> Any:
        """The model at a state of the solver, for observers."""
        raise NotImplementedError

    def _keep_model(self, fit: Fit, run: training.Run) -> None:
        """Set what predictions need."""
        raise NotImplementedError

    def _describe(self, fit: Fit, run: training.Run) -> None:
        """Set the fitted attributes that describe the training, and warn of what it has left undone."""
        raise NotImplementedError

    # ------------------------------------------------------------------- what a family may define anew

    def _inputs_of(self, fit: Fit) -> Any:
        """What the model is a function of: the rows that are trained on, or what is made of them."""
        return fit.data.X

    def _check_memory(self, fit: Fit) -> None:
        """Warn of, or refuse, a budget that cannot be kept, before anything large is made."""
        self._warn_of_too_little_memory(fit.device)

    def _precision(self, fit: Fit) -> str:
        """Return the dtype that dtype="auto" means."""
        return "float64" if fit.n <= SMALL else "float32"

    def _order_of(self, fit: Fit) -> np.ndarray:
        """The order of the rows: shuffled once, so that batches are contiguous parts, and so is a subsample."""
        return streams.permutation(fit.seed, "order", 0, fit.n)

    def _unit_of_weights(self, weights: np.ndarray) -> float:
        """What sample weights are divided by."""
        return weights.mean()

    def _batches(self, fit: Fit) -> Any:
        """The batches of the training."""
        raise NotImplementedError

    def _stopping(self, fit: Fit) -> training.Stopping:
        """When the training ends."""
        held_out = fit.held_out
        return training.Stopping(
            self.max_epochs,
            max_seconds=getattr(self, "max_seconds", None),
            tolerance=self.tol,
            validate=None if held_out is None else held_out.validation(of_labels=not self._y_is_numeric),
            patience=self.n_iter_no_change,
        )

    def _may_shrink(self) -> bool:
        """Whether steps may become smaller where training diverges: those that the program chose."""
        return self.step_size is None

    # --------------------------------------------------------------------------------------- the fit

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Fit:
        """Fit the model to the user's data; the fit that is returned knows its rows."""
        fields = {"_phase_began": time.perf_counter(), "observers": observers, "checkpoint": checkpoint}
        mine = vars(self)
        fields["before"] = {name: mine.pop(name) for name in self._model_attributes if name in mine}
        self._check_parameters()
        data = self._validated_training_set(X, y, sample_weight)
        fit = self._context(data, self._seed(), self._fit_device(), **fields)
        if getattr(self, "early_stopping", False):
            of_labels = not self._y_is_numeric
            given = *data[:3], self.validation_fraction, fit.seed, of_labels
            calibrates = getattr(self, "calibration", None) is not None
            fit.held_out = early_stopping.hold_out(*given, of_every_class=calibrates)
            fit.data = data.take(fit.held_out.training_rows)
        self._run(fit)
        return fit

    def _run(self, fit: Fit) -> training.Run | None:
        """Fit the model to checked data."""
        before = vars(self).get("_ended")
        fit.start = warm_start.begin(self._warm_start_parameters(), before, fit.data, fit.seed)
        fit.codes, fit.budget = self._targets_of(fit), self._working_budget(fit.device)
        fit.dtype = np.dtype(self._precision(fit) if self.dtype == "auto" else self.dtype)
        if fit.data.weights is not None:
            fit.weight_unit = float(self._unit_of_weights(fit.data.weights))
        self._check_memory(fit)
        fit.inputs = self._inputs_of(fit)
        with fit.device.active():
            self._prepare(fit)
            self._build(fit)
            run = self._train(fit)
            self._keep_model(fit, run)
            arrays.synchronise(fit.points[:1, :])
        self._describe(fit, run)
        self.timings_ = fit.timings
        return run

    def _prepare(self, fit: Fit) -> None:
        """Points, targets and weights in the order of the fit, on the device."""
        fit.order = self._order_of(fit)
        fit.points = self._prepare_points(fit)
        if fit.data.weights is not None:
            weights = fit.data.weights[fit.order] / fit.weight_unit
            fit.weights = arrays.to_device(weights, fit.device, fit.dtype)
        if fit.codes is not None:
            fit.targets = arrays.to_device(fit.codes[fit.order], fit.device, fit.dtype)

    def _train(self, fit: Fit) -> training.Run:
        """Train the solver on the problem."""
        run = training.train(
            fit.solver,
            fit.problem,
            fit.start.batches(self._batches(fit)),
            self._stopping(fit),
            observers=[*self._progress_observers(), *fit.observers],
            checkpoint=fit.checkpoint,
            snapshot=lambda state, epoch: self._snapshot(fit, state, epoch),
            may_shrink=self._may_shrink(),
            state=fit.start.state(fit.solver, fit.problem),
        )
        self._remember_end(fit.start.end(run))
        fit.end_training(run)
        return run
