"""The fit of functions of two views of the same examples over streamed random features: kernel SVD and CCA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import arrays, streams, training
from ..arrays import Device
from ..models.component_functions import ExpansionComponents, TwoViewComponents
from ..solvers.components.two_view_state import (
    TwoViewProblem,
    TwoViewSettings,
    TwoViewState,
    moments,
    random_feature_pairs,
)
from . import components
from .components import (
    LEAST_MEMORY,
    MOMENT_ROWS,
    ComponentPlan,
    TrainedComponents,
    bytes_of_a_step,
    check_finite,
    even_batch_size,
    look_at,
    most_blocks,
    report_choices,
    train_components,
)
from .machine import Options, Phases
from .snapshot import TwoViewSnapshot


class ComponentPairs(TrainedComponents):
    """Pairs of functions of two views."""

    def functions_at(self, state: TwoViewState) -> TwoViewComponents:
        """The functions at a state of the stepper; they refer to its arrays."""
        views, problem = self.plan.views, self.plan.problem
        *turns, strengths = self.plan.stepper.turns(state)
        expansions, means = (state.first, state.second), (state.first_mean, state.second_mean)
        means = means if problem.centred else (None, None)
        first, second = (
            ExpansionComponents(view.features, view.centring, g, mean, turn, problem.budget)
            for view, g, mean, turn in zip(views, expansions, means, turns, strict=True)
        )
        signs = first.signs()
        return TwoViewComponents(first.times(signs), second.times(signs), strengths)

    def snapshot(self, state: TwoViewState, epoch: int, options: Options, device: Device) -> TwoViewSnapshot:
        """The functions at a state, for observers."""
        return TwoViewSnapshot(self.functions_at(state), self.plan.targets, state, epoch, device)

    @property
    def strengths(self) -> np.ndarray:
        """Singular values or correlations, descending."""
        return self.plan.stepper.turns(self.state)[2]


def fit_two_views(
    X: Any,
    Y: np.ndarray,
    *,
    coding: Any,
    kernels: tuple[tuple[Any, float | None, Any], tuple[Any, float | None, Any]],
    n_components: int,
    centred: bool,
    block_size: int | None,
    max_features: int | None,
    orthogonal: bool | None,
    solver: TwoViewSettings,
    chosen: dict[str, Any],
    seed: int,
    options: Options,
    max_seconds: float | None,
    observers: Sequence[training.Observer],
    checkpoint: training.Checkpoint | None,
) -> tuple[ComponentPairs, training.Run, dict[str, float]]:
    """Train on checked views; returns pairs of functions, their training and the seconds of each phase.

    ``kernels`` has kernel, bandwidth and further parameters of each view; ``coding`` encodes the second view.
    """
    phases, device, n, k = Phases(), options.fit_device(), X.shape[0], n_components
    Y = coding.encode(Y)
    dtype, budget = components.precision(options), options.budget(device, LEAST_MEMORY)
    options.warn_of_too_little_memory(device, LEAST_MEMORY)
    with device.active():
        views = look_at(
            (X, Y), kernels, block_size=block_size or solver.default_block_size(n, max_features),
            max_features=max_features, orthogonal=orthogonal, seed=seed, dtype=dtype, budget=budget,
        )  # fmt: skip
        both, F = tuple(view.features for view in views), views[0].features.block_size
        max_blocks = most_blocks(max_features, n, F)
        n_first = max(1, min(max_blocks, components.START_WIDTH // 2 // max(features.width for features in both)))
        samples = (view.sample for view in views)
        start = random_feature_pairs(both, *samples, k, n_blocks=n_first, centred=centred, ridge=solver.start_ridge)
        size = even_batch_size(n, solver.batch_size, solver.default_batch_size(k, F))
        stepper = solver.build(start.values, k, max_blocks, seed)
        order = streams.permutation(seed, "order", 0, n)
        problem = TwoViewProblem(
            *both,
            k,
            *(arrays.to_device(np.ascontiguousarray(one), device, dtype) for one in (start.first, start.second)),
            *(view.points(part, order, device, dtype) for view, part in zip(views, (X, Y), strict=True)),
            centred=centred,
            budget=bytes_of_a_step((X, Y), dtype, budget, device),
        )
        phases.end("preparation")

        begun = {"start_values": start.values[:k].tolist()}
        report = chosen | begun | report_choices(views[0], stepper, size, budget, dtype, device, seed)
        plan = ComponentPlan(views, coding, stepper, problem, size, dtype, seed, report)
        run = train_components(ComponentPairs(plan, None), solver, options, max_seconds, observers, checkpoint)
        phases.end("training", run)
        check_finite(run.state, stepper.step_size)
        # The steps have moments of their batches; these are moments of the training points.
        first = problem.take(slice(0, min(MOMENT_ROWS, n)))
        for name, value in moments(*run.state.values(problem, first), centred)[2].items():
            setattr(run.state, name, value)
        arrays.synchronise(problem.points[:1, :])
    problem = replace(problem, start=None, second_start=None, points=None, second_view=None)
    plan = replace(plan, views=tuple(replace(view, sample=None) for view in views), problem=problem)
    return ComponentPairs(plan, run.state), run, phases.seconds
