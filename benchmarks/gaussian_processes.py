"""Gaussian processes on features beside exact ones, and the two-sample test beside the exact permutation test.

``python benchmarks/gaussian_processes.py [coverage] [distance] [rows] [level] [power]``, all of them by default:

- *coverage*: the sets of `default_data` that need no download. Told are the coverage of 90 % intervals of the test
  targets, their mean log-likelihood and the root mean square error, of `FeatureGaussianProcessRegressor` at its
  defaults, on Fourier features, and of scikit-learn's `GaussianProcessRegressor` with the same kernel and noise on at
  most 2,000 rows, averaged over two seeds (ten for sets of at most 500 rows). The targets: between 87 and 93 % on eight
  sets, and a likelihood no worse than that of the exact process, to 0.01.
- *distance*: the deviation away from the training points, in units of the prior's.
- *rows*: the time of a fit to a million rows.
- *level*, *power*: rejections at 5 % of 1,000 pairs of samples of one law, and of 300 pairs of different ones.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import sklearn.datasets
from default_data import PROBLEMS, split
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from shallows import kernels
from shallows.gaussian_process import FeatureGaussianProcessRegressor
from shallows.kernel_approximation import FourierFeatures, NystroemFeatures
from shallows.statistics import two_sample_test

MAPS = {"nystrom": NystroemFeatures, "fourier": FourierFeatures}
DOWNLOADED = {"cpu_act", "census_house", "sarcos_small"}
NAMES = [name for name, one in PROBLEMS.items() if one.task == "regression" and name not in DOWNLOADED]
MOST_EXACT, MANY_SEEDS_ROWS = 2000, 500
KERNELS = {"gaussian": (None, RBF), "matern": ({"nu": 1.5}, lambda width: Matern(width, nu=1.5))}
Model = Callable[[np.ndarray, np.ndarray], Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]]


def main() -> None:
    """Measure and print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what is measured (default: all)")
    parser.add_argument("--kernel", choices=KERNELS, default="gaussian")
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in asked.parts or PARTS:
        print(f"\n{part}\n", flush=True)
        PARTS[part](asked)


# ------------------------------------------------------------------------------------------ Gaussian processes


