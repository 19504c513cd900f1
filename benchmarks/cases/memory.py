"""Peak memory of a whole process (imports, memory-mapped data, fit, prediction) against the budget that was set."""

from __future__ import annotations

import statistics

from bench import Bench, Row, row

BUDGETS_GB = (1, 4, 16)

SAME_ERROR = 0.1
"""In percentage points: the standard error of a share of 1.3 % among 10,000 test points. A smaller budget means a
smaller subsample and other batches, so the last digit may differ."""


def measure(bench: Bench) -> list[Row]:
    """Whole MNIST. A budget must hold in every round, so the largest peak counts, not the median."""
    runs: dict[int, list[dict]] = {budget: [] for budget in BUDGETS_GB}
    for _ in bench.rounds():
        for budget, found in runs.items():
            asked = {"n_train": bench.size(60_000), "n_test": bench.n_test, "memory": f"{budget}GB"}
            found.append(bench.work("shallows", "memory", f"budget of {budget} GB", **asked))
    rows = []
    for budget, found in runs.items():
        peaks = [one["peak_gb"] for one in found]
        one = row(
            f"peak memory, budget {budget} GB", peaks, float(budget), _rates(found), unit="GB", note="the largest"
        )
        one.value = max(peaks)
        rows.append(one)
    errors = {budget: [one["error_percent"] for one in found] for budget, found in runs.items()}
    rows.append(
        row(
            "test error, largest difference between budgets",
            [max(together) - min(together) for together in zip(*errors.values(), strict=True)],
            SAME_ERROR,
            [rate for found in runs.values() for rate in _rates(found)],
            unit="points",
            note=", ".join(f"{statistics.median(found):.2f} % at {budget} GB" for budget, found in errors.items()),
        )
    )
    return rows


def _rates(found: list[dict]) -> list[float]:
    return [one["sgemm_gflops"] for one in found]
