"""The fit of an estimator by all processes of an MPI program."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse

from .. import arrays, training
from ..errors import ShallowsError
from ..estimators.doubly_stochastic.dsg_novelty_detector import DoublyStochasticNoveltyDetector
from ..estimators.doubly_stochastic.random_feature_expansion import RandomFeatureExpansion
from ..estimators.least_squares.eigenpro import EigenProMachine
from ..estimators.least_squares.eigenpro_centres import EigenProCentresMethod
from .checkpoints import EVERY_ARRAY, NO_ARRAY, DistributedCheckpoint
from .mpi import Mpi

Model = TypeVar("Model")

MAY_DIFFER = frozenset({"device", "memory", "verbose", "random_state", "preconditioner"})
"""Parameters that need not be the same in all processes, or that are agreed on by other means."""

SAMPLED_ROWS = 64
"""Rows of the data by which processes make sure that they have the same."""


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
    """Fit an estimator by all processes of an MPI program together.

    Every process calls this with the same estimator and data, and has the whole fitted model afterwards, which is the
    same for any number of processes, but for rounding. To start a program of four processes:
    ``mpiexec -n 4 python program.py``, or ``srun`` in a job of Slurm.

    Parameters
    ----------
    estimator
        `EigenProClassifier`, `EigenProCentresClassifier`, `DoublyStochasticClassifier` or one of their regressors. It
        is fitted in place.
    X : array-like, shape (n_samples, n_features)
        A memory map is best where processes share a machine.
    y : array-like, shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : array-like, shape (n_samples,), optional
    communicator : mpi4py.MPI.Comm, optional
        The processes; None takes all of the program.
    observers : sequence of shallows.training.Observer
        Each process calls its own. What they evaluate is computed by all processes, so they must evaluate at the same
        points of the training.
    checkpoint : shallows.training.Checkpoint, optional
        Go on from it if it exists, and keep it up to date. Rank 0 reads and writes it; the number of processes may be
        another one than that which wrote it.

    Returns
    -------
    estimator

    Raises
    ------
    MissingExtraError
        If mpi4py is not installed.
    ShallowsError
        If the estimator cannot be fitted by several processes, or the processes differ in their versions, parameters
        or data. An error that one process meets alone ends the program.

    Notes
    -----
    What is chosen by the memory, such as ``n_subsample`` of many points, may differ where more processes share a
    machine; a number that is given is the same for all of them. EigenPro takes its own steps here also where a single
    process would take those of conjugate residuals, with few and large batches.
    """
    kind = kind_of(estimator)
    with Mpi(communicator) as ranks, ranks.ending_together(), _share_of_processors(ranks):
        fit_share(estimator, kind, ranks, X, y, sample_weight, observers, checkpoint)
    return estimator


@training.keeps_model_on_failure
def fit_share(
    estimator: Any,
    kind: type,
    ranks: Mpi,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    observers: Sequence[training.Observer] = (),
    checkpoint: training.Checkpoint | None = None,
) -> None:
    """Do the share of one process in a fit; see `fit`. ``kind``: see `kind_of`."""
    ranks.same(_parameters(estimator), "parameters")
    ranks.same(_data_digest(X, y, sample_weight), "data")
    refuse_parameters(estimator)
    if checkpoint is not None:
        checkpoint = DistributedCheckpoint(checkpoint, ranks, DIVIDED_ARRAYS[kind])
    estimator._fit(X, y, sample_weight, observers, checkpoint, ranks)


DIVIDED_ARRAYS = {EigenProMachine: EVERY_ARRAY, EigenProCentresMethod: NO_ARRAY, RandomFeatureExpansion: ("buffer",)}
"""The arrays of a checkpoint of which each process has its own rows, for each kind of estimator."""


def kind_of(estimator: Any) -> type:
    """The class of `DIVIDED_ARRAYS` that an estimator belongs to."""
    for kind in DIVIDED_ARRAYS:
        if isinstance(estimator, kind) and not isinstance(estimator, DoublyStochasticNoveltyDetector):
            return kind
    raise ShallowsError(
        f"{type(estimator).__name__} cannot be fitted by several processes. EigenPro, EigenPro on centres and "
        "doubly stochastic gradients can, as classifiers and as regressors."
    )


def refuse_parameters(estimator: Any) -> None:
    """Refuse what several processes cannot do together."""
    if isinstance(estimator.kernel, str) and estimator.kernel == "precomputed":
        raise ShallowsError("A distributed training computes its kernel values; kernel='precomputed' has them.")
    if estimator.max_seconds is not None:
        raise ShallowsError(
            "Processes of a distributed training do not end after the same number of seconds; use n_iter or "
            "max_epochs in place of max_seconds."
        )
    if getattr(estimator, "shuffle", False):
        raise ShallowsError("Processes divide the rows of batches that stay the same; take shuffle=False.")
    if getattr(estimator, "warm_start", False):
        raise ShallowsError(
            "warm_start=True keeps the state of a solver in one process; with several, use a checkpoint."
        )


def _parameters(estimator: Any) -> str:
    """The class and the parameters of an estimator as text, without those that may differ."""
    parameters = estimator.get_params(deep=False).items()
    given = {name: _text_of(value) for name, value in sorted(parameters) if name not in MAY_DIFFER}
    return f"{type(estimator).__name__}({', '.join(f'{name}={value}' for name, value in given.items())})"


def _text_of(value: Any) -> str:
    """A parameter as text, without addresses in memory."""
    if isinstance(value, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:12]
    return getattr(value, "__qualname__", None) or repr(value)


def _data_digest(X: Any, y: Any, sample_weight: Any) -> str:
    """The shape of the data and a digest of targets, weights and some rows of the points."""
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
    """Limit the threads of this process where the processes of a node were all given the same processors."""
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
    """Whether some process has other processors than rank 0."""
    return ranks.any(sorted(allowed) != ranks.from_first(sorted(allowed)))
