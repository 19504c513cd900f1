"""What is compared, one file for each question. A case takes a `bench.Bench` and returns rows."""

from . import fit, kernel_matrix, memory, speed, start_up

CASES = {
    "fit-10000": fit.ten_thousand,
    "fit-60000": fit.sixty_thousand,
    "kernel-matrix": kernel_matrix.measure,
    "memory": memory.measure,
    "start-up": start_up.measure,
    "speed": speed.measure,
    "busy": speed.measure_busy,
}

WITHOUT_DATA = frozenset({"start-up"})
"""Cases that need no prepared MNIST."""
