"""Few and large batches: EigenPro's conjugate residuals beside its averaged steps, in errors and in time.

``python benchmarks/batches.py`` takes a random part of the training points of MNIST (``--dataset`` names another of
``steps.py``), holds a fifth of it out, and fits the rest in 2, 4, 8 and 16 batches an epoch: once as the certified rule
does, through conjugate residuals, and once with the averaged steps that it takes where batches are more. It prints the
validation errors after 1, 2, 4 and 8 epochs, the training loss after the last, and the time of an epoch (the
least of all but the first) over that of the averaged steps; ``--memory 0.2GB`` leaves most of the matrix to be made
anew. A mirror of the data in SHALLOWS_MIRROR is tried first.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from steps import DATA, subset

from shallows import KernelRidgeClassifier, Options, streams, training
from shallows.solvers import EigenPro
from shallows.solvers.least_squares import step_rules

SHOWN = (1, 2, 4, 8)


def main() -> None:
    """Fit in every number of batches, both ways, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parent / "data")
    parser.add_argument("--dataset", default="mnist", choices=list(DATA))
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--batches", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--rank", type=int, default=160)
    parser.add_argument("--subsample", type=int, default=2000)
    parser.add_argument("--memory", help="of a fit; a share of what is free")
    asked = parser.parse_args()
    x, codes = subset(asked.dataset, asked.data, asked.points)
    order = streams.permutation(0, "validation", 0, len(x))
    x, y = x[order].astype(np.float32), (codes.argmax(axis=1) if codes.shape[1] > 1 else codes[:, 0] > 0)[order]
    n = len(x) * 4 // 5
    print(
        f"{asked.dataset}, {n} points; validation error in % after {', '.join(map(str, SHOWN))} epochs; training loss"
    )
    for n_batches in asked.batches:
        found = {}
        for name, few in (("averaged steps", 0), ("conjugate residuals", n_batches)):
            with mock.patch.object(step_rules, "FEW", few):
                found[name] = fitted(x[:n], y[:n], x[n:], y[n:], -(-n // n_batches), asked)
        base = found["averaged steps"]["seconds"]
        for name, one in found.items():
            errors = ", ".join(f"{one['errors'][epoch - 1]:.2f}" for epoch in SHOWN)
            print(
                f"  {n_batches:3} batches, {name:20} {errors}; {one['loss']:.4f}; time of an epoch "
                f"{one['seconds'] / base:.2f}, of the first {one['first'] / base:.2f} (kept {one['kept']:.2f})"
            )


def fitted(
    x: np.ndarray, y: np.ndarray, x_new: np.ndarray, y_new: np.ndarray, m: int, asked: argparse.Namespace
) -> dict[str, Any]:
    """A fit, watched after each epoch."""
    errors, losses, seconds = [], [], [0.0]

    class Watch(training.Observer):
        def on_epoch(self, run: training.Run) -> None:
            seconds.append(run.seconds)
            snapshot = run.snapshot()
            errors.append(100 * float(np.mean(snapshot.predict(x_new) != y_new)))
            losses.append(snapshot.training_square_loss(y))

    model = KernelRidgeClassifier(
        solver=EigenPro(rank=asked.rank, n_subsample=asked.subsample, batch_size=m, max_epochs=max(SHOWN), tol=0.0),
        random_state=0,
        options=Options(memory=asked.memory),
    ).fit(x, y, observers=[Watch()])
    each = np.diff(seconds)
    kept = model.report_["kept_fraction"]
    return {"errors": errors, "loss": losses[-1], "seconds": min(each[1:]), "first": each[0], "kept": kept}


if __name__ == "__main__":
    main()
