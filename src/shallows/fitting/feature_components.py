"""The fit of kernel PCA on explicit features: the directions of most variance, found batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from .. import arrays, streams, training
from ..arrays import Array
from ..features import Blocks, Design
from ..models.centring import Centring
from ..models.component_functions import FeatureComponents
from ..solvers.feature_components.problem import (
    FeaturePCAPlan,
    FeaturePCAProblem,
    FeaturePCASettings,
    FeaturePCAState,
    sample_components,
)
from .component_plan import LEAST_MEMORY, MOMENT_ROWS, check_finite, even_batch_size, stopping
from .machine import Options
from .phases import Phases
from .second_view import NotCoded
from .snapshot import ComponentSnapshot
from .trained_components import ComponentPlan, TrainedComponents, View

SAMPLE = 2000
"""Rows whose components a training starts from."""


class PrincipalFeatures(TrainedComponents):
    """Principal components of explicit features."""

    def functions_at(self, state: FeaturePCAState) -> FeatureComponents:
        """The components at a state of the stepper."""
        [view] = self.plan.views
        # Their number is that of the fit, whatever `set_params` has changed after it.
        return FeatureComponents.of(view.features, view.centring, state, self.plan.problem.n_components)


def fit_feature_components(
    X: Any,
    *,
    blocks: Blocks,
    centring: Centring,
    n_components: int,
    centred: bool,
    solver: FeaturePCASettings,
    chosen: dict[str, Any],
    seed: int,
    options: Options,
    max_seconds: float | None,
    observers: Sequence[training.Observer],
    checkpoint: training.Checkpoint | None,
    phases: Phases,
) -> tuple[PrincipalFeatures, training.Run, dict[str, float]]:
    """Train on checked points, for features that are on the host; ``chosen`` is reported of them.

    Returns components, their training and the seconds of each phase.
    """
    device, n, k = options.fit_device(), X.shape[0], n_components
    dtype, budget = options.precision(n), options.budget(device, LEAST_MEMORY)
    options.warn_of_too_little_memory(device, LEAST_MEMORY)
    with device.active():
        order = streams.permutation(seed, "order", 0, n)
        view, n_first = View(centring, blocks, None), min(n, SAMPLE)
        points = view.points(X, order, device, dtype)
        needed = 8 * blocks.n_features * (n_first + 8 * (k + 1) + min(n_first, blocks.n_features))
        what = f"The covariance of {blocks.n_features:,} features (n_features) takes"
        arrays.check_room(what, needed, budget, "Take fewer, or give more memory.")
        on_device, room = blocks.to(device), max(0, budget - points.nbytes - needed) // 2
        problem = FeaturePCAProblem(on_device, k, None, Design(on_device, points, budget=room), centred)
        start, values = sample_components(problem.features(slice(0, n_first)), k, seed, centred=centred)
        problem = replace(problem, start=start)
        stepper = solver.build(FeaturePCAPlan(n, values, k))
        size = even_batch_size(n, solver.batch_size, solver.default_batch_size)
        phases.end("preparation")

        run = training.train(
            stepper,
            problem,
            training.Batches(n, size, seed),
            stopping(n, size, solver.n_iter, solver.max_epochs, solver.n_passes, max_seconds or options.max_seconds),
            observers=observers,
            checkpoint=checkpoint,
            snapshot=lambda state, epoch: ComponentSnapshot(
                FeatureComponents.of(blocks, centring, state, k), state, epoch, device
            ),
            may_shrink=True,
        )
        phases.end_training(run)
        state = run.state
        check_finite(state, getattr(stepper, "step_size", None))
        state.moment = training_moment(problem, state)
        arrays.synchronise(points[:1, :])
    report = {
        **chosen,
        **asdict(stepper),
        "batch_size": size,
        "start_eigenvalues": values[:k].tolist(),
        "memory_budget": budget,
        "precision": dtype.name,
        "device": str(device),
        "seed": seed,
    }
    problem = replace(problem, blocks=blocks, start=None, design=None)
    plan = ComponentPlan((view,), NotCoded(), stepper, problem, size, dtype, seed, report)
    return PrincipalFeatures(plan, state), run, phases.seconds


def training_moment(problem: FeaturePCAProblem, state: FeaturePCAState) -> Array:
    """The moment of the components over training points, where the steps had those of their batches; shape (k, k)."""
    total, n = state.moment * 0.0, min(MOMENT_ROWS, problem.design.n)
    for Z in problem.passes_over(state.mean, n):
        H = Z @ state.coefficients[:, : problem.n_components]
        total = total + H.T @ H
    return total / n
