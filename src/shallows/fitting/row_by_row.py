"""What the fits of machines that visit one example at a time share: rows, the training, outputs, and a warning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from .. import arrays, streams, training
from ..errors import ShallowsError
from ..models.centring import check_scores
from ..models.host_functions import GaussianSum, Hyperplanes
from ..solvers.budgeted.sparse_rows import SparseRows, sparse_rows
from . import column_scales
from .checks import warn_user
from .machine import Options

BATCH = 4096
"""Rows between two looks at the clock and of a block of predictions; it changes no result."""

LARGE_LOSS = 3.0
"""Times the loss of the zero function: so large it is after several epochs if columns differ much in scale."""

OF_A_STREAM = 1e-4
"""λ if the number of rows is not known."""


@dataclass(frozen=True)
class ShuffledRows:
    """All rows in an order that is new every epoch, in pieces."""

    n: int
    seed: int
    names_rows: ClassVar[bool] = True

    def __len__(self) -> int:
        return -(-self.n // BATCH)

    def of_epoch(self, epoch: int) -> list[np.ndarray]:
        """The pieces of an epoch, in their order."""
        order = streams.permutation(self.seed, "rows", epoch, self.n)
        return [order[rows] for rows in arrays.blocks(self.n, BATCH)]


def make_rows(X: Any, numbers: np.ndarray, weights: np.ndarray | None, n_classes: int) -> SparseRows:
    """The rows as the steppers take them; ``numbers`` are their classes, from 0 on."""
    rows = sparse_rows(X, numbers, weights, n_classes)
    with np.errstate(over="ignore"):
        norms = rows.points.multiply(rows.points).sum(axis=1)
    if not np.isfinite(norms).all():
        raise ShallowsError(
            "X holds values whose squares are beyond the numbers. Bring X to a usual scale, for instance with "
            "sklearn.preprocessing.StandardScaler."
        )
    return rows


def train_on_rows(
    stepper: Any, rows: SparseRows, state: Any, seed: int, max_epochs: int | None, options: Options, name: str
) -> training.Run:
    """Train from a state, or from the zero function; without ``max_epochs`` visit the rows once, in their order."""
    n = rows.points.shape[0]
    batches: Any = ShuffledRows(n, seed)
    if max_epochs is None:
        batches = training.Stream(np.arange(n)[some] for some in arrays.blocks(n, BATCH))
        stopping = training.Stopping(1, tolerance=-np.inf)
    else:
        stopping = training.Stopping(max_epochs, max_seconds=options.max_seconds, tolerance=-np.inf)
    observers = [training.Progress(name)] if options.verbose else []
    return training.train(stepper, rows, batches, stopping, observers=observers, state=state)


def chosen_ridge(regularisation: float | None, n: int, before: float | None, *, streamed: bool) -> float:
    """λ as given; else 1/n for all rows, and for a stream the one before or a usual one."""
    if regularisation:
        return float(regularisation)
    if streamed:
        return OF_A_STREAM if before is None else before
    return 1.0 / n


def outputs(model: GaussianSum | Hyperplanes, X: Any) -> np.ndarray:
    """Scores of a fitted machine at checked points, shape (m, c)."""
    X = column_scales.shifted(X, model.offsets)
    out = np.empty((X.shape[0], model.n_outputs))
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in arrays.blocks(X.shape[0], BATCH):
            out[rows] = model.scores(scipy.sparse.csr_array(X[rows], dtype=np.float64))
    check_scores(out, X)
    return out


def warn_of_large_loss(run: training.Run) -> None:
    """Warn if the loss of the last of several epochs is far above that of the zero function."""
    state = run.state
    if run.epoch > 1 and state.loss > LARGE_LOSS * state.zero_loss:
        warn_user(
            f"In the last epoch the loss was on the mean {state.loss / state.zero_loss:.2g} times that of "
            "the zero function. Scale the columns of X, for instance with sklearn.preprocessing.StandardScaler, or "
            "take more epochs.",
        )
