"""One fit of one program: its time, and its error on the test points."""

from __future__ import annotations

import time
from typing import Any

import measuring
import numpy as np


def shallows() -> Any:
    """All defaults; the seed makes it the same fit every time."""
    from shallows import KernelRidgeClassifier

    return KernelRidgeClassifier(solver="eigenpro", bandwidth=5, random_state=0)


def extra(epochs: int) -> Any:
    """γ = 1/(2σ²), else its defaults."""
    from sklearn_extra.kernel_methods import EigenProClassifier

    return EigenProClassifier(gamma=1 / (2 * 5**2), n_epoch=epochs, random_state=0)


def intelex() -> Any:
    """γ = 1/(2σ²) and the C that serves MNIST well, else its defaults."""
    from sklearnex.svm import SVC

    return SVC(C=5, gamma=0.02)


PROGRAMS = {"shallows": shallows, "extra": extra, "intelex": intelex}

asked = measuring.parameters()
model = PROGRAMS[asked["program"]](**asked["settings"])
x, y = measuring.load(asked["data"], "train", asked["n_train"], asked["subset"])
x_test, y_test = measuring.load(asked["data"], "test", asked["n_test"])
x, x_test = np.array(x), np.array(x_test)

before = measuring.sgemm_gflops()
measuring.touch_memory(len(x))
measuring.forget_peak()
started = time.perf_counter()
model.fit(x, y)
fitted = time.perf_counter()
predicted = model.predict(x_test)
finished = time.perf_counter()
peak = measuring.peak_gb()
after = measuring.sgemm_gflops()
measuring.answer(
    fit_seconds=fitted - started,
    predict_seconds=finished - fitted,
    error_percent=100 * float((predicted != y_test).mean()),
    peak_gb=peak,
    sgemm_gflops=(before + after) / 2,
    timings=getattr(model, "report_", {}).get("timings"),
    effective=getattr(model, "report_", None),
)
