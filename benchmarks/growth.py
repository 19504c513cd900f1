"""How the time and the memory of the defaults grow with rows, inputs, outputs, centres and random features.

``python benchmarks/growth.py --seeds 3`` fits each estimator to Friedman's first function with noise, every fit in a
process of its own on one thread, and prints for each quantity the power of it with which processor seconds and the
memory of a fit grow, with the interval that holds 95 % of such powers by the scatter of the seeds and of the sizes
around the power law. ``--only`` names estimators, ``--quantities`` what is varied; ``--share 0.05`` takes a twentieth
of the rows. ``snakemake --cores 2 growth`` does the same as a target.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import linregress, t
from sklearn.datasets import make_friedman1

ALL = ("EigenPro", "EigenProCentres", "FeatureEigenPro", "FeatureRidge", "DoublyStochastic")
#: For each quantity its values, and what else differs from `USUAL`.
QUANTITIES: dict[str, tuple[tuple[int, ...], dict[str, int]]] = {
    "rows": ((100_000, 200_000, 400_000), {}),
    "inputs": ((16, 64, 256), {}),
    "outputs": ((4, 16, 64), {}),
    "centres or features": ((1_000, 2_000, 4_000, 8_000), {"rows": 50_000}),
}
USUAL = {"rows": 20_000, "inputs": 10, "outputs": 1}
#: What stands above a table of fewer rows.
FEW_ROWS = (
    "With {:g} of the rows of the full measurement, what a fit costs at any size counts for much, and of more centres "
    "than rows as many as rows are taken: powers for large data need all rows.\n\n"
)
#: Where every point is a centre, time is the square of the rows, and fewer of them show it.
ROWS_OF_SQUARES = (50_000, 100_000)


def main() -> None:
    """Fit everything, print a line a fit and a table of powers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=ALL, default=ALL)
    parser.add_argument("--quantities", nargs="+", choices=list(QUANTITIES), default=list(QUANTITIES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--share", type=float, default=1.0, help="of the rows (default: all)")
    parser.add_argument("--out", type=Path, help="a Markdown file for the table")
    parser.add_argument("--one", nargs=6, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.one[0], *map(int, asked.one[1:]))))
        return
    columns = ("estimator", "quantity", "values", "seconds", "MB", "power of the seconds", "of the memory")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for quantity in asked.quantities:
        for name in asked.only:
            if quantity == "centres or features" and name in ("EigenPro", "DoublyStochastic"):
                continue  # whose number is that of the rows, or of the steps
            lines += [one_line(name, quantity, asked.seeds, asked.share)]
            print(lines[-1], flush=True)
    table = "\n".join(lines)
    print(table)
    if asked.out:
        title = __doc__.splitlines()[0].rstrip(".")
        few = "" if asked.share == 1 else FEW_ROWS.format(asked.share)
        asked.out.write_text(f"# {title}\n\n{few}{table}\n", encoding="utf-8")


def one_line(name: str, quantity: str, seeds: int, share: float) -> str:
    """Fit an estimator to all values of a quantity, with a share of the rows; a row of the table."""
    values, others = QUANTITIES[quantity]
    values = ROWS_OF_SQUARES if (quantity, name) == ("rows", "EigenPro") else values
    sizes = USUAL | others
    sizes["rows"] = int(share * sizes["rows"])
    if quantity == "rows":
        values = tuple(int(share * value) for value in values)
    found = np.array([[fit(name, sizes, quantity, value, seed) for seed in range(seeds)] for value in values])
    seconds, megabytes = np.moveaxis(found, 2, 0)
    shown = [" to ".join(f"{mean:.3g}" for mean in np.median(each, axis=1)[[0, -1]]) for each in (seconds, megabytes)]
    powers = [power(values, each) for each in (seconds, megabytes)]
    return f"| {name} | {quantity} | {values[0]:,} to {values[-1]:,} | {' | '.join(shown + powers)} |"


def fit(name: str, sizes: dict[str, int], quantity: str, value: int, seed: int) -> tuple[float, float]:
    """Processor seconds and megabytes of a fit in a new process."""
    sizes = {"units": 0} | sizes | {"units" if quantity not in USUAL else quantity: value}
    command = [sys.executable, __file__, "--one", name]
    command += [str(each) for each in (sizes["rows"], sizes["inputs"], sizes["outputs"], sizes["units"], seed)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | threads)
    told = json.loads(done.stdout.splitlines()[-1])
    print(f"{name}, {quantity} {value:,}, seed {seed}: {told}", file=sys.stderr, flush=True)
    return told["seconds"], told["megabytes"]


def power(values: tuple[int, ...], found: np.ndarray) -> str:
    """The slope of the logarithms, found (values, seeds), with its interval of 95 %."""
    x, y = np.repeat(np.log(values), found.shape[1]), np.log(found).ravel()
    line = linregress(x, y)
    half = t.ppf(0.975, len(x) - 2) * line.stderr
    return f"{line.slope:.2f} ({line.slope - half:.2f} to {line.slope + half:.2f})"


def measure(name: str, rows: int, inputs: int, outputs: int, units: int, seed: int) -> dict[str, Any]:
    """One fit at the defaults: what the processor took, and how much the process held above what it held before."""
    import psutil

    import shallows

    X, _ = make_friedman1(rows, n_features=inputs, random_state=seed)
    X, noise = X.astype(np.float32), np.random.default_rng(seed)
    # Every output is the function of five inputs, one further on than those of the output before.
    columns = [np.roll(np.arange(inputs), -shift)[:5] for shift in range(outputs)]
    y = np.stack([friedman(X[:, of]) + noise.normal(size=rows) for of in columns], axis=1)
    parameters: dict[str, Any] = {"random_state": seed}
    if units:
        parameters |= {"centres": units} if name == "EigenProCentres" else {"features__n_features": units}
    if name == "FeatureEigenPro":
        name, parameters = "FeatureRidge", {"solver": "feature_eigenpro", **parameters}
    model = getattr(shallows.estimators, f"{name}Regressor")().set_params(**parameters)
    process, held, ended = psutil.Process(), [], threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            held.append(process.memory_info().rss)

    before = process.memory_info().rss
    watcher = threading.Thread(target=watch)
    watcher.start()
    clock = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y if outputs > 1 else y[:, 0])
    clock = time.process_time() - clock
    ended.set()
    watcher.join()
    return {"seconds": clock, "megabytes": (max([*held, before + 1e6]) - before) / 1e6}


def friedman(X: np.ndarray) -> np.ndarray:
    """Friedman's first function of five inputs, shape (n,)."""
    return 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


if __name__ == "__main__":
    main()
