"""The fit of a function that gains random features step by step, to a data set or to the first rows of a stream."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .. import arrays, streams, training
from ..arrays import Array, Device
from ..kernels import Kernel
from ..models.centering import Centering, RowsAsArray, TrainingRows
from ..models.functions import Expansion
from ..ranks import ALONE, Alone
from ..solvers.examples import Examples
from ..solvers.expansions.doubly_stochastic import DoublyStochastic
from ..solvers.expansions.expansion import ExpansionProblem, ExpansionState
from .expansion_plan import ExpansionPlan, check_room, holds_points, plan_expansion
from .fit_call import FitCall
from .machine import Options, Phases
from .rows import TrainingSet
from .snapshot import RiskSnapshot
from .stream_training import LEAST_MEMORY, Batch, check_finite, stopping_rules
from .targets import ExpansionTargets, NoveltyTargets

STEPS_OF_BATCH = 5
"""Steps on a stream for the rows of a batch of the fit. Smaller batches wait for others, because a step adds a block of
features to the model."""

OFFSET_ROWS = 2000
"""Rows of a stream, drawn from all of them, that set the offset of novelty at the end of a call."""

Sample = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rows that set the offset: the random number of each row, the points, their weights."""


@dataclass(frozen=True)
class TrainedExpansion:
    """A trained function, and what a stream needs to continue its training."""

    plan: ExpansionPlan
    state: ExpansionState
    sample: Sample | None  # rows that set the offset of novelty; None for other targets
    rows_of_step: int  # the least number of rows of a step on a stream

    @property
    def function(self) -> Expansion:
        """The function alone."""
        return Expansion(self.plan.problem, self.state, self.plan.centering, self.plan.dtype)

    def on(self, device: Device) -> Self:
        """The model with its coefficients on a device."""
        return self if self.state.device == device else replace(self, state=self.state.to(device))

    def on_host(self) -> Self:
        """The model on the host, for a file."""
        return replace(self, state=self.function.kept().state)

    def examples(self, rows: Batch, device: Device) -> Examples:
        """Checked rows (X, y, weights) of a stream in the form that the stepper needs."""
        (X, y, weights), plan = rows, self.plan
        targets, w = plan.targets.encode(y), None
        points = plan.centering.training_points(X, np.arange(X.shape[0]), device, plan.dtype)[:, :-2]
        if device.kind == "gpu":
            points = arrays.contiguous(points)  # Otherwise each product would copy them.
        if weights is not None:
            w = arrays.to_device((weights / plan.weight_unit)[:, None], device, plan.dtype)
        return Examples(points, None if targets is None else arrays.to_device(targets, device, plan.dtype), w)

    def add_to_sample(self, sample: Sample | None, batch: Examples, number: int) -> Sample | None:
        """The sample with the rows of the batch of this number."""
        return None if self.sample is None else merge_sample(sample, batch, number, self.plan.seed)

    def finish(self, state: ExpansionState, sample: Sample | None) -> Self:
        """The model at the end of a call on a stream, with the offset of the sample of all rows so far."""
        if sample is not None:
            _, rows, weights = sample
            points = arrays.like(rows, state.buffer)
            w = None if (weights == 1.0).all() else arrays.like(weights, state.buffer)
            state.targets_for(self.plan.problem, Examples(points, None, w), state.values(self.plan.problem, points))
        return replace(self, state=state, sample=sample)

    def snapshot(self, state: ExpansionState, epoch: int, options: Options, device: Device) -> ExpansionSnapshot:
        """The function at a state on a stream, for observers."""
        return snapshot_of(self.plan, self.plan.problem, state, epoch, np.empty(0, int), options, device)

    def report(self, run: training.Run) -> dict[str, Any]:
        """Entries of ``report_``."""
        state = run.state
        return self.plan.report | {
            "n_blocks": state.n_blocks,
            "n_random_features": state.n_blocks * self.plan.problem.features.block_size,
            "n_steps": state.n_steps,
            "stopped_by": run.stopped_by,
            "n_reused": state.n_reused,
            "last_step": state.last_step,
            "gradient_rms": math.sqrt(state.gradient_square),
        }


class ExpansionSnapshot(RiskSnapshot):
    """A random feature expansion during its training, for observers."""

    @property
    def n_blocks(self) -> int:
        """Blocks of features in use."""
        return self.state.n_blocks

    @property
    def n_random_features(self) -> int:
        """Frequencies in use."""
        return self.state.n_blocks * self.problem.features.block_size

    def objective(self) -> float:
        """The mean training loss E ℓ(f(x), y) in the units of the minimization, without the regularizer."""
        problem = self.problem
        scores = self.state.shifted_values_at_points(problem)
        examples = Examples(problem.points, problem.targets, problem.weights)
        targets = self.state.targets_for(problem, examples, scores)
        values = problem.loss.value(scores, targets)
        w = problem.weights
        return float(arrays.namespace(scores).mean(values if w is None else values * w[:, 0]))


