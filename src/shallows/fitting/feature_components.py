"""The fit of kernel PCA on explicit features: the directions of most variance, found batch by batch."""

import math
from dataclasses import asdict, replace
from typing import Any

from .. import arrays, streams, training
from ..features import Blocks, Design
from ..models.centering import Centering
from ..models.component_functions import FeatureComponents
from ..solvers.feature_components.problem import (
    FeaturePCAPlan,
    FeaturePCAProblem,
    FeaturePCASettings,
    FeaturePCAState,
    sample_components,
)
from .components import MOMENT_ROWS, ComponentPlan, NotCoded, TrainedComponents, View, even_batch_size
from .fit_call import FitCall
from .machine import Phases, report_of_machine
from .snapshot import ComponentSnapshot
from .stream_training import LEAST_MEMORY, check_finite, stopping_rules

SAMPLE = 2000
"""Rows whose components a training starts from."""


class PrincipalFeatures(TrainedComponents):
    """Principal components of explicit features."""

    def functions_at(self, state: FeaturePCAState) -> FeatureComponents:
        """The components at a state of the stepper."""
        [view] = self.plan.views
        # n_components is the number of the fit, also after `set_params`.
        return FeatureComponents.of(view.features, view.centering, state, self.plan.problem.n_components)


def fit_feature_components(
    X: Any,
    *,
    blocks: Blocks,
    centering: Centering,
    n_components: int,
    centered: bool,
    solver: FeaturePCASettings,
    chosen: dict[str, Any],
    call: FitCall,
    phases: Phases,
) -> tuple[PrincipalFeatures, training.Run, dict[str, float]]:
    """Train on checked points; returns components, their training and the seconds of each phase."""
    seed, options = call.seed, call.options
    device, n, k = options.fit_device(), X.shape[0], n_components
    dtype, budget = options.precision(n), options.budget(device, LEAST_MEMORY)
    options.warn_of_too_little_memory(device, LEAST_MEMORY)
    with device.active():
        order = streams.permutation(seed, "order", 0, n)
        view, n_first = View(centering, blocks, None), min(n, SAMPLE)
        points = view.points(X, order, device, dtype)
        needed = 8 * blocks.n_features * (n_first + 8 * (k + 1) + min(n_first, blocks.n_features))
        what = f"The covariance of {blocks.n_features:,} features (n_features) takes"
        arrays.check_room(what, needed, budget, "Take fewer, or give more memory.")
        on_device, room = blocks.to(device), max(0, budget - points.nbytes - needed) // 2
        problem = FeaturePCAProblem(on_device, k, None, Design(on_device, points, budget=room), centered)
        start, values = sample_components(problem.features(slice(0, n_first)), k, seed, centered=centered)
        problem = replace(problem, start=start)
        stepper = solver.build(FeaturePCAPlan(n, values, k))
        size = even_batch_size(n, solver.batch_size, solver.default_batch_size)
        usual = max(200, solver.n_passes * math.ceil(n / size))
        phases.end("preparation")

        with arrays.threads_for(size * blocks.n_features):
            run = training.train(
                stepper,
                problem,
                training.Batches(n, size, seed),
                stopping_rules(solver, n, size, usual, phases.seconds_left(call.max_seconds or options.max_seconds)),
                observers=call.observers,
                checkpoint=call.checkpoint,
                snapshot=lambda state, epoch: ComponentSnapshot(
                    FeatureComponents.of(blocks, centering, state, k), state, epoch, device
                ),
                may_shrink=True,
            )
        phases.end("training", run)
        state = run.state
        check_finite(state, getattr(stepper, "step_size", None))
        # The moment of the components over training points, shape (k, k); the steps had moments of their batches.
        total, n_rows = state.moment * 0.0, min(MOMENT_ROWS, n)
        for Z in problem.passes_over(state.mean, n_rows):
            H = Z @ state.coefficients[:, :k]
            total = total + H.T @ H
        state.moment = total / n_rows
        arrays.synchronize(points[:1, :])
    report = {
        **chosen,
        **asdict(stepper),
        "batch_size": size,
        "start_eigenvalues": values[:k].tolist(),
        **report_of_machine(budget, dtype, device, seed),
    }
    problem = replace(problem, blocks=blocks, start=None, design=None)
    plan = ComponentPlan((view,), NotCoded(), stepper, problem, size, dtype, seed, report)
    return PrincipalFeatures(plan, state), run, phases.seconds
