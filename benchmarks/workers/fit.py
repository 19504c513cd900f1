"""Fits of one program: the time of the first and the last one, and the error of the last one on the test points."""

from __future__ import annotations

import functools
import math
import time
from typing import Any

import measuring
import numpy as np
from sklearn.datasets import make_classification, make_friedman1


def shallows() -> Any:
    """All defaults; the seed makes it the same fit every time."""
    from shallows import KernelRidgeClassifier

    return KernelRidgeClassifier(solver="eigenpro", bandwidth=5, random_state=0)


def defaults() -> Any:
    """Nothing set but the seed."""
    from shallows import KernelRidgeClassifier, KernelRidgeRegressor

    return (KernelRidgeRegressor if asked["problem"] == "friedman" else KernelRidgeClassifier)(random_state=0)


def kernel_svm() -> Any:
    """The problem of `svc`."""
    from shallows import KernelSVMClassifier

    return KernelSVMClassifier(bandwidth=BANDWIDTH, random_state=0)


def svc() -> Any:
    """scikit-learn's, with C = 1."""
    from sklearn.svm import SVC

    return SVC(gamma=1 / (2 * BANDWIDTH**2))


def extra(epochs: int) -> Any:
    """γ = 1/(2σ²), else its defaults."""
    from sklearn_extra.kernel_methods import EigenProClassifier

    return EigenProClassifier(gamma=1 / (2 * 5**2), n_epoch=epochs, random_state=0)


def intelex() -> Any:
    """γ = 1/(2σ²) and the C that serves MNIST well, else its defaults."""
    from sklearnex.svm import SVC

    return SVC(C=5, gamma=0.02)


def data() -> tuple[np.ndarray, ...]:
    """Training rows, their targets, test rows and their targets."""
    n, n_test, problem = asked["n_train"], asked["n_test"], asked.get("problem", "digits")
    if problem == "digits":
        parts = [
            *measuring.load(asked["data"], "train", n, asked["subset"]),
            *measuring.load(asked["data"], "test", n_test),
        ]
        return tuple(np.array(part) for part in parts)
    if problem == "friedman":
        x, y = make_friedman1(n + n_test, n_features=10, noise=1.0, random_state=asked["subset"])
        x, y = (x - 0.5) * math.sqrt(12), (y - y.mean()) / y.std()
    else:
        x, y = make_classification(n + n_test, 20, n_informative=10, flip_y=0.1, random_state=asked["subset"])
    x = x.astype(np.float32)
    return x[:n], y[:n], x[n:], y[n:]


BANDWIDTH = 4.0
"""Of the support vector machines: near the choice of `KernelSVMClassifier` for the generated classes."""

PROGRAMS = {
    "shallows": shallows,
    "defaults": defaults,
    "kernel_svm": kernel_svm,
    "svc": svc,
    "extra": extra,
    "intelex": intelex,
}


def product_seconds() -> float:
    """Processor seconds of the two bare products in a prediction: of inputs with training inputs, and with outputs."""
    n, d, c = len(x), model.report_.get("n_components") or x.shape[1], np.atleast_2d(model.dual_coef_.T).shape[0]
    draw = np.random.default_rng(0).standard_normal
    test, inputs, outputs = (draw(shape, dtype=np.float32) for shape in ((len(x_test), d), (d, n), (n, c)))
    clock = time.process_time()
    for first in range(0, len(test), 1000):
        (test[first : first + 1000] @ inputs) @ outputs
    return time.process_time() - clock


asked = measuring.parameters()
model = PROGRAMS[asked["program"]](**asked["settings"])
x, y, x_test, y_test = data()

# The larger product takes as long as a fit to few rows.
rate = functools.partial(measuring.sgemm_gflops, *((0.5, 2048) if "fits" in asked else ()))
before = rate()
n_fits = asked.get("fits", 1)
if n_fits == 1:
    measuring.touch_memory(min(len(x), 60_000))
measuring.forget_peak()
times = []
for _ in range(n_fits):
    clock, processor = time.perf_counter(), time.process_time()
    model.fit(x, y)
    times.append((time.perf_counter() - clock, time.process_time() - processor))
fitted, clock = time.perf_counter(), time.process_time()
predicted = model.predict(x_test)
finished, processor = time.perf_counter(), time.process_time() - clock
peak = measuring.peak_gb()
after = rate()
wrong = np.mean(predicted != y_test) if asked.get("problem") != "friedman" else np.mean((predicted - y_test) ** 2)
cold = {} if n_fits == 1 else dict(zip(("cold_seconds", "cold_processor_seconds"), times[0], strict=True))
measuring.answer(
    fit_seconds=times[-1][0],
    processor_seconds=times[-1][1],
    **cold,
    predict_seconds=finished - fitted,
    predict_processor_seconds=processor,
    **({"two_products_seconds": product_seconds()} if asked["program"] == "defaults" else {}),
    error_percent=100 * float(wrong),
    peak_gb=peak,
    sgemm_gflops=(before + after) / 2,
    timings=getattr(model, "report_", {}).get("timings"),
    effective=getattr(model, "report_", None),
)
