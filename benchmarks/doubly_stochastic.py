"""What an iteration and a prediction of doubly stochastic gradients cost, beside their bare products and cosines.

``python benchmarks/doubly_stochastic.py [--small] [--only PART ...]`` measures in one process, in turns, so that the
ratios hold whatever the machine does meanwhile. The targets: an iteration at most 1.3 times the bare matrix products
and cosines of its blocks, drawing the frequencies at most 15 % of it, time linear in the number of features (exponent
within 0.9 and 1.1 over three decades), memory independent of the number of inputs, prediction of 10,000 points with
100,000 features within 1.3 times its bare products and under the memory budget, the error of DSG falling with an
exponent within −1.2 and −0.8, the checked method no later than the plain one at any training objective that both
reach, and the ten digits learnt to 1.5 % in five minutes. The exit status is 1 where one of them is missed.

With ``--data FOLDER`` (a folder of ``prepared`` datasets, ``data/prepared`` by default) the last two are measured on
what stands there; without it the checked method is on generated points alone, and the digits are left out.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shallows import (
    DoublyStochasticClassifier,
    DoublyStochasticRegressor,
    Options,
    arrays,
    kernels,
    losses,
    streams,
    training,
)
from shallows.features import FourierMap, block_sums
from shallows.solvers import CheckedReuse, DoublyStochastic
from shallows.solvers.examples import Examples
from shallows.solvers.expansions.doubly_stochastic import DoublyStochasticStepper
from shallows.solvers.expansions.expansion import ExpansionProblem
from shallows_papers import datasets

RATIO, DRAWING = 1.3, 0.15
DIGITS = DoublyStochastic(damping=1e-3, block_size=1024, batch_size=16384, n_iter=70)


def main() -> int:
    """Measure what was asked for and print it; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--small", action="store_true", help="whether it works, not how fast")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, default=Path("data/prepared"))
    asked = parser.parse_args()
    missed = 0
    for part in asked.only:
        for what, value, low, high, note in PARTS[part](asked):
            met = low <= value <= high
            missed += not met
            bounds = f"at most {high:g}" if low == -math.inf else f"within {low:g} and {high:g}"
            told = f"{what:<74}{value:10.3g}   {bounds:<24}{'met' if met else 'MISSED'}"
            print(told + (f"   ({note})" if note else ""), flush=True)
    return int(missed > 0)


def in_turns(rounds: int, *works: Callable[[], Any]) -> list[list[float]]:
    """Seconds of each of several works, taken in turns after a first call that does not count."""
    for work in works:
        work()
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, found in zip(works, seconds, strict=True):
            started = time.perf_counter()
            work()
            found.append(time.perf_counter() - started)
    return seconds


def ratio(above: list[float], below: list[float]) -> float:
    """The median ratio of neighbours in time."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


class Bare:
    """Products and cosines of some blocks and nothing else: frequencies at hand, arrays at hand, no strips.

    On as many threads as there are, each with its share of the points, which is faster than one call after the other.
    """

    def __init__(self, x: np.ndarray, frequencies: list[np.ndarray], A: np.ndarray):
        self.x, self.frequencies, self.A = x, frequencies, A
        self.n_workers = arrays.n_threads()
        self.share = -(-len(x) // self.n_workers)
        F = len(frequencies[0])
        self.space = [np.empty((self.share, 2 * F), dtype=x.dtype) for _ in range(self.n_workers)]
        self.out = np.zeros((len(x), A.shape[2]), dtype=x.dtype)

    def __call__(self) -> None:
        """All blocks once."""
        F = len(self.frequencies[0])

        def work(worker: int) -> None:
            rows = slice(worker * self.share, min(len(self.x), (worker + 1) * self.share))
            values = self.space[worker][: rows.stop - rows.start]
            for omega, A in zip(self.frequencies, self.A, strict=True):
                np.matmul(self.x[rows], omega.T, out=values[:, :F])
                np.sin(values[:, :F], out=values[:, F:])
                np.cos(values[:, :F], out=values[:, :F])
                self.out[rows] += values @ A

        arrays.in_threads(work, self.n_workers)


def setting(m: int, d: int, F: int, c: int, n_blocks: int, cache: int = 2**31) -> tuple[Any, np.ndarray, np.ndarray]:
    """Features, points and coefficients; what they are changes no time."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, d), dtype=np.float32)
    A = rng.standard_normal((n_blocks, 2 * F, c), dtype=np.float32)
    return FourierMap(kernels.make("gaussian", math.sqrt(d)), d, F, cache_bytes=cache), x, A


