"""What is compared, one file a question. A case is given a `bench.Bench` and returns rows."""

from __future__ import annotations

from . import centres, fit, iteration, kernel_matrix, memory, start_up, steps

CASES = {
    "fit-10000": fit.ten_thousand,
    "fit-60000": fit.sixty_thousand,
    "kernel-matrix": kernel_matrix.measure,
    "memory": memory.measure,
    "iteration": iteration.measure,
    "centres": centres.measure,
    "steps": steps.measure,
    "start-up": start_up.measure,
}

WITHOUT_DATA = frozenset({"iteration", "centres", "steps", "start-up"})
"""Those that need no prepared MNIST from the runner."""
