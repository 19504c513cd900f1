"""An epoch with fewer centres than data beside the bare products, and the memory of the whole fit.

``python benchmarks/centres.py`` fits 10,000 centres to 500,000 rows of Covertype, mapped into memory, within 2 GB.
After every step it runs the bare products on as many of the points: each block of the kernel matrix made once and
multiplied both ways, with nothing between and nothing after. In turns, since the same work takes a quarter more or
less from one ten seconds to the next. It prints the ratio of the time of an epoch's steps to theirs (the target: 1.3 at
most), the peak memory of the process, and the test error. ``--centres 2000 --rows 50000`` is a smaller one. The data
come from where the workflow takes them (``SHALLOWS_MIRROR`` names a folder that has them).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shallows import KernelRidgeClassifier, Options, arrays, training
from shallows.solvers import ProjectedEigenPro
from shallows_papers import datasets

ROOT = Path(__file__).resolve().parents[1]
TARGET = 1.3
HEIGHTS = (256, 512, 1024)


def main() -> None:
    """Fit once and print what it took."""
    asked = options()
    if asked.prepare:
        return prepare(asked.rows)
    found = measured(asked)
    shown = zip(found["curve"], found["seconds"], found["bare"], found["ratios"], strict=True)
    for row, epoch, alone, ratio in shown:
        print(
            f"epoch {row['epoch']}: {epoch:.2f} s, bare products {alone:.2f} s, ratio {ratio:.3f}; "
            f"test error {row['error']:.2f} %"
        )
    effective = found["effective"]
    print(
        f"median ratio {np.median(found['ratios']):.3f} (target {TARGET}); {asked.centres} centres, "
        f"{found['n_points']} points, batches of {effective['batch_size']}, rank {effective['rank']} of "
        f"{effective['n_subsample']}; {found['timings']['eigensystem']:.1f} s before the first epoch"
    )
    print(f"peak memory {found['peak_bytes'] / 1e9:.2f} GB of {asked.memory}; {arrays.n_threads()} threads")
    if asked.out:
        Path(asked.out).write_text(json.dumps(found, indent=1, default=float), encoding="utf-8")


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What is measured; None reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--centres", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--kernel", default="gaussian")
    parser.add_argument("--bandwidth", type=float, default=3.0, help="in standard deviations of a feature")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--prepare", action="store_true", help="do no more than that")
    parser.add_argument("--out")
    return parser.parse_args(arguments)


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    """One fit: for each epoch its seconds, those of the bare products, their ratio and the test error; peak memory."""
    x, y, x_test, y_test = rows(asked.rows)
    bare = BareProducts()
    curve = training.Curve(
        range(1, asked.epochs + 1), lambda snapshot: {"error": 100 * float(np.mean(snapshot.predict(x_test) != y_test))}
    )
    model = KernelRidgeClassifier(
        asked.kernel,
        solver=ProjectedEigenPro(batch_size=asked.batch, max_epochs=asked.epochs, tol=0.0),
        centers=asked.centres,
        bandwidth=asked.bandwidth,
        random_state=0,
        options=Options(memory=asked.memory),
    ).fit(x, y, observers=[bare, curve])
    seconds = np.diff([0.0, *(row["seconds"] for row in curve.rows)])
    ratios = seconds / np.array(bare.seconds)
    found = {"ratios": ratios.tolist(), "seconds": seconds.tolist(), "bare": bare.seconds, "curve": curve.rows}
    found |= {"effective": model.report_, "timings": model.report_["timings"]}
    return found | {"peak_bytes": arrays.peak_memory(), "n_points": len(x)}


def rows(n: int) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, mapped into memory, and test rows; prepared in a process of its own, whose memory is not ours."""
    if not (place(n) / "prepared.json").exists():
        subprocess.run([sys.executable, __file__, "--prepare", "--rows", str(n)], check=True)
    held = datasets.load(place(n))
    return held.x_train, np.asarray(held.y_train), np.asarray(held.x_test), np.asarray(held.y_test)


def place(n: int) -> Path:
    """Where the prepared rows lie."""
    return ROOT / "data" / "prepared" / "covtype" / f"centres-{n}"


def prepare(n: int) -> None:
    """Download, split, draw rows and standardise."""
    steps = [{"split": {"n": 20_000, "seed": 0}}, {"subset": {"n_train": n, "seed": 0}}, {"zscore": {}}]
    stamp = datasets.fetch("covtype", ROOT / "data" / "raw", progress=sys.stderr.isatty())
    datasets.prepare("covtype", stamp, place(n), steps)


class BareProducts(training.Observer):
    """The seconds of each epoch of nothing but the products, as many after every step as the step had.

    Attributes
    ----------
    seconds : list of float
        Of each epoch.
    height : int
        Rows of a block: the fastest of a few, found after the first step.
    """

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.height = 0
        self._matrix: Any = None

    def on_batch(self, run: training.Run) -> None:  # noqa: D102
        if self._matrix is None:
            self._matrix = run.snapshot().fit.gram
        if run.position == 1:
            self.seconds.append(0.0)
        n, matrix = len(self._matrix.rows), self._matrix
        points = matrix.rows(slice((run.position - 1) * n // run.n_batches, run.position * n // run.n_batches))
        a = run.state.iterate
        answers = np.ones((len(points), a.shape[1]), dtype=a.dtype)

        def seconds(height: int) -> float:
            return _seconds(matrix.kernel, points, matrix.points, a, answers, height)

        if not self.height:
            self.height = min(HEIGHTS, key=lambda height: min(seconds(height) for _ in range(3)))
        self.seconds[-1] += seconds(self.height)


def _seconds(kernel: Any, points: Any, centres: Any, a: Any, answers: Any, height: int) -> float:
    n_workers, p = arrays.workers_for(points), centres.shape[0]
    strips, spans = list(arrays.blocks(len(points), height)), list(arrays.blocks(p, 1024))

    def work(worker: int) -> None:
        out, values = np.zeros_like(a), np.zeros_like(answers)
        scratch = np.empty((height, 1024), dtype=a.dtype)
        for strip in strips[worker::n_workers]:
            left = kernel.left_factor(points[strip])
            for span in spans:
                block = scratch[: strip.stop - strip.start, : span.stop - span.start]
                kernel.fill(left, centres[span], block)
                values[strip] += arrays.thin_product(block, a[span])
                out[span] += arrays.thin_product(block.T, answers[strip])

    started = time.perf_counter()
    arrays.in_threads(work, n_workers)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