def iteration(asked: Any):
    """A whole step at m features, beside the products and cosines of its m blocks and of its own."""
    F, c = (128, 10) if asked.small else (1024, 10)
    m = 512 if asked.small else 10_000
    for d in (20, 100, 784):
        for n_blocks in (8, 40):
            features, x, A = setting(m, d, F, c, n_blocks)
            y = np.sign(np.random.default_rng(1).standard_normal((m, c))).astype(np.float32)
            frequencies = [features.frequencies(i, x) for i in range(n_blocks + 1)]
            bare = Bare(x, frequencies, np.concatenate([A, A[:1]]))
            for preconditioning in (None, "block"):
                problem = ExpansionProblem(features, losses.make("logistic"), c, budget=2**29)
                solver = DoublyStochasticStepper(1.0, preconditioning=preconditioning, damping=1e-4)
                state = solver.init(ExpansionProblem(features, losses.make("logistic"), c, x[:1], y[:1]))

                state.buffer = np.concatenate([A, A[:1]])
                state.trace_buffer = np.zeros((n_blocks + 1, c), dtype=np.float32)
                batch = Examples(x, y)

                def step(state=state, solver=solver, problem=problem, batch=batch, n=n_blocks) -> None:
                    # The same step every time: as many blocks as before, and steps counted from one.
                    state.n_blocks, state.scale, state.n_steps = n, 1.0, 0
                    solver.step(problem, state, batch)

                ours, theirs = in_turns(asked.rounds, step, bare)
                label = f"step / bare products, d = {d}, {n_blocks * F:,} frequencies"
                if preconditioning is None:
                    yield label, ratio(ours, theirs), -math.inf, RATIO, f"{statistics.median(ours):.3f} s"
                else:
                    # The covariance of the block is the price of the preconditioner, which is named, not judged.
                    label += ", with the block's covariance"
                    yield label, ratio(ours, theirs), -math.inf, math.inf, f"{statistics.median(ours):.3f} s"


def drawing(asked: Any):
    """The share of an iteration that goes into frequencies where none can be kept."""
    F, n_blocks = (128, 4) if asked.small else (1024, 16)
    m = 512 if asked.small else 10_000
    for d in (20, 100, 784):
        features, x, A = setting(m, d, F, 10, n_blocks, cache=0)
        draw, whole = in_turns(
            asked.rounds,
            lambda: block_sums._draw(features, range(n_blocks), x, arrays.n_threads()),  # noqa: B023
            lambda: block_sums.evaluate(features, x, A),  # noqa: B023
        )
        kept = "none kept, as where the cache is full"
        yield f"share of drawing in an iteration, d = {d}", ratio(draw, whole), -math.inf, DRAWING, kept


