"""The processes of an MPI program: sums, messages, and the end of the program after an error in one process."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import platform
import sys
import time
import traceback
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .. import arrays
from ..arrays import Array
from ..errors import MissingExtraError, ShallowsError
from ..ranks import Alone
from ..solvers.expansions.doubly_stochastic import DoublyStochasticStepper
from ..solvers.least_squares.eigenpro import EigenPro
from .eigenpro import DistributedEigenProSettings
from .expansions import DistributedDoublyStochastic
from .fitting import DistributedCheckpoint, check_estimator, data_digest, parameters_of

GRACE_SECONDS = 10.0
"""Time that a failed process waits for the others to fail too, before it ends the program."""

STARTERS_SAY = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS")
"""Environment variables with the number of processes, set by MPICH, Open MPI, Intel MPI and Slurm."""

Value = TypeVar("Value")


class Mpi(Alone):
    """The processes of an MPI program, which fit an estimator together: ``model.fit(X, y, ranks=Mpi())``.

    Every process calls ``fit`` with the same estimator and data, and has the whole model afterwards. The model is the
    same for any number of processes, up to rounding. Start the program with ``mpiexec -n 4 python program.py``, or with
    ``srun`` in a Slurm job. Rank 0 reads and writes a checkpoint; the number of processes may change in between. Each
    process calls its own observers, which must evaluate at the same times.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm, optional
        The processes; None means all processes of the program.

    Attributes
    ----------
    rank, size : int
        Number of this process, and number of processes.
    n_values, n_bytes : int
        Kernel or feature values that this process has computed for the steps; bytes that it has contributed to sums.

    Raises
    ------
    MissingExtraError
        If mpi4py is not installed.
    ShallowsError
        From ``fit``: if several processes cannot fit the estimator, or if versions, parameters or data differ between
        processes. An error in only one process ends the program.

    Notes
    -----
    Values that depend on the free memory, such as ``n_subsample`` for many points, can change with the number of
    processes on a machine; set them to a number. EigenPro always takes its own steps, and never steps of conjugate
    residuals. A bandwidth may be chosen differently on machines of different kinds; give it as a number.
    """

    # All methods except `own_rows`, `local`, `piece`, `divide` and `count` are collective operations: all processes
    # must call them in the same order.

    n_values = 0
    n_bytes = 0

    def __init__(self, communicator: Any = None):
        mpi = _mpi()
        given = mpi.COMM_WORLD if communicator is None else communicator
        self._mpi = mpi
        # Copies of the communicator, so that messages do not mix with the user's messages, or with failures.
        self._comm, self._failures = given.Dup(), given.Dup()
        self.rank, self.size = self._comm.Get_rank(), self._comm.Get_size()
        if communicator is None and self.size < n_started():
            raise ShallowsError(
                f"{n_started()} processes were started, but MPI connects only {self.size} of them: the program was not "
                "started by this MPI library. Use its own mpiexec, or in a Slurm job another option of srun, such "
                "as srun --mpi=pmi2 (see srun --mpi=list)."
            )
        node = self._comm.Split_type(mpi.COMM_TYPE_SHARED)
        self.on_this_node = node.Get_size()
        node.Free()
        self.check_same(versions(), "versions of the programs")

    def __enter__(self) -> Mpi:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self._comm.Free()
            self._failures.Free()

    def divide(self, solver: Any) -> Any:  # noqa: D102
        if isinstance(solver, EigenPro):
            return DistributedEigenProSettings(**vars(solver), ranks=self)
        if isinstance(solver, DoublyStochasticStepper):
            return DistributedDoublyStochastic(**vars(solver), ranks=self)
        return solver

    def count(self, n_values: int) -> None:  # noqa: D102
        self.n_values += n_values

    # ---------------------------------------------------------------------------------------- messages

    def sum(self, x: Array) -> Array:  # noqa: D102
        host = np.ascontiguousarray(arrays.to_numpy(x))
        self.n_bytes += host.nbytes
        total = np.empty_like(host)
        self._comm.Reduce(host, total, op=self._mpi.SUM, root=0)
        # Not Allreduce: its result may have different bits in different processes, and so decisions could differ.
        self._comm.Bcast(total, root=0)
        return arrays.like(total, x)

    def sum_with_row(self, x: Array, row: Any) -> tuple[Array, Array]:  # noqa: D102
        xp = arrays.namespace(x)
        summed = self.sum(xp.concat([x, xp.zeros((1, x.shape[1]), dtype=x.dtype) + row]))
        return arrays.contiguous(summed[:-1, :]), summed[-1:, :]

    def gather(self, x: Array, n: int) -> Array:  # noqa: D102
        host = np.zeros((n, *x.shape[1:]), dtype=str(x.dtype))
        host[self.own_rows(n)] = arrays.to_numpy(x)
        total = np.empty_like(host)
        self._comm.Allreduce(host, total, op=self._mpi.SUM)  # exact: each element is one number plus zeros
        return arrays.like(total, x)

    def from_first(self, value: Value) -> Value:  # noqa: D102
        return self._comm.bcast(value if self.rank == 0 else None, root=0)

    def on_first(self, work: Callable[[], Value]) -> Value:
        """Call a function in rank 0 only; all processes get its result or raise its error."""
        done: tuple[Any, BaseException | None] = (None, None)
        if self.rank == 0:
            try:
                done = (work(), None)
            except Exception as error:
                done = (None, _sendable(error))
        value, error = self._comm.bcast(done, root=0)
        if error is not None:
            raise error
        return value

    def any(self, value: bool) -> bool:
        """Whether the value is true in at least one process."""
        return bool(self._comm.allreduce(bool(value), op=self._mpi.LOR))

    def share_of(self, budget: int, given: Any) -> int:  # noqa: D102
        own = budget if given is not None else budget // self.on_this_node
        return int(self._comm.allreduce(int(own), op=self._mpi.MIN))

    def total(self, value: int) -> int:
        """The sum of the values of all processes."""
        return int(self._comm.allreduce(int(value), op=self._mpi.SUM))

    def check_same(self, value: Hashable, what: str) -> None:  # noqa: D102
        found = self._comm.allgather(value)
        other = next((rank for rank in range(self.size) if found[rank] != found[0]), None)
        if other is not None:
            raise ShallowsError(
                f"The processes of a distributed training must agree, but their {what} differ: rank 0 has "
                f"{found[0]}, rank {other} has {found[other]}."
            )

    # ---------------------------------------------------------------------------------------- a fit, and failures

    @contextlib.contextmanager
    def fit_together(self, estimator: Any, data: tuple[Any, ...], checkpoint: Any) -> Iterator[Any]:  # noqa: D102
        with self.ending_together(), self.sharing_processors():
            self.check_same(parameters_of(estimator), "parameters")
            self.check_same(data_digest(*data), "data")
            check_estimator(estimator)
            yield checkpoint and DistributedCheckpoint(checkpoint, self, estimator._divided_arrays())

    @contextlib.contextmanager
    def sharing_processors(self) -> Iterator[None]:
        """Limit the threads of this process if all processes of a machine may use the same processors."""
        import threadpoolctl

        limit = None
        if hasattr(os, "sched_getaffinity"):
            allowed = sorted(os.sched_getaffinity(0))
            shared = self.on_this_node > 1 and len(allowed) > 1
            # Processes that are bound to processors of their own have different ones.
            if shared and not self.any(allowed != self.from_first(allowed)):
                limit = min(max(1, len(allowed) // self.on_this_node), arrays.n_threads())
        with threadpoolctl.threadpool_limits(limit, user_api="blas"):
            yield

    @contextlib.contextmanager
    def ending_together(self) -> Iterator[None]:
        """Raise an error of all processes; end the program after an error of only some of them.

        Otherwise the other processes would wait forever for the next sum.
        """
        try:
            yield
        except BaseException as error:
            if not self._all_failed():
                # Not sys.stderr, which may be redirected to memory.
                traceback.print_exception(error, file=sys.__stderr__)
                print(
                    f"shallows: rank {self.rank} of {self.size} failed alone ({type(error).__name__}); "
                    "the other processes are ended too.",
                    file=sys.__stderr__,
                    flush=True,
                )
                self._comm.Abort(1)
            raise

    def _all_failed(self) -> bool:
        """Whether all processes call this within `GRACE_SECONDS`."""
        request, until = self._failures.Ibarrier(), time.monotonic() + GRACE_SECONDS
        while not request.Test():
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True


def n_started() -> int:
    """Number of processes that ``mpiexec`` or ``srun`` started, from the environment, without loading MPI; else 1."""
    values = (os.environ.get(name, "") for name in STARTERS_SAY)
    return max((int(value) for value in values if value.isdigit()), default=1)


def _sendable(error: Exception) -> Exception:
    """The error itself if it can be pickled, else an error with its message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return ShallowsError(str(error) if isinstance(error, ShallowsError) else f"{type(error).__name__}: {error}")
    return error


def versions() -> str:
    """Versions that must be the same in all processes to give the same numbers, with a digest of all modules."""
    package, digest = sys.modules[__package__.partition(".")[0]], hashlib.sha256()
    for path in sorted(Path(package.__path__[0]).rglob("*.py")):
        digest.update(path.read_bytes())
    parts = f"shallows {package.__version__} (sources {digest.hexdigest()[:12]}), NumPy {np.__version__}"
    return f"{parts}, Python {platform.python_version()}"


def _mpi() -> Any:
    """The module ``mpi4py.MPI``, which starts MPI at the first import."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise MissingExtraError("cluster", "A distributed training") from error
    except RuntimeError as error:
        raise ShallowsError(
            f"mpi4py finds no MPI library ({error}). Load the MPI of your system, or install one: pip install mpich."
        ) from error
    return MPI
