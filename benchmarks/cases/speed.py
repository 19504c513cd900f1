"""Defaults against peers in processor seconds, on an idle machine and with one of its cores busy, cold and warm."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from bench import Bench, MeasurementFailedError, Row, row

OURS, SVC = ("shallows", "defaults"), ("intelex", "intelex")
"""Environment and program of `workers/fit.py`."""

MOST_OVER_PRODUCTS = 2.0
"""Goal for a prediction of the default machine, over the bare matrix products in it."""

MOST_ABOVE_ONE_THREAD = 1.5
"""Goal for a default fit with one of two cores busy, over the same fit on one core."""


def measure(bench: Bench) -> list[Row]:
    """Digits, a support vector machine and Friedman 1. The first fit of a process is cold, its last one is warm."""
    return [
        *_digits(bench, 60_000, 1, 0.40, 1.25),
        *_digits(bench, 10_000, 2, 0.50, 2.4),
        _one("1,000 digits, seconds of a warm fit", _fits(bench, OURS, "digits", 1_000, 2), "fit_seconds", 0.35),
        _ratio("kernel SVM, 8,000 rows", *_machines(bench), "fit_seconds", 1.0),
        _one(
            "Friedman 1, 250,000 rows, processor seconds",
            _fits(bench, OURS, "friedman", 250_000, 1, 1),
            "processor_seconds",
            60,
        ),
    ]


def measure_busy(bench: Bench) -> list[Row]:
    """With one of two cores busy: digits, a support vector machine, and all kinds of fits over the same on one core."""
    n = bench.size(4_000)  # With 2,000 the products of most steps are too small for several threads.
    with on_one_core():
        alone = bench.work("shallows", "defaults", "defaults on one core", n_train=n)
    with one_core_busy() as is_busy:
        if not is_busy:
            return []
        busy = bench.work("shallows", "defaults", "defaults with one of two cores busy", n_train=n)
        machines = _machines(bench, "busy")
        digits = [_fits(bench, program, "digits", 60_000, 1, 1, "busy") for program in (OURS, SVC)]
    rates = [one["sgemm_gflops"] for one in (alone, busy)]
    ratios = {name: busy["of_fits"][name] / seconds for name, seconds in alone["of_fits"].items()}
    return [
        _ratio("60,000 digits, one core busy", *digits, "fit_seconds", 0.7),
        _ratio("kernel SVM, 8,000 rows, one core busy", *machines, "fit_seconds", 1.3),
        *(row(f"{name}, busy / on one core", [x], MOST_ABOVE_ONE_THREAD, rates) for name, x in ratios.items()),
    ]


@contextlib.contextmanager
def on_one_core() -> Iterator[None]:
    """Programs that are started inside the block use the last core."""
    if not hasattr(os, "sched_setaffinity"):
        raise MeasurementFailedError("This system cannot keep a program on one core.")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@contextlib.contextmanager
def one_core_busy() -> Iterator[bool]:
    """Keep the first core busy inside the block; yields False if this process may use one core only."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2:
        print("One core of two cannot be kept busy here.", file=sys.stderr)
        yield False
        return
    program = f"import os; os.sched_setaffinity(0, [{cores[0]}])\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        yield True
    finally:
        process.kill()
        process.wait()


def _digits(bench: Bench, n: int, rounds: int, goal: float, most_error: float) -> list[Row]:
    ours, peer = [], []
    for _ in range(1 if bench.quick else rounds):  # In turns, so that a slower hour is slower for both.
        ours += _fits(bench, OURS, "digits", n, 1)
        peer += _fits(bench, SVC, "digits", n, 1)
    errors = f"{_mean(ours, 'error_percent'):.2f} and {_mean(peer, 'error_percent'):.2f} % errors"
    ratio = _ratio(f"{n:,} digits, warm", ours, peer, "processor_seconds", goal)
    ratio.note = f"{ratio.note}; {errors}"
    bare = [one["predict_processor_seconds"] / one["two_products_seconds"] for one in ours]
    rates = [one["sgemm_gflops"] for one in ours]
    predicted = row(
        f"{n:,} digits, processor time of a prediction / of its two products", bare, MOST_OVER_PRODUCTS, rates
    )
    cold = _ratio(f"{n:,} digits, cold", ours, peer, "cold_processor_seconds", goal)
    return [ratio, cold, predicted, _one(f"{n:,} digits, test error", ours, "error_percent", most_error, "%")]


def _machines(bench: Bench, state: str = "") -> list[list[dict[str, Any]]]:
    return [
        _fits(bench, program, "two_classes", 8_000, 1 if state else 2, state=state)
        for program in (("shallows", "kernel_svm"), ("shallows", "svc"))
    ]


def _fits(
    bench: Bench, program: tuple[str, str], problem: str, n: int, rounds: int, fits: int = 2, state: str = ""
) -> list[dict[str, Any]]:
    """Measurements of a program, each in a fresh process; freed memory stays the process's own."""
    n, name = bench.size(n), "our defaults" if program == OURS else program[1]
    label = ", ".join(filter(None, [name, f"{n:,} rows of {problem}", state]))
    asked = {"program": program[1], "problem": problem, "n_train": n, "n_test": bench.n_test, "fits": fits}
    return [
        bench.work(program[0], "fit", label, keeps_memory=True, subset=number + 1, settings={}, **asked)
        for number in range(1 if bench.quick else rounds)
    ]


def _one(case: str, runs: list[dict[str, Any]], key: str, goal: float, unit: str = "s") -> Row:
    return row(case, [one[key] for one in runs], goal, [one["sgemm_gflops"] for one in runs], unit=unit)


def _ratio(case: str, ours: list[dict[str, Any]], peer: list[dict[str, Any]], key: str, goal: float) -> Row:
    kind = "processor time" if "processor" in key else "time"
    both = f"{_mean(ours, key):.3g} and {_mean(peer, key):.3g} s"
    values = [a[key] / b[key] for a, b in zip(ours, peer, strict=True)]
    return row(f"{case}, {kind} / that of SVC", values, goal, [one["sgemm_gflops"] for one in ours + peer], note=both)


def _mean(runs: list[dict[str, Any]], key: str) -> float:
    return sum(one[key] for one in runs) / len(runs)
