"""How the time and the memory of the defaults grow with rows, inputs, outputs, centers and random features.

``python benchmarks/growth.py --seeds 3`` fits each estimator to Friedman's first function with noise. Every fit runs in
a separate process on one thread. For each quantity it records the power with which processor seconds and memory of a
fit grow, with its 95 % interval over seeds and sizes. ``--only`` names estimators, ``--quantities`` what is varied;
``--share 0.05`` takes a twentieth of the rows.
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
from models import MODELS, make
from record import Record, markdown
from scipy.stats import linregress, t
from sklearn.datasets import make_friedman1

ALL = tuple(name for name in MODELS if "kernel ridge" not in name)
#: For each quantity its values, and what else differs from `USUAL`.
QUANTITIES: dict[str, tuple[tuple[int, ...], dict[str, int]]] = {
    "rows": ((100_000, 200_000, 400_000), {}),
    "inputs": ((16, 64, 256), {}),
    "outputs": ((4, 16, 64), {}),
    "centers or features": ((1_000, 2_000, 4_000, 8_000), {"rows": 50_000}),
}
USUAL = {"rows": 20_000, "inputs": 10, "outputs": 1}
#: A note for a table of fewer rows.
FEW_ROWS = (
    "This table has {:g} of the rows of the full measurement. Fixed costs of a fit count for much, and the number of "
    "centers is at most the number of rows. Powers for large data need all rows."
)
TITLE = "Powers of each quantity"
#: If every point is a center, time is the square of the rows, and fewer rows show it.
ROWS_OF_SQUARES = (50_000, 100_000)


def main() -> None:
    """Fit everything and record the table of powers."""
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
    rows: list[list[str]] = []
    record = None if asked.out else Record("growth")
    for quantity in asked.quantities:
        for name in asked.only:
            if quantity == "centers or features" and name in ("EigenPro", "doubly stochastic gradients"):
                continue  # their number equals the number of rows, or of steps
            rows += [one_row(name, quantity, asked.seeds, asked.share)]
            print(*rows[-1], sep=", ", flush=True)
            if record:
                record.add(TITLE, columns, rows, "" if asked.share == 1 else FEW_ROWS.format(asked.share))
    if asked.out:
        title = __doc__.splitlines()[0].rstrip(".")
        few = "" if asked.share == 1 else FEW_ROWS.format(asked.share)
        few = few and f"{few}\n\n"
        asked.out.write_text(f"# {title}\n\n{few}{markdown(columns, rows)}\n", encoding="utf-8")


def one_row(name: str, quantity: str, seeds: int, share: float) -> list[str]:
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
    return [name, quantity, f"{values[0]:,} to {values[-1]:,}", *shown, *powers]


def fit(name: str, sizes: dict[str, int], quantity: str, value: int, seed: int) -> tuple[float, float]:
    """Processor seconds and megabytes of a fit in a new process."""
    sizes = {"units": 0} | sizes | {"units" if quantity not in USUAL else quantity: value}
    command = [sys.executable, __file__, "--one", name]
    command += [str(each) for each in (sizes["rows"], sizes["inputs"], sizes["outputs"], sizes["units"], seed)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | threads)
    found = json.loads(done.stdout.splitlines()[-1])
    print(f"{name}, {quantity} {value:,}, seed {seed}: {found}", file=sys.stderr, flush=True)
    return found["seconds"], found["megabytes"]


def power(values: tuple[int, ...], found: np.ndarray) -> str:
    """The slope of the logarithms, found (values, seeds), with its interval of 95 %."""
    x, y = np.repeat(np.log(values), found.shape[1]), np.log(found).ravel()
    line = linregress(x, y)
    half = t.ppf(0.975, len(x) - 2) * line.stderr
    return f"{line.slope:.2f} ({line.slope - half:.2f} to {line.slope + half:.2f})"


def measure(name: str, rows: int, inputs: int, outputs: int, units: int, seed: int) -> dict[str, Any]:
    """One fit at the defaults: processor seconds, and the growth of the memory of the process."""
    import psutil

    X, _ = make_friedman1(rows, n_features=inputs, random_state=seed)
    X, noise = X.astype(np.float32), np.random.default_rng(seed)
    # Every output is the function of five inputs, shifted by one for each output.
    columns = [np.roll(np.arange(inputs), -shift)[:5] for shift in range(outputs)]
    y = np.stack([friedman(X[:, of]) + noise.normal(size=rows) for of in columns], axis=1)
    parameters: dict[str, Any] = {}
    if units:
        parameters |= {"centers" if name == "EigenPro with centers" else "features__n_features": units}
    model = make(name, "regression", seed, **parameters)
    process, held, ended = psutil.Process(), [], threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            held.append(process.memory_info().rss)

    before = process.memory_info().rss
    watcher = threading.Thread(target=watch, daemon=True)
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
