"""Sets the estimates for an H100 beside what was measured on one, and says what each paper's headline takes.

    python benchmarks/device_model.py

The rows were measured with an H100 80 GB, CuPy 14.2 and CUDA 13 by ``benchmarks/gpu.py`` and by hand, before steps were
joined into fewer launches. "Fitted" are the rows from which a constant of `planning/gpu_costs.py` was taken; the others
were set aside.
"""

from __future__ import annotations

from shallows_papers.experiments.planning import gpu_costs
from shallows_papers.experiments.planning.costs import ProblemSize

#: What was measured: model, sizes (training and test points, features, outputs), parameters, epochs or iterations,
#: seconds, and whether a constant was taken from it.
ROWS = [
    ("a million digits, one epoch", "kernel_epochs", ProblemSize(10**6, 10_000, 784, 10), {}, 1, 57.0, True),
    ("60,000 digits, five epochs of 645 steps in all", "kernel_epochs", ProblemSize(60_000, 10_000, 784, 10),
     {"batch_size": 465}, 5, 2.0, True),
    ("doubly SGD, 60,000 digits, 60 steps of 1,024 features", "growing", ProblemSize(60_000, 10_000, 784, 10),
     {"block_size": 1024, "batch_size": 10_240}, 60, 4.3, True),
    ("Table 6's run, 40 epochs in batches of 256", "kernel_epochs", ProblemSize(60_000, 10_000, 784, 10),
     {"batch_size": 256}, 40, 26.0, False),
    ("10^6 points of 18 features, one epoch", "kernel_epochs", ProblemSize(10**6, 0, 18, 1), {"batch_size": 640}, 1,
     10.2, False),
    ("400,000 points of 440 features, 144 outputs, one epoch", "kernel_epochs", ProblemSize(400_000, 0, 440, 144), {},
     1, 10.5, False),
    ("the same, an epoch of 20,000 centres", "centre_epochs", ProblemSize(400_000, 0, 440, 144), {"centres": 20_000}, 1,
     0.45, False),
    ("10^6 points of 18 features, an epoch of 10,000 centres", "centre_epochs", ProblemSize(10**6, 0, 18, 1),
     {"centres": 10_000}, 1, 0.103, False),
    ("60,000 centres, 10^6 digits, an epoch", "centre_epochs", ProblemSize(10**6, 0, 784, 10), {"centres": 60_000}, 1,
     2.6, False),
]  # fmt: skip


def estimates() -> list[tuple[str, float, float, bool]]:
    """Each row with what was measured and what is estimated; of centres an epoch alone, as it was measured."""
    found = []
    for name, model, size, parameters, mark, measured, fitted in ROWS:
        if model == "centre_epochs":
            m, c = parameters["centres"], size.n_classes
            seconds = gpu_costs.values(gpu_costs.H100, size.n_train, m, size.n_features, 2 * c)
        else:
            seconds = gpu_costs.MODELS[model](gpu_costs.H100, size, parameters, (mark,)).seconds
        found.append((name, measured, seconds, fitted))
    return found


def main() -> None:
    """Print both tables."""
    print("| on an H100 | measured s | estimated s | factor | |")
    print("|---|---|---|---|---|")
    for name, measured, seconds, fitted in estimates():
        factor = max(measured / seconds, seconds / measured)
        print(f"| {name} | {measured:g} | {seconds:.3g} | {factor:.2f} | {'fitted' if fitted else 'set aside'} |")


if __name__ == "__main__":
    main()
