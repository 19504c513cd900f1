"""Epochs of the certified rule over those of the best other in a part of the grid of ``benchmarks/steps.py``."""

import time

import measuring

program = measuring.program("steps")

started = time.perf_counter()
rows = program.compared(program.curves(program.options(measuring.asked()["arguments"])))
seconds = time.perf_counter() - started
worst = max(rows, key=lambda row: row["excess"])
measuring.answer(
    ratios=[row["excess"] for row in rows],
    worst={key: worst[key] for key in ("rank", "n_subsample", "batch", "seed", "by")},
    n_diverged=sum(row["diverged"] for row in rows),
    seconds=seconds,
    sgemm_gflops=measuring.sgemm_gflops(),
)
