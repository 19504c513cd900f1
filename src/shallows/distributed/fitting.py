"""Fit an estimator with all processes of an MPI program."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse

from .. import arrays, training
from ..errors import ShallowsError
from ..estimators.base import keeps_model_on_failure
from ..estimators.doubly_stochastic.dsg_novelty_detector import DoublyStochasticNoveltyDetector
from ..estimators.doubly_stochastic.random_feature_expansion import RandomFeatureExpansion
from ..estimators.least_squares.kernel_ridge import KernelRidgeMachine
from ..fitting.machine import Options
from ..utils import frozen
from .mpi import Mpi

Model = TypeVar("Model")

MAY_DIFFER = frozenset({"device", "memory", "verbose", "random_state", "preconditioner"})
"""Parameters that may differ between processes, or that the processes agree on in another way."""

SAMPLED_ROWS = 64
"""Number of rows that are compared between processes."""


def fit(
    estimator: Model,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    communicator: Any = None,
    observers: Sequence[training.Observer] = (),
    checkpoint: training.Checkpoint | None = None,
) -> Model:
    """Fit an estimator with all processes of an MPI program.

    Every process calls this function with the same estimator and data, and has the whole model afterwards. The model is
    the same for any number of processes, up to rounding. Start the program with ``mpiexec -n 4 python program.py``, or
    with ``srun`` in a Slurm job.

    Parameters
    ----------
    estimator
        `KernelRidgeClassifier` with ``solver="eigenpro"`` or a solver on centers, `DoublyStochasticClassifier`, or a
        regressor of these. It is fitted in place.
    X : array-like, shape (n_samples, n_features)
        Use a memory map if processes share a machine.
    y : array-like, shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : array-like, shape (n_samples,), optional
    communicator : mpi4py.MPI.Comm, optional
        The processes; None means all processes of the program.
    observers : sequence of shallows.training.Observer
        Each process calls its own observers. All processes compute each evaluation together, so they must evaluate at
        the same times.
    checkpoint : shallows.training.Checkpoint, optional
        Continue from this checkpoint if it exists, and update it. Rank 0 reads and writes it. The number of processes
        may change in between.

    Returns
    -------
    estimator

    Raises
    ------
    MissingExtraError
        If mpi4py is not installed.
    ShallowsError
        If several processes cannot fit the estimator, or if versions, parameters or data differ between processes. An
        error in only one process ends the program.

    Notes
    -----
    Values that depend on the free memory, such as ``n_subsample`` for many points, can change with the number of
    processes on a machine; set them to a number. EigenPro always takes its own steps here, and never steps of
    conjugate residuals.
    """
    divided = divided_arrays(estimator)
    with Mpi(communicator) as ranks, ranks.ending_together(), _share_of_processors(ranks):
        fit_share(estimator, divided, ranks, X, y, sample_weight, observers, checkpoint)
    return estimator


@keeps_model_on_failure
def fit_share(
    estimator: Any,
    divided: tuple[str, ...] | None,
    ranks: Mpi,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    observers: Sequence[training.Observer] = (),
    checkpoint: training.Checkpoint | None = None,
) -> None:
    """Run the part of one process of `fit`. ``divided``: see `divided_arrays`."""
    ranks.check_same(_parameters(estimator), "parameters")
    ranks.check_same(_data_digest(X, y, sample_weight), "data")
    refuse_parameters(estimator)
    if checkpoint is not None:
        checkpoint = DistributedCheckpoint(checkpoint, ranks, divided)
    estimator._fit(X, y, sample_weight, observers, checkpoint, ranks)


class DistributedCheckpoint:
    """A `Checkpoint` that rank 0 reads and writes, with the arrays of all processes.

    ``divided``: last parts of the names of the arrays of which each process has its own rows; None means all arrays.
    """

    def __init__(self, checkpoint: training.Checkpoint, ranks: Mpi, divided: tuple[str, ...] | None):
        self._checkpoint, self._ranks, self._divided = checkpoint, ranks, divided
        self.n_resumes, self.stop_requested = 0, False

    @property
    def path(self) -> Path:
        """The file."""
        return self._checkpoint.path

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
        return [name for name in held if self._divided is None or name.rpartition(".")[2] in self._divided]


def divided_arrays(estimator: Any) -> tuple[str, ...] | None:
    """Names of the arrays of a checkpoint of which each process has its own rows; None for all arrays.

    Raises
    ------
    ShallowsError
        If several processes cannot fit the estimator.
    """
    if isinstance(estimator, RandomFeatureExpansion) and not isinstance(estimator, DoublyStochasticNoveltyDetector):
        return ("buffer",)
    what = type(estimator).__name__
    if isinstance(estimator, KernelRidgeMachine):
        solver = estimator._settings()
        on_centers = estimator._takes_centers(solver)
        if on_centers if solver is None else solver.takes_ranks:
            return () if on_centers else None
        what = f"{what} with solver={estimator.solver!r}"
    raise ShallowsError(
        f"{what} cannot be fitted by several processes. KernelRidgeClassifier with solver='eigenpro' or with centers, "
        "DoublyStochasticClassifier, and their regressors can."
    )


def refuse_parameters(estimator: Any) -> None:
    """Raise an error for parameters that several processes cannot use."""
    if isinstance(estimator.kernel, str) and estimator.kernel == "precomputed":
        raise ShallowsError("Several processes compute their own kernel values; kernel='precomputed' is not supported.")
    if estimator._options().max_seconds is not None:
        raise ShallowsError(
            "Several processes would not stop at the same time with max_seconds; use n_iter or max_epochs instead."
        )
    if getattr(getattr(estimator, "solver", None), "shuffle", False):
        raise ShallowsError("Several processes need the same batches in every epoch; use shuffle=False.")
    if getattr(estimator, "warm_start", False):
        raise ShallowsError("warm_start=True works in one process only; use a checkpoint with several processes.")


def _parameters(estimator: Any) -> str:
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


def _data_digest(X: Any, y: Any, sample_weight: Any) -> str:
    """The shape of the data, and a digest of targets, weights and some rows."""
    X = X if scipy.sparse.issparse(X) or hasattr(X, "shape") else np.asarray(X)
    digest, n = hashlib.sha256(), X.shape[0]
    some = X[:: max(1, n // SAMPLED_ROWS)]
    for part in (some.toarray() if scipy.sparse.issparse(some) else some, y, sample_weight):
        if part is not None:
            part = np.asarray(arrays.to_numpy(part) if hasattr(part, "shape") else part)
            digest.update(part.tobytes() if part.dtype != object else repr(part.tolist()).encode())
    return f"{n} rows of {X.shape[1:]} features, digest {digest.hexdigest()[:12]}"


@contextlib.contextmanager
def _share_of_processors(ranks: Mpi) -> Iterator[None]:
    """Limit the threads of this process if all processes of a machine may use the same processors."""
    import threadpoolctl

    if not hasattr(os, "sched_getaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    shared = ranks.on_this_node > 1 and len(allowed) > 1
    limit = max(1, len(allowed) // ranks.on_this_node) if shared and not _bound(ranks, allowed) else None
    with threadpoolctl.threadpool_limits(None if limit is None else min(limit, arrays.n_threads()), user_api="blas"):
        yield


def _bound(ranks: Mpi, allowed: set[int]) -> bool:
    """Whether a process may use other processors than rank 0."""
    return ranks.any(sorted(allowed) != ranks.from_first(sorted(allowed)))
