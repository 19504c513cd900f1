"""A fit with fewer centres than data and its bare products, as ``benchmarks/centres.py`` takes them."""

import statistics

import measuring

program = measuring.program("centres")

found = program.measured(program.options(measuring.asked()["arguments"]))
# The products that measure the machine hold memory as well, so they come last.
measuring.answer(
    ratio=statistics.median(found["ratios"]),
    ratios=found["ratios"],
    epoch_seconds=statistics.median(found["seconds"]),
    product_seconds=statistics.median(found["bare"]),
    peak_gb=found["peak_bytes"] / 1e9,
    error_percent=found["curve"][-1]["error"],
    batch_size=found["effective"]["batch_size"],
    sgemm_gflops=measuring.sgemm_gflops(),
)
