"""Distributed trainings: one model for any number of processes, checkpoints for any number, failures."""

import json
import pickle
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import distributed_example
from shallows import DoublyStochasticRegressor, KernelRidgeClassifier, KernelRidgeRegressor, arrays, kernels
from shallows.distributed.eigenpro import OwnColumns
from shallows.distributed.mpi import Mpi, versions
from shallows.errors import CheckpointError, MissingExtraError, ShallowsError

PROGRAM = Path(__file__).with_name("distributed_program.py")
NUMBERS = (1, 3)  # which 700 rows are not a multiple of


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the program finds with each number of processes."""
    results = {}
    for n in NUMBERS:
        folder = tmp_path_factory.mktemp(f"processes{n}")
        status, output = distributed_example.run(n, PROGRAM, "fits", folder)
        assert status == 0, output
        with np.load(folder / "found.npz") as file:
            results[n] = dict(file)
    return results


@pytest.fixture(scope="module")
def program():
    distributed_example.mpiexec()
    import distributed_program

    return distributed_program


def tolerance(name):
    # Sums in another order, also by another number of BLAS threads, differ by about the unit roundoff, 1e-16 or 6e-8.
    # Some dozens of steps make 1000 of it, and eigenvectors of close eigenvalues more.
    return 1e-3 if "single precision" in name else 1e-8


def assert_close(one, other, name):
    assert one.shape == other.shape
    assert np.abs(one - other).max() <= tolerance(name) * np.abs(other).max(), name


@pytest.mark.slow
def test_several_processes_find_the_model_of_one(found):
    for name in found[1]:
        assert_close(found[3][name], found[1][name], name)
    # That the sums have another order shows that the work was divided.
    assert not np.array_equal(found[3]["EigenPro/coefficients"], found[1]["EigenPro/coefficients"])


@pytest.mark.slow
def test_the_model_is_that_of_the_estimators_own_fit(found, program):
    X, y, new = program.data()
    for name, make in program.FITS.items():
        model = make().fit(X, y, program.weights(name, y))
        scores = model.decision_function(new) if hasattr(model, "decision_function") else model.predict(new)
        assert_close(found[3][f"{name}/coefficients"], model.dual_coef_, name)
        assert_close(found[3][f"{name}/scores"], scores, name)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(3, 2)])
def test_a_checkpoint_is_gone_on_from_by_another_number_of_processes(before, after, found, tmp_path, program):
    for n, case in ((before, "stopped"), (after, "resumed")):
        status, output = distributed_example.run(n, PROGRAM, case, tmp_path)
        assert status == 0, output
    for name in program.RESUMED:
        assert_close(np.load(tmp_path / f"{name}.npy"), found[1][f"{name}/coefficients"], name)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["fails_alone", "killed"])
def test_a_process_that_fails_ends_them_all(case, tmp_path):
    status, output = distributed_example.run(3, PROGRAM, case, tmp_path, seconds=100)
    assert status != 0
    if case == "fails_alone":
        assert "the disk of rank 1 is full" in output
        assert "rank 1 of 3 failed alone (RuntimeError); the other processes are ended too." in output


@pytest.mark.slow
def test_processes_that_do_not_fit_together_are_told_so_in_all_of_them(tmp_path):
    status, output = distributed_example.run(2, PROGRAM, "refused", tmp_path)
    assert status == 0, output
    told, also = (json.loads((tmp_path / f"told{rank}.json").read_text()) for rank in (0, 1))
    assert told == also
    expected = {
        "data": "their data differ: rank 0 has 700 rows",
        "parameters": "their parameters differ: .*batch_size=100.*rank 1 has .*batch_size=101",
        "out of range": r"damping must be a number in \(0, 1\]",
        "precomputed": "kernel='precomputed' is not supported",
        "warm start": "use a checkpoint",
        "seconds": "n_iter or max_epochs instead",
        "no such method": "with solver='auto' cannot be fitted by several processes",
        "checkpoint": "belongs to another run",
        "versions": r"versions of the programs differ: rank 0 has shallows \S+\+0 .*, rank 1 has shallows \S+\+1 ",
    }
    assert set(told) == set(expected)
    for name, pattern in expected.items():
        assert re.search(pattern, told[name]), told[name]


def test_without_mpi4py_or_an_mpi_library_one_sentence_says_what_to_do(monkeypatch):
    class Broken(types.ModuleType):
        @property
        def MPI(self):
            raise RuntimeError("cannot load MPI library")

    for module, error, says in (
        (None, MissingExtraError, r"A distributed training needs .* pip install 'shallows\[cluster\]'"),
        (Broken("mpi4py"), ShallowsError, r"finds no MPI library \(cannot load .*pip install mpich"),
    ):
        monkeypatch.setitem(sys.modules, "mpi4py", module)
        with pytest.raises(error, match=says):
            KernelRidgeClassifier(solver="eigenpro").fit(np.eye(4), [0, 1, 0, 1], ranks=Mpi())


def test_versions_have_a_digest_of_all_modules(monkeypatch):
    found, read = versions(), Path.read_bytes
    assert re.match(r"shallows \S+ \(sources [0-9a-f]{12}\), NumPy \S+, Python \S+$", found)
    changed = lambda path: read(path) + (b"#" if path.name == "loop.py" else b"")  # noqa: E731
    monkeypatch.setattr(Path, "read_bytes", changed)
    assert versions() != found


class Unpicklable(Exception):
    def __reduce__(self):
        raise TypeError("it holds a lock")


class Alone:
    """The communicator of a single process, as far as objects go."""

    def bcast(self, value, root):
        return pickle.loads(pickle.dumps(value))


def test_an_error_that_cannot_be_sent_is_told_by_its_words():
    ranks = object.__new__(Mpi)
    ranks.rank, ranks.size, ranks._comm = 0, 1, Alone()
    assert ranks.on_first(lambda: 5) == 5
    with pytest.raises(CheckpointError, match="no place"):
        ranks.on_first(lambda: (_ for _ in ()).throw(CheckpointError("no place")))
    with pytest.raises(ShallowsError, match="Unpicklable: the disk"):
        ranks.on_first(lambda: (_ for _ in ()).throw(Unpicklable("the disk")))


class Share(Mpi):
    """One of several processes, as far as its share goes; it sends nothing."""

    def __init__(self, rank, size):
        self.rank, self.size = rank, size

    def sum(self, x):
        return x


@pytest.mark.parametrize("size", [1, 3, 7])
def test_shares_of_rows_cover_them_once_and_local_numbers_find_them(size):
    n, batch = 40, slice(11, 29)
    everything = np.concatenate([np.arange(n)[Share(rank, size).own_rows(n)] for rank in range(size)])
    assert sorted(everything) == list(range(n))
    for rank in range(size):
        share = Share(rank, size)
        own = np.arange(n)[share.own_rows(n)]
        assert np.array_equal(own[share.local(batch)], own[(own >= 11) & (own < 29)])


@pytest.mark.parametrize("budget", [0, 2**30])
@pytest.mark.parametrize("kernel", [kernels.Gaussian(1.3), kernels.make("polynomial", None, degree=2)])
def test_products_with_the_own_columns_add_up_to_those_with_the_matrix(kernel, budget, monkeypatch):
    monkeypatch.setattr("shallows.distributed.eigenpro.TILE", 16)
    draws = np.random.default_rng(0)
    x, a = draws.normal(size=(50, 4)), draws.normal(size=(50, 2))
    points, batch, head = kernels.augmented(x), slice(7, 41), 13
    matrix, g = kernels.matrix(kernel, points), draws.normal(size=(34, 2))
    values, energy, everything = 0.0, 0.0, 0.0
    for rank in range(3):
        share = Share(rank, 3)
        columns = OwnColumns(share, kernel, points, budget=budget and budget + 3 * 16**2 * 8)
        own = share.own_rows(50)
        for _ in range(2):
            part, first = columns.rows_dot(batch, a[own], head=head)
        assert np.allclose(first, matrix[batch, own][:, :head], rtol=1e-12)
        assert (columns.kept_fraction > 0) == bool(budget)
        values, energy = values + part, energy + columns.energy(batch, g)
        everything = everything + columns.dot(a)
    assert np.allclose(values, matrix[batch] @ a, rtol=1e-12)
    assert np.allclose(everything, matrix @ a, rtol=1e-12)
    assert np.allclose(energy, np.einsum("ic,ij,jc->c", g, matrix[batch, batch], g), rtol=1e-12)


def test_a_point_meets_itself_in_the_exact_value_of_the_kernel():
    # At a distance from the origin a float32 distance by products is off; the diagonal is one number all the same.
    points = kernels.augmented(np.full((9, 3), 1e3, dtype=np.float32) + np.arange(9, dtype=np.float32)[:, None])
    for rank in range(2):
        share = Share(rank, 2)
        columns = OwnColumns(share, kernels.Gaussian(0.01), points, budget=0)
        own = np.arange(9)[share.own_rows(9)]
        _, values = columns.rows_dot(slice(0, 9), np.zeros((len(own), 1), dtype=np.float32), head=len(own))
        assert np.all(values[own, np.arange(len(own))] == 1.0)
        assert arrays.is_numpy(values)


@pytest.mark.parametrize("Estimator", [KernelRidgeRegressor, DoublyStochasticRegressor])
def test_processes_that_are_a_number_are_refused(Estimator):
    with pytest.raises(ShallowsError, match=r"ranks must be shallows.distributed.Mpi\(\).*got 4"):
        Estimator().fit(np.zeros((4, 1)), np.zeros(4), ranks=4)
