"""The cost of EigenPro's step beside that of plain SGD: on the same points, in the same process, taken in turns.

``python benchmarks/iteration.py`` draws 60,000 random points of 784 features (what they are changes no time), makes a
preconditioner of each rank, and takes steps of both kinds on the same batches alternately, without any kernel matrix
kept. EigenPro's are those of the certified rule in noisy batches, bounded by the batch and averaged. It prints the
median of the ratios of neighbouring steps, with their quartiles, and the seconds of a step. The targets: at most 1.2
times the plain step at rank 160, and 1.5 at rank 1,000.

``--features`` does the same for explicit features (random Fourier, streamed), where both steps are `FeatureEigenPro`'s.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from shallows import arrays, features, gram, kernels, spectrum
from shallows.features.design import Blocks, Design
from shallows.solvers.least_squares.eigenpro import EigenProStepper
from shallows.solvers.least_squares.feature_eigenpro import FeatureEigenProStepper, FeatureProblem
from shallows.solvers.least_squares.kernel_problem import KernelProblem
from shallows.solvers.least_squares.kernel_sgd import KernelSGDStepper
from shallows.solvers.least_squares.step_rules import Cycle

TARGETS = {160: 1.2, 1000: 1.5}
AVERAGED = Cycle(1, (), (1.0,), memory=100.0)


def main() -> None:
    """Measure every rank and batch that was asked for."""
    asked = options()
    found = []
    for row in measured(asked):
        found.append(row)
        (low, high), seconds = row["quartiles"], row["seconds"]
        target = f", target {row['target']}" if row["target"] else ""
        print(
            f"rank {row['rank']}, subsample {row['n_subsample']}, batch {row['batch']}: "
            f"{row['ratio']:.3f} times the plain step ({low:.3f} to {high:.3f}{target}); "
            f"{1e3 * seconds[0]:.1f} ms against {1e3 * seconds[1]:.1f} ms",
            flush=True,
        )
    print(f"{arrays.n_threads()} threads")
    if asked.out:
        with open(asked.out, "w", encoding="utf-8") as file:
            json.dump(found, file)


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What is measured; None reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=60_000)
    parser.add_argument("--inputs", type=int, default=784)
    parser.add_argument("--outputs", type=int, default=10)
    parser.add_argument("--ranks", type=int, nargs="+", default=[160, 1000])
    parser.add_argument("--subsample", type=int, default=4800)
    parser.add_argument("--batches", type=int, nargs="+", default=[256, 0], help="0: what the estimator would take")
    parser.add_argument("--steps", type=int, default=20, help="pairs of steps that are timed")
    parser.add_argument("--features", type=int, default=0, help="measure so many random features instead")
    parser.add_argument("--out")
    return parser.parse_args(arguments)


def measured(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each rank and batch, as soon as it is known."""
    x = np.random.default_rng(0).standard_normal((asked.points, asked.inputs), dtype=np.float32)
    # With a narrow kernel the spectrum falls slowly enough for a thousand directions to be resolved.
    x *= np.arange(1, asked.inputs + 1, dtype=np.float32) ** -0.2
    y = np.random.default_rng(1).standard_normal((asked.points, asked.outputs), dtype=np.float32)
    kernel = kernels.make("laplace", float(kernels.median_bandwidth(x)) / 4)
    for rank in asked.ranks:
        make = of_features if asked.features else of_kernel
        p, step, plain = make(kernel, x, y, rank, asked)
        for batch in asked.batches:
            m = min(asked.points, batch or int(max(16, p.critical_batch_size() / 2)))
            ratios, seconds = alternate(step(p.step_size(m)), plain(0.1 * p.step_size(m)), asked.points, m, asked.steps)
            low, median, high = np.quantile(ratios, [0.25, 0.5, 0.75])
            row = {"rank": p.rank, "n_subsample": p.n_subsample, "batch": m, "ratio": median, "quartiles": [low, high]}
            yield row | {"seconds": seconds, "target": TARGETS.get(rank)}


Make = Callable[[float], Callable[[slice], Any]]


def of_kernel(kernel: Any, x: np.ndarray, y: np.ndarray, rank: int, asked: Any) -> tuple[Any, Make, Make]:
    """A preconditioner and both kinds of step, with no tile of the matrix kept."""
    points = kernels.augmented(x)
    p = spectrum.make_preconditioner(kernel, points, rank=rank, n_subsample=asked.subsample)
    matrix = gram.Gram(kernel, points, budget=0)
    problem = KernelProblem(matrix, y, None, p)
    return p, lambda s: stepper(EigenProStepper(s, AVERAGED), problem), lambda s: stepper(KernelSGDStepper(s), problem)


def of_features(kernel: Any, x: np.ndarray, y: np.ndarray, rank: int, asked: Any) -> tuple[Any, Make, Make]:
    """The same with random features that are made anew for every batch."""
    kernel = kernels.make("gaussian", kernel.bandwidth)
    made = features.FourierMap(kernel, x.shape[1], min(1024, asked.features // 2), cache_bytes=2**30)
    blocks = Blocks(made, asked.features)
    p = spectrum.make_feature_preconditioner(blocks, x, rank=rank, n_subsample=asked.subsample)
    design = Design(blocks, x, budget=0)
    problems = FeatureProblem(design, y, None, p), FeatureProblem(design, y)
    solvers = (lambda s: FeatureEigenProStepper(s, AVERAGED)), FeatureEigenProStepper
    pairs = zip(solvers, problems, strict=True)
    return p, *(lambda s, solver=solver, problem=problem: stepper(solver(s), problem) for solver, problem in pairs)


def stepper(solver: Any, problem: Any) -> Callable[[slice], Any]:
    """A function that takes a step on a batch."""
    state = solver.init(problem)
    return lambda batch: solver.step(problem, state, batch)


def alternate(
    step: Callable[[slice], Any], plain: Callable[[slice], Any], n: int, m: int, n_steps: int
) -> tuple[np.ndarray, tuple[float, float]]:
    """Ratios of the times of neighbouring steps, and the median times."""
    batches = list(arrays.blocks(n - n % m or n, m))
    times: list[list[float]] = [[], []]
    for t in range(n_steps + 2):
        batch = batches[(7 * t) % len(batches)]
        # Who goes first changes, so that neither always finds what the other left in the cache.
        for which in (0, 1) if t % 2 else (1, 0):
            started = time.perf_counter()
            (step, plain)[which](batch)
            times[which].append(time.perf_counter() - started)
    ours, theirs = (np.array(some[2:]) for some in times)  # the first two warm up
    return ours / theirs, (float(np.median(ours)), float(np.median(theirs)))


if __name__ == "__main__":
    main()
