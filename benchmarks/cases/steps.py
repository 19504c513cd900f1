"""The certified step against every other rule of EigenPro, in epochs, on a part of the grid of ``steps.py``."""

from __future__ import annotations

import environments
from bench import Bench, Row, row

DATASETS = {"mnist": "MNIST", "cifar10": "CIFAR-10", "covtype": "Covertype", "a9a": "Adult"}
PART = ("--sizes", "10x100", "40x500", "160x1000", "--batches", "16", "64", "256", "0")
TINY = ("--sizes", "10x100", "--batches", "16", "0", "--points", "300", "--epochs", "3")


def measure(bench: Bench) -> list[Row]:
    """Twelve settings of 54 for each dataset, one seed for each round; the program itself takes the whole grid.

    The targets are to hold on every training curve, so the largest ratio counts, not the median.
    """
    n_seeds = len(bench.rounds(1))
    rows, n_diverged, n_settings, rates = [], [], 0, []
    # Small data show that it works with the one that the other cases have downloaded.
    for name, title in DATASETS.items() if not bench.quick else [("mnist", "MNIST")]:
        arguments = ["--datasets", name, "--seeds", str(n_seeds), "--data", str(environments.ROOT / "data")]
        arguments += TINY if bench.quick else PART
        found = bench.work("shallows", "steps", f"step rules, {title}", arguments=arguments)
        one = row(
            f"epochs of the certified step / those of the best other, {title}",
            found["ratios"],
            1.1,
            [found["sgemm_gflops"]],
            note=f"the largest of {len(found['ratios'])}: {_setting(found['worst'])}",
        )
        one.value = max(one.values)
        rows.append(one)
        n_diverged.append(found["n_diverged"])
        n_settings += len(found["ratios"])
        rates.append(found["sgemm_gflops"])
    diverged = row("certified steps that diverged", n_diverged, 0, rates, note=f"the sum, of {n_settings} curves")
    diverged.value = sum(n_diverged)
    return [*rows, diverged]


def _setting(found: dict) -> str:
    n_subsample, batch = (found[key] or "all points" for key in ("n_subsample", "batch"))
    return f"rank {found['rank']} of {n_subsample}, batches of {batch}, against {found['by']}"
