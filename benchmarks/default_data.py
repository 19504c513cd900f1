"""The datasets on which the estimators' defaults are judged, in two halves: one to tune on, one that is set aside.

The halves were fixed before anything was tuned: within each task the names, in alphabetical order, go to the two halves
in turn. Datasets come from scikit-learn, from its generators, and from this project's catalogue.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sklearn.datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from shallows_papers import datasets

MOST_TEST = 2000


@dataclass(frozen=True)
class Problem:
    """One dataset.

    Attributes
    ----------
    name, task : str
        The task is "classification" or "regression".
    n_train : int
        Training rows; the rest of the rows, at most `MOST_TEST`, is for testing.
    load : callable
        Given a seed, a folder for downloads and a number of rows, returns X and y of at most this number of rows.
    """

    name: str
    task: str
    n_train: int
    load: Callable[[int, Path, int], tuple[np.ndarray, np.ndarray]]


Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def split(problem: Problem, seed: int, folder: Path) -> Split:
    """X_train, X_test, y_train and y_test of a seed, with inputs (and targets of regression) standardised."""
    X, y = problem.load(seed, folder, problem.n_train + MOST_TEST)
    stratify = y if problem.task == "classification" and np.bincount(y).min() > 1 else None
    n_train = min(problem.n_train, max(int(0.75 * len(X)), len(X) - MOST_TEST))
    n_test = min(MOST_TEST, len(X) - n_train)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=n_train, test_size=n_test, random_state=seed, stratify=stratify
    )
    if problem.task == "regression":
        mean, scale = y.mean(axis=0), y.std(axis=0)
        y, y_test = (y - mean) / scale, (y_test - mean) / scale
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(X_test), y, y_test


def halves() -> tuple[list[Problem], list[Problem]]:
    """The problems to tune on, and those that are set aside."""
    tuned, aside = [], []
    for task in ("classification", "regression"):
        names = sorted(name for name, problem in PROBLEMS.items() if problem.task == task)
        tuned += [PROBLEMS[name] for name in names[0::2]]
        aside += [PROBLEMS[name] for name in names[1::2]]
    return tuned, aside


# ------------------------------------------------------------------------------------------------- sources


def _catalogue(name: str, task: str, n_train: int) -> Problem:
    """Rows of a dataset of the catalogue, another random part of it for every seed."""

    def load(seed: int, folder: Path, n: int) -> tuple[np.ndarray, np.ndarray]:
        place = folder / "prepared" / name / f"defaults_{n}_{seed}"
        try:
            data = datasets.load(place)
        except datasets.DatasetError:
            stamp = datasets.fetch(name, folder / "raw", progress=sys.stderr.isatty())
            held_out = [{"split": {"n": 0.02, "seed": 0}}] if datasets.get(name).n_test in (None, 0) else []
            part = {"subset": {"n_train": min(n, datasets.get(name).n_train), "seed": seed, "stratify": False}}
            datasets.prepare(name, stamp, place, [*held_out, part])
            data = datasets.load(place)
        X, y = data.x_train, np.asarray(data.y_train)
        X = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=np.float64)
        if task == "classification":
            y = np.unique(y, return_inverse=True)[1]
            kept = np.bincount(y)[y] >= 10
            return X[kept], np.unique(y[kept], return_inverse=True)[1]
        return X, y.astype(np.float64).reshape(len(y), -1)[:, 0]

    return Problem(name, task, n_train, load)


def _bundled(name: str, task: str) -> Problem:
    """A dataset that scikit-learn carries; three quarters of it are for training."""

    def load(seed: int, folder: Path, n: int) -> tuple[np.ndarray, np.ndarray]:
        return getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)

    return Problem(name, task, 10**6, load)


def _classes(name: str, n: int, make: Callable[[int, int], tuple[np.ndarray, np.ndarray]]) -> Problem:
    """Generated classes: ``make`` gets the number of rows and the seed."""
    return Problem(name, "classification", n, lambda seed, folder, rows: make(rows, seed))


def _values(name: str, n: int, make: Callable[[int, int], tuple[np.ndarray, np.ndarray]]) -> Problem:
    """Generated targets of regression."""
    return Problem(name, "regression", n, lambda seed, folder, rows: make(rows, seed))


def _generated(name: str, **parameters: object) -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
    make = getattr(sklearn.datasets, f"make_{name}")
    return lambda n, seed: make(n_samples=n, random_state=seed, **parameters)


def _checkerboard(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Four by four fields of two colors, and an input without information."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 4, (n, 2))
    y = np.floor(x).sum(axis=1).astype(int) % 2
    return np.hstack([x, rng.normal(size=(n, 1))]), y


def _discrete_classes(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of three values; the class is a vote of ten of them, a tenth of it wrong."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (n, 20))
    y = (x[:, :10].sum(axis=1) > 10).astype(int)
    return x.astype(float), np.where(rng.random(n) < 0.1, 1 - y, y)


def _smooth_1d(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 1))
    return x, np.sin(12 * x[:, 0]) + 0.2 * rng.normal(size=n)


def _step_1d(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 1))
    return x, np.floor(4 * x[:, 0]) % 2 + 0.1 * rng.normal(size=n)


def _heteroscedastic(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 3))
    return x, np.sin(2 * x[:, 0]) * x[:, 1] + (0.1 + 0.6 * (x[:, 2] > 0)) * rng.normal(size=n)


def _heavy_tailed(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 5))
    return x, 3 * np.cos(3 * x[:, 0]) + 2 * x[:, 1] * x[:, 2] + 0.5 * rng.standard_t(2.5, n)


def _pure_noise(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 10)), rng.normal(size=n)


def _discrete_values(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (n, 8)).astype(float)
    return x, x[:, 0] * x[:, 1] - (x[:, 2] == 3) * 4 + x[:, 3] + rng.normal(size=n)


def _ridge_function(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of one direction among thirty inputs."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 30))
    return x, np.tanh(x[:, :5].sum(axis=1)) + 0.1 * rng.normal(size=n)


def _linear(noise: float, **parameters: int) -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
    return lambda n, seed: sklearn.datasets.make_regression(n, noise=noise, random_state=seed, **parameters)


_GIVEN = [
    *(_bundled(name, "classification") for name in ("iris", "wine", "breast_cancer", "digits")),
    _catalogue("a9a", "classification", 2000),
    _catalogue("census_house_16h", "classification", 2000),
    _catalogue("covtype", "classification", 4000),
    _catalogue("higgs_sample", "classification", 4000),
    _catalogue("ijcnn1", "classification", 2000),
    _catalogue("kddcup99_tenth", "classification", 1000),
    _catalogue("mnist", "classification", 2000),
    _catalogue("usps", "classification", 1500),
    _classes("moons", 300, _generated("moons", noise=0.3)),
    _classes("circles", 500, _generated("circles", noise=0.15, factor=0.6)),
    _classes("blobs", 60, _generated("blobs", centers=4, n_features=6, cluster_std=4.0)),
    _classes("hastie", 2000, lambda n, seed: _labels(_generated("hastie_10_2")(n, seed))),
    _classes("quantiles", 1000, _generated("gaussian_quantiles", n_features=8, n_classes=3)),
    _classes("informative_5_of_20", 800, _generated("classification", n_features=20, n_informative=5)),
    _classes("label_noise", 1200, _generated("classification", n_features=15, n_informative=6, flip_y=0.4)),
    _classes("imbalanced", 1500, _generated("classification", n_features=10, n_informative=5, weights=[0.95])),
    _classes("wide", 150, _generated("classification", n_features=400, n_informative=20, n_classes=3)),
    _classes(
        "five_classes", 600, _generated("classification", n_features=12, n_informative=8, n_classes=5, class_sep=1.5)
    ),
    _classes("checkerboard", 1000, _checkerboard),
    _classes("discrete_classes", 500, _discrete_classes),
    _bundled("diabetes", "regression"),
    _catalogue("cpu_act", "regression", 4000),
    _catalogue("census_house", "regression", 2000),
    _catalogue("sarcos_small", "regression", 2000),
    _values("friedman1", 500, _generated("friedman1", noise=1.0)),
    _values("friedman1_noisy", 1001, _generated("friedman1", noise=5.0)),
    _values("friedman2", 300, _generated("friedman2", noise=100.0)),
    _values("friedman3", 2000, _generated("friedman3", noise=0.1)),
    _values("linear_50", 3000, _linear(100.0, n_features=50, n_informative=50)),
    _values("linear_sparse", 200, _generated("sparse_uncorrelated")),
    _values("linear_wide", 100, _linear(10.0, n_features=300, n_informative=5)),
    _values("linear_tiny", 50, _linear(20.0, n_features=5)),
    _values("smooth_1d", 400, _smooth_1d),
    _values("step_1d", 1500, _step_1d),
    _values("heteroscedastic", 800, _heteroscedastic),
    _values("heavy_tailed", 1500, _heavy_tailed),
    _values("pure_noise", 1000, _pure_noise),
    _values("pure_noise_small", 100, _pure_noise),
    _values("discrete_values", 1000, _discrete_values),
    _values("ridge_function", 2500, _ridge_function),
]
PROBLEMS = {problem.name: problem for problem in _GIVEN}


def _labels(data: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return data[0], (data[1] > 0).astype(int)