def fit_expansion(
    rows: TrainingSet,
    targets: ExpansionTargets,
    *,
    kernel: Kernel,
    searches_bandwidth: bool,
    regularization: float | None,
    settings: DoublyStochastic,
    call: FitCall,
    ranks: Alone = ALONE,
) -> tuple[TrainedExpansion, training.Run, dict[str, float]]:
    """Train on checked rows; returns the model, its training, and the seconds of each phase."""
    seed, options = call.seed, call.options
    phases, device, n = Phases(), options.fit_device(), rows.X.shape[0]
    codes = None if isinstance(targets, NoveltyTargets) else targets.encode(rows.y)
    dtype = options.precision(n)
    budget = ranks.share_of(options.budget(device, LEAST_MEMORY), options.memory)
    options.warn_of_too_little_memory(device, LEAST_MEMORY)
    with device.active():
        plan = plan_expansion(
            rows, targets, codes, kernel=kernel, searches_bandwidth=searches_bandwidth,
            regularization=regularization, settings=settings, dtype=dtype, budget=budget, device=device, seed=seed,
            ranks=ranks,
        )  # fmt: skip
        order = streams.permutation(seed, "order", 0, n)
        points = place_points(rows.X, order, plan.centering, device, dtype, budget)
        weights = None
        if rows.weights is not None:
            weights = arrays.to_device(rows.weights[order] / plan.weight_unit, device, dtype)[:, None]
        coded = None if codes is None else arrays.to_device(codes[order], device, dtype)
        problem = replace(plan.problem, points=points, targets=coded, weights=weights, keep_values=settings.keep_values)
        phases.end("preparation")

        # Ten passes, and more of them for small data, which need no fewer steps to the solution.
        usual = max(10 * math.ceil(n / plan.batch_size), 50, min(200, math.ceil(200 * math.sqrt(1000 / n))))
        seconds = phases.seconds_left(call.max_seconds or options.max_seconds)
        stopping = stopping_rules(settings, n, plan.batch_size, usual, seconds)
        check_room(plan, settings, n, stopping, options.max_seconds)
        with arrays.threads_for(plan.batch_size * problem.features.width):
            run = training.train(
                plan.stepper,
                problem,
                training.Batches(n, plan.batch_size, seed),
                stopping,
                observers=call.observers,
                checkpoint=call.checkpoint,
                snapshot=lambda state, epoch: snapshot_of(plan, problem, state, epoch, order, options, device),
                may_shrink=settings.step_size is None,
            )
        phases.end("training", run)
        check_finite(run.state, plan.stepper.step_size)
        sample = None
        if isinstance(targets, NoveltyTargets):
            # The offset of the whole training set. The steps had offsets of their batches.
            whole = Examples(points, None, weights)  # type: ignore[arg-type]
            run.state.targets_for(problem, whole, run.state.shifted_values_at_points(problem))
            sample = merge_sample(None, whole, 0, seed)
        run.state.known = None
        arrays.synchronize(points[:1, :])
        if ranks is not ALONE:
            run.state, stepper = run.state.in_one_process(plan.problem, plan.stepper)
            plan = replace(plan, stepper=stepper)
    rows_of_step = settings.batch_size or max(1, plan.batch_size // STEPS_OF_BATCH)
    return TrainedExpansion(plan, run.state, sample, rows_of_step), run, phases.seconds


def place_points(
    X: Any, order: np.ndarray, centering: Centering, device: Device, dtype: np.dtype, budget: int
) -> Array | RowsAsArray:
    """The training points in the order of the fit on the device, if they fit; otherwise a view that reads batches."""
    held = holds_points(X.shape[0], X.shape[1], dtype, budget)
    rows = TrainingRows(X, order, centering, device, dtype, held=held)
    if not held:
        return RowsAsArray(rows)
    points = rows(slice(None))[:, :-2]
    return points if device.kind == "cpu" else arrays.contiguous(points)


def snapshot_of(
    plan: ExpansionPlan,
    problem: ExpansionProblem,
    state: ExpansionState,
    epoch: int,
    order: np.ndarray,
    options: Options,
    device: Device,
) -> ExpansionSnapshot:
    """The function at a state, for observers; on a stream the problem has no points."""
    targets, function = plan.targets, Expansion(plan.problem, state, plan.centering, plan.dtype)
    if isinstance(targets, NoveltyTargets):
        targets = NoveltyTargets(targets.loss, float(state.offset))
    return ExpansionSnapshot(function, targets, problem, state, epoch, order, None, options, device)


def merge_sample(sample: Sample | None, batch: Examples, number: int, seed: int) -> Sample:
    """A sample with the rows of a batch: a random number is drawn for every row, and the smallest numbers are kept."""
    drawn = streams.uniform(seed, "rows of the offset", number, (batch.points.shape[0],))
    weights = np.ones((len(drawn), 1)) if batch.weights is None else arrays.to_numpy(batch.weights)
    own, points = np.argsort(drawn, kind="stable")[:OFFSET_ROWS], batch.points
    rows = arrays.to_numpy(points[own, :] if isinstance(points, RowsAsArray) else arrays.take_rows(points, own))
    drawn, weights = drawn[own], weights[own]
    if sample is not None:
        drawn, rows, weights = (np.concatenate(pair) for pair in zip(sample, (drawn, rows, weights), strict=True))
    kept = np.argsort(drawn, kind="stable")[:OFFSET_ROWS]
    return drawn[kept], rows[kept], weights[kept]
