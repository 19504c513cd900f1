"""The defaults of the machines for many rows on the digits of MNIST and on Friedman's function, beside scikit-learn's.

``SHALLOWS_MIRROR=FOLDER python benchmarks/growing_defaults.py`` fits each at its defaults to 60,000 digits and prints
processor seconds, wall seconds and the test error. Other data: ``--endless 1000000`` takes so many digits, those of
MNIST first and then deformed ones, with MNIST's own for the test; ``--covertype`` all rows of Covertype but 20,000,
standardised; ``--friedman 100000`` so many rows of Friedman 1 with noise of variance 1, and the mean squared error on
20,000 further rows; with ``--file FOLDER`` these have twenty inputs and are mapped from a file; ``--problem NAME ROWS``
one of `default_data`, and its error on 2,000 rows, of regression as a share of the variance. ``--only`` names some
estimators, and ``--set`` gives them parameters: ``--only EigenProCentres --set centres=20000``.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import resource
import time
from pathlib import Path
from typing import Any

import default_data
import numpy as np
import sklearn.ensemble
from sklearn.datasets import make_friedman1
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline

import shallows
from shallows import arrays
from shallows_papers import datasets
from shallows_papers.datasets import synthetic

ROOT = Path(__file__).resolve().parents[1]
OURS = ("EigenPro", "EigenProCentres", "FeatureRidge", "FeatureEigenPro")
ALL = (*OURS, "DoublyStochastic", "pipeline", "boosting")
TOLD = (
    "n_components",
    "n_centres",
    "n_features",
    "n_epochs",
    "kept_fraction",
    "kept_bits",
    "bandwidth",
    "regularisation",
    "ridge",
)


def main() -> None:
    """Fit what is asked for, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--friedman", type=int, help="rows of Friedman 1 in the place of the digits")
    parser.add_argument("--file", type=Path, metavar="FOLDER", help="keep them in a file there, mapped into memory")
    parser.add_argument("--covertype", action="store_true", help="Covertype in the place of the digits")
    parser.add_argument("--endless", type=int, help="rows of endless digits in the place of MNIST's")
    parser.add_argument("--problem", nargs=2, metavar=("NAME", "ROWS"), help="one of default_data")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="parameters of ours")
    parser.add_argument("--only", nargs="+", choices=ALL, default=(*OURS, "pipeline"))
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    values = bool(asked.friedman)
    if asked.problem:
        problem = dataclasses.replace(default_data.PROBLEMS[asked.problem[0]], n_train=int(asked.problem[1]))
        X, X_test, y, y_test = default_data.split(problem, asked.seed, ROOT / "data")
        values = problem.task == "regression"
    elif asked.friedman:
        X, y, X_test, y_test = friedman(asked.friedman, asked.file)
    else:
        X, y, X_test, y_test = covertype() if asked.covertype else digits(asked.endless)
    given = {name: ast.literal_eval(value) for name, value in (one.split("=", 1) for one in asked.set)}
    print(f"{len(X):,} rows of {X.shape[1]} inputs, {arrays.n_threads()} threads")
    for name in asked.only:
        model = made(name, asked.seed, X, values=values)
        if name not in ("pipeline", "boosting"):
            model.set_params(**given)
        processor, wall = time.process_time(), time.perf_counter()
        model.fit(X, y)
        processor, wall = time.process_time() - processor, time.perf_counter() - wall
        found = model.predict(X_test)
        error = np.mean((found - y_test) ** 2) if values else 100 * np.mean(found != y_test)
        told = {key: value for key, value in getattr(model, "report_", {}).items() if key in TOLD}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{name}: {processor:.1f} s of the processor, {wall:.1f} s, error {error:.3f}, {peak:.2f} GiB; {told}",
            flush=True,
        )


def made(name: str, seed: int, X: np.ndarray, *, values: bool) -> Any:
    """An estimator at its defaults, or scikit-learn's boosted trees or pipeline of 5,000 random features."""
    ending = "Regressor" if values else "Classifier"
    if name == "boosting":
        return getattr(sklearn.ensemble, "HistGradientBoosting" + ending)(random_state=seed)
    if name == "FeatureEigenPro":
        return getattr(shallows.estimators, "FeatureRidge" + ending)(solver="feature_eigenpro", random_state=seed)
    if name != "pipeline":
        return getattr(shallows.estimators, name + ending)(random_state=seed)
    # Of 784 pixels a value that suits them; of few standardised inputs scikit-learn's rule.
    gamma = 0.02 if X.shape[1] == 784 else 0.3 if values else 1.0 / X.shape[1]
    return make_pipeline(
        RBFSampler(n_components=5000, gamma=gamma, random_state=seed), Ridge() if values else RidgeClassifier()
    )


def covertype() -> tuple[np.ndarray, ...]:
    """Covertype's 561,012 rows and 20,000 others for the test, of seven classes."""
    place = ROOT / "data" / "prepared" / "covtype" / "growing-defaults"
    if not (place / "prepared.json").exists():
        steps = [{"split": {"n": 20_000, "seed": 0}}, {"zscore": {}}]
        datasets.prepare("covtype", datasets.fetch("covtype", ROOT / "data" / "raw"), place, steps)
    held = datasets.load(place)
    X, y, X_test, y_test = (np.asarray(part) for part in (held.x_train, held.y_train, held.x_test, held.y_test))
    return X.astype(np.float32), y, X_test.astype(np.float32), y_test


def digits(endless: int | None) -> tuple[np.ndarray, ...]:
    """MNIST with pixels in [0, 1], or so many endless digits and MNIST's test."""
    place = ROOT / "data" / "prepared" / "mnist" / "growing-defaults"
    if not (place / "prepared.json").exists():
        datasets.prepare("mnist", datasets.fetch("mnist", ROOT / "data" / "raw"), place, [{"unit": {}}])
    held = datasets.load(place)
    X, y, X_test, y_test = (np.asarray(part) for part in (held.x_train, held.y_train, held.x_test, held.y_test))
    if endless:
        made = synthetic.make("endless_mnist", digits=(np.rint(X * 255).astype(np.uint8), y.astype(np.int64)), seed=0)
        X, y = np.empty((endless, made.d), np.float32), np.empty(endless, np.int64)
        start = 0
        for images, labels in made.blocks(0, endless, 8192):
            rows = slice(start, start + len(labels))
            X[rows], y[rows], start = images / 255, labels, rows.stop
    return X, y, X_test, y_test


def friedman(n: int, folder: Path | None) -> tuple[np.ndarray, ...]:
    """Rows of Friedman 1 with ten inputs, twenty in a file, and 20,000 for the test."""
    if folder is None:
        X, y = make_friedman1(n + 20_000, n_features=10, noise=1.0, random_state=0)
        return X[:n], y[:n], X[n:], y[n:]
    path, y = folder / f"friedman1-{n}.npy", np.empty(n)
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n, 20))
    for seed, start in enumerate(range(0, n, 100_000), start=1):
        rows = slice(start, min(n, start + 100_000))
        X[rows], y[rows] = make_friedman1(rows.stop - start, n_features=20, noise=1.0, random_state=seed)
    X.flush()
    del X
    return np.load(path, mmap_mode="r"), y, *make_friedman1(20_000, n_features=20, noise=1.0, random_state=0)


if __name__ == "__main__":
    main()
