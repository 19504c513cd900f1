"""What component analysis by doubly stochastic gradients reaches, and what a step costs.

``python benchmarks/components.py [--only PART ...] [--seeds N] [--data FOLDER]`` measures in one process. The targets:
on a million normal numbers the squared sine of the largest angle to the three analytic eigenfunctions at most 3e-4 in
every seed, within five minutes; on 5,000 digits the same angle to the ten exact components at most 0.01; the fit on
60,000 digits within 1 GB; a linear classifier on 50 components of them at most 0.2 points behind one on exact
components of 5,000; a step at most 1.3 times its bare products and cosines. Parts that need digits read ``mnist/unit``
and ``mnist/unit_5000`` in the folder of prepared datasets, and are left out where these are missing. The exit status is
1 where a target is missed.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from doubly_stochastic import Bare
from sklearn.decomposition import KernelPCA
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from shallows import Options, kernels
from shallows.decomposition import DoublyStochasticKernelPCA
from shallows.features import FourierMap
from shallows.solvers.components.component_steps import random_feature_components
from shallows.solvers.components.oja import ComponentProblem, Oja, OjaStepper
from shallows.solvers.examples import Examples
from shallows_papers import datasets
from shallows_papers.datasets import synthetic
from shallows_papers.experiments.running.measures.components import squared_sine
from shallows_papers.papers.kpca.gaussian_subspace import convergence

Row = tuple[str, float, float, str]


def main() -> int:
    """Measure what was asked for and print it; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="whether it works, not what it reaches")
    parser.add_argument("--data", type=Path, default=Path("data/prepared"))
    asked = parser.parse_args()
    missed = 0
    for part in asked.only:
        for what, value, most, note in PARTS[part](asked):
            met = value <= most
            missed += not met
            print(f"| {what} | {value:.3g} | at most {most:g} | {'met' if met else 'MISSED'} | {note} |", flush=True)
    return int(missed > 0)


def gaussian(asked: Any) -> Iterator[Row]:
    """The subspace of a million normal numbers, from a warm start, in one pass."""
    n = 2**16 if asked.small else 10**6
    points = synthetic.make("gaussian_1d").block(0, n)[0]
    for seed in range(asked.seeds):
        started = time.perf_counter()
        found = convergence(
            SimpleNamespace(x_train=points),
            batch_size=2048,
            block_size=512,
            max_blocks=32,
            n_marks=4,
            random_state=seed,
        )
        seconds = time.perf_counter() - started
        yield f"sin² to the three eigenfunctions, seed {seed}", found.numbers["final"], 3e-4, f"{n:,} points"
        yield f"seconds of it, seed {seed}", seconds, 300.0, "with the measuring at four points"


def digits(asked: Any) -> Iterator[Row]:
    """The ten components of 5,000 digits, beside the exact ones."""
    data = _prepared(asked, "mnist", "unit_5000")
    if data is None:
        return
    x = np.asarray(data.x_train)[: 1000 if asked.small else None]
    started = time.perf_counter()
    model = DoublyStochasticKernelPCA(10, random_state=0).fit(x)
    seconds = time.perf_counter() - started
    exact = KernelPCA(10, kernel="rbf", gamma=0.5 / model.bandwidth_**2, eigen_solver="arpack", random_state=0)
    truth = exact.fit(x.astype(np.float64)).transform(x.astype(np.float64))
    values = model.transform(x).astype(np.float64)
    found = squared_sine(values - values.mean(axis=0), truth - truth.mean(axis=0))
    yield f"sin² to the ten exact components of {len(x):,} digits", found, 0.01, f"fit in {seconds:.0f} s"


def memory(asked: Any) -> Iterator[Row]:
    """The largest resident memory of a fit on all digits under a budget of 1 GB."""
    data = _prepared(asked, "mnist", "unit")
    if data is None:
        return
    x = np.asarray(data.x_train)[: 2000 if asked.small else None]
    started = time.perf_counter()
    DoublyStochasticKernelPCA(50, solver=Oja(n_iter=40), random_state=0, options=Options(memory="1GB")).fit(x)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    yield f"GB of the process after 40 steps on {len(x):,} digits", peak, 1.0, f"{time.perf_counter() - started:.0f} s"


def classifier(asked: Any) -> Iterator[Row]:
    """Test errors of a linear classifier on 50 components of all digits, and on exact components of 5,000 of them."""
    data, few = _prepared(asked, "mnist", "unit"), _prepared(asked, "mnist", "unit_5000")
    if data is None or few is None:
        return
    n, n_exact, k = (2000, 1000, 10) if asked.small else (len(data.x_train), len(few.x_train), 50)
    x, y, subset = np.asarray(data.x_train)[:n], np.asarray(data.y_train)[:n].ravel(), np.asarray(few.x_train)[:n_exact]
    tested, labels = np.asarray(data.x_test), np.asarray(data.y_test).ravel()
    started = time.perf_counter()
    model = DoublyStochasticKernelPCA(k, random_state=0, options=Options(memory="1GB")).fit(x)
    seconds = time.perf_counter() - started
    exact = KernelPCA(k, kernel="rbf", gamma=0.5 / model.bandwidth_**2, eigen_solver="arpack", random_state=0)
    exact.fit(subset.astype(np.float64))
    errors = [
        100 * (1 - LogisticRegression(max_iter=1000).fit(scaled(of(x)), y).score(scaled(of(tested)), labels))
        for of in (model.transform, lambda some: exact.transform(some.astype(np.float64)))
        for scaled in [StandardScaler().fit(of(x)).transform]
    ]
    note = f"{errors[0]:.2f} % (fit in {seconds:.0f} s), {errors[1]:.2f} % with exact ones of {n_exact:,}"
    yield f"test error, points, of logistic regression on {k} components of {n:,}", errors[0] - errors[1], 0.2, note


def step(asked: Any) -> Iterator[Row]:
    """A step of Oja's rule over its bare products and cosines."""
    n_blocks, F, B, d, k = (4, 64, 128, 20, 5) if asked.small else (32, 256, 1024, 100, 10)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(B, d)).astype(np.float32)
    features = FourierMap(kernels.make("gaussian", d**0.5), d, F, 0, cache_bytes=2**28)
    start = random_feature_components(features, x.astype(np.float64), k, n_blocks=n_blocks)
    problem = ComponentProblem(features, k, start.coefficients.astype(np.float32), np.diag(start.values[:k]))
    solver = OjaStepper(0.01, max_blocks=n_blocks)
    state = solver.init(problem)
    frequencies = [rng.normal(size=(F, d)).astype(np.float32) for _ in range(n_blocks)]
    bare = Bare(x, frequencies, rng.normal(size=(n_blocks, 2 * F, k)).astype(np.float32))
    found = []
    for turn in range(9):
        started = time.perf_counter()
        state = solver.step(problem, state, Examples(x))
        between = time.perf_counter()
        bare()
        if turn > 1:
            found.append((between - started) / (time.perf_counter() - between))
    yield f"step over bare products, {n_blocks * F:,} frequencies, d = {d}", statistics.median(found), 1.3, "in turns"


def _prepared(asked: Any, dataset: str, variant: str) -> Any:
    folder = asked.data / dataset / variant
    if not folder.exists():
        print(f"| {dataset}/{variant} | | | not run | there is no {folder} |", flush=True)
        return None
    return datasets.load(folder)


PARTS = {"gaussian": gaussian, "digits": digits, "memory": memory, "classifier": classifier, "step": step}

if __name__ == "__main__":
    sys.exit(main())
