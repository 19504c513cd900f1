"""The processes of an MPI program that work together: sums over them, messages, and what ends them when one fails."""

from __future__ import annotations

import contextlib
import functools
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

GRACE_SECONDS = 10.0
"""How long a process that failed waits for the others to fail as well, before it ends them all."""

STARTERS_SAY = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS")
"""Variables in which starters of MPI programs say how many processes there are: MPICH, Open MPI, Intel, Slurm."""

Value = TypeVar("Value")


class Mpi(Alone):
    """The processes of an MPI communicator, which are numbered by their ranks from 0.

    Every method but `own`, `local`, `piece` and `count` is a collective operation: all processes must call it, in the
    same order. Objects are used as contexts, ``with Mpi(communicator) as ranks``.

    ``communicator``: None takes all processes of the program (``MPI.COMM_WORLD``). ``rank, size``: which of the
    processes this one is, and how many there are. ``on_this_node``: how many of them run on the same machine as this
    one. ``n_values``: kernel or feature values that this process has computed for the steps of a training (`count`).
    ``n_bytes``: bytes that this process has given to sums over all processes.
    """

    n_values = 0
    n_bytes = 0

    def __init__(self, communicator: Any = None):
        mpi = _mpi()
        given = mpi.COMM_WORLD if communicator is None else communicator
        self._mpi = mpi
        # Communicators of our own, so that no message meets one of the user's; failures are told on another one.
        self._comm, self._failures = given.Dup(), given.Dup()
        self.rank, self.size = self._comm.Get_rank(), self._comm.Get_size()
        if communicator is None and self.size < n_started():
            raise ShallowsError(
                f"{n_started()} processes were started, and MPI brings only {self.size} of them together: the starter "
                "is not that of this MPI library. Use its own mpiexec, or in a job of Slurm another way to start, such "
                "as srun --mpi=pmi2 (srun --mpi=list has them all)."
            )
        node = self._comm.Split_type(mpi.COMM_TYPE_SHARED)
        self.on_this_node = node.Get_size()
        node.Free()
        self.same(versions(), "versions of the programs")

    def __enter__(self) -> Mpi:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self._comm.Free()
            self._failures.Free()

    def divide(self, solver: Any) -> Any:
        """The form of a solver (its settings or its stepper) that all processes run together."""
        if isinstance(solver, EigenPro):
            return DistributedEigenProSettings(**vars(solver), ranks=self)
        return DistributedDoublyStochastic.of(solver, self) if isinstance(solver, DoublyStochasticStepper) else solver

    def count(self, n_values: int) -> None:
        """Note that this process has computed so many kernel or feature values."""
        self.n_values += n_values

    # ---------------------------------------------------------------------------------------- messages

    def sum(self, x: Array) -> Array:
        """The sum of an array of every process, to the same bits in all of them."""
        host = np.ascontiguousarray(arrays.to_numpy(x))
        self.n_bytes += host.nbytes
        total = np.empty_like(host)
        self._comm.Reduce(host, total, op=self._mpi.SUM, root=0)
        # Not Allreduce: MPI does not promise the same bits everywhere, and what is decided by them must not differ.
        self._comm.Bcast(total, root=0)
        return arrays.like(total, x)

    def sum_with_row(self, x: Array, row: Any) -> tuple[Array, Array]:
        """`sum` of an array of shape (p, c), and of a row of numbers, shape (1, c), or one number for all columns."""
        xp = arrays.namespace(x)
        summed = self.sum(xp.concat([x, xp.zeros((1, x.shape[1]), dtype=x.dtype) + row]))
        return arrays.contiguous(summed[:-1, :]), summed[-1:, :]

    def gathered(self, x: Array, n: int) -> Array:
        """All n rows of an array of which each process has its `own`."""
        host = np.zeros((n, *x.shape[1:]), dtype=str(x.dtype))
        host[self.own(n)] = arrays.to_numpy(x)
        total = np.empty_like(host)
        self._comm.Allreduce(host, total, op=self._mpi.SUM)  # one number each and zeros: exact in any order
        return arrays.like(total, x)

    def from_first(self, value: Value) -> Value:
        """What the process of rank 0 gave, any object that can be pickled."""
        return self._comm.bcast(value if self.rank == 0 else None, root=0)

    def on_first(self, work: Callable[[], Value]) -> Value:
        """Do something in the process of rank 0 alone; all get its result, or raise its error."""
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
        """Whether it is so in at least one process."""
        return bool(self._comm.allreduce(bool(value), op=self._mpi.LOR))

    def share_of(self, budget: int, given: Any) -> int:
        """Bytes that each process may use, the same in all of them: sizes are chosen by it.

        The processes of a node share what is free there; a budget that the user has given is for each of them.
        """
        return self.least(budget if given is not None else budget // self.on_this_node)

    def least(self, value: int) -> int:
        """The smallest number of all processes."""
        return int(self._comm.allreduce(int(value), op=self._mpi.MIN))

    def total(self, value: int) -> int:
        """The sum of the numbers of all processes."""
        return int(self._comm.allreduce(int(value), op=self._mpi.SUM))

    def same(self, value: Hashable, what: str) -> None:
        """Make sure that a value is the same in all processes; ``what`` says it in the plural, for the message."""
        found = self._comm.allgather(value)
        other = next((rank for rank in range(self.size) if found[rank] != found[0]), None)
        if other is not None:
            raise ShallowsError(
                f"The processes of a distributed training must agree, but their {what} differ: rank 0 has "
                f"{found[0]}, rank {other} has {found[other]}."
            )

    # ---------------------------------------------------------------------------------------- failures

    @contextlib.contextmanager
    def ending_together(self) -> Iterator[None]:
        """Raise an error that all processes meet; end the whole program after one that only some of them meet.

        The others would wait for ever for the sum that the failed one does not come to.
        """
        try:
            yield
        except BaseException as error:
            if not self._all_failed():
                # Where standard error was redirected, nobody may read it after the end.
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
        """Whether all processes come here within `GRACE_SECONDS`."""
        request, until = self._failures.Ibarrier(), time.monotonic() + GRACE_SECONDS
        while not request.Test():
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True


def n_started() -> int:
    """How many processes a starter of MPI programs (``mpiexec``, ``srun``) began this program as; 1 without one.

    They say it in the environment, so that MPI need not be loaded to know it.
    """
    told = (os.environ.get(name, "") for name in STARTERS_SAY)
    return max((int(one) for one in told if one.isdigit()), default=1)


def _sendable(error: Exception) -> Exception:
    """An error that can be pickled: itself, or one with its words."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return ShallowsError(str(error) if isinstance(error, ShallowsError) else f"{type(error).__name__}: {error}")
    return error


def versions() -> str:
    """The versions that processes must have in common to give the same numbers."""
    version = sys.modules[__package__.partition(".")[0]].__version__
    parts = f"shallows {version} (sources {_digest_of_sources()}), NumPy {np.__version__}"
    return f"{parts}, Python {platform.python_version()}"


@functools.cache
def _digest_of_sources() -> str:
    """The first digits of a digest of this package's modules."""
    folder, digest = Path(__file__).parent, hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(os.fsencode(path.relative_to(folder)) + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _mpi() -> Any:
    """The module ``mpi4py.MPI``, which starts MPI when it is first imported."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise MissingExtraError("cluster", "A distributed training") from error
    except RuntimeError as error:
        raise ShallowsError(
            f"mpi4py finds no MPI library ({error}). Load the MPI of your system, or install one: pip install mpich."
        ) from error
    return MPI
