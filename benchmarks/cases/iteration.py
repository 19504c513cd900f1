"""The cost of EigenPro's step beside that of the plain one, nothing kept of the kernel matrix or of the features."""

from __future__ import annotations

from bench import Bench, Row, row

TARGETS = {160: 1.2, 1000: 1.5}
FORMS = {"kernel": 0, "8,192 random features": 8192}
TINY = ("--points", "3000", "--subsample", "1200", "--steps", "3")


def measure(bench: Bench) -> list[Row]:
    """60,000 points of 784 inputs, 10 outputs, batches of 256; both steps in turns in one process."""
    runs: dict[tuple[str, int], list[dict]] = {(form, rank): [] for form in FORMS for rank in TARGETS}
    for _ in bench.rounds():
        for (form, rank), found in runs.items():
            arguments = ["--batches", "256", "--ranks", str(rank), "--features", str(FORMS[form])]
            arguments += TINY if bench.quick else ()
            found.append(bench.work("shallows", "iteration", f"step, {form}, rank {rank:,}", arguments=arguments))
    return [
        row(
            f"EigenPro's step, {form}, rank {rank:,} / plain step",
            [one["ratio"] for one in found],
            TARGETS[rank],
            [one["sgemm_gflops"] for one in found],
            note=f"subsample of {found[0]['n_subsample']:,}",
        )
        for (form, rank), found in runs.items()
    ]
