"""An epoch with fewer centres than data in units of its bare products, and the peak memory of the whole process."""

from __future__ import annotations

import statistics

from bench import Bench, Row, row

BUDGET_GB = 2.0
FULL = ("--epochs", "3")
TINY = ("--centres", "500", "--rows", "5000", "--epochs", "2")


def measure(bench: Bench) -> list[Row]:
    """10,000 centres, 500,000 rows of Covertype, 2 GB; the median over the epochs of a fit counts for a round.

    The budget must hold in every round, so the largest peak counts, not the median.
    """
    arguments = [*(TINY if bench.quick else FULL), "--memory", f"{BUDGET_GB}GB"]
    found = [bench.work("shallows", "centres", "fit of centres", arguments=arguments) for _ in bench.rounds()]
    rates = [one["sgemm_gflops"] for one in found]
    batch, error = found[0]["batch_size"], statistics.median(one["error_percent"] for one in found)
    peak = row("peak memory", [one["peak_gb"] for one in found], BUDGET_GB, rates, unit="GB", note="the largest")
    peak.value = max(peak.values)
    return [
        row(
            "epoch of centres / bare products",
            [one["ratio"] for one in found],
            1.3,
            rates,
            note=f"batches of {batch:,}; test error {error:.2f} %",
        ),
        peak,
    ]
