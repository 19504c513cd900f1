"""Exact solvers of kernel support vector machines beside LIBSVM: the dual objective, and processor time.

``python benchmarks/kernel_svm.py`` takes USPS (8 against the rest), Reuters, Adult (a9a) and MNIST (8 against 9), up to
``--rows`` training points of each, the Gaussian kernel with the median distance as bandwidth, and C of 1 and 10. It
fits scikit-learn's ``SVC`` (LIBSVM), and `KernelSVMClassifier` by SMO and by SVM-light's decomposition with the same
cache and tolerance and by LASVM in two passes, in turns, on one thread. The dual objectives are computed
here in float64 from the coefficients. Reuters is also given to LIBSVM as a sparse matrix, which the others do not use.
The targets: objectives within 10⁻³ of LIBSVM's, and SMO in at most 3 times its time. ``SHALLOWS_MIRROR`` names a place
to take the data from.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.svm import SVC

from shallows import KernelSVMClassifier, Options, arrays, kernels
from shallows.solvers import LASVM, SMO, Decomposition
from shallows_papers import datasets

CASES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "USPS, 8 against the rest": ("usps", [{"signs": {"positive": ["8"]}}, {"unit": {}}]),
    "Reuters": ("reuters", []),
    "Adult": ("a9a", []),
    "MNIST, 8 against 9": ("mnist", [{"keep_classes": {"classes": ["8", "9"]}}, {"unit": {}}]),
}
WITHIN, TIMES = 1e-3, 3.0
"""The targets: a relative difference of the dual objectives, and SMO's time over LIBSVM's."""


def main() -> None:
    """Measure every case that was asked for."""
    asked = options()
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(asked.data or temporary)
        for name in asked.cases:
            x, y = points_of(name, folder, asked.rows)
            for C in asked.C:
                row = measured(name, x, y, C, asked)
                found.append(row)
                print(line(row), flush=True)
    print(f"{platform.processor() or platform.machine()}, one thread, cache of {asked.cache_mb} MB")
    if asked.out:
        Path(asked.out).write_text(json.dumps(found, indent=1), encoding="utf-8")


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What is measured; None reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--rows", type=int, default=20_000, help="training points at most")
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 10.0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--cache-mb", type=int, default=500)
    parser.add_argument("--data", help="folder of downloaded and prepared data; a temporary one if left out")
    parser.add_argument("--out", help="a JSON file for the numbers")
    return parser.parse_args(arguments)


def points_of(name: str, folder: Path, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Training points, dense float32, and signs of a case."""
    dataset, steps = CASES[name]
    place = folder / "prepared" / dataset / "kernel_svm"
    try:
        data = datasets.load(place)
    except datasets.DatasetError:
        datasets.prepare(dataset, datasets.fetch(dataset, folder / "raw"), place, steps)
        data = datasets.load(place)
    n = data.x_train.shape[0]
    chosen = np.sort(np.random.default_rng(0).permutation(n)[:rows])
    x = data.x_train[chosen]
    x = x.toarray() if hasattr(x, "toarray") else np.asarray(x)
    y = np.ravel(np.asarray(data.y_train))[chosen]
    return np.ascontiguousarray(x, dtype=np.float32), np.where(y == np.unique(y)[-1], 1.0, -1.0)


def measured(name: str, x: np.ndarray, y: np.ndarray, C: float, asked: argparse.Namespace) -> dict[str, Any]:
    """Objectives and the ratios of times, medians over the rounds."""
    sigma = kernels.median_bandwidth(x, 0)
    wide, gamma = x.astype(np.float64), 1.0 / (2.0 * sigma**2)
    common = {"bandwidth": sigma, "C": C, "random_state": 0, "options": Options(dtype="float32")}
    kept = {"cache": f"{asked.cache_mb}MB", "tol": asked.tol}
    solvers = {
        "SMO": SMO(**kept),
        "SVM-light": Decomposition(**kept),
        "LASVM": LASVM(max_epochs=2, tol=asked.tol),
    }
    fits: dict[str, Callable[[], Any]] = {
        "LIBSVM": lambda: SVC(C=C, gamma=gamma, tol=asked.tol, cache_size=asked.cache_mb).fit(wide, y),
        **{
            label: lambda solver=solver: KernelSVMClassifier(solver=solver, **common).fit(x, y)
            for label, solver in solvers.items()
        },
    }
    if np.count_nonzero(x) < 0.05 * x.size:
        sparse = scipy.sparse.csr_matrix(wide)
        fits["LIBSVM, sparse"] = lambda: SVC(C=C, gamma=gamma, tol=asked.tol, cache_size=asked.cache_mb).fit(sparse, y)
    few = slice(0, 200)
    for _ in range(2):  # compiled before anything is timed
        for solver in solvers.values():
            KernelSVMClassifier(solver=solver, **common).fit(x[few], np.where(np.arange(200) % 2, 1.0, -1.0))
    seconds: dict[str, list[float]] = {solver: [] for solver in fits}
    models = {}
    with arrays.one_blas_thread():
        for _ in range(asked.rounds):
            for solver, fit in fits.items():
                started = time.process_time()
                models[solver] = fit()
                seconds[solver].append(time.process_time() - started)
        objectives = {solver: dual_objective(model, wide, y, gamma) for solver, model in models.items()}
    exact = objectives["LIBSVM"]
    return {
        "case": name,
        "n": len(y),
        "d": x.shape[1],
        "C": C,
        "n_support": len(models["LIBSVM"].support_),
        "objective": exact,
        "difference": {solver: value / exact - 1.0 for solver, value in objectives.items()},
        "seconds": {solver: statistics.median(taken) for solver, taken in seconds.items()},
        "ratio": {
            solver: statistics.median(one / other for one, other in zip(taken, seconds["LIBSVM"], strict=True))
            for solver, taken in seconds.items()
        },
        "rows_made": {solver: models[solver].n_kernel_evaluations_ / len(y) ** 2 for solver in solvers},
    }


def dual_objective(model: Any, x: np.ndarray, y: np.ndarray, gamma: float) -> float:
    """Σ αᵢ − ½ βᵀKβ in float64."""
    support, beta = model.support_, model.dual_coef_
    beta = np.ravel(beta.toarray() if scipy.sparse.issparse(beta) else beta)
    points = x[support]
    squares = np.einsum("ij,ij->i", points, points)
    total = 0.0
    for rows in blocks(len(support)):
        distances = squares[rows, None] + squares - 2.0 * points[rows] @ points.T
        total += beta[rows] @ np.exp(-gamma * np.maximum(distances, 0.0)) @ beta
    return float(np.abs(beta).sum() - 0.5 * total)


def blocks(n: int) -> Iterator[slice]:
    """Slices of a thousand."""
    return (slice(start, min(n, start + 1000)) for start in range(0, n, 1000))


def line(row: dict[str, Any]) -> str:
    """A row in words, with whether the targets are met."""
    parts = []
    for solver in row["seconds"]:
        if solver == "LIBSVM":
            continue
        met = abs(row["difference"][solver]) <= WITHIN and (solver != "SMO" or row["ratio"][solver] <= TIMES)
        parts.append(
            f"{solver} {row['difference'][solver]:+.1e}, {row['ratio'][solver]:.2f} times its time"
            f"{'' if met else ' (MISSED)'}"
        )
    return (
        f"{row['case']}, n = {row['n']}, d = {row['d']}, C = {row['C']:g}, {row['n_support']} support vectors: LIBSVM "
        f"{row['objective']:.4f} in {row['seconds']['LIBSVM']:.2f} s; {'; '.join(parts)}"
    )


if __name__ == "__main__":
    main()
