"""The peak memory of a process that fits and predicts under a budget, from memory-mapped data."""

import time

import measuring

from shallows import KernelRidgeClassifier, Options

asked = measuring.parameters()
x, y = measuring.load(asked["data"], "train", asked["n_train"])
x_test, y_test = measuring.load(asked["data"], "test", asked["n_test"])
started = time.perf_counter()
model = KernelRidgeClassifier(
    solver="eigenpro", bandwidth=5, random_state=0, options=Options(memory=asked["memory"])
).fit(x, y)
fitted = time.perf_counter()
error = 100 * float((model.predict(x_test) != y_test).mean())
# The products that measure the machine hold memory as well, so they come last.
peak = measuring.peak_gb()
measuring.answer(
    peak_gb=peak,
    error_percent=error,
    fit_seconds=fitted - started,
    sgemm_gflops=measuring.sgemm_gflops(),
    effective=model.report_,
)