def ours(kernel: str, features: str, seed: int) -> Model:
    """`FeatureGaussianProcessRegressor` at its defaults, but for the features."""

    def fit(X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        map_ = MAPS[features](kernels.KERNELS[kernel](**(KERNELS[kernel][0] or {})))
        model = FeatureGaussianProcessRegressor(map_, random_state=seed).fit(X, y)
        return lambda new: model.predict(new, return_std=True)

    return fit


def exact(kernel: str) -> Model:
    """scikit-learn's exact process on at most 2,000 rows, all its parameters of the largest likelihood."""

    def fit(X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        X, y = X[:MOST_EXACT], y[:MOST_EXACT]
        width, mean = kernels.median_bandwidth(X), y.mean()
        parts = KERNELS[kernel][1](width)
        parts.length_scale_bounds = (width / 32, 32 * width)
        model = GaussianProcessRegressor(
            ConstantKernel(1.0, (1e-5, 1e6)) * parts + WhiteKernel(0.1, (1e-8, 1e2)), alpha=1e-10
        ).fit(X, y - mean)

        def predict(new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            found, deviation = model.predict(new, return_std=True)
            return found + mean, deviation

        return predict

    return fit


def coverage(asked: argparse.Namespace) -> None:
    """A row for each set and method."""
    print("| set | rows | method | coverage of 90 % | log-likelihood | RMSE | s |\n|---|---|---|---|---|---|---|")
    kept, no_worse = 0, 0
    for name in asked.sets:
        rows = len(split(PROBLEMS[name], 0, Path())[0])
        seeds = range((5 if rows <= MANY_SEEDS_ROWS else 1) * asked.seeds)
        mean = {}
        for method in ("nystrom", "fourier", "exact"):
            mean[method] = np.mean([measured(method, name, asked.kernel, seed) for seed in seeds], axis=0)
            covered, likelihood, error, seconds = mean[method]
            line = f"| {name} | {rows:,} | {method} | {100 * covered:.1f} | {likelihood:.3f} | {error:.3f} |"
            print(line, f"{seconds:.1f} |", flush=True)
        kept += 0.87 <= mean["nystrom"][0] <= 0.93
        no_worse += mean["nystrom"][1] >= mean["exact"][1] - 0.01
    print(f"\nBetween 87 and 93 %: {kept} of {len(asked.sets)} sets; likelihood no worse than exact: {no_worse}.")


def measured(method: str, name: str, kernel: str, seed: int) -> tuple[float, float, float, float]:
    """Coverage, mean log-likelihood and error on the test rows of a set, and the seconds of the fit."""
    X, new, y, truth = split(PROBLEMS[name], seed, Path())
    started = time.perf_counter()
    predict = (exact(kernel) if method == "exact" else ours(kernel, method, seed))(X, y)
    seconds = time.perf_counter() - started
    mean, deviation = predict(new)
    z = (truth - mean) / deviation
    likelihood = -0.5 * (z**2 + np.log(2 * np.pi * deviation**2))
    error = np.sqrt(np.mean((truth - mean) ** 2))
    return float(np.mean(np.abs(z) < 1.6449)), float(likelihood.mean()), float(error), seconds


def distance(asked: argparse.Namespace) -> None:
    """Deviations of f along a line away from 2,000 points of two normal inputs, bandwidth 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=2000)
    far = np.array([[0.0, 0.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0], [6.0, 6.0], [20.0, 20.0]])
    print("| distance from the middle | " + " | ".join(f"{np.hypot(*one):.1f}" for one in far) + " |")
    print("|---" * (len(far) + 1) + "|")
    given = {"signal_variance": 1.0, "noise_variance": 0.01, "random_state": 0}
    for features, n_features in (("nystrom", 2000), ("nystrom", 100), ("fourier", 100), ("fourier", 1000)):
        map_ = MAPS[features](asked.kernel, n_features=n_features, bandwidth=1.0)
        model = FeatureGaussianProcessRegressor(map_, **given)
        deviations = np.sqrt(np.maximum(model.fit(X, y).predict(far, return_std=True)[1] ** 2 - 0.01, 0.0))
        told = "exact" if n_features == 2000 else f"{features}, {n_features}"
        print(f"| {told} | " + " | ".join(f"{one:.3f}" for one in deviations) + " |", flush=True)


def rows(asked: argparse.Namespace) -> None:
    """A fit to a million rows of Friedman's function in float32, and predictions of 10,000."""
    X, y = sklearn.datasets.make_friedman1(1_010_000, noise=1.0, random_state=0)
    X, y = X.astype(np.float32), y / y.std()
    print("| rows | fit, s | of it choosing and landmarks | 10,000 deviations, s | coverage of 90 % | RMSE |")
    print("|---|---|---|---|---|---|")
    for n in (10_000, 100_000, 1_000_000):
        started = time.perf_counter()
        model = FeatureGaussianProcessRegressor(NystroemFeatures(asked.kernel), random_state=0).fit(X[:n], y[:n])
        fitted = time.perf_counter()
        mean, deviation = model.predict(X[-10_000:], return_std=True)
        took = time.perf_counter() - fitted
        truth = y[-10_000:]
        covered = np.mean(np.abs(truth - mean) < 1.6449 * deviation)
        error = np.sqrt(np.mean((truth - mean) ** 2))
        told = f"{fitted - started:.0f} | {model.report_['timings']['features']:.0f} | {took:.1f}"
        print(f"| {n:,} | {told} | {100 * covered:.1f} | {error:.4f} |", flush=True)


# --------------------------------------------------------------------------------------------- two samples


def by_permutations(X: np.ndarray, Y: np.ndarray, bandwidth: float, seed: int, n_draws: int = 200) -> float:
    """The p-value of the exact permutation test with the kernel itself."""
    both, n = np.vstack([X, Y]), len(X)
    K = kernels.make("gaussian", bandwidth)(both, both)
    rng = np.random.default_rng(seed)
    order = np.array([np.arange(len(both)), *(rng.permutation(len(both)) for _ in range(n_draws))])
    factors = np.where(order < n, 1.0 / n, -1.0 / len(Y))
    found = np.einsum("ij,ij->i", factors @ K, factors)
    return (1 + np.sum(found[1:] >= found[0] - 1e-12)) / (1 + n_draws)


def split_up(rows: np.ndarray) -> Iterator[np.ndarray]:
    """A stream of batches."""
    return iter(np.array_split(rows, 4))


def level(asked: argparse.Namespace) -> None:
    """Rejections of samples of one law, three normal inputs; every third pair has Student's law with three degrees."""
    print("| rows | null distribution | rejected at 5 % of 1,000 | at 20 % |\n|---|---|---|---|")
    kinds = [((n, m), np.asarray) for n, m in ((10, 10), (50, 50), (20, 200), (5000, 5000), (5000, 50), (20_000, 20))]
    for (n, m), given in [*kinds, ((5000, 30), split_up), ((5000, 200), split_up)]:
        values = []
        for seed in range(1000):
            rng = np.random.default_rng(seed)
            both = rng.standard_t(3, size=(n + m, 3)) if seed % 3 == 0 else rng.normal(size=(n + m, 3))
            options = {"n_features": 100, "n_draws": 199, "random_state": seed}
            found = two_sample_test(given(both[:n]), given(both[n:]), **options)
            values.append(found.pvalue)
        rejected = [100 * np.mean(np.array(values) <= at + 1e-9) for at in (0.05, 0.2)]
        what = "streams of " if given is split_up else ""
        print(f"| {what}{n:,} and {m:,} | {found.null} | {rejected[0]:.1f} % | {rejected[1]:.1f} % |", flush=True)


ALTERNATIVES = {
    "shifted by 0.35": lambda rng, n: rng.normal(size=(n, 3)) + np.array([0.35, 0.0, 0.0]),
    "1.4 times as wide": lambda rng, n: 1.4 * rng.normal(size=(n, 3)),
    "Laplace's law": lambda rng, n: rng.laplace(scale=0.5**0.5, size=(n, 3)),
    "one input a copy": lambda rng, n: rng.normal(size=(n, 2))[:, [0, 1, 1]],
}


def power(asked: argparse.Namespace) -> None:
    """Rejections of 300 pairs of 100 rows of different laws, by the features and by the exact test."""
    print("| other sample | 100 features | 1,000 features | exact test |\n|---|---|---|---|")
    for name, draw in ALTERNATIVES.items():
        rejected = np.zeros(3)
        for seed in range(300):
            rng = np.random.default_rng(seed)
            X, Y = rng.normal(size=(100, 3)), draw(rng, 100)
            options = {"n_draws": 199, "random_state": seed}
            made = [two_sample_test(X, Y, n_features=n, **options) for n in (100, 1000)]
            values = [one.pvalue for one in made] + [by_permutations(X, Y, made[0].bandwidth, seed, 199)]
            rejected += np.array(values) <= 0.05 + 1e-9
        print(f"| {name} | " + " | ".join(f"{share / 3:.0f} %" for share in rejected) + " |", flush=True)


PARTS = {"coverage": coverage, "distance": distance, "rows": rows, "level": level, "power": power}

if __name__ == "__main__":
    main()