def growth(asked: Any):
    """Time over three decades of features, and memory over three decades of inputs."""
    F, counts = (64, (1, 10, 100)) if asked.small else (256, (1, 10, 100, 1000))
    m = 256 if asked.small else 2048
    features, x, A = setting(m, 20, F, 1, counts[-1])
    works = [lambda n=n: block_sums.evaluate(features, x, A[:n]) for n in counts]
    seconds = [statistics.median(found) for found in in_turns(asked.rounds, *works)]
    exponent = float(np.polyfit(np.log(counts[1:]), np.log(seconds[1:]), 1)[0])
    told = ", ".join(f"{n * F:,}: {t:.4f} s" for n, t in zip(counts, seconds, strict=True))
    yield "exponent of seconds against features", exponent, 0.9, 1.1, told
    peaks = []
    inputs = (10, 100, 1000, 10_000)
    for d in inputs:
        features, x, A = setting(256, d, 16, 1, 200, cache=0)
        tracemalloc.start()
        block_sums.evaluate(features, x, A, budget=2**20)
        peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
        tracemalloc.stop()
    held = {d: DoublyStochasticStepper(1.0).init(_tiny(d)).remember()[0]["buffer"].nbytes for d in inputs}
    told = "peak of an evaluation, MiB: " + ", ".join(f"{d}: {p:.1f}" for d, p in zip(inputs, peaks, strict=True))
    yield "bytes of a state, 10,000 inputs over 10", (held[10_000] + 1) / (held[10] + 1), 0.99, 1.01, told


def _tiny(d: int) -> ExpansionProblem:
    x = np.zeros((2, d), dtype=np.float32)
    features = FourierMap(kernels.make("gaussian", 1.0), d, 16)
    return ExpansionProblem(features, losses.make("square"), 1, x, x[:, :1])


