"""Convergence and divergence of EigenPro by step size, and the steps that named rules choose (section 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shallows import arrays
from shallows.gram import Gram
from shallows.solvers.least_squares.eigenpro import EigenProStepper
from shallows.solvers.least_squares.kernel_problem import KernelProblem
from shallows.solvers.least_squares.step_rules import make as make_rule
from shallows.spectrum.kernel_preconditioner import make_preconditioner
from shallows.training.steps import Batches

from ..results import AnalysisResult
from ..resumable import ResumableLoop
from ..samples import AnalysisSample, sample

#: A run whose loss on a batch exceeds this many times that of zero on all points has diverged.
DIVERGED = 1e3


def losses_by_step(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    rank: int = 100,
    n_subsample: int = 500,
    batch_size: int = 64,
    n_points: int = 2000,
    n_epochs: int = 5,
    finest: int = 2,
    largest: float = 8.0,
    smallest: float = 0.0625,
    rules: Sequence[str] = ("certified", "theorem", "paper", "release2017", "release2019"),
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
    progress: ResumableLoop | None = None,
) -> AnalysisResult:
    """The training loss after some epochs for a grid of steps, and for the steps of named rules.

    The grid has the powers of 2^(1/finest) between `smallest` and `largest`, in units of the certified step; rules are
    names in `solvers.least_squares.step_rules`. `progress` stores the losses of finished steps.

    Over the step in units of the certified one: ``loss``, mean square over points and outputs over that at zero,
    infinite where the iteration diverges. Numbers: ``best_step`` of the grid, ``best_mean_step``, the same for the mean
    over a batch, ``largest_stable``, and for each rule ``step_<rule>`` in the unit of the grid and ``speed_<rule>``,
    the ratio of the logarithms of its loss and the best loss: 1 is as fast as the best, 0 is no progress or divergence.

    Notes
    -----
    The rule ``release2017`` is tried with its own preconditioner of power ½.
    """
    progress = progress or ResumableLoop()
    part = sample(data, kernel, bandwidth, n_points=n_points, random_state=random_state, device=device)
    n = part.inputs.shape[0]
    m = min(batch_size, n)
    matrix = Gram(part.kernel, part.points, budget=arrays.memory_budget(memory, arrays.resolve_device(device)))
    problems = {power: _problem(part, matrix, rank, n_subsample, power, random_state) for power in (1.0, 0.5)}
    preconditioner = problems[1.0].preconditioner
    certified = make_rule("certified")(preconditioner, m, n)

    def loss(step: float, power: float = 1.0) -> float:
        return _loss(problems[power], step, m, n_epochs, random_state)

    low, high = (round(finest * math.log2(end)) for end in (smallest, largest))
    grid = [2.0 ** (power / finest) for power in range(low, high + 1)]
    found = progress.map(f"steps for batches of {m}", lambda one: loss(one * certified), grid)
    best = min(found)
    numbers = {
        "best_step": grid[found.index(best)],
        "best_mean_step": grid[found.index(best)] * certified * m,
        "largest_stable": max(step for step, value in zip(grid, found, strict=True) if math.isfinite(value)),
    }

    def by_rule(name: str) -> tuple[float, float]:
        power = 0.5 if name == "release2017" else 1.0
        step = make_rule(name)(problems[power].preconditioner, m, n)
        return step, loss(step, power)

    by_rules = progress.map(f"rules for batches of {m}", by_rule, rules)
    for name, (step, final_loss) in zip(rules, by_rules, strict=True):
        numbers[f"step_{name}"] = step / certified
        numbers[f"speed_{name}"] = max(0.0, math.log(final_loss) / math.log(best)) if math.isfinite(final_loss) else 0.0
    effective = {**part.effective, "rank": preconditioner.rank, "n_subsample": preconditioner.n_subsample}
    return AnalysisResult(grid, {"loss": found}, numbers, {**effective, "batch_size": m, "n_epochs": n_epochs})


def rules_by_batch(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    batch_sizes: Sequence[int] = (4, 16, 64, 256, 1024),
    progress: ResumableLoop | None = None,
    **parameters: Any,
) -> AnalysisResult:
    """The numbers of `losses_by_step`, by the size of the batch.

    Over m: ``best_step``, ``best_mean_step``, ``largest_stable``, ``step_<rule>``, ``speed_<rule>``.
    """
    progress = progress or ResumableLoop()
    found = [
        losses_by_step(data, kernel, bandwidth, batch_size=m, progress=progress, **parameters) for m in batch_sizes
    ]
    curve = {name: [one.numbers[name] for one in found] for name in found[0].numbers}
    return AnalysisResult(list(batch_sizes), curve, effective=found[0].effective)


def _problem(part: AnalysisSample, matrix: Gram, rank: int, n_subsample: int, power: float, seed: int) -> KernelProblem:
    n = part.inputs.shape[0]
    preconditioner = make_preconditioner(
        part.kernel, part.points, rank=rank, n_subsample=min(n_subsample, n), seed=seed, power=power
    )
    return KernelProblem(matrix, part.targets, None, preconditioner)


def _loss(problem: KernelProblem, step: float, batch_size: int, n_epochs: int, seed: int) -> float:
    """Return the square loss after some epochs divided by the loss at zero; infinite if the iteration diverges."""
    xp = arrays.namespace(problem.targets)
    n = problem.targets.shape[0]
    start = float(xp.sum(problem.targets**2))
    solver = EigenProStepper(step)
    state = solver.init(problem)
    for epoch in range(n_epochs):
        for batch in Batches(n, batch_size, seed=seed).of_epoch(epoch):
            state = solver.step(problem, state, batch)
            if not state.loss < DIVERGED * start:
                return math.inf
    residual = problem.gram.dot(state.coefficients) - problem.targets
    loss = float(xp.sum(residual**2)) / start
    return loss if loss < 1.0 else math.inf
