"""The estimators of growing functions on streams: where they stop, continue, and what a broken batch leaves."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from doubly_stochastic_example import WORDS, endless, moons, small, waves
from resumed_example import StopAt
from shallows import DoublyStochasticClassifier, DoublyStochasticRegressor, training
from shallows.errors import DivergenceError, ShallowsError, TrainingInterrupted
from shallows.solvers import DoublyStochastic

pytestmark = pytest.mark.usefixtures("a_start_of_two_batches")


def test_a_stream_that_never_ends_is_learnt_from_until_the_batches_asked_for():
    model = small()
    model.partial_fit(endless(), classes=WORDS, n_iter=40)
    # Twenty steps begin the model with two batches.
    assert (model.n_iter_, endless.taken, model.report_["stopped_by"]) == (20 + 38, 40, "n_iter")
    assert model.score(*moons(seed=999)) > 0.95
    model.partial_fit(endless(seed=40), n_iter=10)
    assert model.n_iter_ == 20 + 48


def test_a_stream_and_calls_with_its_batches_give_the_same_model():
    whole, parts = small().partial_fit(endless(8), classes=WORDS), small()
    for X, y in endless(8):
        parts.partial_fit(X, y, classes=WORDS)
    assert np.array_equal(whole.dual_coef_, parts.dual_coef_)


def test_a_memory_map_is_read_in_slices(tmp_path):
    X, y = moons(1000)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = small(batch_size=100).partial_fit(mapped, y, classes=WORDS)
    pairs = ((X[rows : rows + 100].astype(np.float32), y[rows : rows + 100]) for rows in range(0, 1000, 100))
    other = small(batch_size=100).partial_fit(pairs, classes=WORDS)
    assert model.n_iter_ == 20 + 8
    assert np.array_equal(model.dual_coef_, other.dual_coef_)


def test_a_stream_with_checkpoints_goes_on_where_it_was(tmp_path):
    checkpoint = training.Checkpoint(tmp_path, "k")
    with pytest.raises(TrainingInterrupted):
        small().partial_fit(endless(20), classes=WORDS, observers=[StopAt(checkpoint, 6)], checkpoint=checkpoint)
    resumed = small().partial_fit(endless(20), classes=WORDS, checkpoint=training.Checkpoint(tmp_path, "k"))
    whole = small().partial_fit(endless(20), classes=WORDS)
    assert (resumed.n_iter_, resumed.n_resumes_) == (20 + 18, 1)
    assert np.array_equal(resumed.dual_coef_, whole.dual_coef_)


# Bad input


def test_a_stream_that_ends_early_is_told_and_its_model_stands():
    model = small()
    with pytest.warns(ConvergenceWarning, match="ended after 5 of the 50 batches") as caught:
        model.partial_fit(endless(5), classes=WORDS, n_iter=50)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 20 + 3
    model.predict(moons()[0])


def test_a_stream_without_a_batch_is_an_error():
    with pytest.raises(ShallowsError, match="ended before its first batch"):
        DoublyStochasticClassifier().partial_fit(iter(()), classes=WORDS)
    model = small().partial_fit(endless(2), classes=WORDS)
    with pytest.raises(ShallowsError, match="ended before its first batch"):
        model.partial_fit(iter(()))
    assert model.n_iter_ == 20


def test_classes_are_those_of_the_first_call():
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        DoublyStochasticClassifier().partial_fit(*moons())
    model = DoublyStochasticClassifier(solver=DoublyStochastic(block_size=16)).partial_fit(endless(2), classes=WORDS)
    with pytest.raises(ValueError, match="differ from the classes of the first call"):
        model.partial_fit(endless(2), classes=["low", "middle"])


@pytest.mark.parametrize("broken", ["nan", "columns", "rows", "label"])
def test_a_broken_batch_is_numbered_and_leaves_the_state_before_it(broken):
    def source():
        yield from endless(7)
        X, y = moons()
        if broken == "nan":
            X[3, 1] = np.nan
        y = y[:-1] if broken == "rows" else np.where((y == "low") & (broken == "label"), "new", y)
        yield X[:, :1] if broken == "columns" else X, y

    model = small()
    with pytest.raises(ValueError, match="Batch 8 cannot be used, and the model includes the 7 batches before it"):
        model.partial_fit(source(), classes=WORDS)
    whole = small().partial_fit(endless(7), classes=WORDS)
    assert np.array_equal(model.dual_coef_, whole.dual_coef_)
    # And it continues from there.
    model.partial_fit(*moons(100))
    assert model.n_iter_ == 20 + 6


def test_divergence_in_a_stream_names_the_batch():
    model = small(DoublyStochasticRegressor, schedule="constant", preconditioning=None).partial_fit(*waves(300))
    model.set_params(solver__step_size=1e6)._state.step_size = 1e6
    source = (waves(100, seed=i) for i in range(50))
    with pytest.raises(DivergenceError, match=r"batch \d+ of the stream with step_size=1e\+06.*smaller step"):
        model.partial_fit(source)


def test_a_stream_of_something_else_is_one_clear_error():
    with pytest.raises(ShallowsError, match="iterable of batches"):
        DoublyStochasticRegressor().partial_fit(3.0)
    with pytest.raises(ShallowsError, match=r"tuple \(X, y\)"):
        DoublyStochasticRegressor().partial_fit(iter([waves()[0]]))
    with pytest.raises(ShallowsError, match="leave out y"):
        DoublyStochasticRegressor().partial_fit(iter([waves()]), waves()[1])
