"""What the classifiers that take one example at a time share: fits of all rows, of some, and predictions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse

from ... import arrays, streams, training
from ...errors import ShallowsError
from ...fitting.parameter_checks import check_positive, check_whole
from ...fitting.user_warnings import warn_user
from ...models.kernel_checks import check_scores
from ...solvers.budgeted.sparse_rows import SparseRows, sparse_rows
from .. import model_classes
from ..predictions import LabelPredictions
from ..streaming import first_rows
from ..streaming.labelled_batches import LabelledBatches
from ..streaming.stream_batches import Batch

BATCH = 4096
"""Rows between two looks at the clock and of a block of predictions; it changes no result."""

LARGE_LOSS = 3.0
"""Times the loss of the zero function: so large it is after several epochs where columns differ much in scale."""

OF_A_STREAM = 1e-4
"""λ where the number of rows is not known."""


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


class RowByRowClassifier(LabelPredictions, LabelledBatches):
    """Base of the classifiers that take one example at a time.

    A subclass writes out its constructor and defines `_make_solver`, `_start`, `_keep` and `_scores`. Its fitted model
    is made of arrays and numbers alone, from which `_start` makes a state to go on with.
    """

    def _choose(self, X: Any, y: np.ndarray, weights: np.ndarray | None, seed: int, *, streamed: bool) -> None:
        """Choose parameters from all rows, or from the first ones of a stream."""

    def _make_solver(self, d: int) -> Any:
        """The solver, for points with d columns."""
        raise NotImplementedError

    def _start(self, solver: Any, problem: SparseRows) -> Any:
        """The state of the fitted model."""
        raise NotImplementedError

    def _keep(self, solver: Any, state: Any) -> None:
        """Make the model of a state the fitted one."""
        raise NotImplementedError

    def _scores(self, X: scipy.sparse.csr_array) -> np.ndarray:
        """Scores of the classes, shape (m, n_classes), or of the second class, shape (m, 1)."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self, "regularisation", "max_seconds")
        check_whole(self, "max_epochs")

    @training.keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all of X, y, ``max_epochs`` times.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weights of the losses, in any unit; rows of weight zero are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, one class only.
        ShallowsError
            A parameter out of its range.
        """
        started = time.perf_counter()
        self._check_parameters()
        X, y, weights = self._validated_training_set(X, y, sample_weight)[:3]
        y = model_classes.learn(self, y)
        seed, X = self._seed(), self._centred(X, first=True)
        problem = self._problem(X, y, None if weights is None else weights / weights.mean())
        self.regularisation_ = float(self.regularisation or 1.0 / X.shape[0])
        self._choose(X, y, weights, seed, streamed=False)
        solver = self._make_solver(X.shape[1])
        prepared = time.perf_counter()
        run = training.train(
            solver,
            problem,
            ShuffledRows(X.shape[0], seed),
            training.Stopping(self.max_epochs, max_seconds=self.max_seconds, tolerance=-np.inf),
            observers=self._progress_observers(),
        )
        self._keep(solver, run.state)
        first_rows.end_beginning(self, X.shape[0])
        self.n_epochs_ = self.n_iter_ = max(run.epoch, 1)
        self.n_steps_ = run.state.n_steps
        self.effective_params_ |= {"regularisation": solver.regularisation, "seed": seed, "stopped_by": run.stopped_by}
        self.timings_ = {"preparation": prepared - started, "training": run.seconds}
        if run.epoch > 1 and run.state.loss > LARGE_LOSS * run.state.zero_loss:
            warn_user(
                f"In the last epoch the loss was on the mean {run.state.loss / run.state.zero_loss:.2g} times that of "
                "the zero function. Scale the columns of X, for instance with sklearn.preprocessing.StandardScaler, or "
                "take more epochs.",
            )
        return self

    def _learn(self, batch: Batch, *, begins: bool) -> None:
        started, seed, (X, y, weights) = time.perf_counter(), self._seed(), batch
        X = self._centred(X, first=begins)
        problem = self._problem(X, y, weights)
        if begins or self.regularisation:
            self.regularisation_ = float(self.regularisation or OF_A_STREAM)
        if begins:
            self._choose(X, y, weights, seed, streamed=True)
        solver = self._make_solver(X.shape[1])
        state = solver.init(problem) if begins else self._start(solver, problem)
        run = training.train(
            solver,
            problem,
            training.Stream(np.arange(X.shape[0])[rows] for rows in arrays.blocks(X.shape[0], BATCH)),
            training.Stopping(1, tolerance=-np.inf),
            observers=self._progress_observers(),
            state=state,
        )
        self._keep(solver, run.state)
        self.n_epochs_ = self.n_iter_ = 1
        self.n_steps_ = run.state.n_steps
        self.effective_params_ |= {
            "regularisation": solver.regularisation,
            "seed": seed,
            "stopped_by": "end of the rows",
            "n_rows_begun_with": self._n_begun,
        }
        self.timings_ = {"preparation": time.perf_counter() - started - run.seconds, "training": run.seconds}

    def _problem(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> SparseRows:
        made = sparse_rows(X, np.searchsorted(self.classes_, y), weights, len(self.classes_))
        with np.errstate(over="ignore"):
            norms = made.points.multiply(made.points).sum(axis=1)
        if not np.isfinite(norms).all():
            raise ShallowsError(
                "X holds values whose squares are beyond the numbers. Bring X to a usual scale, for instance with "
                "sklearn.preprocessing.StandardScaler."
            )
        return made

    def _raw_predict(self, X: Any) -> np.ndarray:
        X = self._centred(X, first=False)
        columns = 1 if len(self.classes_) == 2 else len(self.classes_)
        out = np.empty((X.shape[0], columns))
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in arrays.blocks(X.shape[0], BATCH):
                out[rows] = self._scores(scipy.sparse.csr_array(X[rows], dtype=np.float64))
        check_scores(out, X)
        return out

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_steps_")
