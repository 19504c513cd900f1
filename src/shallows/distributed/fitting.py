"""What the processes of a fit check together, and their checkpoint."""

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays, training
from ..errors import ShallowsError
from ..fitting.machine import Options
from ..kernels import precomputed
from ..utils import frozen

MAY_DIFFER = frozenset({"device", "memory", "verbose", "random_state", "preconditioner"})
"""Parameters that may differ between processes, or that the processes agree on in another way."""

SAMPLED_ROWS = 64
"""Number of rows that are compared between processes."""


class DistributedCheckpoint:
    """A `Checkpoint` that rank 0 reads and writes, with the arrays of all processes.

    ``divided``: last parts of the names of the arrays of which each process has its own rows; "*" means all arrays.
    """

    def __init__(self, checkpoint: training.Checkpoint, ranks: Any, divided: tuple[str, ...]):
        self._checkpoint, self._ranks, self._divided = checkpoint, ranks, divided
        self.path, self.n_resumes, self.stop_requested = checkpoint.path, 0, False

    def acquire(self) -> None:
        """Lock the folder."""
        self._ranks.on_first(self._checkpoint.acquire)

    def release(self) -> None:
        """Unlock the folder. Not a collective operation: a process that failed calls it too."""
        if self._ranks.rank == 0:
            self._checkpoint.release()

    def restore(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """The arrays of this process and the notes in the last checkpoint; None without a checkpoint."""
        restored = self._ranks.on_first(self._checkpoint.restore)
        if restored is None:
            return None
        self.n_resumes = self._ranks.from_first(self._checkpoint.n_resumes)
        held, notes = restored
        own = {
            name: np.ascontiguousarray(held[name][self._ranks.own_rows(len(held[name]))]) for name in self._names(held)
        }
        return held | own, notes

    def due(self) -> bool:
        """Whether it is time for rank 0 to write, or any process was asked to stop."""
        self.stop_requested = self._ranks.any(self._checkpoint.stop_requested)
        return self.stop_requested or self._ranks.from_first(self._checkpoint.due())

    def save(self, held: dict[str, np.ndarray], notes: dict[str, Any]) -> None:
        """Write the arrays of all processes."""
        ranks = self._ranks
        whole = {name: ranks.gather(held[name], ranks.total(len(held[name]))) for name in self._names(held)}
        ranks.on_first(lambda: self._checkpoint.save(held | whole, notes))

    def _names(self, held: dict[str, np.ndarray]) -> list[str]:
        """Names of the divided arrays."""
        return [name for name in held if {"*", name.rpartition(".")[2]} & {*self._divided}]


def check_estimator(estimator: Any) -> None:
    """Refuse an estimator, or parameters of it, that several processes cannot use."""
    if not hasattr(estimator, "_divided_arrays") or estimator._divided_arrays() is None:
        solver = getattr(estimator, "solver", None)
        raise ShallowsError(
            f"{type(estimator).__name__} with solver={solver!r} cannot be fitted by several processes. "
            "KernelRidgeClassifier with solver='eigenpro' or with centers, DoublyStochasticClassifier, and their "
            "regressors can."
        )
    if precomputed.is_asked_for(estimator):
        raise ShallowsError("Several processes compute their own kernel values; kernel='precomputed' is not supported.")
    if estimator._options().max_seconds is not None:
        raise ShallowsError(
            "Several processes would not stop at the same time with max_seconds; use n_iter or max_epochs instead."
        )
    if getattr(getattr(estimator, "solver", None), "shuffle", False):
        raise ShallowsError("Several processes need the same batches in every epoch; use shuffle=False.")
    if getattr(estimator, "warm_start", False):
        raise ShallowsError("warm_start=True works in one process only; use a checkpoint with several processes.")


def parameters_of(estimator: Any) -> str:
    """The class and the parameters of an estimator as text, without parameters that may differ."""
    given = {
        name: type(value).__name__ if frozen.is_frozen(value) else _text_of(value)
        for name, value in sorted(estimator.get_params().items())
        if name.rpartition("__")[2] not in MAY_DIFFER
    }
    return f"{type(estimator).__name__}({', '.join(f'{name}={value}' for name, value in given.items())})"


def _text_of(value: Any) -> str:
    """A parameter as text, without memory addresses, and without options that may differ."""
    if isinstance(value, Options):
        return repr(replace(value, device="auto", memory=None, verbose=0))
    if isinstance(value, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:12]
    return getattr(value, "__qualname__", None) or repr(value)


def data_digest(X: Any, y: Any, sample_weight: Any) -> str:
    """The shape of the data, and a digest of targets, weights and some rows."""
    X = X if scipy.sparse.issparse(X) or hasattr(X, "shape") else np.asarray(X)
    digest, n = hashlib.sha256(), X.shape[0]
    some = X[:: max(1, n // SAMPLED_ROWS)]
    for part in (some.toarray() if scipy.sparse.issparse(some) else some, y, sample_weight):
        if part is not None:
            part = np.asarray(arrays.to_numpy(part) if hasattr(part, "shape") else part)
            digest.update(part.tobytes() if part.dtype != object else repr(part.tolist()).encode())
    return f"{n} rows of {X.shape[1:]} features, digest {digest.hexdigest()[:12]}"
