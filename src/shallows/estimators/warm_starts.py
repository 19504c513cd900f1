"""warm_start: a fit that goes on where the one before it ended, as if the two were one with more epochs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from .. import arrays, training
from ..training import states
from .base import TrainingSet

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


class Start:
    """Where a fit begins: at zero, or where the one before it ended.

    It goes on if the estimator's ``warm_start`` is true and data, sample weights, seed and parameters are those of the
    fit before, but for `WHEN_TO_STOP`. What a solver keeps beside its coefficients, as dual variables or residuals,
    belongs to one problem; with another it would lead to a wrong solution.

    Parameters
    ----------
    estimator : Estimator
    data : TrainingSet
    seed : int
    """

    def __init__(self, estimator: Any, data: TrainingSet, seed: int):
        self._estimator, self._digest, self._ended, self._seed = estimator, None, None, seed
        if getattr(estimator, "warm_start", False) and not getattr(estimator, "_starts_warm_itself", False):
            self._digest = _digest(estimator, [data.X, data.y, data.weights, data.matrix], seed)
            ended = vars(estimator).get("_ended")
            self._ended = ended if ended is not None and ended.digest == self._digest else None

    def batches(self, batches: training.Batches) -> Any:
        """The batches of the epochs that follow."""
        return batches if self._ended is None else LaterEpochs(batches, self._ended.n_epochs)

    def state(self, solver: Any, problem: Any) -> Any:
        """The state of the solver to start from, or None for its own first one."""
        if self._ended is None:
            return None
        state = solver.init(problem)
        held = {name: arrays.like(array, state.coefficients) for name, array in self._ended.held.items()}
        states.put_back(state, (held, dict(self._ended.numbers)))
        return state

    def remember(self, run: training.Run) -> None:
        """Keep where a run ended in the estimator, if the next fit may go on from it."""
        vars(self._estimator).pop("_ended", None)
        if self._digest is not None:
            held, numbers = states.keep(run.state)
            held = {name: np.array(arrays.to_numpy(array)) for name, array in held.items()}
            before = 0 if self._ended is None else self._ended.n_epochs
            self._estimator._ended = Ended(self._digest, self._seed, before + run.epoch, held, numbers)


def _digest(estimator: Any, parts: list[Any], seed: int) -> str:
    parameters = {name: value for name, value in estimator.get_params().items() if name not in WHEN_TO_STOP}
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