def prediction(asked: Any):
    """10,000 points with 100,000 features under a budget."""
    n, F, n_blocks = (1000, 128, 8) if asked.small else (10_000, 1024, 98)
    budget = 2**28
    for d in (100, 784):
        features, x, A = setting(n, d, F, 10, n_blocks, cache=0)
        bare = Bare(x, [features.frequencies(i, x) for i in range(n_blocks)], A)
        ours, theirs = in_turns(
            max(1, asked.rounds // 2),
            lambda: block_sums.evaluate(features, x, A, budget=budget // 4),  # noqa: B023
            bare,
        )
        label = f"prediction of {n:,} points, {n_blocks * F:,} frequencies, d = {d}"
        note = "frequencies drawn on the way, the bare products have them"
        yield f"{label} / bare products", ratio(ours, theirs), -math.inf, RATIO, note
        tracemalloc.start()
        block_sums.evaluate(features, x, A, budget=budget // 4)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        yield f"{label}, bytes held / budget of {budget // 2**20} MiB", peak / budget, -math.inf, 1.0, ""


def slopes(asked: Any):
    """The exponent of E|f_t − f*|² with the steps θ/t, where f* is exact kernel ridge regression."""
    n, nu, seeds = 60, 0.5, 3 if asked.small else 12
    marks = [2**k for k in range(4, 8 if asked.small else 11)]
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(n, 2)), rng.normal(size=(50, 2))
    y = np.sin(2 * x[:, :1]) * 2
    kernel = kernels.make("gaussian", 1.0)
    optimum = kernel(z, x) @ np.linalg.solve(kernel(x, x) + n * nu * np.eye(n), y)
    for theta_nu in (1.5, 2.0):
        errors = np.zeros((seeds, len(marks)))
        for seed in range(seeds):
            problem = ExpansionProblem(FourierMap(kernel, 2, 4, seed=seed), losses.make("square"), 1, x, y)
            solver = DoublyStochasticStepper(theta_nu / nu, regularization=nu)
            state = solver.init(problem)
            rows = streams.integers(seed, "rows", 0, 4 * marks[-1]) % np.uint64(n)
            for t in range(1, marks[-1] + 1):
                batch = rows[4 * t - 4 : 4 * t].astype(int)
                state = solver.step(problem, state, Examples(x[batch], y[batch]))
                if t in marks:
                    errors[seed, marks.index(t)] = np.mean((state.values(problem, z) - optimum) ** 2)
        slope = float(np.polyfit(np.log(marks), np.log(errors.mean(axis=0)), 1)[0])
        yield f"exponent of the error against t, θν = {theta_nu}", slope, -1.2, -0.8, f"t from 16 to {marks[-1]:,}"


def checked(asked: Any):
    """Seconds to training objectives: the checked method over the plain one, at the objectives that both reach."""
    for title, estimator, x, y in _data(asked):
        curves = {}
        for method, reuse in (("dsg", "fresh"), ("cdsg", CheckedReuse())):
            solver = DoublyStochastic(
                reuse=reuse,
                block_size=64 if asked.small else 512,
                batch_size=512 if asked.small else 5000,
                n_iter=8 if asked.small else 60,
            )
            model = estimator(solver=solver, random_state=0, options=Options(device="cpu"))
            curve = training.Curve(
                range(1, 1000, 2 if asked.small else 5),
                lambda snapshot: {"objective": snapshot.objective(), "features": snapshot.n_random_features},
                unit="iteration",
            )
            model.fit(x, y, observers=[curve])
            curves[method] = curve.rows
        worst, told = _latest(curves["cdsg"], curves["dsg"])
        last = {method: rows[-1] for method, rows in curves.items()}
        told += "; at the end " + ", ".join(
            f"{method} {row['objective']:.4f} with {row['features']:.0f} frequencies" for method, row in last.items()
        )
        yield f"{title}: seconds of cdsg / dsg, the latest of all objectives", worst, -math.inf, 1.0, told


def learning(asked: Any):
    """Ten digits from 60,000 plain images as 100 principal components: what is learnt, and how long it takes."""
    try:
        data = datasets.load(asked.data / "mnist" / "unit_pca100")
    except datasets.DatasetError:
        return
    rows = slice(0, 4000 if asked.small else None)
    x, y, x_test, y_test = (np.array(part) for part in (data.x_train, data.y_train, data.x_test, data.y_test))
    # Bandwidth, damping, batch and number of steps by the error on 10,000 training images that were kept apart.
    model = DoublyStochasticClassifier(
        bandwidth=6.0, loss="softmax", solver=DIGITS, random_state=0, options=Options(device="cpu")
    )
    started = time.perf_counter()
    model.fit(x[rows], y[rows])
    seconds = time.perf_counter() - started
    error = 100 * float(np.mean(model.predict(x_test) != y_test))
    told = f"{model.n_random_features_:,} frequencies"
    yield "ten digits, 60,000 plain images: test error, %", error, -math.inf, 100.0 if asked.small else 1.5, told
    yield "ten digits, 60,000 plain images: seconds of the fit", seconds, -math.inf, 300.0, "on two idle cores"


def _latest(ours: list[dict], theirs: list[dict]) -> tuple[float, str]:
    """The largest ratio of seconds over the objectives that both reach."""
    ratios = []
    floor = max(min(row["objective"] for row in rows) for rows in (ours, theirs))
    for row in theirs[1:]:
        level = row["objective"]
        if level < floor:
            continue
        when = [next(r["seconds"] for r in rows if r["objective"] <= level) for rows in (ours, theirs)]
        ratios.append(when[0] / when[1])
    if not ratios:
        return math.inf, "no objective that both reach"
    return max(ratios), f"median {statistics.median(ratios):.2f}"


def _data(asked: Any):
    rng = np.random.default_rng(0)
    n = 2000 if asked.small else 20_000
    x = rng.standard_normal((n, 10), dtype=np.float32)
    y = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.standard_normal(n)
    yield "generated regression", DoublyStochasticRegressor, x, y
    for path in sorted(asked.data.glob("*/*")):
        try:
            data = datasets.load(path)
        except datasets.DatasetError:
            continue
        if data.info["n_train"] < n or data.info["task"] not in ("classification", "regression"):
            continue
        rows = np.random.default_rng(0).permutation(data.info["n_train"])[: n if asked.small else 50_000]
        estimator = DoublyStochasticClassifier if data.info["task"] == "classification" else DoublyStochasticRegressor
        yield (
            f"{path.parent.name}/{path.name}",
            estimator,
            np.asarray(data.x_train)[rows],
            np.asarray(data.y_train)[rows],
        )
        if asked.small:
            return


PARTS = {
    "iteration": iteration,
    "drawing": drawing,
    "growth": growth,
    "prediction": prediction,
    "slopes": slopes,
    "checked": checked,
    "learning": learning,
}

if __name__ == "__main__":
    sys.exit(main())
