"""The fit of LASVM, and machines that continue with further examples: ½ ‖f‖² + C Σ wᵢ max(0, 1 − yᵢ(f(xᵢ) + b))."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import arrays, streams, training
from ..kernels import Kernel
from ..models.centering import Centering
from ..models.functions import KernelMachines
from ..solvers.support_vectors.dual_problem import most_pair_steps, report_violation
from ..solvers.support_vectors.lasvm import LASVM, ExampleProblem, LASVMState
from ..spectrum.leave_one_out import report_of_choice
from ..training.steps import InOrderThenShuffled
from . import leave_one_out_choice
from .fit_call import FitCall
from .machine import Phases
from .rows import TrainingSet, single_column
from .support_vectors import FittedMachines, TimeLimit, warn_of_work_left
from .targets import Machines

BATCH = 64
"""Examples whose kernel values are computed together."""

LARGE_GAP = 0.25
"""A warning follows if the dual objective is below the primal one by more than this share of it; 0.02 is usual."""


@dataclass(frozen=True)
class OnlineMachines:
    """Machines that visit examples one after the other."""

    targets: Machines
    kernel: Kernel
    centering: Centering  # learned from the first rows
    dtype: np.dtype  # of the kernel values
    states: list[LASVMState]  # one for each machine; steps change them in place
    seed: int
    selection: dict[str, Any]  # the choice of the bandwidth, for the report

    def copied(self) -> OnlineMachines:
        """The same machines with copies of the states."""
        return replace(self, states=copy.deepcopy(self.states))


def fit_lasvm(
    rows: TrainingSet,
    *,
    kernel: Kernel,
    searches_bandwidth: bool,
    C: float,
    solver: LASVM,
    multiclass: str,
    call: FitCall,
) -> tuple[FittedMachines, OnlineMachines]:
    """Train on checked rows; the returned machines can continue with further examples."""
    phases, y, options = Phases(), single_column(rows.y), call.options
    rows, targets = rows._replace(y=y), Machines.of(y, multiclass)
    machines = begin_machines(rows, targets, kernel, C, call, searches_bandwidth=searches_bandwidth)
    phases.end("preparation")
    clock = TimeLimit(phases.seconds_left(options.max_seconds))
    visit_examples(machines, rows, C, solver, solver.max_epochs, clock, call.observers)
    most = most_pair_steps(solver.max_steps, len(y))
    for state in machines.states if solver.finish and not clock.stopped else []:
        solver.build().finish(state, most)
        if state.gap > solver.tol:
            warn_of_work_left(report_violation(most, "steps", state.gap, solver.tol, "max_steps"))
    phases.end("training")
    found = functions_of(machines, options.device)
    device = arrays.resolve_device(options.device)
    outputs = found.model.scores(rows.X, device, options.prediction_budget(device))
    gap = relative_gap(found, outputs, y, rows.weights, C)
    if gap > LARGE_GAP and not clock.stopped:
        left = f"After max_epochs={solver.max_epochs} the dual objective is still {gap:.0%} below the primal one"
        warn_of_work_left((f"{left}: rows that were dropped count after all", "take a larger max_epochs of the solver"))
    report = {**found.report, "relative_gap": gap, **clock.report()}
    return replace(found, report=report, seconds=phases.seconds), machines


def begin_machines(
    rows: TrainingSet,
    targets: Machines,
    kernel: Kernel,
    C: float,
    call: FitCall,
    *,
    searches_bandwidth: bool,
) -> OnlineMachines:
    """Choose the kernel and the shift of the points by the first rows; the machines have no examples yet."""
    seed, options = call.seed, call.options
    arrays.memory_budget(options.memory)  # Refuses values that are no size.
    n, cpu = len(rows.rows), arrays.Device("cpu")
    dtype, codes = options.precision(n), targets.ridge_codes(rows.y)
    centering, _, kernel, choice = leave_one_out_choice.place_and_choose(
        rows.X, None, np.arange(n), kernel, codes, rows.weights, seed, cpu, dtype,
        searches_bandwidth=searches_bandwidth, widest=np.inf, regularization=1.0 / C,
    )  # fmt: skip
    # Rows that come later may differ in a feature that is constant in these.
    centering = replace(centering, varies=np.ones(rows.X.shape[1], dtype=bool))
    none = centering.training_points(rows.X, np.arange(0), cpu, dtype)
    states = [LASVMState.empty(none) for _ in range(targets.n_problems)]
    return OnlineMachines(targets, kernel, centering, dtype, states, seed, report_of_choice(choice))


def visit_examples(
    machines: OnlineMachines,
    rows: TrainingSet,
    C: float,
    solver: LASVM,
    n_epochs: int,
    clock: TimeLimit,
    observers: Sequence[training.Observer] = (),
) -> None:
    """Let every machine visit the examples in ``n_epochs`` random orders, or with 0 once in their own order."""
    n, classes = len(rows.rows), machines.targets.numbers(rows.y)
    points = machines.centering.training_points(rows.X, np.arange(n), arrays.Device("cpu"), machines.dtype)
    for state, two in zip(machines.states, machines.targets.problems(rows.y, rows.weights), strict=True):
        m = len(two.rows)
        for epoch in range(max(1, n_epochs) if m else 0):
            order = streams.permutation(machines.seed, "order", epoch, m) if n_epochs else np.arange(m)
            visited = two.rows[order]
            examples = points[visited], two.signs[order], C * two.weights[order], rows.rows[visited], classes[visited]
            run = training.train(
                solver.build(),
                ExampleProblem(machines.kernel, *examples),
                InOrderThenShuffled(m, BATCH, 0),
                training.Stopping(1, max_seconds=clock.left),
                observers=observers,
                state=state,
            )
            clock.after(run)


def functions_of(machines: OnlineMachines, device: str) -> FittedMachines:
    """The functions of the support vectors of all machines at their present states."""
    states = machines.states
    held = [np.flatnonzero(state.coefficients) for state in states]
    numbers = [state.numbers[slots] for state, slots in zip(states, held, strict=True)]
    rows, places = np.unique(np.concatenate(numbers), return_index=True)
    classes = np.concatenate([state.classes[slots] for state, slots in zip(states, held, strict=True)])[places]
    points = np.concatenate([state.points[slots] for state, slots in zip(states, held, strict=True)])[places]
    coefficients = np.zeros((len(rows), len(states)))
    for column, (state, slots, of) in enumerate(zip(states, held, numbers, strict=True)):
        coefficients[np.searchsorted(rows, of), column] = state.coefficients[slots]
    intercepts = np.array([state.intercept for state in states])
    model, support = KernelMachines.of(machines.kernel, machines.centering, points, coefficients, intercepts)
    n_steps = sum(state.n_steps for state in states)
    report = {
        "kernel": machines.kernel.name,
        "bandwidth": machines.kernel.bandwidth,
        "n_support": len(support),
        "n_problems": len(states),
        "n_steps": n_steps,
        "gap": max(state.gap for state in states),
        "precision": machines.dtype.name,
        "device": str(arrays.resolve_device(device)),
        "seed": machines.seed,
        **machines.selection,
    }
    return FittedMachines(
        model,
        rows[support],
        coefficients[support],
        n_steps,
        sum(state.n_evaluations for state in states),
        report,
        {},
        machines.targets,
        np.array([state.objective for state in states]),
        classes[support],
    )


def relative_gap(
    found: FittedMachines, outputs: np.ndarray, y: np.ndarray, weights: np.ndarray | None, C: float
) -> float:
    """The largest duality gap of the machines over all training rows, relative to the primal objective."""
    gaps = []
    for k, two in enumerate(found.targets.problems(y, weights)):
        missed = np.maximum(0.0, 1.0 - two.signs * outputs[two.rows, k])
        # ½ ‖f‖² is Σ αᵢ less the dual objective.
        norm = np.abs(found.coefficients[:, k]).sum() - found.objectives[k]
        gaps.append(1.0 - found.objectives[k] / (norm + C * float(two.weights @ missed)))
    return float(max(gaps))
