"""Kernel CCA of the halves of generated digits beside CCA on random features, on as many examples as a time allows.

``python benchmarks/kernel_cca.py --digits FOLDER [--minutes M] [--seeds N] [--features D]``: the folder holds the idx
files of MNIST. Doubly stochastic kernel CCA takes batches of generated digits (`shallows_papers.datasets.synthetic`,
``endless_mnist``), each one once, until its minutes are over. CCA on D random Fourier features and on D landmarks then
learns from the same examples, from sums of products that are made in one pass, as far as it comes in the same time.
Told are the total correlations of 50 directions on MNIST's 10,000 test digits and the processor seconds of each fit,
without those of making the digits; run it with OMP_NUM_THREADS=1, so that the machine may be busy. Every ridge is
chosen on the first 70,000 digits: 60,000 train and the others, which are deformed, validate. The target: the first is
above the others.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shallows import Options
from shallows.decomposition import DoublyStochasticKernelCCA
from shallows.kernel_approximation import FourierFeatures, NystroemFeatures
from shallows.solvers import TwoViewCCA
from shallows_papers.baselines.randomised_cca import RIDGES, _directions, total_correlation
from shallows_papers.datasets import synthetic
from shallows_papers.datasets.formats.idx import read_idx

K = 50
BATCH = 8192
N_CHOICE, N_VALIDATION = 60_000, 10_000
KERNEL_RIDGES = (3e-6, 1e-5, 3e-5, 1e-4)
CHOICE_SHARE = 0.05
"""Of the minutes, for each ridge of kernel CCA."""


def main() -> int:
    """Measure and print; 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--digits", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--features", type=int, default=4096)
    parser.add_argument("--frequencies", type=int, default=16_384, help="of kernel CCA, at most")
    asked = parser.parse_args()
    test = halves(read_idx(next(asked.digits.glob("t10k-images-idx3-ubyte*"))).reshape(-1, 784))
    missed = 0
    for seed in range(asked.seeds):
        digits = synthetic.make("endless_mnist", digits=str(asked.digits), seed=seed)
        model, n, seconds, chosen = kernel_cca(digits, asked, seed)
        reached = total_correlation(*model.transform(*test))
        print(f"| kernel CCA, seed {seed} | {reached:.2f} | {seconds:.0f} s | {n:,} digits, {chosen} |", flush=True)
        for kind in ("fourier", "nystroem"):
            other, took, ridge, n_seen = explicit_cca(digits, n, seconds, kind, asked.features, seed, test)
            met = reached > other
            missed += not met
            words = "met" if met else "MISSED"
            what = f"CCA on {asked.features:,} features, {kind}"
            print(f"| {what} | {other:.2f} | {took:.0f} s | {n_seen:,} digits, ridge {ridge:g}, {words} |", flush=True)
    return int(missed > 0)


