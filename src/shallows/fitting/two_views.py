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
    TwoViewStart,
    TwoViewState,
    moments,
    random_feature_pairs,
)
from . import component_plan
from .component_plan import (
    LEAST_MEMORY,
    MOMENT_ROWS,
    check_finite,
    even_batch_size,
    stopping,
)
from .machine import Options
from .phases import Phases
from .snapshot import TwoViewSnapshot
from .trained_components import ComponentPlan, GrownComponents, View

START_WIDTH = 1024
"""Most columns of the features that the start is computed in, in either view."""

START_POINTS = 2000


class ComponentPairs(GrownComponents):
    """Pairs of functions of two views."""

    def functions_at(self, state: TwoViewState) -> TwoViewComponents:
        """The functions at a state of the stepper; they refer to its arrays."""
        return two_views_at(self.plan.views, self.plan.stepper, self.plan.problem, state)

    def snapshot(self, state: TwoViewState, epoch: int, options: Options, device: Device) -> TwoViewSnapshot:
        """The functions at a state on a stream, for observers."""
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
    """Train on checked views, of which the second is coded by ``coding``.

    Returns pairs of functions, their training and the seconds of each phase.
    """
    phases, device, n, k = Phases(), options.fit_device(), X.shape[0], n_components
    Y = coding.encode(Y)
    dtype, budget = component_plan.precision(options), options.budget(device, LEAST_MEMORY)
    options.warn_of_too_little_memory(device, LEAST_MEMORY)
    with device.active():
        views = component_plan.look_at(
            (X, Y), kernels, block_size=block_size or solver.default_block_size(n, max_features),
            max_features=max_features, orthogonal=orthogonal, seed=seed, dtype=dtype, budget=budget,
        )  # fmt: skip
        max_blocks = component_plan.most_blocks(max_features, n, views[0].features.block_size)
        start = first_functions(views, k, max_blocks, centred=centred, ridge=solver.start_ridge)
        default_size = solver.default_batch_size(k, views[0].features.block_size)
        size = even_batch_size(n, solver.batch_size, default_size)
        stepper = solver.build(start.values, k, max_blocks, seed)
        order = streams.permutation(seed, "order", 0, n)
        problem = TwoViewProblem(
            *(view.features for view in views),
            k,
            *(arrays.to_device(np.ascontiguousarray(one), device, dtype) for one in (start.first, start.second)),
            *(view.points(part, order, device, dtype) for view, part in zip(views, (X, Y), strict=True)),
            centred=centred,
            budget=component_plan.bytes_of_a_step((X, Y), dtype, budget, device),
        )
        phases.end("preparation")

        run = training.train(
            stepper,
            problem,
            training.Batches(n, size, seed),
            stopping(n, size, solver.n_iter, solver.max_epochs, solver.n_passes, max_seconds or options.max_seconds),
            observers=observers,
            checkpoint=checkpoint,
            snapshot=lambda state, epoch: TwoViewSnapshot(
                two_views_at(views, stepper, problem, state), coding, state, epoch, state.device
            ),
            may_shrink=solver.step_size is None,
        )
        phases.end_training(run)
        check_finite(run.state, stepper.step_size)
        take_training_moments(run.state, problem)
        arrays.synchronise(problem.points[:1, :])
    report = {
        **chosen,
        "start_values": start.values[:k].tolist(),
        **component_plan.report_of(views[0], stepper, size),
        "memory_budget": budget,
        "precision": dtype.name,
        "device": str(device),
        "seed": seed,
    }
    views = tuple(replace(view, sample=None) for view in views)
    problem = replace(problem, start=None, second_start=None, points=None, second_view=None)
    plan = ComponentPlan(views, coding, stepper, problem, size, dtype, seed, report)
    return ComponentPairs(plan, run.state), run, phases.seconds


def first_functions(
    views: tuple[View, ...], n_components: int, max_blocks: int, *, centred: bool, ridge: float | None
) -> TwoViewStart:
    """The solution in the features of the first blocks, on the points that were looked at first."""
    widest = max(view.features.width for view in views)
    return random_feature_pairs(
        tuple(view.features for view in views),
        *(view.sample[:START_POINTS] for view in views),
        n_components,
        n_blocks=max(1, min(max_blocks, START_WIDTH // widest)),
        centred=centred,
        ridge=ridge,
    )


def take_training_moments(state: TwoViewState, problem: TwoViewProblem) -> None:
    """Give a state the moments over training points, where its steps had those of their batches."""
    n = min(MOMENT_ROWS, problem.points.shape[0])
    _, _, found = moments(*state.values(problem, problem.take(slice(0, n))), problem.centred)
    for name, value in found.items():
        setattr(state, name, value)


def two_views_at(
    views: tuple[View, ...], stepper: Any, problem: TwoViewProblem, state: TwoViewState
) -> TwoViewComponents:
    """The pairs of functions at a state of the solver; they refer to its arrays."""
    *turns, strengths = stepper.turns(state)
    expansions, means = (state.first, state.second), (state.first_mean, state.second_mean)
    pair = [
        ExpansionComponents(view.features, view.centring, g, mean if problem.centred else None, turn, problem.budget)
        for view, g, mean, turn in zip(views, expansions, means, turns, strict=True)
    ]
    signs = pair[0].signs()
    return TwoViewComponents(pair[0].times(signs), pair[1].times(signs), strengths)
