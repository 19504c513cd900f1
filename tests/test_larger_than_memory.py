"""Data larger than memory are read batch by batch, the next batch while one is in use, within the budget."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from flat import flat
from forms import centers_classifier
from shallows import DoublyStochasticClassifier, arrays, training
from shallows.fitting import expansion
from shallows.fitting.rows_ahead import RowsAhead
from shallows.models.centering import Centering, RowsAsArray, TrainingRows
from shallows.svm import DoublyStochasticNoveltyDetector
from shallows.training import Batches

PROGRAM = Path(__file__).with_name("larger_than_memory_program.py")
CPU = arrays.Device("cpu")
DRAWS = np.random.default_rng(0)


@pytest.mark.slow
def test_a_file_of_ten_times_the_memory_is_trained_on_within_it(tmp_path):
    rows, features, budget = 200_000, 750, 60_000_000
    path = tmp_path / "x.npy"
    written = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, features))
    some = DRAWS.normal(size=(5000, features)).astype(np.float32)
    for start in range(0, rows, 5000):
        written[start : start + 5000] = np.roll(some, start // 5000, axis=0) * np.float32(1.0 + start / rows)
    written.flush()
    del written
    assert path.stat().st_size >= 10 * budget
    done = subprocess.run([sys.executable, PROGRAM, path, str(budget)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert 0 < found["held"] <= budget
    assert found["losses"][0] < 1.0
    assert found["batch"] < rows // 100  # a batch of a fifth of the rows would be twice the memory


@pytest.fixture
def rows():
    X = DRAWS.normal(size=(100, 4))
    order = DRAWS.permutation(100)
    return TrainingRows(X, order, Centering.of(X), CPU, np.dtype("float64"), held=False)


def test_a_batch_out_of_turn_and_without_an_order_is_read_when_it_is_asked_for(rows):
    ahead = RowsAhead(rows, CPU)
    for batch in arrays.blocks(100, 10):
        assert np.array_equal(ahead(batch), rows(batch))
    assert ahead.n_ahead == 0
    order = ahead.following(Batches(100, 10, seed=3)).of_epoch(0)
    for batch in (order[0], order[5], order[6], order[0]):
        assert np.array_equal(ahead(batch), rows(batch))
    assert ahead.n_ahead == 1


def test_reading_and_computing_overlap_and_an_error_of_reading_is_raised_where_the_batch_is_asked_for():
    computing, met = threading.Event(), []

    class Waiting:
        """Rows of which the second batch is read only once this test computes with the first."""

        def __len__(self):
            return 20

        def __call__(self, batch):
            if batch.start == second.start:
                met.append(computing.wait(5.0))
                raise OSError("the disk is gone")
            return np.arange(batch.start, batch.stop)

    ahead = RowsAhead(Waiting(), CPU)
    first, second = ahead.following(Batches(20, 10, seed=0)).of_epoch(0)
    ahead(first)
    computing.set()
    with pytest.raises(OSError, match="the disk is gone"):
        ahead(second)
    assert met == [True]


@pytest.mark.parametrize("solver", ["projected_eigenpro", "nystrom_conjugate_gradients"])
def test_a_model_is_the_same_to_the_bit_whether_its_points_are_held_or_read(solver, monkeypatch):
    X = DRAWS.normal(size=(1500, 6))
    y = X[:, 0] > X[:, 1]
    steps = {"batch_size": 200} if solver == "projected_eigenpro" else {}
    options = {"solver": solver, "centres": 100, **steps, "bandwidth": 2.0, "max_epochs": 3, "random_state": 0}
    held = centers_classifier(**options).fit(X, y)
    counted = []
    init = TrainingRows.__init__
    monkeypatch.setattr(TrainingRows, "__init__", lambda self, *a, held: init(self, *a, held=False))
    call = RowsAhead.__call__
    monkeypatch.setattr(RowsAhead, "__call__", lambda self, batch: (counted.append(self), call(self, batch))[1])
    read = centers_classifier(**options).fit(X, y)
    assert np.array_equal(held.dual_coef_, read.dual_coef_)
    assert solver != "projected_eigenpro" or counted[-1].n_ahead == 3 * 8 - 1


@pytest.mark.parametrize("Estimator", [DoublyStochasticClassifier, DoublyStochasticNoveltyDetector])
def test_an_expansion_is_the_same_to_the_bit_whether_its_points_are_held_or_read(monkeypatch, Estimator):
    X = DRAWS.normal(size=(1500, 6))
    y = X[:, 0] > X[:, 1]
    options = {"batch_size": 100, "block_size": 64, "bandwidth": 2.0, "n_iter": 40, "random_state": 0}
    held, read = (training.Curve([40], lambda one: {"loss": one.objective()}, unit="iteration") for _ in range(2))
    asked = []
    monkeypatch.setattr(expansion, "OFFSET_ROWS", 300)
    of_memory = flat(Estimator, dtype="float64", **options).fit(X, y, observers=[held])
    call = TrainingRows.__call__
    monkeypatch.setattr(TrainingRows, "__call__", lambda self, batch: (asked.append(batch), call(self, batch))[1])
    monkeypatch.setattr(expansion, "holds_points", lambda *sizes: False)
    init = RowsAsArray.__init__
    in_blocks = lambda self, rows: (init(self, rows), vars(self).update(block_rows=200))[0]  # noqa: E731
    monkeypatch.setattr(RowsAsArray, "__init__", in_blocks)
    of_file = flat(Estimator, dtype="float64", **options).fit(X, y, observers=[read])
    assert np.array_equal(of_memory.dual_coef_, of_file.dual_coef_)
    np.testing.assert_allclose(of_memory.decision_function(X), of_file.decision_function(X), rtol=1e-12)
    sizes = [len(range(*one.indices(1500))) if isinstance(one, slice) else len(one) for one in asked]
    assert len(asked) >= 40 and max(sizes) <= 300
    assert held.rows[0]["loss"] == pytest.approx(read.rows[0]["loss"], rel=1e-12)
    if Estimator is DoublyStochasticNoveltyDetector:
        assert all(map(np.array_equal, of_memory._model.sample, of_file._model.sample))
