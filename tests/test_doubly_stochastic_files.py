"""Saved models of growing functions: they predict and go on the same; a file that means something else is refused."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from doubly_stochastic_example import WORDS, endless, moons, waves
from engine_example import sample
from shallows import (
    DoublyStochasticClassifier,
    DoublyStochasticNoveltyDetector,
    DoublyStochasticRegressor,
    losses,
)
from shallows.errors import ShallowsError

MODELS = {
    "words": lambda: DoublyStochasticClassifier(random_state=0).fit(*moons(classes=3)),
    "numbers": lambda: DoublyStochasticClassifier(random_state=0, loss="hinge", method="cdsg").fit(
        moons()[0], (moons()[1] == "low").astype(int)
    ),
    "several outputs": lambda: DoublyStochasticRegressor(random_state=0, loss=losses.Huber(20.0)).fit(
        waves()[0], waves()[0] * 7
    ),
    "matern": lambda: DoublyStochasticRegressor("matern", kernel_params={"nu": 1.5}, random_state=0).fit(*waves()),
    "novelty": lambda: DoublyStochasticNoveltyDetector(random_state=0, method="udsg").fit(moons()[0]),
    "stream": lambda: DoublyStochasticClassifier(random_state=0, block_size=8).partial_fit(endless(5), classes=WORDS),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_model_that_was_saved_predicts_and_goes_on_the_same(make, tmp_path):
    model = make()
    model.save(tmp_path / "model.npz")
    read = type(model).load(tmp_path / "model.npz", device="cpu")
    X, y = moons(seed=5, classes=3) if len(getattr(model, "classes_", ())) == 3 else moons(seed=5)
    assert np.array_equal(read.predict(X), model.predict(X))
    score = "score_samples" if hasattr(model, "score_samples") else "decision_function"
    if hasattr(model, score):
        assert np.array_equal(getattr(read, score)(X), getattr(model, score)(X))
    targets = None
    if isinstance(model, DoublyStochasticRegressor):
        targets = X * 3 if model.predict(X).ndim == 2 else X[:, 0]
    elif isinstance(model, DoublyStochasticClassifier):
        targets = y if model.classes_.dtype.kind in "UO" else (y == "low").astype(int)
    for one in (model, read):
        one.partial_fit(X, targets)
    assert np.array_equal(read.dual_coef_, model.dual_coef_)
    assert clone(read).get_params().keys() == model.get_params().keys()
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_a_pickled_model_predicts_the_same():
    model = MODELS["words"]()
    X, _ = moons(classes=3)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), model.decision_function(X))


def test_a_file_has_kilobytes_for_a_thousand_frequencies_whatever_the_number_of_inputs(tmp_path):
    sizes = {}
    for d in (2, 800):
        for n_iter in (10, 135):
            model = DoublyStochasticRegressor(random_state=0, block_size=8, n_iter=n_iter, dtype="float32")
            model.fit(sample(100, d), sample(100, 1)[:, 0])
            model.save(tmp_path / "model.npz")
            sizes[d, n_iter] = (tmp_path / "model.npz").stat().st_size
    for d in (2, 800):
        assert abs(sizes[d, 135] - sizes[d, 10] - (1000 * 2 + 125) * 4) < 300  # 125 blocks of 8 and their traces.
    assert sizes[800, 10] - sizes[2, 10] < 798 * 8 + 200  # The mean.


def rewritten(path, change):
    with np.load(path) as file:
        held = dict(file)
    header = json.loads(str(held["header"]))
    change(header, held)
    held["header"] = np.array(json.dumps(header))
    np.savez(path, **held)


CHANGES = {
    "another kernel": (
        lambda header, held: header.update(kernel=json.dumps({"name": "sinc", "bandwidth": 1.0})),
        "kernel that this version does not know.*sinc",
    ),
    "a kernel with other draws": (
        lambda header, held: header.update(kernel=json.dumps({"name": "laplace", "bandwidth": 1.0})),
        "draws other features for the kernel 'laplace'",
    ),
    "a newer version": (
        lambda header, held: header.update(format=99, version="9.0"),
        "written by shallows 9.0, which is newer",
    ),
    "other draws": (lambda header, held: held["probes"].__imul__(1.01), "draws other features"),
    "another estimator": (
        lambda header, held: header.update(estimator="DoublyStochasticRegressor"),
        "holds a DoublyStochasticRegressor, not a DoublyStochasticClassifier",
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_means_something_else_is_refused(change, tmp_path):
    MODELS["words"]().save(tmp_path / "model.npz")
    rewritten(tmp_path / "model.npz", change[0])
    with pytest.raises(ShallowsError, match=change[1]):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")


def test_a_file_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(ShallowsError, match="There is no file"):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")
    (tmp_path / "model.npz").write_bytes(b"words")
    with pytest.raises(ShallowsError, match="holds no model, or is damaged"):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")
    np.savez(tmp_path / "model.npz", a=np.ones(3))
    with pytest.raises(ShallowsError, match="holds no model, or is damaged"):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")
    MODELS["words"]().save(tmp_path / "model.npz")
    content = (tmp_path / "model.npz").read_bytes()
    (tmp_path / "model.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(ShallowsError, match="holds no model, or is damaged"):
        DoublyStochasticClassifier.load(tmp_path / "model.npz")


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        DoublyStochasticClassifier().save(tmp_path / "model.npz")
