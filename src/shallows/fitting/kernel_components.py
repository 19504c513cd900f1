"""The fit of components over streamed random features: kernel PCA of one view, kernel SVD and CCA of two views."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import arrays, streams, training
from ..arrays import Device
from ..kernels import Kernel
from ..models.component_functions import ExpansionComponents, TwoViewComponents
from ..solvers.components.component_steps import ComponentSettings
from . import components
from .components import ComponentPlan, TrainedComponents
from .fit_call import FitCall
from .machine import Options, Phases, report_of_machine
from .snapshot import ComponentSnapshot, TwoViewSnapshot
from .stream_training import LEAST_MEMORY, Batch, check_finite, stopping_rules

START_WIDTH = 2048
"""The largest number of columns of the features for the start, in all views."""

MOST_FREQUENCIES = 16384
"""The default limit of random frequencies of a view."""


class KernelComponents(TrainedComponents):
    """Kernel principal components, or pairs of functions of two views."""

    def functions_at(self, state: Any) -> ExpansionComponents | TwoViewComponents:
        """The functions at a state of the stepper; they refer to its arrays."""
        views, problem, stepper = self.plan.views, self.plan.problem, self.plan.stepper
        if len(views) == 1:
            parts, strengths = [(state, state.mean, stepper.turn(state))], None
        else:
            *turns, strengths = stepper.turns(state)
            parts = list(zip((state.first, state.second), (state.first_mean, state.second_mean), turns, strict=True))
        found = [
            ExpansionComponents(
                view.features, view.centering, expansion, mean if problem.centered else None, turn, problem.budget
            )
            for view, (expansion, mean, turn) in zip(views, parts, strict=True)
        ]
        signs = found[0].signs()
        found = [part.times(signs) for part in found]
        return found[0] if strengths is None else TwoViewComponents(found[0], found[1], strengths)

    def snapshot(self, state: Any, epoch: int, options: Options, device: Device) -> ComponentSnapshot:
        """The functions at a state, for observers."""
        if len(self.plan.views) == 1:
            return super().snapshot(state, epoch, options, device)
        return TwoViewSnapshot(self.functions_at(state), self.plan.targets, state, epoch, device)

    @property
    def strengths(self) -> np.ndarray:
        """Eigenvalues of the covariance operator; of two views singular values or correlations. Descending."""
        stepper = self.plan.stepper
        return stepper.eigenvalues(self.state) if len(self.plan.views) == 1 else stepper.turns(self.state)[2]


def fit_kernel_components(
    rows: Batch,
    *,
    coding: Any,
    kernels: Sequence[Kernel],
    n_components: int,
    centered: bool,
    ridge: float | None,
    solver: ComponentSettings,
    call: FitCall,
) -> tuple[KernelComponents, training.Run, dict[str, float]]:
    """Train on checked rows (X, second view or None); returns components, their training, the seconds of each phase.

    Each view has one of the ``kernels``, and ``coding`` encodes the second view. CCA has a ``ridge``, in units of
    k(x, x) = 1.
    """
    phases, seed, options = Phases(), call.seed, call.options
    device, n, k = options.fit_device(), rows[0].shape[0], n_components
    data = (rows[0], coding.encode(rows[1]))[: len(kernels)]
    # Sines and cosines of float32 are many times faster.
    dtype = np.dtype("float32" if options.dtype == "auto" else options.dtype)
    budget = options.budget(device, LEAST_MEMORY)
    options.warn_of_too_little_memory(device, LEAST_MEMORY)
    room = max(2**24, (budget - n * sum(X.shape[1] for X in data) * dtype.itemsize) // 2)
    with device.active():
        views = components.look_at(
            data, kernels, block_size=solver.block_size or solver.default_block_size(n),
            most=solver.max_features or MOST_FREQUENCIES, orthogonal=solver.orthogonal, seed=seed, dtype=dtype,
            budget=budget, room=room,
        )  # fmt: skip
        features = tuple(view.features for view in views)
        F, widest = features[0].block_size, max(part.width for part in features)
        usual_features = min(MOST_FREQUENCIES, max(512, solver.features_per_row * n))
        max_blocks = max(1, (solver.max_features or usual_features) // F)
        n_first = max(1, min(max_blocks, START_WIDTH // len(views) // widest))
        samples = tuple(view.sample for view in views)
        start = solver.choose_start(
            features, samples, k, n_blocks=n_first, centered=centered, ridge=ridge or 0.0, seed=seed
        )
        size = components.even_batch_size(n, solver.batch_size, solver.default_batch_size(n, start, k, F))
        stepper = solver.build(start.values, k, ridge=ridge or 0.0, max_blocks=max_blocks, seed=seed)
        order = streams.permutation(seed, "order", 0, n)
        points = [view.points(X, order, device, dtype) for view, X in zip(views, data, strict=True)]
        most = min(room // 4, 2**28 if device.kind == "cpu" else 2**32)
        problem = solver.build_problem(features, start, points, k, centered=centered, budget=most)
        phases.end("preparation")

        report = {
            **solver.report(),
            **({} if ridge is None else {"ridge": ridge}),
            **start.report(k),
            "kernel": features[0].kernel.name,
            "bandwidth": features[0].kernel.bandwidth,
            "block_size": F,
            "batch_size": size,
            "orthogonal": features[0].orthogonal,
            "step_size": stepper.step_size,
            "decrease": stepper.decrease,
            "max_blocks": stepper.max_blocks,
            **report_of_machine(budget, dtype, device, seed),
        }
        plan = ComponentPlan(views, coding, stepper, problem, size, dtype, seed, report)
        untrained, usual = KernelComponents(plan, None), max(200, solver.n_passes * math.ceil(n / size))
        with arrays.threads_for(size * F):
            run = training.train(
                stepper,
                problem,
                training.Batches(n, size, seed),
                stopping_rules(solver, n, size, usual, phases.seconds_left(call.max_seconds or options.max_seconds)),
                observers=call.observers,
                checkpoint=call.checkpoint,
                snapshot=lambda state, epoch: untrained.snapshot(state, epoch, options, state.device),
                may_shrink=solver.step_size is None,
            )
        phases.end("training", run)
        check_finite(run.state, stepper.step_size)
        run.state.take_moments(problem, min(components.MOMENT_ROWS, n))
        arrays.synchronize(points[0][:1, :])
    plan = replace(plan, views=tuple(replace(view, sample=None) for view in views), problem=problem.without_data())
    return KernelComponents(plan, run.state), run, phases.seconds
