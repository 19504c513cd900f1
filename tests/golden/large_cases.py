"""Fits whose automatic choices change with the number of rows, and the paths that larger data take.

The thresholds of the paths for more than 20,000 rows and 8,192 points are lowered, so that 2,500 rows reach them.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np

from .cases import N_NEW, fitted, outputs, with_parameters

GROWING = {
    "DoublyStochasticClassifier": {"solver__n_iter": 60},
    "DoublyStochasticRegressor": {"solver__n_iter": 60},
    "EigenProCentresClassifier": {"solver": "nystrom_conjugate_gradients"},
    "EigenProCentresRegressor": {"solver": "nystrom_conjugate_gradients"},
    "EigenProClassifier": {"solver__max_epochs": 5},
    "EigenProRegressor": {"solver__max_epochs": 5},
    "FeatureEigenProClassifier": {"solver__max_epochs": 5},
    "FeatureRidgeClassifier": {},
    "FeatureRidgeRegressor": {},
    "KernelRidgeClassifier": {"solver": "cholesky"},
    "KernelRidgeRegressor": {"solver": "cholesky"},
    "KernelSGDClassifier": {"solver__max_epochs": 3},
    "RegularisedRiskClassifier": {"solver__max_epochs": 2},
}
SLOW_WITH_12_000 = ("KernelRidgeClassifier", "KernelRidgeRegressor", "KernelSGDClassifier", "RegularisedRiskClassifier")


@functools.cache
def data(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points in ten dimensions, classes, values (Friedman's first function), new points."""
    rng = np.random.default_rng(11)
    X = rng.uniform(size=(n + N_NEW, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    y += rng.normal(size=len(y))
    return X[:n], np.digitize(y, [11.0, 17.0])[:n], y[:n], X[n:]


def grown(name: str, n: int, **options: object) -> dict[str, np.ndarray]:
    X, labels, values, new = data(n)
    model = with_parameters(name, {"memory": 3_000_000_000} | GROWING.get(name, {}) | options)
    return fitted(model, X, labels if name.endswith("Classifier") else values, new)


def with_lower(threshold: str, value: int, name: str, n: int, **options: object) -> dict[str, np.ndarray]:
    with mock.patch(f"shallows.{threshold}", value):
        return grown(name, n, **options)


def streamed(name: str) -> dict[str, np.ndarray]:
    X, labels, values, new = data(6000)
    y = labels if name.endswith("Classifier") else values
    more = {"classes": np.unique(y)} if name.endswith("Classifier") else {}
    model = with_parameters(name, {"memory": 3_000_000_000})
    for rows in np.array_split(np.arange(len(X)), 7):
        model.partial_fit(X[rows], y[rows], **more)
    return outputs(model, new)


def of_two_processes(name: str) -> dict[str, np.ndarray]:
    """A fit that two processes share, if there is an MPI."""
    from distributed_example import mpiexec

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        program = str(Path(__file__).with_name("two_processes.py"))
        command = [mpiexec(), "-n", "2", sys.executable, program, name, str(out)]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        return {method: np.array(entries) for method, entries in json.loads(out.read_text()).items()}


def cases() -> Iterator[tuple[str, Callable[[], dict[str, np.ndarray]]]]:
    """All cases, by name."""
    for name in GROWING:
        yield f"{name}, 2,500 rows", functools.partial(grown, name, 2500)
        if name not in SLOW_WITH_12_000:
            yield f"{name}, 12,000 rows", functools.partial(grown, name, 12_000)
    yield "EigenProRegressor, 2,500 rows, float64", functools.partial(grown, "EigenProRegressor", 2500, dtype="float64")
    for name in ("EigenProClassifier", "EigenProRegressor"):
        yield f"{name}, 2,500 rows, in small tiles", functools.partial(with_lower, "gram.cross.TILE", 256, name, 2500)
    for name in ("EigenProClassifier", "EigenProRegressor", "EigenProCentresClassifier"):
        case = functools.partial(with_lower, "kernels.compiled.MANY_VALUES", 1000, name, 2500)
        yield f"{name}, 2,500 rows, kept values of 16 bits", case
    case = functools.partial(grown, "KernelRidgeRegressor", 2500, solver="conjugate_gradients")
    yield "KernelRidgeRegressor, 2,500 rows, iterative solver", case
    case = functools.partial(grown, "FeatureRidgeClassifier", 7000)
    yield "FeatureRidgeClassifier, 7,000 rows, conjugate gradients", case
    for name in ("DoublyStochasticClassifier", "DoublyStochasticRegressor", "BudgetedSVMClassifier"):
        yield f"{name}, stream of 6,000 rows", functools.partial(streamed, name)
    for name in ("EigenProClassifier", "EigenProCentresClassifier", "DoublyStochasticClassifier"):
        yield f"{name}, two processes", functools.partial(of_two_processes, name)
