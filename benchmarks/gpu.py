"""What a GPU does: MNIST, an epoch over a million points, the tests, products of few features, kernel blocks.

``python benchmarks/gpu.py --all`` runs all parts on the first GPU that CuPy finds, the most important first, and stops
after eight minutes (``--limit``). ``--continue`` resumes with what is missing. Each number is written at once to
``benchmarks/results/gpu.json``; ``--record`` copies the finished record to the one that the repository keeps.

Each rate is compared with the device's own single-precision matrix product in the same process, and each function that
was written in CUDA with the plain path (``shallows.gpu.cuda.off``). MNIST comes from where the workflow takes it
(``SHALLOWS_MIRROR`` names a folder that has it) or from ``--mnist FILE.npz`` with ``x_train``, ``y_train``, ``x_test``
and ``y_test``, and is in memory before the clock starts. ``--parts`` picks some of the parts; ``--device cpu --scale
0.01`` only tries the program.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from record import MEASURED, Record

from shallows import (
    FeatureRidgeClassifier,
    KernelRidgeClassifier,
    KernelRidgeRegressor,
    Options,
    arrays,
    gram,
    kernels,
    training,
)
from shallows.gpu import cuda
from shallows.gram import fused
from shallows.solvers import EigenPro, ProjectedEigenPro
from shallows_papers import datasets

ROOT = Path(__file__).resolve().parents[1]
ERROR = 1.25
"""The target on MNIST, in per cent."""

INPUTS = 18
"""As SUSY has."""

KNOWN = {
    "MNIST, first fit": "an H200 took 2.3 s",
    "MNIST, again": "an H200 took 0.68 s",
    "1000000 points, every point a center, fused": "an H200 took 2.6 s an epoch",
    "1000000 points, 10,000 centers, fused": "an H200 took 0.09 s an epoch",
}
"""Earlier measurements (`RESULTS.md`)."""

TITLE = "Measurements of a GPU"
COLUMNS = ("what", "found", "earlier")

KERNELS = (kernels.Gaussian(3.0), kernels.Laplace(3.0), kernels.Cauchy(3.0), kernels.Matern(3.0, 2.5))


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="all parts, with the tests that need a GPU")
    parser.add_argument("--continue", action="store_true", dest="resume", help="only what the record lacks")
    parser.add_argument("--limit", type=float, default=480.0, help="seconds of this call (default: %(default)s)")
    parser.add_argument("--parts", nargs="+", default=["mnist", "million", "products", "blocks"], choices=list(PARTS))
    parser.add_argument("--mnist", type=Path, help="an NPZ file with the arrays")
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--scale", type=float, default=1.0, help="of every size but MNIST's")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "gpu.json")
    parser.add_argument("--record", action="store_true", help="also write the record that the repository keeps")
    asked = parser.parse_args()
    if asked.device != "cpu" and not arrays.gpu_is_available():
        print("There is no GPU that CuPy can use here, so there is nothing to measure.")
        return
    record = Record("gpu", asked.out, resume=asked.resume)
    device = arrays.resolve_device(asked.device)
    record.content["machine"]["gpu"] = arrays.gpu_name() or "none, on the CPU"
    bench = Bench(device, asked.scale, asked.mnist, record, asked.limit)
    try:
        with device.active():
            if bench.is_due("sgemm"):
                bench.say("sgemm", tflops=bench.sgemm, error=bench.sgemm_error())
            for part in PARTS if asked.all else asked.parts:
                PARTS[part](bench)
    except OutOfTimeError:
        print(f"The {asked.limit:g} seconds are over. The same command with --continue measures the rest.")
        return
    if asked.record:
        record.path = MEASURED / "gpu.json"
        record.save()
    print(f"All was measured: {record.path}")


class OutOfTimeError(Exception):
    """The seconds of this call are over."""


class Bench:
    """A device, its rate, and the record of what was found on it."""

    def __init__(self, device: arrays.Device, scale: float, mnist: Path | None, record: Record, limit: float):
        self.device, self.scale, self.mnist, self.record = device, scale, mnist, record
        self.ends = time.monotonic() + limit
        with device.active():
            n = self.size(8192)
            a = self.normal(n, n)
            self.sgemm = 2e-12 * n**3 / self.seconds(lambda: a @ a)

    def size(self, n: int, least: int = 256) -> int:
        """A size at this scale."""
        return max(least, int(n * self.scale))

    def normal(self, *shape: int, seed: int = 0) -> Any:
        """Random numbers in float32 on the device."""
        drawn = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
        return arrays.to_device(drawn, self.device)

    def seconds(self, work: Callable[[], Any], rounds: int = 7) -> float:
        """The median time of a piece of work, after a first call that compiles."""
        taken = []
        for _ in range(rounds + 1):
            arrays.synchronize(self._probe)
            started = time.perf_counter()
            work()
            arrays.synchronize(self._probe)
            taken.append(time.perf_counter() - started)
        return float(np.median(taken[1:]))

    @property
    def _probe(self) -> Any:
        return arrays.to_device(np.zeros(1), self.device)

    def sgemm_error(self) -> float:
        """The largest error of a product of 1,024 terms of unit variance: about 1e-5, and about 1e-2 in TF32."""
        a, b = self.normal(256, 1024), self.normal(1024, 256, seed=1)
        exact = arrays.to_numpy(a).astype(np.float64) @ arrays.to_numpy(b).astype(np.float64)
        return float(np.abs(arrays.to_numpy(a @ b) - exact).max())

    def is_due(self, what: str) -> bool:
        """Whether a number is missing from the record. If no time is left for it, the call ends."""
        if any(row[0] == what for row in self.record.rows(TITLE)):
            return False
        if time.monotonic() > self.ends:
            raise OutOfTimeError
        return True

    def say(self, what: str, **numbers: Any) -> None:
        """Print a number and write it to the record."""
        print(f"{what}: {describe(numbers)}", flush=True)
        row = [what, describe(numbers), KNOWN.get(what, "")]
        self.record.add(TITLE, COLUMNS, [*self.record.rows(TITLE), row])


def tests(bench: Bench) -> None:
    """Run the tests that need a GPU, in a separate process, within the time that is left."""
    what = "tests marked gpu"
    if not bench.is_due(what):
        return
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-q", "-rfE", "-p", "no:cacheprovider", "tests"]
    left = max(1.0, bench.ends - time.monotonic())
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=left)
    except subprocess.TimeoutExpired:
        raise OutOfTimeError from None
    lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines()
    print("\n".join(line for line in lines if line.startswith(("FAILED", "ERROR"))))
    bench.say(what, outcome=lines[-1].strip("= "))


def describe(numbers: Mapping[str, Any]) -> str:
    """Names with their numbers, in four digits."""
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in numbers.items()
    )


def blocks(bench: Bench) -> None:
    """Kernel values of a block of 784 features: the bare product, one pass after it, and a pass for each operation."""
    n, d = bench.size(8192), 784
    what, forms = "bare product of a block", (*KERNELS, kernels.Matern(3.0, 0.8))
    due = [kernel for kernel in forms if bench.is_due(f"block, {kernel}")]
    if not due and not bench.is_due(what):
        return
    points = kernels.augmented(bench.normal(n, d) / np.float32(np.sqrt(d)))
    out = arrays.namespace(points).empty((n, n), dtype=points.dtype)
    bare = bench.seconds(lambda: arrays.matmul_into(points, points.T, out))
    if bench.is_due(what):
        bench.say(what, share_of_sgemm=2e-12 * n * n * (d + 2) / bare / bench.sgemm, ms=1e3 * bare)
    for kernel in due:
        bench.is_due(f"block, {kernel}")
        left = kernel.left_factor(points)
        once = bench.seconds(lambda: kernel.fill(left, points, out))  # noqa: B023
        with cuda.off():
            plain = bench.seconds(lambda: kernel.fill(left, points, out))  # noqa: B023
        bench.say(f"block, {kernel}", to_bare=once / bare, plain_to_bare=plain / bare)


def products(bench: Bench) -> None:
    """K @ w for 18 features and nothing kept, fused and plain, and the largest difference between the two."""
    n = bench.size(100_000)
    x = bench.normal(n, INPUTS)
    points = kernels.augmented(x)
    for m in (bench.size(1000), n):
        for kernel in KERNELS:
            for c in (1, 2, 10):
                what = f"product {m} x {n}, {c} columns, {kernel}"
                if not bench.is_due(what):
                    continue
                w = bench.normal(n, c, seed=1)

                def work() -> Any:
                    return gram.cross_product(kernel, x[:m, :], points, w, budget=2**32)  # noqa: B023

                applied = fused.is_applicable(kernel, points, w)
                fast, found = bench.seconds(work), arrays.to_numpy(work())
                with cuda.off():
                    plain, reference = bench.seconds(work, rounds=3), arrays.to_numpy(work())
                bench.say(
                    what,
                    fused=applied,
                    ps_a_value=1e12 * fast / (m * n),
                    plain_ps=1e12 * plain / (m * n),
                    times_faster=plain / fast,
                    share_of_sgemm=2e-12 * m * n * (INPUTS + c) / fast / bench.sgemm,
                    difference=float(np.abs(found - reference).max() / np.abs(reference).max()),
                )


def shapes(bench: Bench) -> None:
    """The fused product with other numbers of rows a thread, columns a pass and points a tile."""
    n, kernel = bench.size(100_000), KERNELS[0]
    x = bench.normal(n, INPUTS)
    points = kernels.augmented(x)
    for c in (1, 4, 10):
        w = bench.normal(n, c, seed=1)
        chosen = fused.Shape.of(INPUTS, c, "float32")
        if not fused.is_applicable(kernel, points, w):
            print("the fused product does not apply here")
            return
        for rows in (1, 2, 4):
            for tile in (64, 128, 256):
                what = f"{rows} rows a thread, tiles of {tile}, {c} columns"
                if not bench.is_due(what):
                    continue
                shape = dataclasses.replace(chosen, rows=rows, tile=tile)
                body = kernel.in_c("float32")
                function = cuda.compiled(arrays.namespace(x), shape.source(body), "kernel_product")

                def work() -> Any:
                    return fused._launch(function, shape, kernel, x, points, w, None)  # noqa: B023

                bench.say(what, ps_a_value=1e12 * bench.seconds(work) / n**2, chosen=shape == chosen)


def mnist(bench: Bench) -> None:
    """Seconds and test errors of whole fits on MNIST, at the defaults except the bandwidth of EigenPro."""
    machine = Options(device=str(bench.device))
    eigenpro = KernelRidgeClassifier(solver="eigenpro", bandwidth=5, random_state=0, options=machine)
    models = {
        "": eigenpro,
        "KernelRidgeClassifier on centers, ": KernelRidgeClassifier(
            solver="nystrom_conjugate_gradients", random_state=0, options=machine
        ),
        "FeatureRidgeClassifier, ": FeatureRidgeClassifier(random_state=0, options=machine),
        "FeatureRidgeClassifier by EigenPro, ": FeatureRidgeClassifier(
            solver="feature_eigenpro", calibration="auto", random_state=0, options=machine
        ),
    }
    due = [
        (kind, what)
        for kind in models
        for what in (["first fit", "again", "plain"] if not kind else ["again", "plain"])
        if bench.is_due(f"MNIST, {kind}{what}")
    ]
    if not due:
        return
    try:
        x, y, x_test, y_test = digits(bench.mnist)
    except (datasets.DatasetError, OSError) as error:
        print(f"MNIST is left out: {error}")
        return
    if bench.scale < 1:
        x, y = x[: bench.size(60_000)], y[: bench.size(60_000)]
    compiled: set[str] = set()
    for kind, what in due:
        bench.is_due(f"MNIST, {kind}{what}")
        model = models[kind]
        with cuda.off() if what == "plain" else contextlib.nullcontext():
            if what == "plain" or (what == "again" and kind not in compiled):
                model.fit(x, y)  # compiles
            compiled.add(kind)
            started = time.perf_counter()
            model.fit(x, y)
            fitted = time.perf_counter() - started
            error = 100 * float(np.mean(model.predict(x_test) != y_test))
        more = {} if kind else {"target": ERROR, "met": error <= ERROR, "kept": model.report_["kept_fraction"]}
        bench.say(f"MNIST, {kind}{what}", seconds=fitted, error_percent=error, **more)


def digits(file: Path | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """MNIST with pixels in [0, 1], in memory."""
    if file is not None:
        held = np.load(file)
        parts = [held[name] for name in ("x_train", "y_train", "x_test", "y_test")]
    else:
        prepared = ROOT / "data" / "prepared" / "mnist" / "unit"
        if not (prepared / "prepared.json").exists():
            stamp = datasets.fetch("mnist", ROOT / "data" / "raw", progress=sys.stderr.isatty())
            datasets.prepare("mnist", stamp, prepared, [{"unit": {}}])
        data = datasets.load(prepared)
        parts = [data.x_train, data.y_train, data.x_test, data.y_test]
    x, y, x_test, y_test = (np.array(part) for part in parts)
    x, x_test = (part.reshape(len(part), -1).astype(np.float32) for part in (x, x_test))
    top = np.float32(x.max())
    return x / top, y, x_test / top, y_test


def million(bench: Bench) -> None:
    """Epochs over a million generated points of 18 inputs: with 10,000 centers, and with every point a center."""
    n = bench.size(1_000_000, 2000)
    x = np.random.default_rng(0).standard_normal((n, INPUTS), dtype=np.float32)
    y = np.sin(x[:, 0] + x[:, 1]) * np.cos(x[:, 2]) + 0.1 * np.random.default_rng(1).standard_normal(n)
    same = {"kernel": "laplace", "bandwidth": 5.0, "random_state": 0}
    same |= {"options": Options(dtype="float32", device=str(bench.device))}
    models = {
        "10,000 centers": KernelRidgeRegressor(
            centers=bench.size(10_000), solver=ProjectedEigenPro(max_epochs=4, tol=0.0), **same
        ),
        "every point a center": KernelRidgeRegressor(solver=EigenPro(max_epochs=2, tol=0.0), **same),
    }
    for what, model in models.items():
        for path, context in (("fused", contextlib.nullcontext()), ("plain", cuda.off())):
            if not bench.is_due(f"{n} points, {what}, {path}"):
                continue
            with context:
                clock = Clock()
                model.fit(x, y, observers=[clock])
            epochs = np.diff([0.0, *clock.at])
            bench.say(
                f"{n} points, {what}, {path}",
                seconds_an_epoch=float(np.median(epochs)),
                before_the_first=model.report_["timings"]["preparation"] + model.report_["timings"]["eigensystem"],
                loss=float(model.losses_[-1]),
                batch=model.report_["batch_size"],
            )


class Clock(training.Observer):
    """Seconds of training after every epoch."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def on_epoch(self, run: training.Run) -> None:  # noqa: D102
        arrays.synchronize(run.state.coefficients)
        self.at.append(run.seconds)


PARTS = {
    "mnist": mnist,
    "million": million,
    "tests": tests,
    "products": products,
    "blocks": blocks,
    "shapes": shapes,
}
"""The most important first."""


if __name__ == "__main__":
    main()
