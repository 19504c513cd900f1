"""warm_start: a fit that goes on where the one before it ended, as if the two were one with more epochs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from .. import arrays, training
from ..training import states
from .rows import TrainingSet

WHEN_TO_STOP = frozenset({"max_epochs", "max_seconds", "tol", "n_iter_no_change", "warm_start", "verbose"})
"""Parameters that may change between a fit and its continuation."""

BLOCK_BYTES = 2**25
"""Bytes of the data that are read at a time for their digest."""


@dataclass(frozen=True)
class Ended:
    """Where a fit ended.

    Attributes
    ----------
    digest : str
        Of its data, parameters and seed.
    seed : int
        Which a fit that may go on takes again where ``random_state`` is no int.
    n_epochs : int
        Epochs of it and of those that it went on from.
    held, numbers : dict
        What the state of the solver keeps, on the host.
    """

    digest: str
    seed: int
    n_epochs: int
    held: dict[str, np.ndarray]
    numbers: dict[str, Any]


@dataclass(frozen=True)
class LaterEpochs:
    """The batches of a source from an epoch on.

    Attributes
    ----------
    batches : Batches
    first : int
    """

    batches: training.Batches
    first: int
    names_rows: ClassVar[bool] = True

    def __len__(self) -> int:
        return len(self.batches)

    def of_epoch(self, epoch: int) -> list[slice]:
        """The batches of an epoch, in their order."""
        return self.batches.of_epoch(self.first + epoch)


@dataclass(frozen=True)
class Start:
    """Where a fit begins: at zero, or where the one before it ended.

    Attributes
    ----------
    digest : str or None
        Of the data, the parameters and the seed, if the next fit may go on from this one.
    ended : Ended or None
        Where the fit before ended, if this one goes on from it.
    seed : int
    """

    digest: str | None
    ended: Ended | None
    seed: int

    def batches(self, batches: training.Batches) -> Any:
        """The batches of the epochs that follow."""
        return batches if self.ended is None else LaterEpochs(batches, self.ended.n_epochs)

    def state(self, solver: Any, problem: Any) -> Any:
        """The state of the solver to start from, or None for its own first one."""
        if self.ended is None:
            return None
        state = solver.init(problem)
        held = {name: arrays.like(array, state.coefficients) for name, array in self.ended.held.items()}
        states.put_back(state, (held, dict(self.ended.numbers)))
        return state

    def end(self, run: training.Run) -> Ended | None:
        """Where a run ended, if the next fit may go on from it."""
        if self.digest is None:
            return None
        held, numbers = states.keep(run.state)
        held = {name: np.array(arrays.to_numpy(array)) for name, array in held.items()}
        before = 0 if self.ended is None else self.ended.n_epochs
        return Ended(self.digest, self.seed, before + run.epoch, held, numbers)


def begin(parameters: Mapping[str, Any] | None, ended: Ended | None, rows: TrainingSet, seed: int) -> Start:
    """Where a fit begins.

    It goes on where the fit before ended if data, sample weights, seed and parameters are the same, but for
    `WHEN_TO_STOP`. What a solver keeps beside its coefficients, as dual variables or residuals, belongs to one problem;
    with another it would lead to a wrong solution.

    Parameters
    ----------
    parameters : mapping or None
        Of the estimator; None for a fit that neither goes on from another nor is gone on from.
    ended : Ended or None
        Where the fit before ended.
    """
    if parameters is None:
        return Start(None, None, seed)
    digest = _digest(parameters, [rows.X, rows.y, rows.weights, rows.matrix], seed)
    return Start(digest, ended if ended is not None and ended.digest == digest else None, seed)


def _digest(given: Mapping[str, Any], parts: list[Any], seed: int) -> str:
    parameters = {name: value for name, value in given.items() if name not in WHEN_TO_STOP}
    digest = hashlib.blake2b(repr((sorted(parameters.items()), seed)).encode())
    for part in parts:
        if part is None:
            continue
        for array in (part.data, part.indices, part.indptr) if scipy.sparse.issparse(part) else (np.asarray(part),):
            digest.update(repr((array.dtype.str, array.shape)).encode())
            if array.dtype == object:
                digest.update(repr(array.tolist()).encode())
                continue
            row_bytes = max(1, array.nbytes // max(1, array.shape[0]))
            for rows in arrays.blocks(array.shape[0], max(1, BLOCK_BYTES // row_bytes)):
                digest.update(np.ascontiguousarray(array[rows]).tobytes())
    return digest.hexdigest()
