"""Building the kept kernel matrix on a CPU, beside the bare half product: the tiles on and below the diagonal.

Processor seconds of one thread, all taken in turns in one process: work on other cores shifts them little. With "cold"
memory each matrix gets pages from the system that nobody held; with "warm" memory those of the matrix before.

    python benchmarks/matrix_build.py --features 18 440 784 --points 12288 --rounds 5
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable

import environments
import numpy as np

KERNELS = ("gaussian", "laplace", "cauchy")


def measure(n: int, d: int, rounds: int) -> None:
    """Print processor and system seconds of each form, round by round, as a line of JSON."""
    from shallows import arrays, kernels
    from shallows.gram import Gram, tile_edge
    from shallows.kernels.base import in_strips
    from shallows.kernels.compiled import CompiledKernel

    x = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32) / np.float32(np.sqrt(d))
    points = kernels.augmented(x)
    budget = 8 * n * n
    edge = tile_edge(points, budget)
    spans = list(arrays.blocks(n, edge))
    # A part of a large array, which lies on large pages as the tiles do.
    scratch = np.ones((8, edge, edge), dtype=np.float32)[3]

    def half_product(z: np.ndarray) -> None:
        for i, rows in enumerate(spans):
            for columns in spans[: i + 1]:
                a, b = z[rows], z[columns]
                np.matmul(a, b.T, out=scratch[: len(a), : len(b)])

    def elementwise(kernel: kernels.Kernel) -> None:
        for _ in range(len(spans) * (len(spans) + 1) // 2):
            if isinstance(kernel, CompiledKernel):
                kernel._loop(scratch, edge)
            else:
                in_strips(scratch, lambda strip: kernel.apply_in_place(scratch[strip, :]))

    def build(kernel: kernels.Kernel) -> None:
        if Gram(kernel, points, budget=budget).kept_fraction < 1.0:
            raise MemoryError("the matrix was not kept whole")

    # The two columns that make distances of products can make the product faster, so the faster one is the measure.
    forms: dict[str, Callable[[], None]] = {
        "half product": lambda: half_product(x),
        "half product, d + 2": lambda: half_product(points),
    }
    for name in KERNELS:
        plain = kernels.make(name, 1.0)
        for label, kernel in (("NumPy", plain), ("loop", CompiledKernel(plain))):
            forms[f"{name}, {label}"] = lambda kernel=kernel: build(kernel)
            forms[f"elementwise {name}, {label}"] = lambda kernel=kernel: elementwise(kernel)
    found: dict[str, list[tuple[float, float]]] = {form: [] for form in forms}
    for k in range(rounds + 1):
        for form, work in forms.items():
            before = resource.getrusage(resource.RUSAGE_SELF)
            work()
            after = resource.getrusage(resource.RUSAGE_SELF)
            system = after.ru_stime - before.ru_stime
            if k:  # The first round compiles, and takes the memory of the warm ones.
                found[form].append((after.ru_utime - before.ru_utime + system, system))
    print(json.dumps(found))


def main() -> None:
    """Start a process for each number of features and each kind of memory, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=12_288)
    parser.add_argument("--features", type=int, nargs="+", default=[18, 440, 784])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        measure(asked.points, asked.features[0], asked.rounds)
        return
    print("| features | memory | form | processor s, least | / half product: least, median | system s, median |")
    print("|---|---|---|---|---|---|")
    for d in asked.features:
        for memory in ("warm", "cold"):
            variables = environments.variables(keeps_memory=memory == "warm") | {"OMP_NUM_THREADS": "1"}
            variables["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
            command = [sys.executable, __file__, "--inside", "--features", str(d)]
            command += ["--points", str(asked.points), "--rounds", str(asked.rounds)]
            answer = subprocess.run(command, env=variables, check=True, stdout=subprocess.PIPE, text=True).stdout
            found = json.loads(answer)
            bare = [[one[0] for one in rounds] for form, rounds in found.items() if form.startswith("half product")]
            least, median = (min(of(seconds) for seconds in bare) for of in (min, statistics.median))
            for form, rounds in found.items():
                seconds = [one[0] for one in rounds]
                ratios = f"{min(seconds) / least:.2f}, {statistics.median(seconds) / median:.2f}"
                system = statistics.median(one[1] for one in rounds)
                print(f"| {d} | {memory} | {form} | {min(seconds):.3f} | {ratios} | {system:.3f} |", flush=True)
    print(f"\n{asked.points} points, {asked.rounds} rounds; load of the machine {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