def halves(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The left and the right halves of digits, (n, 392) each, in float32 between 0 and 1."""
    square = images.reshape(-1, 28, 28).astype(np.float32) / 255
    return square[:, :, :14].reshape(-1, 392), square[:, :, 14:].reshape(-1, 392)


def batches(digits: Any, start: int, stop: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Halves of the digits ``start``, ..., ``stop - 1``, some thousands at a time."""
    for first in range(start, stop, BATCH):
        yield halves(digits.block(first, min(first + BATCH, stop))[0])


def kernel_cca(digits: Any, asked: Any, seed: int) -> tuple[Any, int, float, str]:
    """The model with the best ridge, the digits that it saw, its seconds with those of the choice, and the choice."""
    validation = next(iter(_whole(digits, N_CHOICE, N_CHOICE + N_VALIDATION)))
    spent, scores = 0.0, {}
    for ridge in KERNEL_RIDGES:
        model = _new(asked, seed, ridge)
        _, took = _train(model, digits, 60 * asked.minutes * CHOICE_SHARE, N_CHOICE)
        spent += took
        scores[ridge] = total_correlation(*model.transform(*validation))
    best = max(scores, key=scores.get)
    model = _new(asked, seed, best)
    n, took = _train(model, digits, 60 * asked.minutes * (1 - CHOICE_SHARE * len(KERNEL_RIDGES)), None)
    return model, n, spent + took, f"ridge {best:g}, {model.n_random_features_:,} frequencies"


def _new(asked: Any, seed: int, ridge: float) -> Any:
    return DoublyStochasticKernelCCA(
        K,
        ridge=ridge,
        solver=TwoViewCCA(max_features=asked.frequencies, block_size=512),
        random_state=seed,
        options=Options(device="cpu"),
    )


def _train(model: Any, digits: Any, seconds: float, n_most: int | None) -> tuple[int, float]:
    """Steps on one batch after the other for some seconds, on ``n_most`` digits again and again if given."""
    spent, first = 0.0, 0
    while spent < seconds:
        at = first if n_most is None else first % n_most
        left, right = halves(digits.block(at, at + BATCH)[0])
        started = time.process_time()
        model.partial_fit(left, right)
        spent += time.process_time() - started
        first += BATCH
    return first, spent


def _whole(digits: Any, start: int, stop: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    yield halves(digits.block(start, stop)[0])


def explicit_cca(
    digits: Any, n: int, seconds: float, kind: str, n_features: int, seed: int, test: Any
) -> tuple[float, float, float, int]:
    """Total correlation on the test digits, seconds of the fit with the choice, the ridge, and the digits seen."""
    validation = next(iter(_whole(digits, N_CHOICE, N_CHOICE + N_VALIDATION)))
    started = time.process_time()
    maps = _maps(digits, kind, n_features, seed)
    moments, making, _ = _moments(digits, maps, N_CHOICE)
    seen = [one.transform(view) for one, view in zip(maps, validation, strict=True)]
    scores = {}
    for ridge in RIDGES:
        a, b, _ = _directions(moments, ridge, K)
        scores[ridge] = total_correlation(seen[0] @ a, seen[1] @ b)
    best = max(scores, key=scores.get)
    # Making the digits is no part of the fit of either method.
    spent = time.process_time() - started - making
    started = time.process_time()
    moments, making, n_seen = _moments(digits, maps, n, max(seconds - spent, 1.0))
    a, b, _ = _directions(moments, best, K)
    spent += time.process_time() - started - making
    found = [one.transform(view) for one, view in zip(maps, test, strict=True)]
    return total_correlation(found[0] @ a, found[1] @ b), spent, best, n_seen


def _maps(digits: Any, kind: str, n_features: int, seed: int) -> list[Any]:
    """Feature maps of both views, with the median bandwidths and the landmarks of the first digits."""
    first = next(iter(_whole(digits, 0, min(N_CHOICE, 20_000))))
    make = FourierFeatures if kind == "fourier" else NystroemFeatures
    made = (make(n_features=n_features, random_state=seed + place, dtype="float32") for place in (0, 1))
    return [one.fit(view) for one, view in zip(made, first, strict=True)]


def _moments(
    digits: Any, maps: list[Any], n: int, seconds: float = math.inf
) -> tuple[tuple[np.ndarray, ...], float, int]:
    """Covariances of both views' features and their cross-covariance, the seconds of making the digits, their number.

    There are n digits, or as many as some seconds allow.
    """
    sums: list[Any] = [0.0, 0.0]
    squares: list[Any] = [0.0, 0.0, 0.0]
    making, spent, count = 0.0, 0.0, 0
    waiting = iter(batches(digits, 0, n))
    while count < n and spent < seconds:
        started = time.process_time()
        views = next(waiting)
        made = time.process_time()
        making += made - started
        P, Q = (one.transform(view) for one, view in zip(maps, views, strict=True))
        count += len(P)
        for place, one in enumerate((P, Q)):
            sums[place] = sums[place] + one.sum(axis=0, dtype=np.float64)
        for place, (a, b) in enumerate(((P, P), (Q, Q), (P, Q))):
            squares[place] = squares[place] + (a.T @ b).astype(np.float64)
        spent += time.process_time() - made
    means = [one / count for one in sums]
    pairs = zip(squares, ((0, 0), (1, 1), (0, 1)), strict=True)
    centred = (np.asarray(S, np.float64) / count - np.outer(means[a], means[b]) for S, (a, b) in pairs)
    return tuple(centred), making, count


if __name__ == "__main__":
    sys.exit(main())
