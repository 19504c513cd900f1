"""Steps of EigenPro by several processes of one thread beside those of one, without any kernel matrix kept.

    python benchmarks/spread.py --rows 60000 --ranks 2

Takes the digits of MNIST (``SHALLOWS_MIRROR`` names a place to take them from). One process and several take turns;
what is compared is the median time of a step. The target: two processes on two cores are at least 1.7 times as fast as
one with one thread. On a quiet machine the clock tells. On a busy one, where two processes are given more than one is,
look at the processor time of the slowest process: waiting for the others is a part of it, since they wait actively, so
that the ratio is too small rather than too large. ``--json`` writes what was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TARGET = 1.7

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> None:
    """Measure what was asked for."""
    asked = options()
    if asked.work:
        # A file for each process: what several print at a time runs into one another.
        (asked.work / f"steps-{os.getpid()}.json").write_text(json.dumps(steps(asked)))
        return
    with tempfile.TemporaryDirectory() as place:
        digits(Path(place), asked.rows)
        turns = [{n: measured(asked, n, Path(place)) for n in (1, *asked.ranks)} for _ in range(asked.runs)]
    found = summary(turns, asked)
    for line in lines(found):
        print(line)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=2) + "\n")


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What is measured; None reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=60_000, help="digits (default: %(default)s)")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2], help="processes (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=1024, help="rows of a step (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=8, help="steps that are timed in a turn (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="turns (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="where to write what was measured")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def digits(folder: Path, rows: int) -> None:
    """Write the first rows of MNIST's training set as arrays."""
    from shallows_papers import datasets

    dataset = datasets.get("mnist")
    stamp = datasets.fetch(dataset, Path("data/raw"), os.environ.get("SHALLOWS_MIRROR"))
    datasets.prepare(dataset, stamp, folder / "prepared", [])
    data = datasets.load(folder / "prepared")
    np.save(folder / "x.npy", data.x_train[:rows])
    np.save(folder / "y.npy", data.y_train[:rows])


class Enough(Exception):
    """A training made as many steps as are timed."""


def steps(asked: argparse.Namespace) -> dict[str, Any]:
    """In a process of its own: the seconds of each step, without the first, which makes what stays."""
    from shallows import KernelRidgeClassifier, arrays, distributed, training
    from shallows.fitting.machine import LEAST_MEMORY, Options
    from shallows.solvers import EigenPro

    X, y = (np.load(asked.work / f"{name}.npy", mmap_mode="r") for name in "xy")
    ended: list[tuple[float, float]] = []

    class Clock(training.Observer):
        def on_batch(self, run: Any) -> None:
            ended.append((time.perf_counter(), time.process_time()))
            if len(ended) > asked.steps:
                raise Enough

    @dataclass(frozen=True)
    class LittleMemory(Options):
        def budget(self, device: arrays.Device, least: int = LEAST_MEMORY) -> int:
            return least

    class NothingKept(KernelRidgeClassifier):
        """Plans with less memory than the points take, so that no kernel values are kept."""

        def _options(self) -> Options:
            return LittleMemory(**vars(super()._options()))

    model = NothingKept(
        bandwidth=5.0 * float(np.abs(X[:100]).max()),
        alpha=0.0,
        solver=EigenPro(batch_size=asked.batch, n_subsample=1000, rank=160),
        calibration=None,
        random_state=0,
        options=Options(dtype="float32"),
    )
    try:
        if "PMI_SIZE" in os.environ or "PMI_RANK" in os.environ:
            distributed.fit(model, X, y, observers=[Clock()])
        else:
            model.fit(X, y, observers=[Clock()])
    except Enough:
        pass
    by_clock, by_processor = np.diff(ended, axis=0).T.tolist()
    return {"steps": by_clock, "processor": by_processor, "threads": arrays.n_threads()}


def measured(asked: argparse.Namespace, n: int, folder: Path) -> tuple[float, float]:
    """The median seconds of a step by n processes, of the clock and of the processor of the slowest.

    One is the estimator's own fit, without MPI.
    """
    command = [sys.executable, __file__, "--work", str(folder)]
    command += ["--batch", str(asked.batch), "--steps", str(asked.steps)]
    if n > 1:
        starter = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
        if starter is None:
            raise SystemExit("There is no mpiexec: install the extra 'cluster' and the package mpich.")
        command = [starter, "-n", str(n), *command]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    files = list(folder.glob("steps-*.json"))
    found = [json.loads(file.read_text()) for file in files]
    for file in files:
        file.unlink()
    assert len(found) == n
    assert all(one["threads"] == 1 for one in found)
    # A step ends for all of them with the same sum; the slowest tells how long it took.
    return tuple(max(statistics.median(one[kind]) for one in found) for kind in ("steps", "processor"))


def summary(turns: list[dict[int, tuple[float, float]]], asked: argparse.Namespace) -> dict[str, Any]:
    """Medians over the turns, and how many times as fast as one process several are."""

    def faster(kind: int) -> dict[int, float]:
        return {n: statistics.median(turn[1][kind] / turn[n][kind] for turn in turns) for n in asked.ranks}

    return {
        "rows": asked.rows,
        "batch": asked.batch,
        "seconds": {n: statistics.median(turn[n][0] for turn in turns) for n in (1, *asked.ranks)},
        "processor_seconds": {n: statistics.median(turn[n][1] for turn in turns) for n in (1, *asked.ranks)},
        "faster": faster(0),
        "faster_by_processor": faster(1),
        "turns": turns,
        "load": os.getloadavg(),
        "cores": os.cpu_count(),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """What was measured, for people."""
    first = (
        f"{found['rows']:,} digits, batches of {found['batch']:,}: {found['seconds'][1]:.3f} s a step by one process"
    )
    rest = [
        f"{n} processes: {found['seconds'][n]:.3f} s, {faster:.2f} times as fast; by processor time "
        f"{found['processor_seconds'][1]:.3f} and {found['processor_seconds'][n]:.3f} s, "
        f"{found['faster_by_processor'][n]:.2f} times" + (f" (target {TARGET})" if n == 2 else "")
        for n, faster in found["faster"].items()
    ]
    busy = f"{found['cores']} cores, on which {found['load'][0]:.1f} processes wanted to run in the last minute"
    return [first, *rest, busy]


if __name__ == "__main__":
    main()
