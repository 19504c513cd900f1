"""The fit of kernel PCA over streamed random features, found batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import arrays, streams, training
from ..models.component_functions import ExpansionComponents
from ..solvers.components.component_state import ComponentProblem, ComponentState
from ..solvers.components.moments import second_moment
from ..solvers.components.oja import DoublyStochasticOja, DoublyStochasticOjaStepper
from ..solvers.components.warm_start import random_feature_components
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
from .second_view import NotCoded
from .snapshot import ComponentSnapshot
from .trained_components import ComponentPlan, GrownComponents, View


class KernelComponents(GrownComponents):
    """Kernel principal components."""

    def functions_at(self, state: ComponentState) -> ExpansionComponents:
        """The components at a state of the stepper; they refer to its arrays."""
        return components_at(self.plan.views[0], self.plan.stepper, self.plan.problem, state)

    @property
    def eigenvalues(self) -> np.ndarray:
        """Of the covariance operator."""
        return self.plan.stepper.eigenvalues(self.state)


def fit_kernel_components(
    X: Any,
    *,
    kernel: tuple[Any, float | None, Any],
    n_components: int,
    centred: bool,
    block_size: int | None,
    max_features: int | None,
    orthogonal: bool | None,
    solver: DoublyStochasticOja,
    chosen: dict[str, Any],
    seed: int,
    options: Options,
    max_seconds: float | None,
    observers: Sequence[training.Observer],
    checkpoint: training.Checkpoint | None,
) -> tuple[KernelComponents, training.Run, dict[str, float]]:
    """Train on checked points; returns components, their training and the seconds of each phase.

    ``kernel`` is a kernel or its name, its bandwidth and its further parameters.
    """
    phases, device, n, k = Phases(), options.fit_device(), X.shape[0], n_components
    dtype, budget = component_plan.precision(options), options.budget(device, LEAST_MEMORY)
    options.warn_of_too_little_memory(device, LEAST_MEMORY)
    with device.active():
        [view] = component_plan.look_at(
            (X,), (kernel,), block_size=block_size, max_features=max_features, orthogonal=orthogonal, seed=seed,
            dtype=dtype, budget=budget,
        )  # fmt: skip
        features = view.features
        max_blocks = component_plan.most_blocks(max_features, n, features.block_size)
        n_first = max(1, min(max_blocks, component_plan.START_WIDTH // features.width))
        start = random_feature_components(features, view.sample, k, n_blocks=n_first, centred=centred, seed=seed)
        values = start.eigenvalues
        default_size = component_plan.default_batch_size(n, values, start.variance, k)
        size = even_batch_size(n, solver.batch_size, default_size)
        stepper = solver.build(values, k, max_blocks, seed)
        problem = ComponentProblem(
            features,
            k,
            arrays.to_device(np.ascontiguousarray(start.coefficients), device, dtype),
            np.diag(values[:k]),
            view.points(X, streams.permutation(seed, "order", 0, n), device, dtype),
            centred=centred,
            budget=component_plan.bytes_of_a_step((X,), dtype, budget, device),
        )
        phases.end("preparation")

        run = training.train(
            stepper,
            problem,
            training.Batches(n, size, seed),
            stopping(n, size, solver.n_iter, solver.max_epochs, solver.n_passes, max_seconds or options.max_seconds),
            observers=observers,
            checkpoint=checkpoint,
            snapshot=lambda state, epoch: ComponentSnapshot(
                components_at(view, stepper, problem, state), state, epoch, state.device
            ),
            may_shrink=solver.step_size is None,
        )
        phases.end_training(run)
        check_finite(run.state, stepper.step_size)
        take_training_moments(run.state, problem)
        arrays.synchronise(problem.points[:1, :])
    report = {
        **chosen,
        "start_eigenvalues": values[:k].tolist(),
        "start_blocks": start.coefficients.shape[0],
        **component_plan.report_of(view, stepper, size),
        "memory_budget": budget,
        "precision": dtype.name,
        "device": str(device),
        "seed": seed,
    }
    view, problem = replace(view, sample=None), replace(problem, start=None, start_moment=None, points=None)
    plan = ComponentPlan((view,), NotCoded(), stepper, problem, size, dtype, seed, report)
    return KernelComponents(plan, run.state), run, phases.seconds


def take_training_moments(state: ComponentState, problem: ComponentProblem) -> None:
    """Give a state the moments over training points, where its steps had those of their batches."""
    x = problem.points[: min(MOMENT_ROWS, problem.points.shape[0]), :]
    H = state.values(replace(problem, points=None), x)
    mean = arrays.namespace(H).mean(H, axis=0)
    state.mean = arrays.to_numpy(mean).astype(np.float64)
    state.moment = second_moment(H - mean if problem.centred else H)


def components_at(
    view: View, stepper: DoublyStochasticOjaStepper, problem: ComponentProblem, state: ComponentState
) -> ExpansionComponents:
    """The components at a state of the solver; they refer to its arrays."""
    mean = state.mean if problem.centred else None
    found = ExpansionComponents(view.features, view.centring, state, mean, stepper.turn(state), problem.budget)
    return found.times(found.signs())
