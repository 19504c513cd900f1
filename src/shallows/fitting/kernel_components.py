"""The fit of kernel PCA over streamed random features, found batch by batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import arrays, streams, training
from ..models.component_functions import ExpansionComponents
from ..solvers.components.component_steps import random_feature_components, second_moment
from ..solvers.components.oja import ComponentProblem, ComponentState, Oja
from . import components
from .components import (
    LEAST_MEMORY,
    MOMENT_ROWS,
    ComponentPlan,
    NotCoded,
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


class KernelComponents(TrainedComponents):
    """Kernel principal components."""

    def functions_at(self, state: ComponentState) -> ExpansionComponents:
        """The components at a state of the stepper; they refer to its arrays."""
        view, problem, turn = self.plan.views[0], self.plan.problem, self.plan.stepper.turn(state)
        mean = state.mean if problem.centred else None
        found = ExpansionComponents(view.features, view.centring, state, mean, turn, problem.budget)
        return found.times(found.signs())

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
    solver: Oja,
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
    dtype, budget = components.precision(options), options.budget(device, LEAST_MEMORY)
    options.warn_of_too_little_memory(device, LEAST_MEMORY)
    with device.active():
        [view] = look_at(
            (X,), (kernel,), block_size=block_size, max_features=max_features, orthogonal=orthogonal, seed=seed,
            dtype=dtype, budget=budget,
        )  # fmt: skip
        features = view.features
        max_blocks = most_blocks(max_features, n, features.block_size)
        n_first = max(1, min(max_blocks, components.START_WIDTH // features.width))
        start = random_feature_components(features, view.sample, k, n_blocks=n_first, centred=centred, seed=seed)
        values = start.eigenvalues
        size = even_batch_size(n, solver.batch_size, default_batch_size(n, values, start.variance, k))
        stepper = solver.build(values, k, max_blocks, seed)
        problem = ComponentProblem(
            features,
            k,
            arrays.to_device(np.ascontiguousarray(start.coefficients), device, dtype),
            np.diag(values[:k]),
            view.points(X, streams.permutation(seed, "order", 0, n), device, dtype),
            centred=centred,
            budget=bytes_of_a_step((X,), dtype, budget, device),
        )
        phases.end("preparation")

        begun = {"start_eigenvalues": values[:k].tolist(), "start_blocks": start.coefficients.shape[0]}
        report = chosen | begun | report_choices(view, stepper, size, budget, dtype, device, seed)
        plan = ComponentPlan((view,), NotCoded(), stepper, problem, size, dtype, seed, report)
        run = train_components(KernelComponents(plan, None), solver, options, max_seconds, observers, checkpoint)
        phases.end("training", run)
        check_finite(run.state, stepper.step_size)
        # The steps have moments of their batches; these are moments of the training points.
        x = problem.points[: min(MOMENT_ROWS, n), :]
        H = run.state.values(replace(problem, points=None), x)
        mean = arrays.namespace(H).mean(H, axis=0)
        run.state.mean = arrays.to_numpy(mean).astype(np.float64)
        run.state.moment = second_moment(H - mean if centred else H)
        arrays.synchronise(problem.points[:1, :])
    problem = replace(problem, start=None, start_moment=None, points=None)
    plan = replace(plan, views=(replace(view, sample=None),), problem=problem)
    return KernelComponents(plan, run.state), run, phases.seconds


def default_batch_size(n: int, eigenvalues: np.ndarray, variance: float, n_components: int) -> int:
    """B such that the functions outside the components blur the smallest component by a twentieth.

    The part of a batch's covariance between component k and all others has the mean square λ_k Σ_{j>k} λ_j / B.
    """
    smallest = max(float(eigenvalues[n_components - 1]), 1e-12)
    rest = max(0.0, variance - float(eigenvalues[:n_components].sum()))
    wanted = max(256.0, 20.0 * n_components, 20.0 * rest / smallest)
    return int(min(n, 2 ** math.ceil(math.log2(min(wanted, 8192.0)))))
