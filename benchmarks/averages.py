"""The average that is the model where batches are noisy: how soon it fits the training targets, and how it predicts.

``python benchmarks/averages.py`` takes a random part of the training points of CIFAR-10 (``--dataset`` names another of
``steps.py``), holds a fifth of it out, and makes the certified steps of EigenPro once. From the same iterates it forms
several models: the last iterate, the average over the second half of each epoch with weights that grow by the place,
and averages that forget, with the constants of `shallows.solvers.least_squares.step_rules` and others. It prints the
square loss on the training and on the held-out part and the error on the latter after some epochs. A mirror of the
data in SHALLOWS_MIRROR is tried first.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from steps import DATA, subset

from shallows import gram, kernels, spectrum, streams, training
from shallows.solvers.least_squares import step_rules
from shallows.solvers.least_squares.eigenpro import EigenProStepper
from shallows.solvers.least_squares.kernel_problem import KernelProblem

SHOWN = (1, 2, 3, 5, 8)
FORGETFUL = ((step_rules.FORGETTING, step_rules.MEMORY), (2.0, 0.5), (5.0, 0.5), (10.0, 0.5), (3.0, 0.25), (3.0, 1.0))
"""Pairs of the power for the first iterates and the epochs that the average lies behind later on."""


def main() -> None:
    """Train once and print a row for each average."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parent / "data")
    parser.add_argument("--dataset", default="cifar10", choices=list(DATA))
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--kernel", default="cauchy")
    parser.add_argument("--bandwidth", type=float, help="the median distance if it is not given")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rank", type=int, default=160)
    parser.add_argument("--subsample", type=int, default=4800)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    x, codes = subset(asked.dataset, asked.data, asked.points)
    order = streams.permutation(asked.seed, "validation", 0, len(x))
    x, y = x[order].astype(np.float32), codes[order].astype(np.float32)
    n = len(x) * 4 // 5
    kernel = kernels.make(asked.kernel, asked.bandwidth or kernels.median_bandwidth(x[:n], asked.seed))
    points = kernels.augmented(x[:n])
    p = spectrum.make_preconditioner(
        kernel, points, rank=asked.rank, n_subsample=min(asked.subsample, n), seed=asked.seed
    )
    size, cycle = step_rules.planned("certified", p, asked.batch, n)
    if not cycle.memory:
        raise SystemExit(f"Batches of {asked.batch} are hardly noisy here, and nothing is averaged.")
    matrix = gram.Gram(kernel, points, budget=2**33)
    problem = KernelProblem(matrix, y[:n], None, p)
    found = watched(problem, EigenProStepper(size, replace(cycle, few=0)), kernel(x[n:], x[:n]), y[n:], asked)
    shown = f"after {', '.join(map(str, SHOWN))} epochs"
    print(f"{asked.dataset}, seed {asked.seed}, {n} points, {asked.kernel}, batches of {asked.batch}; {shown}")
    for name, rows in found.items():
        told = (", ".join(form.format(row[k]) for row in rows) for k, form in enumerate(("{:.4f}", "{:.4f}", "{:.2f}")))
        print("  {:44} training loss {}; validation loss {}, error {} %".format(name, *told))


def watched(
    problem: KernelProblem, solver: EigenProStepper, held_out: np.ndarray, y: np.ndarray, asked: argparse.Namespace
) -> dict[str, list[tuple[float, float, float]]]:
    """For each average, the losses and the error after the epochs that are shown."""
    n, length = problem.gram.n, solver.cycle.length
    models: dict[str, Any] = {"the last iterate": None, "second half of an epoch, by place": None}
    for power, memory in FORGETFUL:
        models[f"power {power:g}, then {memory:g} epochs behind"] = None
    found = {name: [] for name in models}

    def weighed(name: str, weight: float, iterate: np.ndarray) -> None:
        held = models[name]
        models[name] = iterate.copy() if held is None or weight == 1.0 else held + weight * (iterate - held)

    class Watch(training.Observer):
        def on_batch(self, run: training.Run) -> None:
            t, iterate = run.state.n_steps - 1, run.state.iterate
            models["the last iterate"] = iterate
            place = t % length - length // 2
            if place >= 0:
                weighed("second half of an epoch, by place", 2.0 / (place + 2.0), iterate)
            for power, memory in FORGETFUL:
                with mock.patch.object(step_rules, "FORGETTING", power):
                    share = replace(solver.cycle, memory=memory * length).at(t)[1]
                weighed(f"power {power:g}, then {memory:g} epochs behind", share, iterate)

        def on_epoch(self, run: training.Run) -> None:
            if run.epoch not in SHOWN:
                return
            for name, model in models.items():
                parts = [(problem.gram.dot(model), problem.targets), (held_out @ model, y)]
                loss = [float(np.mean((f - t) ** 2)) for f, t in parts]
                f, t = parts[1]
                wrong = f.argmax(1) != t.argmax(1) if t.shape[1] > 1 else (f > 0) != (t > 0)
                found[name].append((*loss, 100 * float(np.mean(wrong))))

    training.train(
        solver,
        problem,
        training.Batches(n, asked.batch, asked.seed),
        training.Stopping(max(SHOWN)),
        observers=[Watch()],
    )
    return found


if __name__ == "__main__":
    main()
