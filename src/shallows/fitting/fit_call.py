"""A call of ``fit``: how it runs, the fit that it continues, and its result."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays, training
from ..solvers.settings import Settings
from .calibration import LeftOut
from .machine import Options, Phases
from .rows import EarlyStopping, HeldOut, TrainingSet

WHEN_TO_STOP = frozenset(
    {"max_epochs", "max_iterations", "max_passes", "max_seconds", "tol", "n_iter_no_change", "patience"}
    | {"warm_start", "verbose"}
)
"""Parameters of estimators, solvers, options and early stopping that may change between a fit and its continuation."""

BLOCK_BYTES = 2**25
"""Bytes of the data that are read at a time for their digest."""


@dataclass(frozen=True)
class Ended:
    """Where a fit ended."""

    digest: str  # Of its data, parameters and seed
    seed: int  # A fit that continues uses it again if ``random_state`` is no int
    n_epochs: int  # Epochs of this fit and of those that it continued
    held: dict[str, np.ndarray]  # The arrays of the solver's state, on the host
    numbers: dict[str, Any]  # The numbers of the solver's state


@dataclass(frozen=True)
class FittedFunction:
    """The result of a fit of a function in steps."""

    model: Any  # `KernelSum` or `FeatureFunction`
    targets: Any  # with the calibration of classes
    support: np.ndarray | None  # numbers of the user's rows that are centers of the kernel functions
    run: training.Run
    report: dict[str, Any]  # entries of ``report_``
    seconds: dict[str, float]  # of each phase
    ended: Ended | None  # where the next fit may continue
    left_out: LeftOut | None = None  # outputs at rows that were left out, for a calibration and for intervals


@dataclass(frozen=True)
class Start:
    """Where a fit starts: at zero, or where the fit before it ended."""

    digest: str | None  # Of the data, the parameters and the seed, if the next fit may continue this one
    ended: Ended | None  # Where the fit before ended, if this fit continues it
    seed: int
    epoch: int = 0  # Epochs of the fits before

    def state(self, solver: Any, problem: Any) -> Any:
        """The state of the solver to start from; None for its own first state."""
        if self.ended is None:
            return None
        state = solver.init(problem)
        held = {name: arrays.like(array, state.coefficients) for name, array in self.ended.held.items()}
        state.recall(held, dict(self.ended.numbers))
        return state

    def end(self, run: training.Run) -> Ended | None:
        """Where a run ended, if the next fit may continue it."""
        if self.digest is None:
            return None
        held, numbers = run.state.remember()
        held = {name: np.array(arrays.to_numpy(array)) for name, array in held.items()}
        return Ended(self.digest, self.seed, self.epoch + run.epoch, held, numbers)


@dataclass(frozen=True)
class FitCall:
    """How a fit runs: seed, options, observers, checkpoint, rows that are held out, and the fit that it continues."""

    seed: int
    options: Options
    observers: Sequence[training.Observer] = ()
    checkpoint: training.Checkpoint | None = None
    early_stopping: EarlyStopping | None = None
    parameters: Mapping[str, Any] | None = None  # Of the estimator; None if no fit is continued
    before: Ended | None = None  # Where the last fit ended
    max_seconds: float | None = None  # Of a call on a stream; the limit of other fits is in the options

    def begin(self, rows: TrainingSet) -> Start:
        """Where the fit starts.

        It continues the fit before if data, weights, seed and parameters except stopping are equal, because the state
        of a solver belongs to one problem.
        """
        if self.parameters is None:
            return Start(None, None, self.seed)
        digest = _digest(self.parameters, [rows.X, rows.y, rows.weights, rows.matrix], self.seed)
        if self.before is None or self.before.digest != digest:
            return Start(digest, None, self.seed)
        return Start(digest, self.before, self.seed, self.before.n_epochs)

    def stopping(
        self,
        epochs: int,
        held_out: HeldOut | None,
        tolerance: float,
        phases: Phases | None = None,
        least_fall: float = 0.0,
    ) -> training.Stopping:
        """When the training ends, also by the error of held-out rows. The seconds of the ``phases`` so far count."""
        seconds = self.options.max_seconds
        if seconds is not None and phases is not None:
            seconds = phases.seconds_left(seconds)
        rules = training.Stopping(epochs, None, seconds, tolerance, least_fall)
        if held_out is None or self.early_stopping is None:
            return rules
        return replace(rules, validate=held_out.error, patience=self.early_stopping.patience)


def _digest(given: Mapping[str, Any], parts: list[Any], seed: int) -> str:
    parameters: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Settings | Options | EarlyStopping):
            own = {field: part for field, part in vars(value).items() if field not in WHEN_TO_STOP}
            value = (type(value).__name__, sorted(own.items()))
        if name not in WHEN_TO_STOP:
            parameters[name] = value
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
